#include "format/zarr/array.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "format/chunks.hpp"
#include "format/zarr/metadata.hpp"
#include "region/block.hpp"

namespace hakobi::format::zarr {
namespace {

using Json = nlohmann::ordered_json;

/// Zarr's names of the types, in the order of ValueType.
constexpr std::array<std::string_view, 10> type_names = {"float64", "float32", "int32",  "int64",  "int8",
                                                         "uint8",   "int16",   "uint16", "uint32", "uint64"};
constexpr std::string_view why_other = "it is not stored as Hakobi stores fields";

std::int64_t product_of(std::span<const std::int64_t> factors) {
    return std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>());
}

bool is_real(ValueType type) {
    return type == ValueType::float64 || type == ValueType::float32;
}

std::int64_t largest_divisor(std::int64_t number, std::int64_t most) {
    for (std::int64_t divisor = std::min(number, most); divisor > 1; --divisor) {
        if (number % divisor == 0) return divisor;
    }
    return 1;
}

/// Chunks of values that are not packed: slabs, so that one behind the other they are the array in C order.
/// They have at most ChunkGrid::most_bytes, where that does not make them much smaller.
std::vector<std::int64_t> slab_of(const std::vector<std::int64_t>& shape, std::int64_t element_bytes) {
    std::vector<std::int64_t> slab = shape;
    std::int64_t inner_bytes = element_bytes;
    for (std::size_t d = shape.size(); d-- > 0; inner_bytes *= shape[d]) {
        if (inner_bytes * shape[d] <= ChunkGrid::most_bytes) continue;
        const std::int64_t most = std::max<std::int64_t>(1, ChunkGrid::most_bytes / inner_bytes);
        if (d == 0) {  // the last slab may reach over the edge
            const std::int64_t num = (shape[0] + most - 1) / most;
            slab[0] = (shape[0] + num - 1) / num;
            return slab;
        }
        constexpr std::int64_t least_bytes = ChunkGrid::most_bytes / 16;
        const std::int64_t rows = largest_divisor(shape[d], most);
        slab[d] = rows * inner_bytes < least_bytes ? shape[d] : rows;
        std::fill(slab.begin(), slab.begin() + static_cast<std::ptrdiff_t>(d), 1);
        return slab;
    }
    return slab;
}

Json blosc_codec(const Array& array) {
    // Blosc's levels are 1 to 9; of zstd it makes 2 l - 1 of them.
    const int level = array.packing.codec == filter::Codec::zstd ? std::min(9, (array.packing.level + 1) / 2)
                                                                 : array.packing.level;
    return {{"name", "blosc"},
            {"configuration",
             {{"typesize", bytes_of(array.type)},
              {"cname", array.packing.codec == filter::Codec::zstd ? "zstd" : "zlib"},
              {"clevel", level},
              {"shuffle", bytes_of(array.type) > 1 ? "shuffle" : "noshuffle"},
              {"blocksize", 0}}}};
}

Json real_json(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return value;
}

/// Zarr's fill value, which chunks that are not there consist of: never without one.
Json fill_json(const Array& array) {
    const FillValue fill = array.fill ? *array.fill : *zero_of(array.type);
    return std::visit(
        [](auto value) -> Json {
            if constexpr (std::is_floating_point_v<decltype(value)>) return real_json(value);
            return value;
        },
        fill);
}

std::string base64_of(double value) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    auto bits = std::bit_cast<std::uint64_t>(value);
    std::string text;
    // 8 bytes, the lowest first, in groups of 3.
    for (int group = 0; group < 3; ++group, bits >>= 24U) {
        const std::uint32_t bytes = static_cast<std::uint32_t>((bits & 0xffU) << 16U) |
                                    static_cast<std::uint32_t>(bits & 0xff00U) |
                                    static_cast<std::uint32_t>((bits >> 16U) & 0xffU);
        for (unsigned shift = 18; shift < 24; shift -= 6) text += digits[(bytes >> shift) & 63U];
    }
    text.back() = '=';
    return text;
}

Json codecs_of(const Array& array) {
    Json inner = Json::array({bytes_codec(bytes_of(array.type))});
    if (array.is_packed()) inner.push_back(blosc_codec(array));
    if (!array.is_sharded()) return inner;
    std::vector<std::int64_t> chunk = array.chunk;
    if (array.has_time) chunk.insert(chunk.begin(), 1);
    return Json::array({sharding_codec(chunk, inner)});
}

Status other(const std::string& name) {
    return {ErrorCode::unsupported, name + ": " + std::string(why_other)};
}

/// False where they are no integers: JSON's library makes such of any numbers.
bool take_lengths(const Json& list, std::vector<std::int64_t>& lengths) {
    const auto is_length = [](const Json& each) { return each.is_number_integer(); };
    if (!list.is_array() || !std::ranges::all_of(list, is_length)) return false;
    lengths = list.get<std::vector<std::int64_t>>();
    return true;
}

