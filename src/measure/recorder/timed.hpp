#pragma once

#include <hakobi/export.hpp>

#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "trace.hpp"

// What the recorder's MPI_* functions have in common: a call is described, timed and kept. Local, as MPI's call is.

namespace hakobi::recorder {

inline Trace& trace() {
    return Trace::instance();
}

template <class Count>
std::int64_t bytes_of(Count count, MPI_Datatype type) {
    int size = 0;
    if (type == MPI_DATATYPE_NULL || type == MPI_Datatype{} || PMPI_Type_size(type, &size) != MPI_SUCCESS)
        return 0;
    return static_cast<std::int64_t>(count) * size;
}

inline std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

/// An event of a call whose messages are not kept.
inline Event not_replayed() {
    Event event{};
    event.call = Call::other;
    event.partner = -1;
    event.tag = -1;
    return event;
}

/// Between two groups (an intercommunicator) nothing is replayed.
inline Event transfer(Call call, MPI_Comm comm, int partner, int tag, std::int64_t bytes,
                      const void* address) {
    Event event = not_replayed();
    const int group = trace().group_of(comm);
    if (group < 0) return event;
    event.call = call;
    event.communicator = group;
    event.partner = trace().world_rank(group, partner);
    event.tag = tag == MPI_ANY_TAG ? -1 : tag;
    event.bytes = bytes;
    event.address = number(address);
    return event;
}

/// Runs `call`, timed, and keeps it as the event that `describe` makes before it; the event's number is returned. A call
/// that failed moved nothing that could be replayed.
template <class Describe, class Function>
int timed(const Describe& describe, const Function& call, std::int64_t* event_number = nullptr) {
    if (!trace().is_on()) return call();
    Event event = describe();
    event.begin_s = now_s();
    const int result = call();
    event.end_s = now_s();
    if (result != MPI_SUCCESS && event.call != Call::wait) event.call = Call::other;
    const std::int64_t added = trace().add(std::move(event));
    if (event_number != nullptr) *event_number = added;
    return result;
}

/// As `timed` for a call that makes a request.
template <class Describe, class Function>
int timed_request(MPI_Request* request, const Describe& describe, const Function& call) {
    std::int64_t event = -1;
    const int result = timed(describe, call, &event);
    if (event >= 0 && result == MPI_SUCCESS && *request != MPI_REQUEST_NULL)
        trace().name_request(*request, event);
    return result;
}

/// As `timed` for a call that waits for requests, whose handles are gone afterwards. Requests that are not replayed
/// (of nonblocking collectives) have no number: a wait for nothing else is none that could be replayed.
template <class Function>
int timed_wait(int count, const MPI_Request* requests, const Function& call) {
    return timed(
        [&] {
            Event event = not_replayed();
            event.call = Call::wait;
            bool has_unknown = false;
            for (int i = 0; i < count; ++i) {
                if (requests[i] == MPI_REQUEST_NULL) continue;
                const std::int64_t made = trace().take_request(requests[i]);
                if (made >= 0) {
                    event.requests.push_back(made);
                } else {
                    has_unknown = true;
                }
            }
            if (event.requests.empty() && has_unknown) event.call = Call::other;
            return event;
        },
        call);
}

/// A test or a wait for some: kept as a wait for those of the requests that it completed, which `completed` gives by
/// their places once the call has returned. A persistent request keeps its handle, so that handles do not tell.
template <class Function, class Completed>
int tested(int count, MPI_Request* requests, const Function& call, const Completed& completed) {
    if (!trace().is_on()) return call();
    const std::vector<MPI_Request> before(requests, requests + count);
    Event event = not_replayed();
    event.begin_s = now_s();
    const int result = call();
    event.end_s = now_s();
    if (result == MPI_SUCCESS) {
        for (int place : completed()) {
            if (place < 0 || place >= count) continue;  // MPI_UNDEFINED
            const MPI_Request request = before[static_cast<std::size_t>(place)];
            const std::int64_t made = request == MPI_REQUEST_NULL ? -1 : trace().take_request(request);
            if (made >= 0) event.requests.push_back(made);
        }
    }
    if (!event.requests.empty()) event.call = Call::wait;
    trace().add(std::move(event));
    return result;
}

template <class Function>
int other(const Function& call) {
    return timed(not_replayed, call);
}

}  // namespace hakobi::recorder
