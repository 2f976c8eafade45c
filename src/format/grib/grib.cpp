#include <hakobi/grib.hpp>

#include "format/grib/eccodes.hpp"
#include "format/grib/keys.hpp"
#include "format/grib/message.hpp"
#include "format/grib/split.hpp"

namespace hakobi {
namespace {

using format::grib::Eccodes;
using format::grib::Handle;

Eccodes& reading_library() {
    Result<Eccodes*> loaded = Eccodes::get();
    loaded.status().throw_if_error();
    return *loaded.value();
}

grib_handle* open_message(Eccodes& eccodes, std::span<const std::byte> message) {
    grib_handle* handle = eccodes.new_from_message(nullptr, message.data(), message.size());
    if (handle == nullptr) throw Error(ErrorCode::format, "ecCodes cannot read this GRIB message");
    return handle;
}

/// Returns what `ask` finds in one message of one field; the mutex is held meanwhile.
template <class Ask>
auto with_message(std::span<const std::byte> message, const Ask& ask) {
    format::grib::read_message(message).status().throw_if_error();
    Eccodes& eccodes = reading_library();
    const std::lock_guard lock(eccodes.mutex);
    const Handle handle(eccodes, open_message(eccodes, message));
    return ask(eccodes, handle);
}

}  // namespace

Key v0::grib_key(std::span<const std::byte> message) {
    Result<format::grib::Keywords> keywords = format::grib::keywords_of(message);
    keywords.status().throw_if_error();
    Key key;
    for (const auto& [keyword, value] : keywords.value()) {
        if (keyword != "domain") key.set(keyword, value);
    }
    return key;
}

std::vector<std::vector<std::byte>> v0::grib_split(std::span<const std::byte> message) {
    auto fields = format::grib::split_message(message);
    fields.status().throw_if_error();
    if (fields.value().empty()) return {{message.begin(), message.end()}};
    return std::move(fields).value();
}

std::vector<double> v0::grib_values(std::span<const std::byte> message) {
    return grib_array(message, "values");
}

std::vector<double> v0::grib_array(std::span<const std::byte> message, const std::string& name) {
    return with_message(message, [&](Eccodes& eccodes, const Handle& handle) {
        std::size_t count = 0;
        eccodes.status(eccodes.get_size(handle.get(), name.c_str(), &count), name, ErrorCode::not_found)
            .throw_if_error();
        std::vector<double> values(count);
        eccodes
            .status(eccodes.get_double_array(handle.get(), name.c_str(), values.data(), &count), name,
                    ErrorCode::format)
            .throw_if_error();
        values.resize(count);
        return values;
    });
}

std::vector<std::string> v0::grib_texts(std::span<const std::byte> message,
                                        const std::vector<std::string>& names) {
    return with_message(message, [&](Eccodes&, const Handle& handle) {
        std::vector<std::string> texts;
        texts.reserve(names.size());
        for (const std::string& name : names) texts.push_back(handle.text(name.c_str()).value_or(""));
        return texts;
    });
}

std::int64_t v0::grib_number(std::span<const std::byte> message, const std::string& name) {
    return with_message(message, [&](Eccodes& eccodes, const Handle& handle) {
        long value = 0;
        eccodes.status(eccodes.get_long(handle.get(), name.c_str(), &value), name, ErrorCode::not_found)
            .throw_if_error();
        return std::int64_t{value};
    });
}

std::int64_t v0::grib_length(std::span<const std::byte> bytes) {
    Result<std::int64_t> length = format::grib::message_length(bytes);
    length.status().throw_if_error();
    return length.value();
}

std::vector<std::int64_t> v0::reduced_gaussian_rows(int num_latitudes_to_equator) {
    Eccodes& eccodes = reading_library();
    const std::lock_guard lock(eccodes.mutex);
    const std::string sample = "reduced_gg_pl_" + std::to_string(num_latitudes_to_equator) + "_grib2";
    const Handle handle(eccodes, eccodes.new_from_samples(nullptr, sample.c_str()));
    if (handle.get() == nullptr) {
        throw Error(ErrorCode::not_found,
                    "ecCodes has no reduced Gaussian grid N" + std::to_string(num_latitudes_to_equator));
    }
    std::size_t count = 0;
    eccodes.status(eccodes.get_size(handle.get(), "pl", &count), "pl", ErrorCode::format).throw_if_error();
    std::vector<long> rows(count);
    eccodes.status(eccodes.get_long_array(handle.get(), "pl", rows.data(), &count), "pl", ErrorCode::format)
        .throw_if_error();
    return {rows.begin(), rows.end()};
}

}  // namespace hakobi
