#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <hakobi/error.hpp>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/copy_bytes.hpp"
#include "base/shared_memory.hpp"
#include "base/thread.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/singleton.hpp"

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

MPI_Comm made_by(const std::function<int(MPI_Comm* made)>& make, const char* call, MPI_Comm over) {
    MPI_Comm made = MPI_COMM_NULL;
    const int error = make(&made);
    int rank = 0, size = 0;
    MPI_Comm_rank(over, &rank);
    MPI_Comm_size(over, &size);
    int failed = error == MPI_SUCCESS ? size : rank;
    check(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, over), "MPI_Allreduce");
    if (failed == size) return made;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (rank == failed) MPI_Error_string(error, text, &length);
    check(MPI_Bcast(text, MPI_MAX_ERROR_STRING, MPI_CHAR, failed, over), "MPI_Bcast");
    throw Error(ErrorCode::out_of_memory, std::string("MPI has no communicator left: ") + call + ": " + text,
                failed);
}

namespace {

/// Once a process.
void tell_of_singletons() {
    static std::once_flag looked;
    std::call_once(looked, [] {
        int world_size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &world_size);
        const std::string words = words_of_singletons(
            world_size, [](const char* name) -> const char* { return std::getenv(name); });
        if (!words.empty()) std::fprintf(stderr, "hakobi: %s\n", words.c_str());
    });
}

#ifdef HAKOBI_SIMULATED  // the simulator's ranks take turns in one process: one that waits in memory stops all
constexpr bool is_simulated = true;
#else
constexpr bool is_simulated = false;
#endif

/// Collective: sets `node.comm` to those of the ranks of `comm`, which is freed, that share memory with this
/// one. MPI calls ranks of one host a node, but they may be in containers that do not see each other's
/// processes: whoever cannot map what the first rank has made is on another node, with those of the others
/// that can share. That memory serves their rounds from then on.
void find_sharing(MPI_Comm comm, OwnNode& node) {
    struct Offer {
        SharedMemory::Name name;
        ErrorCode code = ErrorCode::ok;
        bool is_crowded = false;  // equal on all ranks, as a rank's number of cores may not be
    };
    for (bool is_found = false;; comm = node.comm) {
        node.comm = comm;
        MPI_Comm_rank(comm, &node.rank);
        MPI_Comm_size(comm, &node.size);
        if (is_found || node.size == 1) return;
        SharedMemory memory;
        Offer offer;
        if (node.rank == 0) {
            offer.code = SharedMemory::create(NodeRound::bytes_needed(node.size), memory).code();
            offer.name = memory.name();
            offer.is_crowded = !is_simulated && node.size > num_cores();
        }
        check(MPI_Bcast(&offer, sizeof offer, MPI_BYTE, 0, comm), "MPI_Bcast");
        ErrorCode code = offer.code;
        if (node.rank != 0 && code == ErrorCode::ok) code = SharedMemory::attach(offer.name, memory).code();
        // A lack of memory, or of descriptors, does not tell nodes apart: who needs a window will say so.
        enum { shares, lacks_memory, is_apart };
        int own = shares, worst = shares;
        if (code != ErrorCode::ok)
            own = node.rank == 0 || code == ErrorCode::out_of_memory ? lacks_memory : is_apart;
        check(MPI_Allreduce(&own, &worst, 1, MPI_INT, MPI_MAX, comm), "MPI_Allreduce");
        if (worst != is_apart) {
            memory.forget_name();
            if (worst == shares && offer.is_crowded)
                node.round = NodeRound(std::move(memory), node.rank, node.size);
            return;
        }
        check(MPI_Comm_split(comm, own == is_apart ? 1 : 0, node.rank, &node.comm), "MPI_Comm_split");
        MPI_Comm_free(&comm);
        is_found = own != is_apart;
    }
}

/// HAKOBI_RANKS_PER_NODE pretends smaller nodes: tests of the paths between nodes on one machine. Collective;
/// throws alike on all ranks where they differ. 0: nodes as they are.
int pretended_ranks_per_node(MPI_Comm comm) {
    const char* const text = std::getenv("HAKOBI_RANKS_PER_NODE");
    const int own = text != nullptr ? std::max(0, std::atoi(text)) : 0;
    int extremes[] = {own, -own};
    check(MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_INT, MPI_MAX, comm), "MPI_Allreduce");
    if (extremes[0] == -extremes[1]) return own;
    throw Error(ErrorCode::invalid_argument,
                "HAKOBI_RANKS_PER_NODE differs between ranks: " + std::to_string(-extremes[1]) + " to " +
                    std::to_string(extremes[0]) + " (0: not set): set it alike on all of them");
}

