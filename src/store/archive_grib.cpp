#include <hakobi/grib.hpp>

#include "format/grib/split.hpp"

namespace hakobi {

void Store::archive_grib(std::span<const std::byte> message) {
    auto fields = format::grib::split_message(message);
    fields.status().throw_if_error();
    if (fields.value().empty()) {
        archive(grib_key(message), message, "grib");
        return;
    }
    // All keys first: a message is archived whole, or not at all.
    std::vector<Key> keys;
    for (const auto& field : fields.value()) keys.push_back(grib_key(field));
    for (std::size_t i = 0; i < keys.size(); ++i) archive(keys[i], fields.value()[i], "grib");
}

}  // namespace hakobi
