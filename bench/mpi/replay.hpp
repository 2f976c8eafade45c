#pragma once

#include <hakobi/comm.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

// Does again what a recorded program did (docs/records.md, "Traces"): the same messages between the same
// ranks, from buffers that lie to each other as the program's did, with the program's own time between them.

namespace hakobi::bench {

/// One recorded call of this rank.
struct TraceEvent {
    std::string call;
    int partner = -1;  ///< world rank; -1 any, -2 nobody
    int source = -1;   ///< sendrecv
    int tag = -1;
    int group = 0;
    std::int64_t bytes = 0, receive_bytes = 0;
    std::uint64_t address = 0, receive_address = 0;
    int receive_tag = -1;  ///< sendrecv; -1 any
    double begin_s = 0, end_s = 0;
    std::vector<std::int64_t> requests;
};

/// Identifies a communicator on every rank.
struct Communicator {
    std::vector<int> ranks;  ///< of the world
    int copy = 0;            ///< which of several of these ranks
    auto operator<=>(const Communicator&) const = default;
};

/// One rank's part of a trace.
struct RankTrace {
    int num_ranks = 0;
    std::int64_t memory_bytes = 0;  ///< the program's peak resident memory
    std::int64_t num_dropped = 0;
    std::vector<std::string> not_replayed;  ///< the program's calls that are kept without their messages
    std::vector<Communicator> groups;       ///< that the rank used; an event's `group` is one's number
    std::vector<TraceEvent> events;
};

/// Reads these ranks' parts, in their order; of a rank that the trace does not have, one without events.
/// not_found, format (with the line) when it is no whole trace.
[[nodiscard]] Result<std::vector<RankTrace>> read_traces(const std::string& path,
                                                         const std::vector<int>& ranks);
/// Reads rank `rank`'s part, likewise.
[[nodiscard]] Result<RankTrace> read_trace(const std::string& path, int rank);

/// Where each recorded address lies in a replay's memory: distances within a contiguous region are kept, so
/// buffers that were reused, adjacent or apart are so again. Pure.
class AddressMap {
  public:
    explicit AddressMap(const std::vector<TraceEvent>& events);
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }
    /// Offset of a recorded address; 0 for none (null, "in place").
    [[nodiscard]] std::int64_t offset(std::uint64_t address) const;

  private:
    struct Region {
        std::uint64_t begin, end;
        std::int64_t offset;
    };
    std::vector<Region> regions_;
    std::int64_t size_bytes_ = 0;
};

/// Room that a rank's collectives need beside the program's buffers: each for its own ranks. Pure.
[[nodiscard]] std::int64_t scratch_bytes(const RankTrace& trace);

/// Seconds that a rank spent in communication, once replayed.
struct ReplayTimes {
    double communication_s = 0;
    double wall_s = 0;
    int num_failed_calls = 0;
};

/// Replays the trace once. Collective over `comm`, which has trace.num_ranks ranks. Between calls it waits
/// for as long as the program took, streaming through as much memory as the program had: what it left of the
/// caches, this does.
class Replay {
  public:
    Replay(const Comm& comm, const RankTrace& trace);
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;
    [[nodiscard]] ReplayTimes run();

  private:
    void compute(double seconds, const TraceEvent& next);
    void make_communicators();
    int perform(const TraceEvent& event, std::size_t number);
    void end_requests();
    [[nodiscard]] int rank_in(int group, int world_rank) const;
    std::byte* at(std::uint64_t address) { return memory_.data() + addresses_.offset(address); }

    Comm comm_;
    const RankTrace& trace_;
    AddressMap addresses_;
    std::vector<std::byte> memory_, scratch_, working_set_;
    std::size_t working_at_ = 0;
    std::vector<MPI_Comm> made_;  ///< every communicator of any rank that this one is in, in one order
    std::vector<MPI_Comm> communicators_;  ///< of them, by the trace's number of the group
    std::vector<MPI_Request> requests_;    ///< by event number
};

}  // namespace hakobi::bench
