// libhakobi_record.so: preloaded before a program's MPI library, it stands in for the communicating MPI_*
// calls of C and C++ programs, lets PMPI_* do them, and keeps what they were (trace.hpp). Results, errors and
// statuses are the library's own. Calls that communicate and cannot be replayed are in unreplayed.cpp, those
// that make communicators in communicators.cpp.
#include <algorithm>
#include <numeric>

#include "timed.hpp"

namespace hakobi::recorder {
namespace {

template <class Function>
int collective(Call kind, MPI_Comm comm, int root, std::int64_t bytes, const void* address,
               const Function& call) {
    return timed([&] { return transfer(kind, comm, root, -1, bytes, address); }, call);
}

/// `make` makes a persistent request, whose starts are kept as what `describe` says.
template <class Describe, class Function>
int persistent(MPI_Request* request, const Describe& describe, const Function& make) {
    const int result = make();
    if (trace().is_on() && result == MPI_SUCCESS) trace().handles().keep_template(*request, describe());
    return result;
}

/// The library may put another request in the place of one that it is not done with (Open MPI does of
/// buffered sends).
int start(MPI_Request* request) {
    const MPI_Request before = *request;
    const Event* made = trace().is_on() ? trace().handles().template_of(before) : nullptr;
    if (made == nullptr) {  // of a persistent collective or in parts, which its making has named
        return timed(not_replayed, [&] { return PMPI_Start(request); });
    }
    const Event started = *made;
    trace().handles().take(before);  // of a start whose wait failed
    const int result = timed_request(
        request, [&] { return started; }, [&] { return PMPI_Start(request); });
    if (*request != before) {
        trace().handles().drop(before);
        trace().handles().keep_template(*request, started);
    }
    return result;
}

/// Keeps a probed message's status for its receive.
void keep_probed(MPI_Comm comm, MPI_Message message, const MPI_Status& status) {
    if (message == MPI_MESSAGE_NULL) return;
    const Event event =
        transfer(Call::receive, comm, message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : status.MPI_SOURCE,
                 status.MPI_TAG, 0, nullptr);
    trace().handles().keep_message(message, event);
}

Event probed(MPI_Message message, Call call, std::int64_t bytes, const void* buffer) {
    Event event = trace().handles().take_message(message);
    if (event.call == Call::other) return event;
    event.call = call;
    event.bytes = bytes;
    event.address = number(buffer);
    return event;
}

/// A sendrecv's event with its receiving half.
Event both(Event event, int from, int tag, std::int64_t bytes, const void* buffer) {
    if (event.call == Call::other) return event;
    event.source = trace().groups().world_rank(event.communicator, from);
    event.receive_tag = tag == MPI_ANY_TAG ? -1 : tag;
    event.receive_bytes = bytes;
    event.receive_address = number(buffer);
    return event;
}

std::vector<int> all_places(int flag, int count) {
    std::vector<int> places(static_cast<std::size_t>(flag != 0 ? count : 0));
    std::iota(places.begin(), places.end(), 0);
    return places;
}

}  // namespace
}  // namespace hakobi::recorder

using namespace hakobi::recorder;

