#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "event.hpp"
#include "groups.hpp"
#include "handles.hpp"

// The communication of a program, in the order in which each rank does it. One trace a process.
//  1. Every interposed call becomes one event: what, with whom, how many bytes, at which address, and when it
//     began and ended. Time between two events is the program's own.
//  2. A nonblocking call's event number names its request; a wait's event lists the numbers that it
//     completed.
//  3. At MPI_Finalize rank 0 collects all ranks' events and writes them (docs/records.md, "Traces").
// A trace is bounded: past `max_events` a rank only counts.

namespace hakobi::recorder {

class Trace {
  public:
    static Trace& instance();

    /// Begins recording (after MPI_Init) when HAKOBI_RECORD names a file.
    void start();
    [[nodiscard]] bool is_on() const noexcept { return state_ == State::on; }
    /// The program's communicators, and what its requests and probed messages stand for.
    Groups& groups() noexcept { return groups_; }
    Handles& handles() noexcept { return handles_; }
    /// Adds an event and returns its number; -1 past the bound. An `other` at once after an `other` becomes
    /// part of it: a program that polls would fill the trace.
    std::int64_t add(Event event);
    /// Counts a call that is not replayed, by its name.
    void count_not_replayed(const char* name);
    /// The event that a request stood for (a persistent one keeps what a start does): -1 for one that is not
    /// replayed.
    [[nodiscard]] std::int64_t take_request(MPI_Request request);
    /// Records that nobody sends what the request receives, unless `complete` says otherwise.
    void cancel_request(MPI_Request request);
    /// Records the result of a receive from its status: a wildcard's sender and tag, the bytes; no sender
    /// where it was cancelled. So a replay's messages meet as the program's did.
    void complete(std::int64_t event, const MPI_Status& status);

    /// Collective over MPI_COMM_WORLD, before PMPI_Finalize: rank 0 writes the file and says so on stderr.
    void write();

    /// At the process's end: says on stderr when a trace was asked for and there is none.
    void say_what_is_missing() const;

  private:
    enum class State { off, spawned, on, written };

    Trace() = default;
    [[nodiscard]] std::string to_lines(int rank) const;

    State state_ = State::off;
    int process_ = 0;  ///< that records: what it forked has no trace to write
    std::string path_;
    std::size_t max_events_ = 2'000'000;
    double started_s_ = 0;
    Groups groups_;
    Handles handles_;

    std::mutex mutex_;  // for what follows: MPI_THREAD_MULTIPLE programs
    std::vector<Event> events_;
    std::int64_t num_dropped_ = 0;
    std::map<std::string, std::int64_t> not_replayed_;  ///< calls by name
};

}  // namespace hakobi::recorder
