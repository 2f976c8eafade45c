#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "event.hpp"
#include "handle.hpp"

namespace hakobi::recorder {

/// Maps the handles of requests and probed messages that the program holds to their events. Any thread;
/// local.
class Handles {
  public:
    /// A request is of this event, beside those that it has already.
    void name(MPI_Request request, std::int64_t event);
    /// The oldest event of a request; -1 where it has none, as one that is not replayed.
    [[nodiscard]] std::int64_t event_of(MPI_Request request) const;
    /// The same, which the request no longer has.
    std::int64_t take(MPI_Request request);

    /// Persistent requests: what a start will do; null for others.
    void keep_template(MPI_Request request, Event event);
    [[nodiscard]] const Event* template_of(MPI_Request request) const;
    /// A freed request, persistent or not: it has no event any more, either.
    void drop(MPI_Request request);

    /// Probed messages, of which no other receive can take the place: from whom, which tag, which group.
    void keep_message(MPI_Message message, Event event);
    [[nodiscard]] Event take_message(MPI_Message message);

  private:
    /// Event numbers, oldest first: MPICH gives every send that is already complete one and the same handle.
    std::unordered_map<std::uint64_t, std::vector<std::int64_t>> events_;
    std::unordered_map<std::uint64_t, Event> templates_;
    std::unordered_map<std::uint64_t, Event> messages_;
    mutable std::mutex mutex_;
};

}  // namespace hakobi::recorder