__attribute__((destructor)) static void at_end() {
    trace().say_what_is_missing();
}

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
        return timed_receive(                                                                                \
            status, [&] { return transfer(Call::receive, comm, from, tag, room_of(count, type), buffer); },  \
            [&](MPI_Status* found) {                                                                         \
                return PMPI_Recv##suffix(buffer, count, type, from, tag, comm, found);                       \
            });                                                                                              \
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
            [&] { return transfer(Call::ireceive, comm, from, tag, room_of(count, type), buffer); },         \
            [&] { return PMPI_Irecv##suffix(buffer, count, type, from, tag, comm, request); });              \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Sendrecv##suffix(const void* send, Count send_count, MPI_Datatype send_type,       \
                                           int to, int send_tag, void* receive, Count receive_count,         \
                                           MPI_Datatype receive_type, int from, int receive_tag,             \
                                           MPI_Comm comm, MPI_Status* status) {                              \
        return timed_receive(                                                                                \
            status,                                                                                          \
            [&] {                                                                                            \
                return both(                                                                                 \
                    transfer(Call::sendrecv, comm, to, send_tag, bytes_of(send_count, send_type), send),     \
                    from, receive_tag, room_of(receive_count, receive_type), receive);                       \
            },                                                                                               \
            [&](MPI_Status* found) {                                                                         \
                return PMPI_Sendrecv##suffix(send, send_count, send_type, to, send_tag, receive,             \
                                             receive_count, receive_type, from, receive_tag, comm, found);   \
            });                                                                                              \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Bsend##suffix(const void* buffer, Count count, MPI_Datatype type, int to, int tag, \
                                        MPI_Comm comm) {                                                     \
        return timed([&] { return transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer); },    \
                     [&] { return PMPI_Bsend##suffix(buffer, count, type, to, tag, comm); });                \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Rsend##suffix(const void* buffer, Count count, MPI_Datatype type, int to, int tag, \
                                        MPI_Comm comm) {                                                     \
        return timed([&] { return transfer(Call::send, comm, to, tag, bytes_of(count, type), buffer); },     \
                     [&] { return PMPI_Rsend##suffix(buffer, count, type, to, tag, comm); });                \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Issend##suffix(const void* buffer, Count count, MPI_Datatype type, int to,         \
                                         int tag, MPI_Comm comm, MPI_Request* request) {                     \
        return timed_request(                                                                                \
            request, [&] { return transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer); },    \
            [&] { return PMPI_Issend##suffix(buffer, count, type, to, tag, comm, request); });               \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Ibsend##suffix(const void* buffer, Count count, MPI_Datatype type, int to,         \
                                         int tag, MPI_Comm comm, MPI_Request* request) {                     \
        return timed_request(                                                                                \
            request, [&] { return transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer); },    \
            [&] { return PMPI_Ibsend##suffix(buffer, count, type, to, tag, comm, request); });               \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Irsend##suffix(const void* buffer, Count count, MPI_Datatype type, int to,         \
                                         int tag, MPI_Comm comm, MPI_Request* request) {                     \
        return timed_request(                                                                                \
            request, [&] { return transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer); },    \
            [&] { return PMPI_Irsend##suffix(buffer, count, type, to, tag, comm, request); });               \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Sendrecv_replace##suffix(void* buffer, Count count, MPI_Datatype type, int to,     \
                                                   int send_tag, int from, int receive_tag, MPI_Comm comm,   \
                                                   MPI_Status* status) {                                     \
        return timed_receive(                                                                                \
            status,                                                                                          \
            [&] {                                                                                            \
                return both(transfer(Call::sendrecv, comm, to, send_tag, bytes_of(count, type), buffer),     \
                            from, receive_tag, room_of(count, type), buffer);                                \
            },                                                                                               \
            [&](MPI_Status* found) {                                                                         \
                return PMPI_Sendrecv_replace##suffix(buffer, count, type, to, send_tag, from, receive_tag,   \
                                                     comm, found);                                           \
            });                                                                                              \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Mrecv##suffix(void* buffer, Count count, MPI_Datatype type, MPI_Message* message,  \
                                        MPI_Status* status) {                                                \
        return timed_receive(                                                                                \
            status, [&] { return probed(*message, Call::receive, room_of(count, type), buffer); },           \
            [&](MPI_Status* found) { return PMPI_Mrecv##suffix(buffer, count, type, message, found); });     \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Imrecv##suffix(void* buffer, Count count, MPI_Datatype type, MPI_Message* message, \
                                         MPI_Request* request) {                                             \
        return timed_request(                                                                                \
            request, [&] { return probed(*message, Call::ireceive, room_of(count, type), buffer); },         \
            [&] { return PMPI_Imrecv##suffix(buffer, count, type, message, request); });                     \
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
        const bool is_in_place = send == MPI_IN_PLACE; /* at the root: its own counts are not looked at */   \
        const std::int64_t bytes =                                                                           \
            is_in_place ? bytes_of(receive_count, receive_type) : bytes_of(send_count, send_type);           \
        return collective(Call::gather, comm, root, bytes, send, [&] {                                       \
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
        const bool is_in_place = receive == MPI_IN_PLACE;                                                    \
        const std::int64_t bytes =                                                                           \
            is_in_place ? bytes_of(send_count, send_type) : bytes_of(receive_count, receive_type);           \
        return collective(Call::scatter, comm, root, bytes, receive, [&] {                                   \
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
#define HAKOBI_PERSISTENT_MESSAGES(suffix, Count)                                                            \
    HAKOBI_EXPORT int MPI_Send_init##suffix(const void* buffer, Count count, MPI_Datatype type, int to,      \
                                            int tag, MPI_Comm comm, MPI_Request* request) {                  \
        return persistent(                                                                                   \
            request, [&] { return transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer); },    \
            [&] { return PMPI_Send_init##suffix(buffer, count, type, to, tag, comm, request); });            \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Bsend_init##suffix(const void* buffer, Count count, MPI_Datatype type, int to,     \
                                             int tag, MPI_Comm comm, MPI_Request* request) {                 \
        return persistent(                                                                                   \
            request, [&] { return transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer); },    \
            [&] { return PMPI_Bsend_init##suffix(buffer, count, type, to, tag, comm, request); });           \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Ssend_init##suffix(const void* buffer, Count count, MPI_Datatype type, int to,     \
                                             int tag, MPI_Comm comm, MPI_Request* request) {                 \
        return persistent(                                                                                   \
            request, [&] { return transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer); },    \
            [&] { return PMPI_Ssend_init##suffix(buffer, count, type, to, tag, comm, request); });           \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Rsend_init##suffix(const void* buffer, Count count, MPI_Datatype type, int to,     \
                                             int tag, MPI_Comm comm, MPI_Request* request) {                 \
        return persistent(                                                                                   \
            request, [&] { return transfer(Call::isend, comm, to, tag, bytes_of(count, type), buffer); },    \
            [&] { return PMPI_Rsend_init##suffix(buffer, count, type, to, tag, comm, request); });           \
    }                                                                                                        \
    HAKOBI_EXPORT int MPI_Recv_init##suffix(void* buffer, Count count, MPI_Datatype type, int from, int tag, \
                                            MPI_Comm comm, MPI_Request* request) {                           \
        return persistent(                                                                                   \
            request,                                                                                         \
            [&] { return transfer(Call::ireceive, comm, from, tag, room_of(count, type), buffer); },         \
            [&] { return PMPI_Recv_init##suffix(buffer, count, type, from, tag, comm, request); });          \
    }
HAKOBI_PERSISTENT_MESSAGES(, int)
#if MPI_VERSION >= 4
HAKOBI_PERSISTENT_MESSAGES(_c, MPI_Count)
#endif
HAKOBI_EXPORT int MPI_Start(MPI_Request* request) {
    return start(request);
}
HAKOBI_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
    if (!trace().is_on()) return PMPI_Startall(count, requests);
    for (int i = 0; i < count; ++i) {
        const int result = start(&requests[i]);
        if (result != MPI_SUCCESS) return result;
    }
    return MPI_SUCCESS;
}
HAKOBI_EXPORT int MPI_Cancel(MPI_Request* request) {
    if (trace().is_on()) trace().cancel_request(*request);
    return PMPI_Cancel(request);
}
HAKOBI_EXPORT int MPI_Request_free(MPI_Request* request) {
    if (trace().is_on()) trace().handles().drop(*request);
    return PMPI_Request_free(request);
}

HAKOBI_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return timed_wait(1, request, status, [&](MPI_Status* found) { return PMPI_Wait(request, found); });
}
HAKOBI_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return timed_wait(count, requests, statuses,
                      [&](MPI_Status* found) { return PMPI_Waitall(count, requests, found); });
}
HAKOBI_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
    return tested(
        count, requests, status,
        [&](MPI_Status* found) { return PMPI_Waitany(count, requests, index, found); },
        [&] { return std::vector<int>{*index}; });
}
HAKOBI_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int* completed, int indices[],
                               MPI_Status statuses[]) {
    return tested(
        count, requests, statuses,
        [&](MPI_Status* found) { return PMPI_Waitsome(count, requests, completed, indices, found); },
        [&] { return std::vector<int>(indices, indices + std::max(0, *completed)); });
}
HAKOBI_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return tested(
        1, request, status, [&](MPI_Status* found) { return PMPI_Test(request, flag, found); },
        [&] { return all_places(*flag, 1); });
}
HAKOBI_EXPORT int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
    return tested(
        count, requests, statuses,
        [&](MPI_Status* found) { return PMPI_Testall(count, requests, flag, found); },
        [&] { return all_places(*flag, count); });
}
HAKOBI_EXPORT int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
    return tested(
        count, requests, status,
        [&](MPI_Status* found) { return PMPI_Testany(count, requests, index, flag, found); },
        [&] { return *flag != 0 ? std::vector<int>{*index} : std::vector<int>{}; });
}
HAKOBI_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int* completed, int indices[],
                               MPI_Status statuses[]) {
    return tested(
        count, requests, statuses,
        [&](MPI_Status* found) { return PMPI_Testsome(count, requests, completed, indices, found); },
        [&] { return std::vector<int>(indices, indices + std::max(0, *completed)); });
}

// A matched probe names the message that an MPI_Mrecv takes later.
HAKOBI_EXPORT int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    MPI_Status own;
    MPI_Status* const found = status == MPI_STATUS_IGNORE ? &own : status;
    const int result = other("MPI_Mprobe", [&] { return PMPI_Mprobe(from, tag, comm, message, found); });
    if (trace().is_on() && result == MPI_SUCCESS) keep_probed(comm, *message, *found);
    return result;
}
HAKOBI_EXPORT int MPI_Improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                              MPI_Status* status) {
    MPI_Status own;
    MPI_Status* const found = status == MPI_STATUS_IGNORE ? &own : status;
    const int result =
        other("MPI_Improbe", [&] { return PMPI_Improbe(from, tag, comm, flag, message, found); });
    if (trace().is_on() && result == MPI_SUCCESS && *flag != 0) keep_probed(comm, *message, *found);
    return result;
}

}  // extern "C"
