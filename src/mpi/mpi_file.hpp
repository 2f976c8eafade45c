#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/hints.hpp>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "region/region.hpp"

namespace hakobi::mpi {

/// A file that all ranks of a Comm write with the MPI library's own collective MPI-IO. Each call returns what
/// this rank met: a failed file call is an error like any other, and the caller agrees on it (house rule: the
/// rank stays in the collective). `hints` become the MPI_Info of the file.
class MpiFile {
  public:
    /// Collective; `hints` equal on all ranks. The file must exist. Where it fails on some rank no rank may
    /// use or close the file; a handle that a library gave to others all the same is left to MPI_Finalize,
    /// since closing is collective.
    static Status open(const Comm& comm, const std::string& path, const Hints& hints,
                       std::unique_ptr<MpiFile>& file);

    MpiFile(const MpiFile&) = delete;
    MpiFile& operator=(const MpiFile&) = delete;

    /// Collective: writes the n-th byte of `memory` (by address) to the n-th byte of `file` (from the file's
    /// start; ordered). `num_rounds` collective writes of at most `round_bytes` a rank are made, both equal
    /// on all ranks: no less than any rank's bytes need, else `internal`.
    Status write_region_all(const Region& file, const Region& memory, std::int64_t num_rounds,
                            std::int64_t round_bytes = most_round_bytes);
    Status sync_all();   ///< Collective.
    Status close_all();  ///< Collective; the object takes no further call.

    /// MPI-IO counts bytes in an int, if not at its interface then inside: no single write comes near 2^31.
    static constexpr std::int64_t most_round_bytes = 1 << 30;

  private:
    explicit MpiFile(MPI_File file) : file_(file) {}
    Status write_at_all(std::int64_t offset, const Region& memory);
    MPI_File file_;
};

/// The datatype of a region's bytes, displacements from its origin, also where a count is more than an MPI
/// call takes (`largest_count`). The caller frees it. MPI_DATATYPE_NULL for an empty region.
[[nodiscard]] MPI_Datatype datatype_of(const Region& region, std::int64_t largest_count = INT_MAX);

}  // namespace hakobi::mpi