/// Collective over `state.internal`, as `all_nodes`.
void find_own_node(CommState& state) {
    const int ranks_per_node = pretended_ranks_per_node(state.internal);
    OwnNode& node = state.node;
    node.comm = made_by(
        [&](MPI_Comm* made) {
            return MPI_Comm_split_type(state.internal, MPI_COMM_TYPE_SHARED, state.rank, MPI_INFO_NULL, made);
        },
        "MPI_Comm_split_type", state.internal);
    MPI_Comm_set_errhandler(node.comm, MPI_ERRORS_RETURN);
    if (ranks_per_node > 0) {
        int rank = 0;
        MPI_Comm_rank(node.comm, &rank);
        MPI_Comm part = made_by(
            [&](MPI_Comm* made) { return MPI_Comm_split(node.comm, rank / ranks_per_node, rank, made); },
            "MPI_Comm_split", state.internal);
        MPI_Comm_free(&node.comm);
        node.comm = part;
    }
    find_sharing(node.comm, node);
    MPI_Comm_set_errhandler(node.comm, MPI_ERRORS_RETURN);
    const ProcessId own = own_process();
    node.processes.resize(static_cast<std::size_t>(node.size));
    check(MPI_Allgather(&own, sizeof own, MPI_BYTE, node.processes.data(), sizeof own, MPI_BYTE, node.comm),
          "MPI_Allgather");
}

Nodes all_nodes(const CommState& state) {
    int lowest = state.rank;
    MPI_Bcast(&lowest, 1, MPI_INT, 0, state.node.comm);
    std::vector<int> lowest_of_rank(static_cast<std::size_t>(state.size));
    check(MPI_Allgather(&lowest, 1, MPI_INT, lowest_of_rank.data(), 1, MPI_INT, state.internal),
          "MPI_Allgather");
    std::vector<int> leaders = lowest_of_rank;
    std::sort(leaders.begin(), leaders.end());
    leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
    Nodes nodes;
    nodes.of_rank.resize(lowest_of_rank.size());
    nodes.ranks.resize(leaders.size());
    for (std::size_t r = 0; r < lowest_of_rank.size(); ++r) {
        const auto node =
            std::lower_bound(leaders.begin(), leaders.end(), lowest_of_rank[r]) - leaders.begin();
        nodes.of_rank[r] = static_cast<int>(node);
        nodes.ranks[static_cast<std::size_t>(node)].push_back(static_cast<int>(r));
    }
    nodes.own = nodes.of_rank[static_cast<std::size_t>(state.rank)];
    return nodes;
}

/// Collective over `comm`; throws alike on all ranks.
void make_communicators(MPI_Comm comm, CommState& state) {
    for (MPI_Comm* each : {&state.comm, &state.internal})
        *each = made_by([&](MPI_Comm* made) { return MPI_Comm_dup(comm, made); }, "MPI_Comm_dup", comm);
    MPI_Comm_set_errhandler(state.internal, MPI_ERRORS_RETURN);
    int* highest_tag = nullptr;
    int is_known = 0;
    MPI_Comm_get_attr(state.internal, MPI_TAG_UB, &highest_tag, &is_known);
    if (is_known != 0) state.highest_tag = *highest_tag;
    MPI_Comm_rank(state.comm, &state.rank);
    MPI_Comm_size(state.comm, &state.size);
    if (state.size == 1) tell_of_singletons();
    find_own_node(state);
    state.nodes = all_nodes(state);
}

/// Collective; those that there are.
void free_communicators(CommState& state) {
    for (MPI_Comm* each : {&state.node.comm, &state.internal, &state.comm})
        if (*each != MPI_COMM_NULL) MPI_Comm_free(each);
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
    try {
        mpi::make_communicators(comm, *state);
    } catch (const Error&) {  // on all ranks
        mpi::free_communicators(*state);
        throw;
    }
    return mpi::CommState::as_comm(std::move(state));
}

Comm mpi::CommState::as_comm(std::shared_ptr<CommState> state) {
    Comm comm;
    comm.state_ = std::move(state);
    return comm;
}

void Comm::free() {
    if (!state_) return;
    if (!state_->maker.is_this_process()) {  // its threads, and its place among the ranks, are the parent's
        (void)new std::shared_ptr(std::move(state_));
        return;
    }
    for (std::size_t i = 0; i < state_->attachments.size(); ++i) state_->attachments[i]->finish(*state_);
    for (const auto& attachment : state_->attachments) attachment->free();
    state_->attachments.clear();
    if (state_->apart) {
        state_->apart.reset();
    } else {
        mpi::free_communicators(*state_);
    }
    state_.reset();
}

int Comm::rank() const noexcept {
    return state_->rank;
}
int Comm::size() const noexcept {
    return state_->size;
}
int Comm::num_nodes() const noexcept {
    return state_->nodes.count();
}
int Comm::node() const noexcept {
    return state_->nodes.own;
}
int Comm::node_rank() const noexcept {
    return state_->node.rank;
}
int Comm::node_size() const noexcept {
    return state_->node.size;
}
MPI_Comm Comm::handle() const noexcept {
    return state_->comm;
}

}  // namespace hakobi
