// libhakobi_record.so: preloaded before a program's MPI library, it stands in for the communicating MPI_* calls of C
// and C++ programs, lets PMPI_* do them, and keeps what they were (trace.hpp). Results, errors and statuses are the
// library's own. Calls that are not listed here pass by unseen; those that communicate and cannot be replayed
// (neighbour collectives, variable-size collectives, probes) are kept as `other`, with their time.
#include <hakobi/export.hpp>

#include <vector>

#include "base/clock.hpp"
#include "trace.hpp"

namespace hakobi::recorder {
namespace {

Trace& trace() {
    return Trace::instance();
}

template <class Count>
std::int64_t bytes_of(Count count, MPI_Datatype type) {
    int size = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS) return 0;
    return static_cast<std::int64_t>(count) * size;
}

std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

Event transfer(Call call, MPI_Comm comm, int partner, int tag, std::int64_t bytes, const void* address) {
    Event event{};
    event.call = call;
    event.communicator = trace().group_of(comm);
    event.partner = trace().world_rank(event.communicator, partner);
    event.tag = tag == MPI_ANY_TAG ? -1 : tag;
    event.bytes = bytes;
    event.address = number(address);
    return event;
}

/// Runs `call`, timed, and keeps it as the event that `describe` makes before it; the event's number is returned.
template <class Describe, class Function>
int timed(const Describe& describe, const Function& call, std::int64_t* event_number = nullptr) {
    if (!trace().is_on()) return call();
    Event event = describe();
    event.begin_s = now_s();
    const int result = call();
    event.end_s = now_s();
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

/// As `timed` for a call that waits for requests, whose handles are gone afterwards.
template <class Function>
int timed_wait(int count, const MPI_Request* requests, const Function& call) {
    return timed(
        [&] {
            Event event{};
            event.call = Call::wait;
            event.partner = -1;
            event.tag = -1;
            for (int i = 0; i < count; ++i) {
                const std::int64_t made =
                    requests[i] == MPI_REQUEST_NULL ? -1 : trace().take_request(requests[i]);
                if (made >= 0) event.requests.push_back(made);
            }
            return event;
        },
        call);
}

/// A test or a wait for some: kept as a wait for those of `before` that are complete after it, if any are.
template <class Function>
int tested(int count, MPI_Request* requests, const Function& call) {
    if (!trace().is_on()) return call();
    const std::vector<MPI_Request> before(requests, requests + count);
    Event event{};
    event.call = Call::wait;
    event.partner = -1;
    event.tag = -1;
    event.begin_s = now_s();
    const int result = call();
    event.end_s = now_s();
    for (int i = 0; i < count; ++i) {
        if (before[static_cast<std::size_t>(i)] == requests[i]) continue;
        const std::int64_t made = trace().take_request(before[static_cast<std::size_t>(i)]);
        if (made >= 0) event.requests.push_back(made);
    }
    if (event.requests.empty()) event.call = Call::other;
    trace().add(std::move(event));
    return result;
}

template <class Function>
int collective(Call kind, MPI_Comm comm, int root, std::int64_t bytes, const void* address,
               const Function& call) {
    return timed([&] { return transfer(kind, comm, root, -1, bytes, address); }, call);
}

template <class Function>
int other(const Function& call) {
    return timed(
        [] {
            Event event{};
            event.call = Call::other;
            event.partner = -1;
            event.tag = -1;
            return event;
        },
        call);
}

int start(MPI_Request request) {
    const Event* made = trace().is_on() ? trace().template_of(request) : nullptr;
    if (made == nullptr) return PMPI_Start(&request);
    return timed_request(
        &request, [&] { return *made; }, [&] { return PMPI_Start(&request); });
}

}  // namespace
}  // namespace hakobi::recorder

using namespace hakobi::recorder;

extern "C" {

HAKOBI_EXPORT int MPI_Init(int* argc, char*** argv) {
    const int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS) trace().start();
    return result;
}
HAKOBI_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int result = PMPI_Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS) trace().start();
    return result;
}
HAKOBI_EXPORT int MPI_Finalize() {
    trace().write();
    return PMPI_Finalize();
}
HAKOBI_EXPORT int MPI_Comm_free(MPI_Comm* comm) {
    if (trace().is_on()) trace().forget(*comm);
    return PMPI_Comm_free(comm);
}

