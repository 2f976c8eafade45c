#include <hakobi/grib.hpp>

namespace hakobi {

void Store::archive_grib(std::span<const std::byte> message) {
    archive(grib_key(message), message, "grib");
}

}  // namespace hakobi
