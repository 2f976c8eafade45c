#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/step.hpp"
#include "mpi/agree.hpp"
#include "output/held_field.hpp"
#include "output/mesh_piece.hpp"

namespace hakobi::output {

/// The arrays of a step: what the file says of each, and this rank's part of it.
struct Arrays {
    std::vector<format::FieldDescription> fields;
    std::vector<HeldField> held;  ///< one a field
};

/// The mesh of an Output. Every rank has a piece of the file's mesh, and numbers its points itself: no rank
/// knows more of the others than how much those before it have.
class MeshState {
  public:
    /// Where steps find a mesh that they share: in a file of its own; beside them, in a file that takes
    /// several; or in the first such file of those that have it.
    enum class Home : std::uint8_t { own_file, beside_steps, in_steps_file };
    explicit MeshState(Home home) : home_(home) {}

    /// This rank's, to which the program puts.
    [[nodiscard]] MeshPiece& piece() noexcept { return piece_; }
    [[nodiscard]] const MeshPiece& piece() const noexcept { return piece_; }

    /// Collective: whether all ranks put the same of the mesh in this step and none has found a mistake
    /// (`local`), and where each rank's part begins.
    mpi::Agreed agree(const Comm& comm, const Status& local) noexcept;

    // After that; local.
    /// Whether this step's mesh goes into a file of its own, of those arrays.
    [[nodiscard]] bool needs_file() const noexcept;
    [[nodiscard]] Arrays arrays_of_file() const;
    /// That file, as long as steps link to it.
    void set_file(std::string name) { file_ = std::move(name); }
    /// The mesh in a step's own file: arrays, some of which another file has. In a file that takes several
    /// steps those that the steps share are static, and stored where the mesh was put.
    [[nodiscard]] Arrays arrays_of_step() const;
    /// `file` begins with this step. `fields`: with arrays_of_step. With Home::in_steps_file the file has the
    /// mesh, or is told which file does.
    void begin_steps_file(const std::string& file, std::span<format::FieldDescription> fields);
    /// The step goes to a file that has earlier ones; of a resumed run's first step it has the mesh.
    void go_on_in_steps_file(const std::string& file);
    /// Gives a field on the mesh, put with this rank's elements alone, its place among all ranks'.
    void place(format::FieldDescription& field, HeldBlock& block) const;

  private:
    void add_piece_counts(Arrays& arrays) const;
    void add_cells(Arrays& arrays) const;
    void add_points(Arrays& arrays) const;
    /// A checksum that tells this rank's part from another of its size.
    [[nodiscard]] std::int64_t checksum_of_mine() const;
    void add(Arrays& arrays, std::string_view name, format::Place place, format::ValueType type, Block block,
             const void* first) const;

    MeshPiece piece_;
    format::ValueType points_type_ = format::ValueType::float64;
    bool has_ghosts_ = false;              // on some rank
    std::vector<std::uint8_t> no_ghosts_;  // of this rank's cells, where others have some
    Home home_;
    std::int64_t checksum_ = 0;  // of Home::in_steps_file: all ranks'
    std::string file_;
    /// Where this rank's piece is among all ranks'.
    struct Among {
        MeshCounts all, before;
        int rank = 0, num_ranks = 1;
    } among_;
};

}  // namespace hakobi::output
