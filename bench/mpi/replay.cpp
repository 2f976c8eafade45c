#include "replay.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <thread>

#include "base/clock.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/global_clock.hpp"
#include "mpi/messages.hpp"

namespace hakobi::bench {
namespace {

constexpr std::int64_t most_working_set_bytes = std::int64_t{256} << 20;
constexpr double assumed_write_bytes_s =
    4e9;  ///< for how long before its end a gap begins to fill the send buffer

int mpi_count(std::int64_t bytes) {
    return static_cast<int>(bytes);
}

using Groups = std::vector<Communicator>;

/// Each communicator as its copy, the number of its members, then the members.
std::vector<std::byte> encode(const Groups& groups) {
    std::vector<int> words;
    for (const Communicator& group : groups) {
        words.insert(words.end(), {group.copy, static_cast<int>(group.ranks.size())});
        words.insert(words.end(), group.ranks.begin(), group.ranks.end());
    }
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

void decode_into(Groups& groups, const std::vector<std::byte>& bytes) {
    std::vector<int> words(bytes.size() / sizeof(int));
    if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
    for (auto at = words.begin(); at != words.end();) {
        const auto ranks = at + 2;
        const auto end = ranks + at[1];
        groups.push_back({.ranks = {ranks, end}, .copy = *at});
        at = end;
    }
}

/// Collective: what any rank's communicators are, each once, in one order.
Groups groups_of_all(const Comm& comm, const Groups& own) {
    Groups all;
    for (const std::vector<std::byte>& encoded : mpi::gather(comm, encode(own), 0)) decode_into(all, encoded);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::vector<std::byte> encoded = encode(all);
    mpi::broadcast(comm, encoded, 0);
    all.clear();
    decode_into(all, encoded);
    return all;
}

}  // namespace

std::int64_t scratch_bytes(const RankTrace& trace) {
    std::int64_t most = 0;
    for (const TraceEvent& event : trace.events) {
        if (event.call == "reduce" || event.call == "allreduce") {
            most = std::max(most, event.bytes);
        } else if (event.call == "gather" || event.call == "allgather" || event.call == "scatter" ||
                   event.call == "alltoall") {
            const auto& ranks = trace.groups[static_cast<std::size_t>(event.group)].ranks;
            most = std::max(most, event.bytes * static_cast<std::int64_t>(ranks.size()));
        }
    }
    return most;
}

Replay::Replay(const Comm& comm, const RankTrace& trace)
    : comm_(comm), trace_(trace), addresses_(trace.events) {
    std::int64_t most = 0;
    for (const TraceEvent& event : trace.events) most = std::max({most, event.bytes, event.receive_bytes});
    // Room behind every buffer for the largest message: a receive that was larger than its message stays
    // harmless.
    memory_.assign(static_cast<std::size_t>(addresses_.size_bytes() + most + 4096), std::byte{1});
    scratch_.assign(static_cast<std::size_t>(scratch_bytes(trace) + 64), std::byte{1});
    working_set_.assign(static_cast<std::size_t>(
                            std::clamp<std::int64_t>(trace.memory_bytes, 1 << 20, most_working_set_bytes)),
                        std::byte{1});
    requests_.assign(trace.events.size(), MPI_REQUEST_NULL);
    make_communicators();
}

Replay::~Replay() {
    for (MPI_Comm& communicator : made_) MPI_Comm_free(&communicator);
}

void Replay::make_communicators() {
    communicators_.assign(trace_.groups.size(), MPI_COMM_NULL);
    MPI_Group world = MPI_GROUP_NULL;
    mpi::check(MPI_Comm_group(comm_.handle(), &world), "MPI_Comm_group");
    // A rank's trace has only the groups that it used, numbered in its own order, but every member must take
    // part in making one: all make those of all ranks, and in one order, so that no two ranks wait crosswise.
    for (const Communicator& communicator : groups_of_all(comm_, trace_.groups)) {
        const std::vector<int>& ranks = communicator.ranks;
        if (std::find(ranks.begin(), ranks.end(), comm_.rank()) == ranks.end())
            continue;  // of others, or an intercommunicator's far side
        MPI_Group group = MPI_GROUP_NULL;
        mpi::check(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group),
                   "MPI_Group_incl");
        MPI_Comm& made = made_.emplace_back(MPI_COMM_NULL);
        mpi::check(MPI_Comm_create_group(comm_.handle(), group, 0, &made), "MPI_Comm_create_group");
        MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
        MPI_Group_free(&group);
        for (std::size_t index = 0; index < trace_.groups.size(); ++index) {
            if (trace_.groups[index] == communicator) communicators_[index] = made;
        }
    }
    MPI_Group_free(&world);
}

int Replay::rank_in(int group, int world_rank) const {
    if (world_rank == -2) return MPI_PROC_NULL;
    if (world_rank == -1) return MPI_ANY_SOURCE;
    const auto& ranks = trace_.groups[static_cast<std::size_t>(group)].ranks;
    const auto found = std::find(ranks.begin(), ranks.end(), world_rank);
    return found == ranks.end() ? MPI_PROC_NULL : static_cast<int>(found - ranks.begin());
}

void Replay::compute(double seconds, const TraceEvent& next) {
    const double end_s = now_s() + seconds;
    const bool is_sending = next.call == "send" || next.call == "isend" || next.call == "sendrecv";
    const double fill_s = is_sending ? static_cast<double>(next.bytes) / assumed_write_bytes_s : 0;
    constexpr std::size_t line = 64;
    constexpr std::size_t lines_a_look = 64;
    while (now_s() + fill_s < end_s - 1e-6) {
        for (std::size_t i = 0; i < lines_a_look; ++i) {
            working_set_[working_at_] =
                static_cast<std::byte>(static_cast<unsigned>(working_set_[working_at_]) + 1U);
            working_at_ += line;
            if (working_at_ >= working_set_.size()) working_at_ = 0;
        }
    }
    // Sent data were written just before: by the solver itself, or by packing it.
    if (is_sending && seconds > fill_s) std::fill_n(at(next.address), next.bytes, std::byte{2});
    const bool is_crowded = comm_.node_size() > static_cast<int>(std::thread::hardware_concurrency());
    mpi::wait_until(end_s, is_crowded);
}

int Replay::perform(const TraceEvent& event, std::size_t number) {
    if (event.call == "wait") {
        std::vector<MPI_Request> waited;
        for (std::int64_t request : event.requests)
            waited.push_back(std::exchange(requests_[static_cast<std::size_t>(request)], MPI_REQUEST_NULL));
        // Open MPI 4.1.4's MPI_Waitall now and then never returns where the only request has failed.
        if (waited.size() == 1) return MPI_Wait(waited.data(), MPI_STATUS_IGNORE);
        return MPI_Waitall(static_cast<int>(waited.size()), waited.data(), MPI_STATUSES_IGNORE);
    }
    if (event.call == "other") return MPI_SUCCESS;
    const MPI_Comm comm = communicators_[static_cast<std::size_t>(event.group)];
    if (comm == MPI_COMM_NULL) return MPI_SUCCESS;
    const int partner = rank_in(event.group, event.partner);
    const int count = mpi_count(event.bytes);
    const int receive_tag = event.tag < 0 ? MPI_ANY_TAG : event.tag;
    std::byte* buffer = at(event.address);
    if (event.call == "send") return MPI_Send(buffer, count, MPI_BYTE, partner, event.tag, comm);
    if (event.call == "receive")
        return MPI_Recv(buffer, count, MPI_BYTE, partner, receive_tag, comm, MPI_STATUS_IGNORE);
    if (event.call == "isend")
        return MPI_Isend(buffer, count, MPI_BYTE, partner, event.tag, comm, &requests_[number]);
    if (event.call == "ireceive")
        return MPI_Irecv(buffer, count, MPI_BYTE, partner, receive_tag, comm, &requests_[number]);
    if (event.call == "sendrecv") {
        const int tag = event.receive_tag < 0 ? MPI_ANY_TAG : event.receive_tag;
        if (event.address == event.receive_address && event.bytes == event.receive_bytes) {
            return MPI_Sendrecv_replace(buffer, count, MPI_BYTE, partner, event.tag,
                                        rank_in(event.group, event.source), tag, comm, MPI_STATUS_IGNORE);
        }
        return MPI_Sendrecv(buffer, count, MPI_BYTE, partner, event.tag, at(event.receive_address),
                            mpi_count(event.receive_bytes), MPI_BYTE, rank_in(event.group, event.source), tag,
                            comm, MPI_STATUS_IGNORE);
    }
    if (event.call == "barrier") return MPI_Barrier(comm);
    if (event.call == "bcast") return MPI_Bcast(buffer, count, MPI_BYTE, partner, comm);
    if (event.call == "gather")
        return MPI_Gather(buffer, count, MPI_BYTE, scratch_.data(), count, MPI_BYTE, partner, comm);
    if (event.call == "scatter")
        return MPI_Scatter(scratch_.data(), count, MPI_BYTE, buffer, count, MPI_BYTE, partner, comm);
    if (event.call == "allgather")
        return MPI_Allgather(buffer, count, MPI_BYTE, scratch_.data(), count, MPI_BYTE, comm);
    if (event.call == "alltoall") {
        // Each rank's part comes from its own place: as much is read as is written.
        std::vector<std::byte>& all = scratch_;
        return MPI_Alltoall(MPI_IN_PLACE, 0, MPI_BYTE, all.data(), count, MPI_BYTE, comm);
    }
    const bool words = event.bytes % 8 == 0;
    const int elements = words ? count / 8 : count;
    const MPI_Datatype type = words ? MPI_INT64_T : MPI_INT8_T;
    if (event.call == "reduce")
        return MPI_Reduce(buffer, scratch_.data(), elements, type, MPI_MAX, partner, comm);
    if (event.call == "allreduce")
        return MPI_Allreduce(buffer, scratch_.data(), elements, type, MPI_MAX, comm);
    return MPI_SUCCESS;
}

ReplayTimes Replay::run() {
    ReplayTimes times;
    const mpi::GlobalClock clock = mpi::GlobalClock::synchronize(comm_);
    const double start_s = clock.agree_start(comm_, 0.001);
    mpi::wait_until(start_s, true);
    // Rank 0's time is the trace's; each rank's first gap is as long as it was after the ranks' common start.
    double previous_end_s = 0;
    for (std::size_t number = 0; number < trace_.events.size(); ++number) {
        const TraceEvent& event = trace_.events[number];
        compute(event.begin_s - previous_end_s, event);
        previous_end_s = event.end_s;
        const double began_s = now_s();
        if (perform(event, number) != MPI_SUCCESS) ++times.num_failed_calls;
        if (event.call != "other") times.communication_s += now_s() - began_s;
    }
    times.wall_s = now_s() - start_s;
    end_requests();
    return times;
}

/// Requests that the program freed or never waited for. A receive that went on would write into memory that
/// is gone; one that was cancelled early would leave its sender waiting, hence all ranks come first.
void Replay::end_requests() {
    mpi::check(MPI_Barrier(comm_.state().internal), "MPI_Barrier");
    for (std::size_t number = 0; number < requests_.size(); ++number) {
        MPI_Request& request = requests_[number];
        if (request == MPI_REQUEST_NULL) continue;
        if (trace_.events[number].call == "ireceive") {
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Request_free(&request);
        }
    }
}

}  // namespace hakobi::bench
