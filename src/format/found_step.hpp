#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/input_field.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
    /// Where the values begin in native byte order and C order; -1: only the HDF5 library finds them, for
    /// this reason.
    std::int64_t offset_bytes = -1;
    std::string why_library = {};
    bool is_of_mesh = false;  ///< a part of the mesh itself (mesh_arrays.hpp), by VTKHDF's name
    /// The file that has the values, in the same folder; "": the step's own. in_place_of_step in it stands
    /// for the step's number: the steps of a store share one description.
    std::string file = {};
    /// For a file with several steps, offset_bytes of each; empty where the field is static, or only the HDF5
    /// library finds them.
    std::vector<std::int64_t> offsets_of_steps = {};
};

constexpr std::string_view in_place_of_step = "\1";

/// FoundField::file of a step. Pure.
[[nodiscard]] std::string file_of(const FoundField& field, std::int64_t step);

/// Bytes of a file, without the last one.
struct FileRange {
    std::int64_t begin = 0, end = 0;
};

/// A step's file without its fields' values; or one of several steps, whose numbers follow that in the file's
/// name.
struct FoundStep {
    double time = 0;  ///< NaN where the file has none; of several steps the first one's
    /// Where the file has it, as a double in native byte order; -1: not known. Not in messages.
    std::int64_t time_offset_bytes = -1;
    /// The bytes that decide, with the file's size, all that is said here; empty: not known. Not in messages.
    std::vector<FileRange> decided_by = {};
    std::vector<double> times =
        {};  ///< of each step of a file that may have several; empty: there is one, at `time`
    std::string title, time_units;
    std::string calendar = {};  ///< calendar_of(time_units, what the file says)
    Attributes attributes = {};
    Attributes time_attributes =
        {};                  ///< of the variable time, but what the members above say; not in messages
    std::vector<Axis> axes;  ///< dimensions of fields; values where they have a coordinate variable
    std::vector<FoundField> fields;
};

/// How many steps the file has, and the time of one of them.
[[nodiscard]] inline std::int64_t num_steps_of(const FoundStep& found) {
    return found.times.empty() ? 1 : static_cast<std::int64_t>(found.times.size());
}
[[nodiscard]] inline double time_of(const FoundStep& found, std::int64_t step_in_file) {
    return found.times.empty() ? found.time : found.times[static_cast<std::size_t>(step_in_file)];
}

/// A step as bytes for messages, without its time or times, and back. decode_found returns internal for bytes
/// that are no encoding. Pure.
[[nodiscard]] std::vector<std::byte> encode_found(const FoundStep& step);
Result<FoundStep> decode_found(std::span<const std::byte> bytes);

/// The type that netCDF calls `name`; nothing where no field of ours has it.
[[nodiscard]] std::optional<ValueType> value_type_of(const std::string& name);

}  // namespace hakobi::format
