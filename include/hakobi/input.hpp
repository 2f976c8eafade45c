#pragma once

#include <cstdint>
#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/device.hpp>
#include <hakobi/export.hpp>
#include <hakobi/hints.hpp>
#include <hakobi/input_field.hpp>
#include <hakobi/output.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// A field, or a block of it, to be read, and the memory for its values. Corresponds to Field.
struct FieldRead {
    using Data =
        std::variant<std::span<double>, std::span<float>, std::span<std::int32_t>, std::span<std::int64_t>,
                     std::span<std::int8_t>, std::span<std::uint8_t>, std::span<std::int16_t>,
                     std::span<std::uint16_t>, std::span<std::uint32_t>, std::span<std::uint64_t>>;
    std::string name;        ///< equal on all ranks
    std::int64_t step = -1;  ///< one of Input::steps(); -1: the last. Equal on all ranks
    /// The part of the field that this rank reads; `global` is the field's shape. The decomposition need not
    /// be the writer's, and the ranks' blocks may overlap. Empty: the whole field.
    Block block = {};
    /// Memory of the field's type, in native byte order. Values in C order without gaps, unless `ghosts` or
    /// `strides` is given.
    Data data;
    /// Layers of ghost elements around the block in memory, one entry per dimension. `data` is the array
    /// including them; they are not changed. (To fill them, read a block that includes them.)
    std::vector<std::int64_t> ghosts = {};
    /// Distance between neighbouring elements in memory, in elements, one entry of at least 1 per dimension.
    /// No two elements may coincide. `data` begins with the block's first element.
    std::vector<std::int64_t> strides = {};
    /// Where `data` is; device memory is written after what `stream` holds at the call, and before `read`
    /// returns.
    Memory memory = Memory::automatic;
    DeviceStream stream = nullptr;
};

/// Size of a step's mesh, and its number of pieces: one per rank that wrote it.
struct InputMesh {
    std::int64_t num_points = 0, num_cells = 0, num_pieces = 0;
    std::string points_type;  ///< "double" or "float"
    bool has_ghosts = false;  ///< some cells are copies, marked by the field vtkGhostType
};

/// A rank's share of a mesh that was read: consecutive pieces, renumbered from 0.
struct MeshPart {
    /// Position among all points and cells. To read a field on cells use the block {{num_cells},
    /// {first_cell}, {types.size()}}, with a second dimension if the field has components.
    std::int64_t first_point = 0, first_cell = 0;
    std::int64_t first_piece = 0, num_pieces = 0;
    std::vector<double> points;  ///< x, y, z of each point
    std::vector<std::int64_t> connectivity;
    std::vector<std::int64_t> offsets;  ///< number of cells + 1 entries, the first one 0
    std::vector<std::uint8_t> types;    ///< VTK's
    std::vector<std::uint8_t> ghosts;   ///< one per cell, if the mesh has them
};

/// Options of Input::open; equal on every rank.
struct InputOptions {
    Hints hints = {};  ///< MPI-IO's and Hakobi's (hints.hpp)
};

/// Reads a series that Output wrote: complete steps, and pieces of `per-process` that have not been gathered.
/// Files with such names from other programs are read too, if they are NetCDF-4 or plain HDF5.
///
///     auto in = hakobi::Input::open(comm, "run");                     // collective
///     in.read({.name = "eta", .step = 3, .block = block, .data = eta});  // collective
///     in.close();                                                     // collective
///
/// The engine reads contiguous values in native byte order. All others (chunks, compression, another byte
/// order) are read by every rank through the serial HDF5 library; `explain` tells which applies. Opened
/// without a communicator, an Input belongs to one process and does not call MPI.
///
/// Errors: a collective call throws the same Error on every rank or on none. The object stays usable.
class HAKOBI_EXPORT Input {
  public:
    /// Collective over `comm`; `prefix` and `options` equal on all ranks. Finds the steps that exist at this
    /// time and reads their metadata; the ranks share the work. Steps of a killed run whose values were all
    /// stored are completed before, and the others named on stderr (docs/steps.md, "What end_step
    /// promises"), where this process may lock the prefix. What is not complete is left out, as are steps of
    /// a run that still writes. Throws not_found if the prefix has no complete step; format for a
    /// file that is truncated, of another kind, or newer than this library.
    [[nodiscard]] static Input open(const Comm& comm, std::string_view prefix, InputOptions options = {});
    /// The same for this process alone; no call on the object is collective.
    [[nodiscard]] static Input open(std::string_view prefix);

    Input(Input&&) noexcept;
    Input& operator=(Input&&) noexcept;
    ~Input();  ///< never communicates

    /// The steps' numbers, ascending, possibly with gaps, and their times in time_units(), the last step's;
    /// NaN if a file has no time, or counts it from another date or in another unit or calendar.
    [[nodiscard]] std::span<const std::int64_t> steps() const;
    [[nodiscard]] std::span<const double> times() const;
    [[nodiscard]] const std::string& time_units() const;
    /// CF's name for the calendar of time_units(): "standard" if the file names none, "" if times do not
    /// count from a date.
    [[nodiscard]] const std::string& calendar() const;

    /// Contents of a step (-1: the last), in the file's order. Local; throws not_found if the step does not
    /// exist.
    [[nodiscard]] const std::vector<InputField>& fields(std::int64_t step = -1) const;
    [[nodiscard]] const std::vector<Axis>& axes(std::int64_t step = -1) const;
    [[nodiscard]] const Attributes& attributes(std::int64_t step = -1) const;
    /// The field of that name. Local; throws not_found, naming the nearest one, if it does not exist.
    [[nodiscard]] const InputField& field(std::string_view name, std::int64_t step = -1) const;

    /// Reads a block of a field into memory. Collective. Throws not_found for a step or field that does not
    /// exist; invalid_argument for a block outside the field, memory of another type or size, or ranks that
    /// ask for different fields; format for a file that has become shorter. Pieces read like their gathered
    /// file: elements that no rank put are the fill value, or 0. After an error the memory's contents are
    /// undefined.
    void read(const FieldRead& read);
    /// The same for this rank alone: the others need not read, and nothing is communicated. For reads that
    /// ranks do at different times or not at all; where all read, `read` is faster, since neighbours share
    /// accesses. Local; errors are thrown here alone.
    void read_independent(const FieldRead& read);
    /// The step's mesh. Local; throws not_found if it has none.
    [[nodiscard]] InputMesh mesh(std::int64_t step = -1) const;
    /// Reads this rank's share of the step's mesh: consecutive whole pieces, distributed so that the ranks
    /// have similar numbers of cells. The number of ranks need not be the writer's. Collective; `step` equal
    /// on all ranks. Errors as for `read`; format for inconsistent numbers.
    [[nodiscard]] MeshPart read_mesh(std::int64_t step = -1);

    /// For language bindings whose own checks fail before they can call read: takes part in the other ranks'
    /// read, and all ranks throw invalid_argument with this reason. Collective.
    void refuse(std::string_view reason);

    /// How `read` reads a field's values, in one line. Local.
    [[nodiscard]] std::string explain(std::string_view name, std::int64_t step = -1) const;

    /// Releases everything. Collective; calling it again does nothing.
    void close();

  private:
    struct Impl;
    explicit Input(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace hakobi
