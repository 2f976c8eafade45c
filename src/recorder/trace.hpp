#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

// What a program communicates, in the order in which each rank does it. One trace a process.
//  1. Every interposed call becomes one event: what, with whom, how many bytes, at which address, and when it began
//     and ended. Time between two events is the program's own.
//  2. A nonblocking call's event number names its request; a wait's event lists the numbers that it completed.
//  3. At MPI_Finalize rank 0 collects all ranks' events and writes them (docs/records.md, "Traces").
// A trace is bounded: past `max_events` a rank only counts.

namespace hakobi::recorder {

enum class Call : int {
    send,
    receive,
    isend,
    ireceive,
    sendrecv,
    wait,
    barrier,
    bcast,
    reduce,
    allreduce,
    gather,
    allgather,
    scatter,
    alltoall,
    other
};

struct Event {
    Call call;
    int partner;  ///< world rank of destination, source (-1: any) or root; -1 where all are alike
    int source;   ///< sendrecv: world rank received from
    int tag;
    int communicator;            ///< index into the trace's groups
    std::int64_t bytes;          ///< sent; of a receive: came, or room for where it did not end
    std::int64_t receive_bytes;  ///< sendrecv only, as receive_tag
    std::uint64_t address, receive_address;
    int receive_tag;
    double begin_s, end_s;
    std::vector<std::int64_t> requests;  ///< wait only: event numbers
    bool is_cancel_asked;  ///< ireceive: nobody's, unless it turns out that a message came first
};

/// An event of a call whose messages are not kept.
inline Event not_replayed() {
    Event event{};
    event.call = Call::other;
    event.partner = -1;
    event.tag = -1;
    return event;
}

class Trace {
  public:
    static Trace& instance();

    /// Begins recording (after MPI_Init) when HAKOBI_RECORD names a file.
    void start();
    [[nodiscard]] bool is_on() const noexcept { return is_on_; }
    /// Adds an event and returns its number; -1 past the bound. An `other` at once after an `other` becomes part of it:
    /// a program that polls would fill the trace.
    std::int64_t add(Event event);
    /// Counts a call that is not replayed, by its name.
    void count_not_replayed(const char* name);
    /// Sets what a request stands for, and takes it out again (persistent ones stay): -1 for one that is not replayed.
    void name_request(MPI_Request request, std::int64_t event);
    [[nodiscard]] std::int64_t take_request(MPI_Request request);
    /// What a request receives, nobody sends: unless `complete` says otherwise.
    void cancel_request(MPI_Request request);
    /// What a receive's status says came of it: a wildcard's sender and tag, the bytes; nobody's where it was cancelled.
    /// So a replay's messages meet as the program's did.
    void complete(std::int64_t event, const MPI_Status& status);

    /// Probed messages, of which no other receive can take the place: from whom, which tag, which group.
    void keep_message(MPI_Message message, Event event);
    [[nodiscard]] Event take_message(MPI_Message message);

    /// Persistent requests: what a start will do.
    void keep_template(MPI_Request request, Event event);
    [[nodiscard]] const Event* template_of(MPI_Request request) const;
    void drop_template(MPI_Request request);

    /// A communicator that was just made, by a call that all its ranks make: of several with the same ranks, messages of
    /// one never meet those of another.
    void keep_communicator(MPI_Comm comm);
    /// A communicator's number among the trace's groups; -1 for none and for those that are not replayed: of two groups
    /// (an intercommunicator), or with ranks that MPI_COMM_WORLD has not. A rank of it as world rank; MPI_PROC_NULL: -2.
    [[nodiscard]] int group_of(MPI_Comm comm);
    [[nodiscard]] int world_rank(int group, int rank) const;
    void forget(MPI_Comm comm);

    /// Collective over MPI_COMM_WORLD, before PMPI_Finalize: rank 0 writes the file and says so on stderr.
    void write();

    /// At the process's end: says on stderr when a trace was asked for and there is none.
    void say_what_is_missing() const;

  private:
    /// What tells a communicator from others on every rank of it: its world ranks, and how many of the same ranks there
    /// were already when it was made. Ranks make and free those of the same ranks in the same order.
    struct Communicator {
        std::vector<int> ranks;
        int copy = 0;
        auto operator<=>(const Communicator&) const = default;
    };

    Trace() = default;
    [[nodiscard]] static std::vector<int> world_ranks_of(MPI_Comm comm);
    [[nodiscard]] std::string to_lines(int rank) const;

    bool is_on_ = false, is_written_ = false, is_spawned_ = false;
    int process_ = 0;  ///< that records: what it forked has no trace to write
    std::string path_;
    std::size_t max_events_ = 2'000'000;
    std::int64_t num_dropped_ = 0;
    std::map<std::string, std::int64_t> not_replayed_;  ///< calls by name
    double started_s_ = 0;
    std::vector<Event> events_;
    /// Event numbers by handle, oldest first: MPICH gives every send that is already complete one and the same handle.
    std::unordered_map<std::uint64_t, std::vector<std::int64_t>> requests_;
    std::unordered_map<std::uint64_t, Event> templates_;
    std::unordered_map<std::uint64_t, Event> messages_;
    std::unordered_map<std::uint64_t, Communicator>
        communicators_;  ///< that there are, by handle; empty: not replayed
    std::unordered_map<std::uint64_t, int> group_of_comm_;  ///< those that were used
    std::set<Communicator> taken_;                          ///< by those that were made and not freed
    std::map<Communicator, int> index_of_group_;
    std::vector<Communicator> groups_;
    mutable std::recursive_mutex mutex_;  // MPI_THREAD_MULTIPLE programs
};

}  // namespace hakobi::recorder
