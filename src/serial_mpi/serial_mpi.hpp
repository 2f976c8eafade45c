#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

// MPI for a process that runs alone, on machines without an MPI library: what libhakobi calls of it, for one
// rank, in the ABI of MPICH (decision 42). The wheel's Python package loads it where nothing says that the
// process is one of several. Like libhakobi it is called by one thread at a time.

namespace hakobi::serial_mpi {

/// Exports a function under MPI's second name too.
#define HAKOBI_ALSO_AS_PMPI(name) \
    extern "C" decltype(PMPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));

/// Where the bytes of one element of a datatype are, in the order of its type map.
struct Layout {
    struct Piece {
        MPI_Aint offset, length;
    };
    std::vector<Piece> pieces;
    MPI_Aint size_bytes = 0, lower = 0, upper = 0;

    [[nodiscard]] MPI_Aint extent() const { return upper - lower; }
    /// Elements one after the other are bytes without a hole.
    [[nodiscard]] bool is_dense() const {
        return pieces.size() == 1 && pieces[0].offset == 0 && pieces[0].length == extent();
    }
    /// Adds `count` elements of another type, the first at `offset`.
    void add(const Layout& element, MPI_Aint offset, MPI_Aint count);
};
/// Null for a handle that is none.
[[nodiscard]] std::shared_ptr<const Layout> layout_of(MPI_Datatype type);

/// Copy the bytes of `count` elements out of memory, and back; `unpack` returns how many bytes it took.
[[nodiscard]] std::vector<std::byte> pack(const void* memory, MPI_Aint count, const Layout& layout);
std::size_t unpack(std::span<const std::byte> bytes, void* memory, MPI_Aint count, const Layout& layout);
/// Both at once. Returns MPI_SUCCESS, or MPI_ERR_TRUNCATE where there is no room for all.
int copy(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
         MPI_Datatype to_type);

void set_status(MPI_Status* status, int tag, std::size_t num_bytes, int error = MPI_SUCCESS);

/// A request that is complete already: nonblocking collectives of one rank.
[[nodiscard]] MPI_Request completed();

/// Reports a call that would wait for another rank for ever, and ends the process.
[[noreturn]] void end_stuck(const char* call);

/// An error code of a class of MPI's, with errno's reason in it.
[[nodiscard]] int error_of_errno(int number);

}  // namespace hakobi::serial_mpi
