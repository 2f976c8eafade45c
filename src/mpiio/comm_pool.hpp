#pragma once

#include <cstdint>
#include <functional>
#include <hakobi/comm.hpp>
#include <memory>

#include "base/status.hpp"
#include "base/thread.hpp"

namespace hakobi::mpiio {

/// The drop-in's own communicators for an open file. They are made once and used for one file after another,
/// since an engine's buffers and threads belong to its Comm (io/crew.hpp), and making them anew costs more
/// than writing a small file. Where many files are open at once, several files share them; their calls come
/// in one order then.
struct FileComm {
    MPI_Comm comm = MPI_COMM_NULL;  ///< a duplicate of the program's: the ranks agree by it
    Comm engine;                    ///< made by the first collective access, or by `make_queue_comm`
    Comm queue;  ///< apart from MPI, for the operation queue of one file; made by `make_queue_comm`
    CoreSet queue_cores = {};
    /// The same on all its ranks, which order their communicators by them: the number of its first rank, and
    /// that rank's number for it.
    std::int64_t owner = 0, id = -1;
    bool is_kept = false;  ///< for another file, when the last one is closed
    int num_files = 0;     ///< how many use it now; guarded by the pool
};

/// Whether this process is between MPI_Init and MPI_Finalize. A program in sessions alone is not: nothing
/// could be kept for it, since no end of MPI comes that its communicators may last to, and Comm::duplicate
/// refuses it.
[[nodiscard]] bool has_world();

/// Whether several threads may be in calls of MPI at once.
[[nodiscard]] bool is_called_by_threads();

/// Takes a communicator over the ranks of `comm` for a file, and combines bit by bit what `flags_of` says on
/// each rank (a bit stays when all ranks have it): the combination is in `flags` on return. `flags_of` is
/// called with rank 0's `word`, after rank 0 has come to this call. Collective over `comm`. Returns null, on
/// all ranks, where `flags` lacks a bit of `needed` and where no more communicators can be made.
///
/// The pool is the process's, not the communicator's: HDF5 and PnetCDF duplicate the program's communicator
/// for every file. So ranks may come with different communicators of equal groups from several threads at
/// once, and see the pool in different states: the first rank proposes, and what one rank cannot take is not
/// taken.
[[nodiscard]] std::shared_ptr<FileComm> take_comm(MPI_Comm comm, std::int64_t word, unsigned needed,
                                                  const std::function<unsigned(std::int64_t)>& flags_of,
                                                  unsigned& flags);

/// Makes `comm.engine` where it is not there. Collective over it. The MPI library may have no communicator
/// left: the same error on all ranks.
Status make_engine_comm(FileComm& comm);
/// Makes `comm.queue` where it is not there. Collective over it. Returns whether it is there, alike on all
/// ranks of a node.
[[nodiscard]] bool make_queue_comm(FileComm& comm);

/// Gives it back; collective over it where it is not kept and no other file uses it. Kept ones are freed when
/// MPI_Finalize begins (mpi/at_finalize.hpp). They cannot be left to MPI_Finalize itself: Open MPI frees
/// windows there by waiting for their other ranks, in the order of its own table, which differs between ranks
/// after several threads or groups have made some.
void give_back(const std::shared_ptr<FileComm>& comm);

}  // namespace hakobi::mpiio
