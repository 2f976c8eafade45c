#pragma once

#include <hakobi/export.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "trace.hpp"

// The common part of the recorder's MPI_* functions: a call is described, timed and kept. Local, as MPI's
// call is.

namespace hakobi::recorder {

inline Trace& trace() {
    return Trace::instance();
}

template <class Count>
std::int64_t bytes_of(Count count, MPI_Datatype type) {
    MPI_Count size = 0;
    if (type == MPI_DATATYPE_NULL || type == MPI_Datatype{} || PMPI_Type_size_x(type, &size) != MPI_SUCCESS)
        return 0;
    return static_cast<std::int64_t>(count) * std::max<std::int64_t>(0, size);  // MPI_UNDEFINED is negative
}

/// The bytes that a receive has room for, at most those of a message that can be replayed (docs/records.md).
template <class Count>
std::int64_t room_of(Count count, MPI_Datatype type) {
    return std::min<std::int64_t>(bytes_of(count, type), INT32_MAX - 1);
}

inline std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

/// The event of a call that failed: it moved nothing that could be replayed, and its arguments may be
/// nonsense.
inline Event failed(const Event& event) {
    Event kept = not_replayed();
    kept.begin_s = event.begin_s;
    kept.end_s = event.end_s;
    return kept;
}

/// Between two groups (an intercommunicator) nothing is replayed.
inline Event transfer(Call call, MPI_Comm comm, int partner, int tag, std::int64_t bytes,
                      const void* address) {
    Event event = not_replayed();
    const int group = trace().groups().number_of(comm);
    if (group < 0) return event;
    event.call = call;
    event.communicator = group;
    event.partner = trace().groups().world_rank(group, partner);
    event.tag = tag == MPI_ANY_TAG ? -1 : tag;
    event.bytes = bytes;
    event.address = number(address);
    return event;
}

/// Runs `call`, timed, and keeps it as the event that `describe` makes before it; the event's number is
/// returned.
template <class Describe, class Function>
int timed(const Describe& describe, const Function& call, std::int64_t* event_number = nullptr) {
    if (!trace().is_on()) return call();
    Event event = describe();
    event.begin_s = now_s();
    const int result = call();
    event.end_s = now_s();
    if (result != MPI_SUCCESS) event = failed(event);
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
        trace().handles().name(*request, event);
    return result;
}

/// Where a call leaves its statuses: where the program wants them or, where it wants none, in room of the
/// recorder's.
class Statuses {
  public:
    Statuses(MPI_Status* wanted, int count) : statuses_(wanted) {
        if (wanted != MPI_STATUS_IGNORE && wanted != MPI_STATUSES_IGNORE) return;
        own_.resize(static_cast<std::size_t>(std::max(1, count)));
        statuses_ = own_.data();
    }
    [[nodiscard]] MPI_Status* data() const noexcept { return statuses_; }
    const MPI_Status& operator[](std::size_t place) const { return statuses_[place]; }

  private:
    MPI_Status* statuses_;
    std::vector<MPI_Status> own_;
};

/// As `timed` for a call that receives: `call` is given where to leave the status, which tells what came.
template <class Describe, class Function>
int timed_receive(MPI_Status* status, const Describe& describe, const Function& call) {
    if (!trace().is_on()) return call(status);
    const Statuses found(status, 1);
    std::int64_t event = -1;
    const int result = timed(
        describe, [&] { return call(found.data()); }, &event);
    if (result == MPI_SUCCESS) trace().complete(event, found[0]);
    return result;
}

/// As `timed` for a call that waits for requests, whose handles are gone afterwards. Requests that are not
/// replayed (of nonblocking collectives) have no number: a wait for nothing else is none that could be
/// replayed.
template <class Function>
int timed_wait(int count, const MPI_Request* requests, MPI_Status* statuses, const Function& call) {
    if (!trace().is_on()) return call(statuses);
    const Statuses found(statuses, count);
    Event event = not_replayed();
    std::vector<std::size_t> places;  // of the event's requests
    bool has_unknown = false;
    for (int i = 0; i < count; ++i) {
        if (requests[i] == MPI_REQUEST_NULL) continue;
        const std::int64_t made = trace().take_request(requests[i]);
        has_unknown = has_unknown || made < 0;
        if (made < 0) continue;
        event.requests.push_back(made);
        places.push_back(static_cast<std::size_t>(i));
    }
    if (!event.requests.empty() || !has_unknown) event.call = Call::wait;
    event.begin_s = now_s();
    const int result = call(found.data());
    event.end_s = now_s();
    for (std::size_t i = 0; result == MPI_SUCCESS && i < places.size(); ++i)
        trace().complete(event.requests[i], found[places[i]]);
    trace().add(std::move(event));
    return result;
}

/// A test or a wait for some: kept as a wait for those of the requests that it completed, which `completed`
/// gives by their places, in the order of their statuses, once the call has returned. A persistent request
/// keeps its handle, so that handles do not tell; of a call that failed, only the handles that are gone do.
template <class Function, class Completed>
int tested(int count, MPI_Request* requests, MPI_Status* statuses, const Function& call,
           const Completed& completed) {
    if (!trace().is_on()) return call(statuses);
    const Statuses found(statuses, count);
    const std::vector<MPI_Request> before(requests, requests + count);
    Event event = not_replayed();
    event.begin_s = now_s();
    const int result = call(found.data());
    event.end_s = now_s();
    const auto take = [&](std::size_t place, const MPI_Status* status) {
        const std::int64_t made =
            before[place] == MPI_REQUEST_NULL ? -1 : trace().take_request(before[place]);
        if (made < 0) return;
        event.requests.push_back(made);
        if (status != nullptr) trace().complete(made, *status);
    };
    if (result == MPI_SUCCESS) {
        std::size_t number = 0;
        for (int place : completed()) {
            const MPI_Status& status = found[number++];
            if (place >= 0 && place < count)
                take(static_cast<std::size_t>(place), &status);  // not MPI_UNDEFINED
        }
    } else {
        for (std::size_t place = 0; place < before.size(); ++place) {
            if (requests[place] == MPI_REQUEST_NULL) take(place, nullptr);
        }
    }
    if (!event.requests.empty()) event.call = Call::wait;
    trace().add(std::move(event));
    return result;
}

/// A call that communicates and is not replayed, with its name.
template <class Function>
int other(const char* name, const Function& call) {
    if (trace().is_on()) trace().count_not_replayed(name);
    return timed(not_replayed, call);
}

}  // namespace hakobi::recorder
