#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/input_field.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/step.hpp"

namespace hakobi::format {

/// A field of a file, and where its values are.
struct FoundField {
    InputField shown;
    std::optional<ValueType> type;  ///< nothing: a type that no field of ours has
    std::string link;               ///< its name in the file where that is not shown.name
    bool has_record = false;        ///< the file's array has one record of time before shown.shape
    /// Where the values begin in native byte order and C order; -1: only the HDF5 library finds them, for this reason.
    std::int64_t offset_bytes = -1;
    std::string why_library = {};
    bool is_of_mesh = false;  ///< a part of the mesh itself (mesh_arrays.hpp), by VTKHDF's name
    std::string file = {};    ///< that has the values, of the same folder; "": the step's own
};

/// A step's file without its fields' values.
struct FoundStep {
    double time = 0;  ///< NaN where the file has none
    std::string title, time_units;
    std::string calendar = {};  ///< calendar_of(time_units, what the file says)
    Attributes attributes = {};
    std::vector<Axis> axes;  ///< dimensions of fields; values where they have a coordinate variable
    std::vector<FoundField> fields;
};

/// A step as bytes for messages, without its time, and back. decode_found returns internal for bytes that are no encoding. Pure.
[[nodiscard]] std::vector<std::byte> encode_found(const FoundStep& step);
Result<FoundStep> decode_found(std::span<const std::byte> bytes);

/// The type that netCDF calls `name`; nothing where no field of ours has it.
[[nodiscard]] std::optional<ValueType> value_type_of(const std::string& name);

}  // namespace hakobi::format
