#pragma once

#include <cstddef>
#include <fstream>
#include <memory>
#include <span>
#include <string>

#include "io/engine.hpp"
#include "pattern.hpp"

namespace hakobi::bench {

/// One way to move a pattern between memory and a file. Collective calls; all of them are timed, `move` also
/// alone.
class Transfer {
  public:
    virtual ~Transfer() = default;
    /// Makes the file that is then opened for writing: empty, with the layout that this way would give it.
    /// Rank 0's, not timed.
    virtual void make(const std::string& path) { std::ofstream(path, std::ios::binary | std::ios::app); }
    /// Opens `path`, which rank 0 has made (empty for writing).
    virtual void open(const std::string& path, bool is_write) = 0;
    /// All of this rank's part, contiguous in `data`.
    virtual void move(std::span<std::byte> data) = 0;
    virtual void close() = 0;
    [[nodiscard]] virtual const std::string& name() const = 0;
};

/// Hakobi's engine with these hints.
std::unique_ptr<Transfer> engine_transfer(std::string name, const Comm& comm, const Pattern& pattern,
                                          const Hints& hints);
/// The MPI library's own MPI-IO: MPI_File_set_view and write_all / read_all with these hints.
std::unique_ptr<Transfer> mpi_io_transfer(std::string name, const Comm& comm, const Pattern& pattern,
                                          const Hints& hints);
/// The limit in the same minute: as many ranks as pay (`num_ranks` of them) move equal contiguous shares of
/// the file in large blocks, several in flight where the storage makes them wait, out of memory of the same
/// size as everybody's.
std::unique_ptr<Transfer> floor_transfer(const Comm& comm, const Pattern& pattern, int num_ranks);

}  // namespace hakobi::bench
