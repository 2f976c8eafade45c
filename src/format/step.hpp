#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/axis.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "filter/filters.hpp"
#include "format/attributes.hpp"

namespace hakobi::format {

inline constexpr ValueType last_value_type = ValueType::uint64;

[[nodiscard]] std::int64_t bytes_of(ValueType type);
/// "double", "float", "int", "int64", "byte", …: netCDF's names.
[[nodiscard]] std::string_view name_of(ValueType type);

/// The type's 0; nothing for a number that is no type.
[[nodiscard]] std::optional<FillValue> zero_of(ValueType type);
/// The value of elements that nobody puts, where the caller names none: NaN for real types, nothing for
/// integers.
[[nodiscard]] std::optional<FillValue> default_fill(ValueType type);

/// Where a file has an array: on axes, on the points or cells of a mesh, or as part of the mesh itself.
enum class Place : std::uint8_t { grid = 0, points = 1, cells = 2, mesh = 3 };

/// "on a grid", "on points", …
[[nodiscard]] std::string_view text_of(Place place);

/// The description of one field in a file, without its values and the ranks that hold them.
struct FieldDescription {
    std::string name, units, long_name, standard_name;
    ValueType type = ValueType::float64;
    std::vector<std::int64_t> global;    ///< extents, slowest first
    std::vector<std::string> dims = {};  ///< their dimensions' names, or none
    filter::Filters filters = {};        ///< how its values are stored
    Attributes attributes = {};
    std::optional<FillValue> fill_value = {};  ///< of `type`
    std::vector<std::string> coordinates = {};
    bool is_static = false;  ///< without the dimension time
    Place place = Place::grid;
    /// Not "": this file of the same folder has the values, in an array of the same name and place.
    std::string file = {};

    [[nodiscard]] std::int64_t num_elements() const;  ///< of one that check_description accepted
    /// In the step's file.
    [[nodiscard]] std::int64_t size_bytes() const {
        return file.empty() ? num_elements() * bytes_of(type) : 0;
    }
    friend bool operator==(const FieldDescription& a, const FieldDescription& b);
};

/// Everything that decides the bytes of a step's file but the fields' values: equal descriptions give equal
/// files.
struct StepDescription {
    std::string title, time_units;
    double time = 0;
    std::vector<Axis> axes;
    std::vector<FieldDescription> fields;
    Attributes attributes = {};
    std::string calendar = {};        ///< of time_units, CF's name for it; "": the default
    Attributes time_attributes = {};  ///< further ones of the variable time ("bounds")
    /// Static fields of the run's earlier steps, by name: a store (Format::store) takes the step only where
    /// it has them.
    std::vector<std::string> read_with = {};
};

/// CF's attribute: "lat lon".
[[nodiscard]] std::string coordinates_text(const FieldDescription& field);

/// The rules of check_description, which the step's format states (Format::rules).
struct Rules {
    /// A field's coordinates may be in any step so far; StoredFields knows these and checks them. Without it
    /// they are in the step, whose file stands alone.
    bool is_of_series = false;
    std::size_t most_attribute_bytes = 32 << 10;  ///< of one; an HDF5 object's header holds 64 KiB
};
/// Returns invalid_argument, naming the field, when a name, extent or text of the description cannot stand in
/// a file, or all fields together are larger than a file can be. Every other function that takes a
/// description relies on it, whoever made the description. Pure.
Status check_description(const StepDescription& step, const Rules& rules = {});

/// A description as bytes, which are equal for equal descriptions, and back. decode_step returns format for
/// bytes that are no encoding. Pure.
[[nodiscard]] std::vector<std::byte> encode_step(const StepDescription& step);
Result<StepDescription> decode_step(std::span<const std::byte> bytes);

/// Says in words how two descriptions of the same step differ ("field 2 is called u, not v"); "" when they
/// are equal. Pure.
[[nodiscard]] std::string difference(const StepDescription& mine, const StepDescription& other);

}  // namespace hakobi::format
