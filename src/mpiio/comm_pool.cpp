#include "mpiio/comm_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "io/crew.hpp"
#include "mpi/at_finalize.hpp"
#include "mpi/messages.hpp"
#include "node/apart.hpp"

namespace hakobi::mpiio {
namespace {

/// Communicators are few in an MPI library (2,048 in MPICH, a file takes up to five), and each may hold
/// buffers. So many are kept; files beyond share them, in programs that have one thread or groups of ranks
/// that have none get new ones; and files for which these would become too many are the library's.
constexpr std::size_t most_kept = 8, most = 64;

// Beside the callers' own flags in one all-reduce.
constexpr unsigned reserved = 1u << 30, has_room = 1u << 29, keeps = 1u << 28;

struct Pool {
    std::mutex mutex;
    std::vector<std::shared_ptr<FileComm>> comms;
    std::int64_t last_id = -1;
    [[nodiscard]] bool has_room_to_keep() const {
        return std::ranges::count_if(comms, [](const auto& comm) { return comm->is_kept; }) <
               static_cast<std::ptrdiff_t>(most_kept);
    }
};

Pool& pool() {
    static auto* const the_pool =
        new Pool;  // never destroyed: MPI_Finalize may come after static destructors
    return *the_pool;
}

bool same_ranks(MPI_Comm a, MPI_Comm b) {
    int result = MPI_UNEQUAL;
    return PMPI_Comm_compare(a, b, &result) == MPI_SUCCESS &&
           (result == MPI_CONGRUENT || result == MPI_IDENT);
}

/// Takes the one that fewest files use among those that fit; `may_share`: also where that is not none.
template <class Fits>
std::shared_ptr<FileComm> reserve(bool may_share, const Fits& fits) {
    const std::lock_guard lock(pool().mutex);
    std::shared_ptr<FileComm> taken;
    for (const std::shared_ptr<FileComm>& candidate : pool().comms) {
        if ((candidate->num_files == 0 || may_share) &&
            (taken == nullptr || candidate->num_files < taken->num_files) && fits(*candidate))
            taken = candidate;
    }
    if (taken != nullptr) ++taken->num_files;
    return taken;
}

void free(FileComm& comm) {
    comm.queue.free();
    comm.engine.free();
    PMPI_Comm_free(&comm.comm);
}

/// Each rank frees what it has in one order that is the same for all, so that none waits for another in a
/// circle. Communicators that a file still uses stay.
void free_all() {
    std::vector<std::shared_ptr<FileComm>> kept;
    {
        const std::lock_guard lock(pool().mutex);
        kept.swap(pool().comms);
    }
    std::erase_if(kept, [](const auto& comm) { return comm->num_files != 0; });
    std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
        return std::pair(a->owner, a->id) < std::pair(b->owner, b->id);
    });
    for (const std::shared_ptr<FileComm>& comm : kept) {
        free(*comm);
    }
}

/// Called before the first communicator is kept.
void free_all_at_finalize() {
    static std::once_flag once;
    std::call_once(once, [] { mpi::at_finalize(mpi::FinalizeStage::with_others, free_all); });
}

/// This process among all that may keep communicators, also among those that were started from MPI programs
/// and count from 0 again.
std::int64_t own_number() {
    int world_rank = 0;
    if (has_world()) PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    return (static_cast<std::int64_t>(world_rank) << 32) | static_cast<std::int64_t>(getpid());
}

/// Returns whether it is to be freed.
bool release(const std::shared_ptr<FileComm>& comm) {
    const std::lock_guard lock(pool().mutex);
    if (--comm->num_files != 0 || comm->is_kept) return false;
    std::erase(pool().comms, comm);
    return true;
}

/// MPI_COMM_NULL on all ranks where no more can be made. A program's error handler is not asked; it stays
/// where other threads may meet it.
MPI_Comm split(MPI_Comm comm, int rank) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    const bool is_quiet =
        has_world() && !is_called_by_threads() && PMPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS;
    if (is_quiet) PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    // Split, since a duplicate would call the program's functions that copy attributes, and those that delete
    // them when it is freed, which may be in MPI_Finalize. A program's error handler would be inherited.
    MPI_Comm made = MPI_COMM_NULL;
    if (PMPI_Comm_split(comm, 0, rank, &made) != MPI_SUCCESS) made = MPI_COMM_NULL;
    if (is_quiet) {
        PMPI_Comm_set_errhandler(comm, handler);
        PMPI_Errhandler_free(&handler);
    }
    if (made != MPI_COMM_NULL) PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}

}  // namespace