// Blocking and nonblocking messages; the large-count forms where the library has them.
#define HAKOBI_MESSAGES(suffix, Count)                                                                       \
    HAKOBI_EXPORT int MPI_Send##suffix(const void* buffer, Count count, MPI_Datatype type, int to, int tag,  \
                                       MPI_Comm comm) {                                                      \
        return timed([&] { return transfer(Call::send, comm, to, tag, bytes_of(count, type), buffer); },     \
                     [&] { return PMPI_Send##suffix(buffer, count, type, to, tag, comm); });                 \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Ssend##suffix(const void* buffer, Count count, MPI_Datatype type, int to, int tag, \
                                        MPI_Comm comm) {                                                     \
        return timed([&] { return transfer(Call::send, comm, to, tag, bytes_of(count, type), buffer); },     \
                     [&] { return PMPI_Ssend##suffix(buffer, count, type, to, tag, comm); });                \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Recv##suffix(void* buffer, Count count, MPI_Datatype type, int from, int tag,      \
                                       MPI_Comm comm, MPI_Status* status) {                                  \
        return timed(                                                                                        \
            [&] { return transfer(Call::receive, comm, from, tag, bytes_of(count, type), buffer); },         \
            [&] { return PMPI_Recv##suffix(buffer, count, type, from, tag, comm, status); });                \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Isend##suffix(const void* buffer, Count count, MPI_Datatype type, int to, int tag, \
                                        MPI_Comm comm, MPI_Request* request) {                               \
        return timed_request(                                                                                \
            request, [&] { return transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer); },    \
            [&] { return PMPI_Isend##suffix(buffer, count, type, to, tag, comm, request); });                \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Irecv##suffix(void* buffer, Count count, MPI_Datatype type, int from, int tag,     \
                                        MPI_Comm comm, MPI_Request* request) {                               \
        return timed_request(                                                                                \
            request,                                                                                         \
            [&] { return transfer(Call::ireceive, comm, from, tag, bytes_of(count, type), buffer); },        \
            [&] { return PMPI_Irecv##suffix(buffer, count, type, from, tag, comm, request); });              \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Sendrecv##suffix(const void* send, Count send_count, MPI_Datatype send_type,       \
                                           int to, int send_tag, void* receive, Count receive_count,         \
                                           MPI_Datatype receive_type, int from, int receive_tag,             \
                                           MPI_Comm comm, MPI_Status* status) {                              \
        return timed(                                                                                        \
            [&] {                                                                                            \
                Event event =                                                                                \
                    transfer(Call::sendrecv, comm, to, send_tag, bytes_of(send_count, send_type), send);     \
                event.source = trace().world_rank(event.communicator, from);                                 \
                event.receive_bytes = bytes_of(receive_count, receive_type);                                 \
                event.receive_address = number(receive);                                                     \
                return event;                                                                                \
            },                                                                                               \
            [&] {                                                                                            \
                return PMPI_Sendrecv##suffix(send, send_count, send_type, to, send_tag, receive,             \
                                             receive_count, receive_type, from, receive_tag, comm, status);  \
            });                                                                                              \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Bcast##suffix(void* buffer, Count count, MPI_Datatype type, int root,              \
                                        MPI_Comm comm) {                                                     \
        return collective(Call::bcast, comm, root, bytes_of(count, type), buffer,                            \
                          [&] { return PMPI_Bcast##suffix(buffer, count, type, root, comm); });              \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Reduce##suffix(const void* send, void* receive, Count count, MPI_Datatype type,    \
                                         MPI_Op op, int root, MPI_Comm comm) {                               \
        return collective(Call::reduce, comm, root, bytes_of(count, type), send,                             \
                          [&] { return PMPI_Reduce##suffix(send, receive, count, type, op, root, comm); });  \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Allreduce##suffix(const void* send, void* receive, Count count, MPI_Datatype type, \
                                            MPI_Op op, MPI_Comm comm) {                                      \
        return collective(Call::allreduce, comm, -1, bytes_of(count, type), send,                            \
                          [&] { return PMPI_Allreduce##suffix(send, receive, count, type, op, comm); });     \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Gather##suffix(const void* send, Count send_count, MPI_Datatype send_type,         \
                                         void* receive, Count receive_count, MPI_Datatype receive_type,      \
                                         int root, MPI_Comm comm) {                                          \
        return collective(Call::gather, comm, root, bytes_of(send_count, send_type), send, [&] {             \
            return PMPI_Gather##suffix(send, send_count, send_type, receive, receive_count, receive_type,    \
                                       root, comm);                                                          \
        });                                                                                                  \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Allgather##suffix(const void* send, Count send_count, MPI_Datatype send_type,      \
                                            void* receive, Count receive_count, MPI_Datatype receive_type,   \
                                            MPI_Comm comm) {                                                 \
        return collective(Call::allgather, comm, -1, bytes_of(receive_count, receive_type), send, [&] {      \
            return PMPI_Allgather##suffix(send, send_count, send_type, receive, receive_count, receive_type, \
                                          comm);                                                             \
        });                                                                                                  \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Scatter##suffix(const void* send, Count send_count, MPI_Datatype send_type,        \
                                          void* receive, Count receive_count, MPI_Datatype receive_type,     \
                                          int root, MPI_Comm comm) {                                         \
        return collective(Call::scatter, comm, root, bytes_of(receive_count, receive_type), receive, [&] {   \
            return PMPI_Scatter##suffix(send, send_count, send_type, receive, receive_count, receive_type,   \
                                        root, comm);                                                         \
        });                                                                                                  \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Alltoall##suffix(const void* send, Count send_count, MPI_Datatype send_type,       \
                                           void* receive, Count receive_count, MPI_Datatype receive_type,    \
                                           MPI_Comm comm) {                                                  \
        return collective(Call::alltoall, comm, -1, bytes_of(receive_count, receive_type), receive, [&] {    \
            return PMPI_Alltoall##suffix(send, send_count, send_type, receive, receive_count, receive_type,  \
                                         comm);                                                              \
        });                                                                                                  \
    }

HAKOBI_MESSAGES(, int)
#if MPI_VERSION >= 4
HAKOBI_MESSAGES(_c, MPI_Count)
#endif

HAKOBI_EXPORT int MPI_Barrier(MPI_Comm comm) {
    return collective(Call::barrier, comm, -1, 0, nullptr, [&] { return PMPI_Barrier(comm); });
}

// Persistent messages: each start is a nonblocking message.
HAKOBI_EXPORT int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int to, int tag,
                                MPI_Comm comm, MPI_Request* request) {
    const int result = PMPI_Send_init(buffer, count, type, to, tag, comm, request);
    if (trace().is_on()) {
        trace().keep_template(*request, transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer));
    }
    return result;
}
HAKOBI_EXPORT int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                                MPI_Request* request) {
    const int result = PMPI_Recv_init(buffer, count, type, from, tag, comm, request);
    if (trace().is_on()) {
        trace().keep_template(*request,
                              transfer(Call::ireceive, comm, from, tag, bytes_of(count, type), buffer));
    }
    return result;
}
HAKOBI_EXPORT int MPI_Start(MPI_Request* request) {
    return start(*request);
}
HAKOBI_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
    if (!trace().is_on()) return PMPI_Startall(count, requests);
    for (int i = 0; i < count; ++i) {
        const int result = start(requests[i]);
        if (result != MPI_SUCCESS) return result;
    }
    return MPI_SUCCESS;
}
HAKOBI_EXPORT int MPI_Request_free(MPI_Request* request) {
    if (trace().is_on()) trace().drop_template(*request);
    return PMPI_Request_free(request);
}

HAKOBI_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return timed_wait(1, request, [&] { return PMPI_Wait(request, status); });
}
HAKOBI_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return timed_wait(count, requests, [&] { return PMPI_Waitall(count, requests, statuses); });
}
HAKOBI_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
    return tested(count, requests, [&] { return PMPI_Waitany(count, requests, index, status); });
}
HAKOBI_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int* completed, int indices[],
                               MPI_Status statuses[]) {
    return tested(count, requests,
                  [&] { return PMPI_Waitsome(count, requests, completed, indices, statuses); });
}
HAKOBI_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return tested(1, request, [&] { return PMPI_Test(request, flag, status); });
}
HAKOBI_EXPORT int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
    return tested(count, requests, [&] { return PMPI_Testall(count, requests, flag, statuses); });
}
HAKOBI_EXPORT int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
    return tested(count, requests, [&] { return PMPI_Testany(count, requests, index, flag, status); });
}
HAKOBI_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int* completed, int indices[],
                               MPI_Status statuses[]) {
    return tested(count, requests,
                  [&] { return PMPI_Testsome(count, requests, completed, indices, statuses); });
}

