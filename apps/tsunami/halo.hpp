#pragma once

#include <array>
#include <cstdint>
#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <span>
#include <vector>

#include "field.hpp"

namespace hakobi::tsunami {

/// What lies beyond the region: `open` lets waves out (the outermost cell continues), `wall` reflects them.
enum class Boundary { open, wall };

/// A field and what becomes of its sign where a wall mirrors it (-1 for the momentum along the direction
/// exchanged).
struct HaloField {
    CellField* field;
    double wall_sign = 1;
};

/// Fills the ghost cells of a block of a 2-D decomposition (ranks in C order, as hakobi::split has them) from
/// its neighbours, or by the boundary rule where there is none.
class Halo {
  public:
    /// Local. `block` is this rank's of `dims[0]` x `dims[1]` blocks; each must have num_ghosts cells a side
    /// (`fits` says so). `comm` is lent.
    Halo(MPI_Comm comm, std::span<const int> dims, const Block& block, Boundary boundary);

    /// True when each of `dims` leaves every block at least num_ghosts cells. Local, pure.
    [[nodiscard]] static bool fits(std::span<const std::int64_t> global, std::span<const int> dims);

    /// The two columns west and east of the block, rows without ghosts. Collective.
    void exchange_columns(std::span<const HaloField> fields);
    /// The two rows south and north of the block, columns without ghosts. Collective.
    void exchange_rows(std::span<const HaloField> fields);

    [[nodiscard]] bool is_outer(int side) const {
        return neighbour_[static_cast<std::size_t>(side)] == MPI_PROC_NULL;
    }
    [[nodiscard]] Boundary boundary() const { return boundary_; }
    static constexpr int west = 0, east = 1, south = 2, north = 3;

  private:
    void swap(int low_side, int high_side, std::size_t count);

    MPI_Comm comm_;
    Boundary boundary_;
    std::int64_t num_rows_, num_columns_;
    std::array<int, 4> neighbour_;
    std::vector<double> send_low_, send_high_, receive_low_, receive_high_;
};

}  // namespace hakobi::tsunami
