#include "mpiio/comm_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "mpiio/stand_in.hpp"

namespace hakobi::mpiio {
namespace {

/// Communicators are few in an MPI library (2,048 in MPICH), and each may hold buffers: programs with more
/// groups of ranks, or more files open at once, get new ones for the files beyond.
constexpr std::size_t most_kept = 8;

// Beside the callers' own flags in one all-reduce.
constexpr unsigned reserved = 1u << 30, has_room = 1u << 29;

struct Pool {
    std::mutex mutex;
    std::vector<std::shared_ptr<FileComm>> kept;
    std::int64_t last_id = -1;
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

/// Marks a kept one as used: the first free one over these ranks, or the one with this id if it is free.
template <class Fits>
std::shared_ptr<FileComm> reserve(const Fits& fits) {
    const std::lock_guard lock(pool().mutex);
    for (const std::shared_ptr<FileComm>& candidate : pool().kept) {
        if (candidate->is_used || !fits(*candidate)) continue;
        candidate->is_used = true;
        return candidate;
    }
    return nullptr;
}

/// Delete callback of an attribute of MPI_COMM_SELF: MPI_Finalize begins. Each rank frees what it has in one
/// order that is the same for all, so that none waits for another in a circle. What a file still uses stays.
int free_all(MPI_Comm, int, void*, void*) {
    std::vector<std::shared_ptr<FileComm>> kept;
    {
        const std::lock_guard lock(pool().mutex);
        kept.swap(pool().kept);
    }
    std::erase_if(kept, [](const auto& comm) { return comm->is_used; });
    std::sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) {
        return std::pair(a->owner, a->id) < std::pair(b->owner, b->id);
    });
    close_stand_ins();
    for (const std::shared_ptr<FileComm>& comm : kept) {
        comm->engine.free();
        PMPI_Comm_free(&comm->comm);
    }
    return MPI_SUCCESS;
}

/// Called before the first communicator is kept.
void free_all_at_finalize() {
    static std::once_flag once;
    std::call_once(once, [] {
        int key = MPI_KEYVAL_INVALID;
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_all, &key, nullptr);
        PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
        PMPI_Comm_free_keyval(&key);  // which only marks it, as long as the attribute is there
    });
}

/// This process among all that may keep communicators, also among those that were started from MPI programs and count from 0 again.
std::int64_t own_number() {
    int world_rank = 0;
    if (has_world()) PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    return (static_cast<std::int64_t>(world_rank) << 32) | static_cast<std::int64_t>(getpid());
}

void release(const std::shared_ptr<FileComm>& comm) {
    const std::lock_guard lock(pool().mutex);
    comm->is_used = false;
}

}  // namespace

bool has_world() {
    int initialized = 0, finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    return initialized != 0 && finalized == 0;
}

std::shared_ptr<FileComm> take_comm(MPI_Comm comm, std::int64_t word, unsigned needed,
                                    const std::function<unsigned(std::int64_t)>& flags_of, unsigned& flags) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    std::shared_ptr<FileComm> taken;
    // Of the one that is proposed, of one to be made, their owner, and the word.
    std::array<std::int64_t, 4> ids = {-1, -1, 0, word};
    const bool may_keep = has_world();
    if (rank == 0) {
        if (may_keep)
            taken = reserve([comm](const FileComm& candidate) { return same_ranks(candidate.comm, comm); });
        ids[0] = taken != nullptr ? taken->id : -1;
        const std::lock_guard lock(pool().mutex);
        ids[1] = ++pool().last_id;
        ids[2] = own_number();
    }
    PMPI_Bcast(ids.data(), static_cast<int>(ids.size()), MPI_INT64_T, 0, comm);
    if (rank != 0 && ids[0] >= 0 && may_keep) {
        taken = reserve([&ids](const FileComm& candidate) {
            return candidate.id == ids[0] && candidate.owner == ids[2];
        });
    }
    bool is_room = false;
    {
        const std::lock_guard lock(pool().mutex);
        is_room = may_keep && pool().kept.size() < most_kept;
    }
    unsigned mine = flags_of(ids[3]) | (taken != nullptr ? reserved : 0) | (is_room ? has_room : 0);
    unsigned all = 0;
    const bool is_agreed = PMPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_BAND, comm) == MPI_SUCCESS;
    flags = all & ~(reserved | has_room);
    const bool is_needed = is_agreed && (all & needed) == needed;
    if (taken != nullptr && (!is_needed || (all & reserved) == 0)) {
        release(taken);
        taken = nullptr;
    }
    if (taken != nullptr || !is_needed) return taken;
    taken = std::make_shared<FileComm>();
    // Split, since a duplicate would call the program's functions that copy attributes, and those that delete them when it
    // is freed, which may be in MPI_Finalize. A program's error handler would be inherited.
    if (PMPI_Comm_split(comm, 0, rank, &taken->comm) != MPI_SUCCESS) return nullptr;
    PMPI_Comm_set_errhandler(taken->comm, MPI_ERRORS_RETURN);
    taken->id = ids[1];
    taken->owner = ids[2];
    taken->is_kept = (all & has_room) != 0;
    taken->is_used = true;
    if (taken->is_kept) {
        free_all_at_finalize();
        const std::lock_guard lock(pool().mutex);
        pool().kept.push_back(taken);
    }
    return taken;
}

void give_back(const std::shared_ptr<FileComm>& comm) {
    if (comm == nullptr) return;
    if (comm->is_kept) return release(comm);
    comm->engine.free();
    PMPI_Comm_free(&comm->comm);
}

}  // namespace hakobi::mpiio
