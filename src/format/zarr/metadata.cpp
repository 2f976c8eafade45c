#include "format/zarr/metadata.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <span>

#include "base/crc32c.hpp"

namespace hakobi::format::zarr {

using Json = nlohmann::ordered_json;

Json array_document(const ArrayMetadata& array) {
    assert(array.chunk.size() == array.shape.size() && array.dims.size() == array.shape.size());
    return {
        {"zarr_format", 3},
        {"node_type", "array"},
        {"shape", array.shape},
        {"data_type", array.type},
        {"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", array.chunk}}}}},
        {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", array.separator}}}}},
        {"fill_value", array.fill},
        {"codecs", array.codecs},
        {"dimension_names", array.dims},
        {"attributes", array.attributes}};
}

Json group_document(const Json& attributes) {
    return {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", attributes}};
}

Json bytes_codec(std::int64_t element_bytes) {
    if (element_bytes == 1) return {{"name", "bytes"}};
    constexpr auto order = std::endian::native == std::endian::little ? "little" : "big";
    return {{"name", "bytes"}, {"configuration", {{"endian", order}}}};
}

Json checksum_codec() {
    return {{"name", "crc32c"}};
}

Json index_codecs() {
    return Json::array({bytes_codec(sizeof(std::uint64_t)), checksum_codec()});
}

Json sharding_codec(const std::vector<std::int64_t>& chunk, const Json& codecs) {
    return {{"name", "sharding_indexed"},
            {"configuration",
             {{"chunk_shape", chunk},
              {"codecs", codecs},
              {"index_codecs", index_codecs()},
              {"index_location", "end"}}}};
}

std::int64_t index_bytes(std::int64_t num_chunks) {
    return 16 * num_chunks + 4;
}

std::vector<std::byte> shard_index(const std::vector<std::int64_t>& offsets_bytes,
                                   const std::vector<std::int64_t>& lengths_bytes) {
    assert(offsets_bytes.size() == lengths_bytes.size());
    std::vector<std::byte> index(static_cast<std::size_t>(index_bytes(std::ssize(offsets_bytes))));
    std::byte* at = index.data();
    for (std::size_t i = 0; i < offsets_bytes.size(); ++i) {
        const std::array<std::int64_t, 2> place{offsets_bytes[i], lengths_bytes[i]};
        std::memcpy(at, place.data(), sizeof place);
        at += sizeof place;
    }
    const std::uint32_t sum = crc32c(std::span(index).first(index.size() - sizeof(std::uint32_t)));
    std::memcpy(at, &sum, sizeof sum);
    return index;
}

}  // namespace hakobi::format::zarr