// Communicating, but not replayed: only their time is kept.
HAKOBI_EXPORT int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
    return other([&] { return PMPI_Probe(from, tag, comm, status); });
}
HAKOBI_EXPORT int MPI_Allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                                 const int receive_counts[], const int offsets[], MPI_Datatype receive_type,
                                 MPI_Comm comm) {
    return other([&] {
        return PMPI_Allgatherv(send, send_count, send_type, receive, receive_counts, offsets, receive_type,
                               comm);
    });
}
HAKOBI_EXPORT int MPI_Gatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                              const int receive_counts[], const int offsets[], MPI_Datatype receive_type,
                              int root, MPI_Comm comm) {
    return other([&] {
        return PMPI_Gatherv(send, send_count, send_type, receive, receive_counts, offsets, receive_type, root,
                            comm);
    });
}
HAKOBI_EXPORT int MPI_Alltoallv(const void* send, const int send_counts[], const int send_offsets[],
                                MPI_Datatype send_type, void* receive, const int receive_counts[],
                                const int receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm) {
    return other([&] {
        return PMPI_Alltoallv(send, send_counts, send_offsets, send_type, receive, receive_counts,
                              receive_offsets, receive_type, comm);
    });
}
HAKOBI_EXPORT int MPI_Neighbor_alltoall(const void* send, int send_count, MPI_Datatype send_type,
                                        void* receive, int receive_count, MPI_Datatype receive_type,
                                        MPI_Comm comm) {
    return other([&] {
        return PMPI_Neighbor_alltoall(send, send_count, send_type, receive, receive_count, receive_type,
                                      comm);
    });
}
HAKOBI_EXPORT int MPI_Neighbor_alltoallw(const void* send, const int send_counts[],
                                         const MPI_Aint send_offsets[], const MPI_Datatype send_types[],
                                         void* receive, const int receive_counts[],
                                         const MPI_Aint receive_offsets[], const MPI_Datatype receive_types[],
                                         MPI_Comm comm) {
    return other([&] {
        return PMPI_Neighbor_alltoallw(send, send_counts, send_offsets, send_types, receive, receive_counts,
                                       receive_offsets, receive_types, comm);
    });
}

}  // extern "C"
