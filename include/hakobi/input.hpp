#pragma once

#include <cstdint>
#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <hakobi/hints.hpp>
#include <hakobi/output.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hakobi {

/// What a step says of one of its fields.
struct InputField {
    std::string name;
    std::string type;                 ///< as ncdump calls it: "double", "float", "int", "int64", …
    std::vector<std::string> dims;    ///< names of its dimensions, slowest first, time left out
    std::vector<std::int64_t> shape;  ///< their lengths
    bool is_static = false;           ///< without the dimension time
    Attributes attributes = {};       ///< "units", "long_name", "standard_name", …
    On on = On::grid;                 ///< points or cells: a field on the mesh, shape (n) or (n, components)
    /// A NaN among the attributes is equal to itself: `_FillValue` often is one.
    HAKOBI_EXPORT friend bool operator==(const InputField& a, const InputField& b);
};

/// A field, or a block of it, and the memory that gets its values: the twin of Field.
struct FieldRead {
    using Data =
        std::variant<std::span<double>, std::span<float>, std::span<std::int32_t>, std::span<std::int64_t>,
                     std::span<std::int8_t>, std::span<std::uint8_t>, std::span<std::int16_t>,
                     std::span<std::uint16_t>, std::span<std::uint32_t>, std::span<std::uint64_t>>;
    std::string name;        ///< equal on all ranks
    std::int64_t step = -1;  ///< a number of Input::steps(); -1: the last. Equal on all ranks
    /// What this rank wants of the field, by whatever decomposition: blocks may overlap, and nobody need have written with
    /// the same. `global` is the field's shape. Left out: the whole field.
    Block block = {};
    /// Memory of the field's own type, native byte order. Values stand in C order without gaps, unless one of the next says
    /// else.
    Data data;
    /// Layers of other elements around the block in memory, one entry a dimension: `data` is the array with them. They are
    /// left as they are. (A block that includes its neighbours' elements fills them.)
    std::vector<std::int64_t> ghosts = {};
    /// Elements from one element of the block to the next in memory, one entry a dimension, at least 1, and such that no
    /// two meet: `data` begins with the block's first element.
    std::vector<std::int64_t> strides = {};
};

/// How large the mesh of a step is, and in how many pieces it lies: one a rank that wrote it.
struct InputMesh {
    std::int64_t num_points = 0, num_cells = 0, num_pieces = 0;
    std::string points_type;  ///< "double" or "float"
    bool has_ghosts = false;  ///< some cells are copies of others: the field vtkGhostType says which
};

/// A rank's share of a mesh that was read: whole pieces, one after the other, which together are numbered from 0.
struct MeshPart {
    /// Where it stands among all points and cells: a field on cells is read with the block {{num_cells}, {first_cell},
    /// {types.size()}}, and a second dimension where it has components.
    std::int64_t first_point = 0, first_cell = 0;
    std::int64_t first_piece = 0, num_pieces = 0;
    std::vector<double> points;  ///< x, y, z of one after the other
    std::vector<std::int64_t> connectivity;
    std::vector<std::int64_t> offsets;  ///< one more than there are cells, from 0
    std::vector<std::uint8_t> types;    ///< VTK's
    std::vector<std::uint8_t> ghosts;   ///< one a cell where the mesh has them
};

/// What Input::open takes; equal on every rank.
struct InputOptions {
    Hints hints = {};  ///< MPI-IO's names and ours (hints.hpp)
};

/// Reads a series that Output wrote: whole steps, and pieces of `per-process` that are not gathered. Files of others that
/// have such names are read too, where they are NetCDF-4 or plain HDF5.
///
///     auto in = hakobi::Input::open(comm, "run");                     // collective
///     in.read({.name = "eta", .step = 3, .block = block, .data = eta});  // collective
///     in.close();                                                     // collective
///
/// Contiguous values of native byte order are read by the engine, all others (chunks, compression, another byte order) by
/// every rank through the serial HDF5 library; `explain` says which. Without a communicator it is one process's own, and
/// nothing of MPI is called.
///
/// Errors: every collective call throws the same Error on every rank or none, and the object can be used on.
class HAKOBI_EXPORT Input {
  public:
    /// Collective over `comm`; `prefix` and `options` equal on all ranks. Finds the steps that are there now and reads what
    /// each says of itself, the ranks sharing the work. A step that is not whole (a killed run, a run that writes it) is
    /// left out. not_found where the prefix has no whole step; format for a file that is torn, of another kind, or newer
    /// than this library.
    [[nodiscard]] static Input open(const Comm& comm, std::string_view prefix, InputOptions options = {});
    /// The same for this process alone: no other takes part in any call.
    [[nodiscard]] static Input open(std::string_view prefix);

    Input(Input&&) noexcept;
    Input& operator=(Input&&) noexcept;
    ~Input();  ///< never communicates

    /// The steps' numbers, ascending, not always without gaps, and their times in time_units(); NaN where a file has none.
    [[nodiscard]] std::span<const std::int64_t> steps() const;
    [[nodiscard]] std::span<const double> times() const;
    [[nodiscard]] const std::string& time_units() const;

    /// What a step (-1: the last) has, in the file's order. Local; not_found for a step that is not there.
    [[nodiscard]] const std::vector<InputField>& fields(std::int64_t step = -1) const;
    [[nodiscard]] const std::vector<Axis>& axes(std::int64_t step = -1) const;
    [[nodiscard]] const Attributes& attributes(std::int64_t step = -1) const;
    /// The field of that name. Local; not_found, naming the nearest, where there is none.
    [[nodiscard]] const InputField& field(std::string_view name, std::int64_t step = -1) const;

    /// Reads a field's block into memory. Collective. not_found for a step or field that is not there; invalid_argument for
    /// a block outside the field, memory of another type or size, or ranks that ask for different fields; format for a
    /// file that has become shorter. Pieces give what their file would have: zero where no rank put. After an error the memory may hold
    /// anything.
    void read(const FieldRead& read);
    /// The step's mesh. Local; not_found where it has none.
    [[nodiscard]] InputMesh mesh(std::int64_t step = -1) const;
    /// Reads this rank's share of the step's mesh: pieces that follow each other, so that the ranks have about as many cells
    /// each as whole pieces allow. The number of ranks need not be the writers'. Collective; `step` equal on all ranks. Errors
    /// as read's; format for numbers that do not fit each other.
    [[nodiscard]] MeshPart read_mesh(std::int64_t step = -1);

    /// In the place of read where the caller has no memory to offer: all ranks throw invalid_argument with this reason. For
    /// bindings, whose own checks come before read's. Collective.
    void refuse(std::string_view reason);

    /// How `read` gets at a field's values, in one line. Local.
    [[nodiscard]] std::string explain(std::string_view name, std::int64_t step = -1) const;

    /// Releases everything. Collective; calling it again does nothing.
    void close();

  private:
    struct Impl;
    explicit Input(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace hakobi
