#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <hakobi/error.hpp>
#include <string>
#include <thread>

#include "base/copy_bytes.hpp"
#include "base/shared_memory.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi {
namespace mpi {

void end_program(const std::string& why) {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    abort_all("hakobi: rank " + std::to_string(rank) + ": " + why);
}

void abort_all(const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
    // A launcher may end the job before it has passed on what was printed.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    std::abort();
}

void check(int mpi_error, const char* call) {
    if (mpi_error == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(mpi_error, text, &length);
    end_program(std::string(call) + " failed: " + text);
}

namespace {

/// Collective: of the ranks of `comm`, which is freed, those that share memory with this one. MPI calls ranks of one host a
/// node, but they may be in containers that do not see each other's processes: whoever cannot map what the first rank has
/// made is on another node, with those of the others that can share.
MPI_Comm sharing(MPI_Comm comm) {
    struct Offer {
        SharedMemory::Name name;
        ErrorCode code = ErrorCode::ok;
    };
    for (;;) {
        int rank = 0, size = 0;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        if (size == 1) return comm;
        SharedMemory memory;
        Offer offer;
        if (rank == 0) {
            offer.code = SharedMemory::create(page_bytes, memory).code();
            offer.name = memory.name();
        }
        check(MPI_Bcast(&offer, sizeof offer, MPI_BYTE, 0, comm), "MPI_Bcast");
        ErrorCode code = offer.code;
        if (rank != 0 && code == ErrorCode::ok) code = SharedMemory::attach(offer.name, memory).code();
        // A lack of memory, or of descriptors, says nothing: who needs a window will say so.
        const int is_apart = rank != 0 && code != ErrorCode::ok && code != ErrorCode::out_of_memory ? 1 : 0;
        int is_any_apart = 0;
        check(MPI_Allreduce(&is_apart, &is_any_apart, 1, MPI_INT, MPI_MAX, comm), "MPI_Allreduce");
        if (is_any_apart == 0) return comm;
        MPI_Comm part = MPI_COMM_NULL;
        check(MPI_Comm_split(comm, is_apart, rank, &part), "MPI_Comm_split");
        MPI_Comm_free(&comm);
        comm = part;
        if (is_apart == 0) return comm;
    }
}

}  // namespace
}  // namespace mpi

Comm Comm::duplicate(MPI_Comm comm) {
    int is_initialized = 0, is_finalized = 0, is_inter = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (is_initialized == 0 || is_finalized != 0)
        throw Error(ErrorCode::invalid_argument, "Comm::duplicate: MPI is not initialised, or finalised");
    if (comm == MPI_COMM_NULL)
        throw Error(ErrorCode::invalid_argument, "Comm::duplicate: the communicator is MPI_COMM_NULL");
    mpi::check(MPI_Comm_test_inter(comm, &is_inter), "MPI_Comm_test_inter");
    if (is_inter != 0)
        throw Error(
            ErrorCode::invalid_argument,
            "Comm::duplicate: an intercommunicator has two groups: make one of them by MPI_Intercomm_merge");
    auto state = std::make_shared<mpi::CommState>();
    mpi::check(MPI_Comm_dup(comm, &state->comm), "MPI_Comm_dup");
    mpi::check(MPI_Comm_dup(comm, &state->internal), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(state->internal, MPI_ERRORS_RETURN);
    int* highest_tag = nullptr;
    int is_known = 0;
    MPI_Comm_get_attr(state->internal, MPI_TAG_UB, &highest_tag, &is_known);
    if (is_known != 0) state->highest_tag = *highest_tag;
    MPI_Comm_rank(state->comm, &state->rank);
    MPI_Comm_size(state->comm, &state->size);
    // HAKOBI_RANKS_PER_NODE pretends smaller nodes: tests of the paths between nodes on one machine.
    int ranks_per_node = 0;
    if (const char* text = std::getenv("HAKOBI_RANKS_PER_NODE")) ranks_per_node = std::atoi(text);
    MPI_Comm shared = MPI_COMM_NULL;
    mpi::check(
        MPI_Comm_split_type(state->internal, MPI_COMM_TYPE_SHARED, state->rank, MPI_INFO_NULL, &shared),
        "MPI_Comm_split_type");
    if (ranks_per_node > 0) {
        int shared_rank = 0;
        MPI_Comm_rank(shared, &shared_rank);
        mpi::check(MPI_Comm_split(shared, shared_rank / ranks_per_node, shared_rank, &state->node),
                   "MPI_Comm_split");
        MPI_Comm_free(&shared);
    } else {
        state->node = shared;
    }
    state->node = mpi::sharing(state->node);
    MPI_Comm_set_errhandler(state->node, MPI_ERRORS_RETURN);
    MPI_Comm_rank(state->node, &state->node_rank);
    MPI_Comm_size(state->node, &state->node_size);

    const ProcessId own = own_process();
    state->node_processes.resize(static_cast<std::size_t>(state->node_size));
    mpi::check(MPI_Allgather(&own, sizeof own, MPI_BYTE, state->node_processes.data(), sizeof own, MPI_BYTE,
                             state->node),
               "MPI_Allgather");

    int lowest = state->rank;
    MPI_Bcast(&lowest, 1, MPI_INT, 0, state->node);
    std::vector<int> lowest_of_rank(static_cast<std::size_t>(state->size));
    mpi::check(MPI_Allgather(&lowest, 1, MPI_INT, lowest_of_rank.data(), 1, MPI_INT, state->internal),
               "MPI_Allgather");
    std::vector<int> leaders = lowest_of_rank;
    std::sort(leaders.begin(), leaders.end());
    leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
    state->num_nodes = static_cast<int>(leaders.size());
    state->node_of_rank.resize(lowest_of_rank.size());
    state->ranks_of_node.resize(leaders.size());
    for (std::size_t r = 0; r < lowest_of_rank.size(); ++r) {
        const auto node =
            std::lower_bound(leaders.begin(), leaders.end(), lowest_of_rank[r]) - leaders.begin();
        state->node_of_rank[r] = static_cast<int>(node);
        state->ranks_of_node[static_cast<std::size_t>(node)].push_back(static_cast<int>(r));
    }
    state->node_index = state->node_of_rank[static_cast<std::size_t>(state->rank)];
    Comm result;
    result.state_ = std::move(state);
    return result;
}

void Comm::free() {
    if (!state_) return;
    for (std::size_t i = 0; i < state_->attachments.size(); ++i) state_->attachments[i]->finish(*state_);
    for (const auto& attachment : state_->attachments) attachment->free();
    state_->attachments.clear();
    MPI_Comm_free(&state_->node);
    MPI_Comm_free(&state_->internal);
    MPI_Comm_free(&state_->comm);
    state_.reset();
}

int Comm::rank() const noexcept {
    return state_->rank;
}
int Comm::size() const noexcept {
    return state_->size;
}
int Comm::num_nodes() const noexcept {
    return state_->num_nodes;
}
int Comm::node() const noexcept {
    return state_->node_index;
}
int Comm::node_rank() const noexcept {
    return state_->node_rank;
}
int Comm::node_size() const noexcept {
    return state_->node_size;
}
MPI_Comm Comm::handle() const noexcept {
    return state_->comm;
}

}  // namespace hakobi