/// The codec of chunks that `codecs` say; unsupported for others.
Result<filter::Filters> packing_of(const std::string& name, ValueType type, const Json& codecs) {
    if (codecs.empty() || codecs.size() > 2 || codecs[0] != bytes_codec(bytes_of(type))) return other(name);
    if (codecs.size() == 1) return filter::Filters();
    if (codecs[1].at("name") != "blosc") return other(name);
    const Json& configuration = codecs[1].at("configuration");
    const bool is_zstd = configuration.at("cname") == "zstd";
    if (!is_zstd && configuration.at("cname") != "zlib") return other(name);
    constexpr int most_level = 9;
    const Json& said = configuration.at("clevel");
    if (!said.is_number_integer() || said < 0 || said > most_level) return other(name);
    const int level = said.get<int>();
    return filter::Filters{.codec = is_zstd ? filter::Codec::zstd : filter::Codec::deflate,
                           .level = static_cast<std::int8_t>(is_zstd ? 2 * level - 1 : level),
                           .frame = filter::Frame::blosc};
}

}  // namespace

std::int64_t Array::num_chunks_in_all() const {
    return product_of(num_chunks);
}

std::int64_t Array::chunk_bytes() const {
    return product_of(chunk) * bytes_of(type);
}

bool Array::is_contiguous() const {
    if (is_packed()) return false;
    assert(chunk.size() == shape.size());
    // Behind the one dimension that is cut all are whole; before it chunks have one element.
    std::size_t d = shape.size();
    while (d > 0 && chunk[d - 1] == shape[d - 1]) --d;
    if (d == 0) return true;
    if (d > 1 && shape[d - 1] % chunk[d - 1] != 0) return false;
    return std::all_of(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(d) - 1,
                       [](std::int64_t length) { return length == 1; });
}

std::string Array::key(std::int64_t step) const {
    assert(step >= 0);
    return key(std::to_string(step));
}

std::string Array::key(const std::string& step) const {
    std::string key = has_time ? "c." + step : "c";
    for (std::size_t d = 0; d < shape.size(); ++d) key += ".0";
    return key;
}

Json Array::to_json(std::int64_t num_steps) const {
    std::vector<std::int64_t> whole = shape, shard = chunk;
    std::vector<std::string> names = dims;
    assert(num_steps >= 0 && shard.size() == whole.size() && num_chunks.size() == whole.size());
    for (std::size_t d = 0; d < shard.size(); ++d) shard[d] *= num_chunks[d];
    if (has_time) {
        whole.insert(whole.begin(), num_steps);
        shard.insert(shard.begin(), 1);
        names.insert(names.begin(), "time");
    }
    Json said = json_of(attributes, type);
    // xarray's way of writing CF's attribute into Zarr's metadata.
    if (fill && is_real(type)) {
        said["_FillValue"] =
            base64_of(std::visit([](auto value) { return static_cast<double>(value); }, *fill));
    } else if (fill) {
        said["_FillValue"] = fill_json(*this);
    }
    return array_document({.shape = std::move(whole),
                           .chunk = std::move(shard),
                           .type = type_names[static_cast<std::size_t>(type)],
                           .fill = fill_json(*this),
                           .codecs = codecs_of(*this),
                           .dims = std::move(names),
                           .attributes = std::move(said)});
}

