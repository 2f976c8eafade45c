#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <hakobi/error.hpp>
#include <string>
#include <thread>

#include "mpi/comm_state.hpp"

namespace hakobi {
namespace mpi {

void end_program(const std::string& why) {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "hakobi: rank %d: %s\n", rank, why.c_str());
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

}  // namespace mpi

Comm Comm::duplicate(MPI_Comm comm) {
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized == 0) throw Error(ErrorCode::invalid_argument, "Comm::duplicate: MPI is not initialised");
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