bool has_world() {
    int initialized = 0, finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    return initialized != 0 && finalized == 0;
}

bool is_called_by_threads() {
    int level = MPI_THREAD_SINGLE;
    return PMPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
}

std::shared_ptr<FileComm> take_comm(MPI_Comm comm, std::int64_t word, unsigned needed,
                                    const std::function<unsigned(std::int64_t)>& flags_of, unsigned& flags) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    std::shared_ptr<FileComm> taken;
    // The proposed communicator's number, that of one to be made, their owner, and the word.
    std::array<std::int64_t, 4> ids = {-1, -1, 0, word};
    const bool may_keep = has_world(), may_share = may_keep && !is_called_by_threads();
    if (rank == 0) {
        const auto fits = [comm](const FileComm& candidate) { return same_ranks(candidate.comm, comm); };
        if (may_keep) taken = reserve(false, fits);
        std::unique_lock lock(pool().mutex);
        ids[1] = ++pool().last_id;
        ids[2] = own_number();
        const bool is_full = !pool().has_room_to_keep();
        lock.unlock();
        if (taken == nullptr && may_share && is_full) taken = reserve(true, fits);
        ids[0] = taken != nullptr ? taken->id : -1;
    }
    PMPI_Bcast(ids.data(), static_cast<int>(ids.size()), MPI_INT64_T, 0, comm);
    if (rank != 0 && ids[0] >= 0 && may_keep) {
        taken = reserve(may_share, [&ids](const FileComm& candidate) {
            return candidate.id == ids[0] && candidate.owner == ids[2];
        });
    }
    unsigned room = 0;
    {
        const std::lock_guard lock(pool().mutex);
        if (pool().comms.size() < most) room = has_room;
        if (may_keep && pool().has_room_to_keep()) room |= keeps;
    }
    unsigned mine = flags_of(ids[3]) | (taken != nullptr ? reserved : 0) | room;
    unsigned all = 0;
    const bool is_agreed = PMPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_BAND, comm) == MPI_SUCCESS;
    flags = all & ~(reserved | has_room | keeps);
    const bool is_needed = is_agreed && (all & needed) == needed;
    if (taken != nullptr && (!is_needed || (all & reserved) == 0)) {
        (void)release(taken);  // which may be one that is not kept: then another file uses it
        taken = nullptr;
    }
    if (taken != nullptr || !is_needed || (all & has_room) == 0) return taken;
    MPI_Comm made = split(comm, rank);
    if (made == MPI_COMM_NULL) return nullptr;
    taken = std::make_shared<FileComm>();
    taken->comm = made;
    taken->id = ids[1];
    taken->owner = ids[2];
    taken->is_kept = (all & keeps) != 0;
    taken->num_files = 1;
    if (taken->is_kept) free_all_at_finalize();
    const std::lock_guard lock(pool().mutex);
    pool().comms.push_back(taken);
    return taken;
}

Status make_engine_comm(FileComm& comm) {
    try {
        if (!comm.engine) comm.engine = Comm::duplicate(comm.comm);
        return {};
    } catch (const Error& error) {
        return {error.code(), error.what()};
    }
}

bool make_queue_comm(FileComm& comm) {
    if (!make_engine_comm(comm).ok()) return false;
    if (comm.queue) return true;
    if (!node::make_apart(comm.engine, comm.queue).ok()) return false;
    comm.queue_cores = own_cores();
    mpi::node_bit_or(comm.engine, std::as_writable_bytes(std::span(&comm.queue_cores, 1)));
    (void)io::Crew::of(comm.queue);  // which has MPI call it when MPI ends
    return true;
}

void give_back(const std::shared_ptr<FileComm>& comm) {
    if (comm == nullptr || !release(comm)) return;
    free(*comm);
}

}  // namespace hakobi::mpiio