Result<Array> Array::from_json(std::string name, const Json& document) {
    const auto* const found = std::ranges::find(type_names, document.at("data_type").get<std::string>());
    if (found == type_names.end()) return other(name);
    std::vector<std::int64_t> shard;
    Array array{.name = std::move(name), .shape = {}};
    array.type = static_cast<ValueType>(found - type_names.begin());
    if (!take_lengths(document.at("shape"), array.shape) ||
        !take_lengths(document.at("chunk_grid").at("configuration").at("chunk_shape"), shard))
        return other(array.name);
    array.dims = document.at("dimension_names").get<std::vector<std::string>>();
    const Json& key = document.at("chunk_key_encoding");
    if (key.at("name") != "default" || key.at("configuration").at("separator") != ".")
        return other(array.name);
    array.attributes = attributes_of(document.at("attributes"));
    if (array.attributes.erase("_FillValue") > 0) {
        const Json& fill = document.at("fill_value");
        const double special = fill == "Infinity" ? HUGE_VAL : fill == "-Infinity" ? -HUGE_VAL : NAN;
        if (fill.is_number_integer()) array.fill = fill_value_of(array.type, fill.get<std::int64_t>());
        if (fill.is_number_unsigned() && array.type == ValueType::uint64)
            array.fill = fill.get<std::uint64_t>();
        if (fill.is_number_float()) array.fill = fill_value_of(array.type, fill.get<double>());
        if (fill.is_string()) array.fill = fill_value_of(array.type, special);
    }
    if (array.shape.size() != shard.size() || array.dims.size() != shard.size()) return other(array.name);
    const Json* codecs = &document.at("codecs");
    std::vector<std::int64_t> chunk = shard;
    if (!codecs->empty() && codecs->at(0).at("name") == "sharding_indexed") {
        const Json& configuration = codecs->at(0).at("configuration");
        if (codecs->size() != 1 || configuration.at("index_codecs") != index_codecs() ||
            configuration.value("index_location", "end") != "end")
            return other(array.name);
        if (!take_lengths(configuration.at("chunk_shape"), chunk)) return other(array.name);
        codecs = &configuration.at("codecs");
    }
    Result<filter::Filters> packing = packing_of(array.name, array.type, *codecs);
    if (!packing.ok()) return packing.status();
    array.packing = packing.value();
    array.has_time = !shard.empty() && array.dims[0] == "time";
    if (chunk.size() != shard.size() || (array.has_time && (shard[0] != 1 || chunk[0] != 1)))
        return other(array.name);
    if (array.has_time) {
        if (array.shape[0] < 0) return other(array.name);
        for (auto* numbers : {&array.shape, &shard, &chunk}) numbers->erase(numbers->begin());
        array.dims.erase(array.dims.begin());
    }
    if (!array.shape.empty() && !num_elements_of(array.shape, bytes_of(array.type))) return other(array.name);
    if (!chunk.empty() && !num_elements_of(shard, bytes_of(array.type))) return other(array.name);
    for (std::size_t d = 0; d < chunk.size(); ++d) {
        if (chunk[d] < 1 || shard[d] % chunk[d] != 0 || shard[d] < array.shape[d]) return other(array.name);
        array.num_chunks.push_back(shard[d] / chunk[d]);
    }
    array.chunk = std::move(chunk);
    return array;
}

Array array_of(const FieldDescription& field, std::vector<std::string> dims) {
    Array array{.name = field.name,
                .type = field.type,
                .has_time = !field.is_static,
                .shape = field.global,
                .dims = std::move(dims),
                .fill = field.fill_value,
                .attributes = field.attributes};
    const auto put = [&](const char* name, std::string text) {
        if (!text.empty()) array.attributes[name] = std::move(text);
    };
    put("units", field.units);
    put("long_name", field.long_name);
    put("standard_name", field.standard_name);
    put("coordinates", coordinates_text(field));
    if (is_chunked(field)) {
        array.packing = field.filters;
        array.chunk = ChunkGrid(field.global, bytes_of(field.type)).shape();
    } else {
        array.chunk = slab_of(field.global, bytes_of(field.type));
    }
    for (std::size_t d = 0; d < array.chunk.size(); ++d)
        array.num_chunks.push_back((array.shape[d] + array.chunk[d] - 1) / array.chunk[d]);
    return array;
}

Json json_of(const Attributes& attributes, std::optional<ValueType> type) {
    Json object = Json::object();
    for (const auto& [name, value] : attributes) {
        const bool as_reals = type && is_real(*type) && number_type(name, value, true) == NumberType::field;
        Json& said = object[name];
        const auto list = [&said](const auto& numbers, auto convert) {
            Json all = Json::array();
            for (const auto number : numbers) all.push_back(convert(number));
            said = all.size() == 1 ? all[0] : all;
        };
        if (const auto* text = std::get_if<0>(&value)) said = *text;
        if (const auto* reals = std::get_if<1>(&value)) list(*reals, real_json);
        if (const auto* integers = std::get_if<2>(&value)) {
            if (as_reals)
                list(*integers, [](std::int64_t number) { return real_json(static_cast<double>(number)); });
            else
                list(*integers, [](std::int64_t number) { return Json(number); });
        }
    }
    return object;
}

Attributes attributes_of(const Json& object) {
    Attributes attributes;
    for (const auto& [name, value] : object.items()) {
        const Json all = value.is_array() ? value : Json::array({value});
        const auto has_only = [&](auto is_kind) {
            return !all.empty() && std::all_of(all.begin(), all.end(), is_kind);
        };
        if (value.is_string()) attributes[name] = value.get<std::string>();
        if (has_only([](const Json& each) { return each.is_number_integer(); })) {
            attributes[name] = all.get<std::vector<std::int64_t>>();
        } else if (has_only([](const Json& each) { return each.is_number(); })) {
            attributes[name] = all.get<std::vector<double>>();
        }
    }
    return attributes;
}

Json line_of(const std::string& name, std::int64_t length, std::int64_t chunk_length,
             const Attributes& attributes) {
    return array_document({.shape = {length},
                           .chunk = {chunk_length},
                           .type = "float64",
                           .codecs = Json::array({bytes_codec(sizeof(double))}),
                           .dims = {name},
                           .attributes = json_of(attributes, ValueType::float64)});
}

}  // namespace hakobi::format::zarr
