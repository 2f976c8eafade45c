#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// Zarr 3's metadata and shards, as groups of steps and overviews write them. Pure.

namespace hakobi::format::zarr {

/// The members of an array's zarr.json.
struct ArrayMetadata {
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> chunk;  ///< of the grid: a shard's shape where there are shards
    std::string_view type;            ///< "float64"
    nlohmann::ordered_json fill = "NaN";
    nlohmann::ordered_json codecs;
    std::vector<std::string> dims;
    nlohmann::ordered_json attributes = nlohmann::ordered_json::object();
    std::string_view separator = ".";  ///< in the names of chunks
};
[[nodiscard]] nlohmann::ordered_json array_document(const ArrayMetadata& array);
/// zarr.json of a group.
[[nodiscard]] nlohmann::ordered_json group_document(const nlohmann::ordered_json& attributes);

/// Numbers of that many bytes in this machine's order.
[[nodiscard]] nlohmann::ordered_json bytes_codec(std::int64_t element_bytes);
[[nodiscard]] nlohmann::ordered_json checksum_codec();
/// Those of a shard's index.
[[nodiscard]] nlohmann::ordered_json index_codecs();
/// The one codec of an array of shards, whose index ends them: `codecs` are those of their chunks.
[[nodiscard]] nlohmann::ordered_json sharding_codec(const std::vector<std::int64_t>& chunk,
                                                    const nlohmann::ordered_json& codecs);

/// A shard's index: where each chunk begins and how long it is, with CRC32C.
[[nodiscard]] std::int64_t index_bytes(std::int64_t num_chunks);
[[nodiscard]] std::vector<std::byte> shard_index(const std::vector<std::int64_t>& offsets_bytes,
                                                 const std::vector<std::int64_t>& lengths_bytes);

}  // namespace hakobi::format::zarr
