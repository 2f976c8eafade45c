#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "format/step.hpp"

namespace hakobi::format::zarr {

/// A field as an array of a Zarr group, without its values. Where Zarr 3 counts time as the first dimension,
/// time is left out here: each step is one shard (a chunk, where it holds one only), and so is all of a
/// static field.
struct Array {
    std::string name;
    ValueType type = ValueType::float64;
    bool has_time = true;
    std::vector<std::int64_t> shape;
    std::vector<std::string> dims = {};
    std::vector<std::int64_t> chunk = {};       ///< extents of what is packed and read together
    std::vector<std::int64_t> num_chunks = {};  ///< of a shard, in each dimension
    filter::Filters packing = {};               ///< of chunks
    std::optional<FillValue> fill = {};         ///< that readers take for no value
    Attributes attributes = {};                 ///< all, but for the fill value

    [[nodiscard]] std::int64_t num_chunks_in_all() const;
    [[nodiscard]] std::int64_t chunk_bytes() const;
    [[nodiscard]] bool is_packed() const { return packing.codec != filter::Codec::none; }
    [[nodiscard]] bool is_sharded() const { return num_chunks_in_all() > 1; }
    /// Whether the shard begins with all values in C order, as they are.
    [[nodiscard]] bool is_contiguous() const;
    /// "c.12.0.0": the shard of a step, or of a static field.
    [[nodiscard]] std::string key(std::int64_t step) const;
    /// The same with any text for the step's number.
    [[nodiscard]] std::string key(const std::string& step) const;

    /// Returns the array's zarr.json for a series of `num_steps`.
    [[nodiscard]] nlohmann::ordered_json to_json(std::int64_t num_steps) const;
    /// Back. unsupported, saying why, for arrays that are not made like these.
    static Result<Array> from_json(std::string name, const nlohmann::ordered_json& document);
};

/// The array that holds the values of a field; `dims` are its dimensions. Pure.
[[nodiscard]] Array array_of(const FieldDescription& field, std::vector<std::string> dims);

/// Attributes as Zarr's metadata have them, and back; what is neither text nor numbers is left out.
[[nodiscard]] nlohmann::ordered_json json_of(const Attributes& attributes, std::optional<ValueType> type);
[[nodiscard]] Attributes attributes_of(const nlohmann::ordered_json& object);

/// zarr.json of an array of reals in one dimension of its own name: time, or the coordinates of an axis.
[[nodiscard]] nlohmann::ordered_json line_of(const std::string& name, std::int64_t length,
                                             std::int64_t chunk_length, const Attributes& attributes);

}  // namespace hakobi::format::zarr
