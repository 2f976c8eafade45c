#pragma once

#include <cstdint>
#include <hakobi/attribute.hpp>
#include <hakobi/block.hpp>
#include <hakobi/device.hpp>
#include <hakobi/mesh.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// The types of a field's values, in the order of Field::Data's alternatives.
enum class ValueType : std::uint8_t {
    float64 = 0,
    float32 = 1,
    int32 = 2,
    int64 = 3,
    int8 = 4,
    uint8 = 5,
    int16 = 6,
    uint16 = 7,
    uint32 = 8,
    uint64 = 9
};

/// A field as all its steps have it (Output::define); equal on every rank.
struct FieldDefinition {
    std::string name;  ///< letters, digits, underscore
    std::string units = "1";
    std::string long_name = {};
    std::string standard_name = {};  ///< CF's, or ""
    ValueType type = ValueType::float64;
    /// The array's extents, slowest first. Empty: each step's blocks say them, and define cannot check them;
    /// also for scalars and fields on the mesh.
    std::vector<std::int64_t> global = {};
    /// Names of the dimensions, slowest first. A name that is no axis of OutputOptions gets no coordinate
    /// variable. Empty: see OutputOptions::axes.
    std::vector<std::string> dims = {};
    /// Override OutputOptions for this field; "" and 0 do not. 52 keeps all bits.
    std::string compression = {};
    int significant_bits = 0;
    /// Further attributes, CF's or your own: "valid_range", "cell_methods", "flag_meanings", …
    Attributes attributes = {};
    /// Value of elements that no rank puts, of the field's type; readers treat it as missing (`_FillValue`).
    /// Unset: NaN for real types; for integers 0, and no `_FillValue`.
    std::optional<FillValue> fill_value = {};
    /// Fields of the same step that are this field's coordinates (CF's attribute): {"lat", "lon"}, both
    /// two-dimensional.
    std::vector<std::string> coordinates = {};
    /// Constant in time: the field has no time dimension. Once put, it is in this step's file and in all
    /// later files; each rank keeps a copy of its part. Put again, it changes from that step on; not in the
    /// format zarr, where it is one array: other values are invalid_argument.
    bool is_static = false;
    /// points, cells: a field on the mesh (Output::put_mesh). A name is either a point field or a cell field.
    On on = On::grid;
    std::int64_t components = 1;  ///< on the mesh: 3 for a vector, 9 for a tensor (row by row)
    /// The type in files, of values of float64 or float32: "float32"; "float64": as in memory; or integers
    /// that CF's scale_factor and add_offset turn into values, "int16:range=180..330" or
    /// "int16:scale_factor=0.01,add_offset=273.15" (also int8, uint8, uint16, int32; not with vtkhdf). Values
    /// are rounded to nearest. One that does not fit is an error of end_step; with ",saturate" (":saturate"
    /// behind float32) it is stored as the least or greatest. NaNs and fill_value are an integer's
    /// `_FillValue`. Takes memory for this rank's stored values. "": OutputOptions::store_as.
    std::string store_as = {};
};

/// A field that Output::define has defined: a number, of use to its Output alone. FieldId{} is none.
enum class FieldId : std::int64_t {};

/// How the values of a block lie in memory.
struct MemoryLayout {
    /// Layers of ghost elements around the block, one entry per dimension. `data` is the array including
    /// them; they are not written.
    std::vector<std::int64_t> ghosts = {};
    /// Distance between neighbouring elements, in elements, one non-negative entry per dimension; on the mesh
    /// between elements and between components. `data` begins with the block's first element and includes its
    /// last.
    std::vector<std::int64_t> strides = {};
    /// Where `data` is: device memory is copied straight to where it is stored from, ghosts and strides on
    /// the way.
    Memory memory = Memory::automatic;
    /// Device memory: the stream whose work makes the values. They are copied when what it holds at `put` is
    /// done.
    DeviceStream stream = nullptr;
};

/// A field and this rank's block of it, described with each step: FieldDefinition and MemoryLayout say what
/// the members mean.
struct Field {
    using Data = std::variant<std::span<const double>, std::span<const float>, std::span<const std::int32_t>,
                              std::span<const std::int64_t>, std::span<const std::int8_t>,
                              std::span<const std::uint8_t>, std::span<const std::int16_t>,
                              std::span<const std::uint16_t>, std::span<const std::uint32_t>,
                              std::span<const std::uint64_t>>;
    std::string name;
    std::string units = "1";
    std::string long_name = {};
    std::string standard_name = {};
    std::vector<std::string> dims = {};
    std::string compression = {};
    int significant_bits = 0;
    /// This rank's part; `global` equal on all ranks. A rank with several blocks puts each under the same
    /// name; a rank with none puts an empty block.
    Block block;
    Data data;  ///< its type is the field's, which store_as may change in files
    std::vector<std::int64_t> ghosts = {};
    std::vector<std::int64_t> strides = {};
    Memory memory = Memory::automatic;
    DeviceStream stream = nullptr;
    Attributes attributes = {};
    std::optional<FillValue> fill_value = {};
    std::vector<std::string> coordinates = {};
    bool is_static = false;
    On on = On::grid;
    std::int64_t components = 1;
    std::string store_as = {};
};

}  // namespace v0
}  // namespace hakobi
