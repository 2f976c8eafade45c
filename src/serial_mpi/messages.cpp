// A rank's messages to itself. Every send is copied at once, and is complete but for a synchronous one, which
// is when it is matched. Messages and receives are matched in their order, by communicator and tag.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "serial_mpi/serial_mpi.hpp"

namespace hakobi::serial_mpi {
namespace {

struct Memory {
    void* data;
    int count;
    MPI_Datatype type;
};

/// A persistent request keeps what it starts; it is active from MPI_Start until it has been found complete.
struct Request {
    bool is_complete = false, is_persistent = false, is_active = true;
    std::function<void(MPI_Request)> start = {};
    int tag = MPI_ANY_TAG;
    std::size_t num_bytes = 0;
    int error = MPI_SUCCESS;
};

struct Sent {
    MPI_Comm comm;
    int tag;
    std::vector<std::byte> bytes;
    MPI_Request waits_for_match;  // or MPI_REQUEST_NULL
};

struct Posted {
    MPI_Comm comm;
    int tag;
    Memory memory;
    MPI_Request request;
};

struct Messages {
    std::map<MPI_Request, Request> requests;
    std::map<MPI_Message, Sent> probed;
    std::deque<Sent> sent;
    std::deque<Posted> posted;
    int next_request = static_cast<int>(0xac000000U), next_message = static_cast<int>(0xac800000U);
};

Messages& messages() {
    static auto* const made = new Messages;
    return *made;
}

MPI_Request add_request(Request request) {
    const MPI_Request handle = messages().next_request++;
    messages().requests[handle] = std::move(request);
    return handle;
}

bool fits(int wanted, int tag) {
    return wanted == MPI_ANY_TAG || wanted == tag;
}

void complete(MPI_Request handle, int tag, std::size_t num_bytes, int error = MPI_SUCCESS) {
    const auto found = messages().requests.find(handle);
    if (found == messages().requests.end()) return;  // freed while active
    Request& request = found->second;
    request.is_complete = true;
    request.tag = tag;
    request.num_bytes = num_bytes;
    request.error = error;
}

int deliver(const Sent& sent, const Memory& memory) {
    const auto layout = layout_of(memory.type);
    if (!layout) return MPI_ERR_TYPE;
    complete(sent.waits_for_match, sent.tag, sent.bytes.size());
    const std::size_t taken = unpack(sent.bytes, memory.data, memory.count, *layout);
    return taken < sent.bytes.size() ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

int send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
         MPI_Request waits_for_match) {
    const auto layout = layout_of(type);
    if (!layout) return MPI_ERR_TYPE;
    if (to == MPI_PROC_NULL) {
        complete(waits_for_match, tag, 0);
        return MPI_SUCCESS;
    }
    if (to != 0) return MPI_ERR_RANK;
    Sent sent{comm, tag, pack(data, count, *layout), waits_for_match};
    std::deque<Posted>& posted = messages().posted;
    const auto receiver = std::ranges::find_if(
        posted, [&](const Posted& each) { return each.comm == comm && fits(each.tag, tag); });
    if (receiver == posted.end()) {
        messages().sent.push_back(std::move(sent));
        return MPI_SUCCESS;
    }
    const Posted taken = *receiver;
    posted.erase(receiver);
    complete(taken.request, tag, sent.bytes.size(), deliver(sent, taken.memory));
    return MPI_SUCCESS;
}

std::deque<Sent>::iterator find_sent(int tag, MPI_Comm comm) {
    return std::ranges::find_if(messages().sent,
                                [&](const Sent& each) { return each.comm == comm && fits(tag, each.tag); });
}

void receive(Memory memory, int from, int tag, MPI_Comm comm, MPI_Request request) {
    if (from == MPI_PROC_NULL) {
        complete(request, MPI_ANY_TAG, 0);
        return;
    }
    const auto found = find_sent(tag, comm);
    if (found == messages().sent.end()) {
        messages().posted.push_back({comm, tag, memory, request});
        return;
    }
    const Sent sent = std::move(*found);
    messages().sent.erase(found);
    complete(request, sent.tag, sent.bytes.size(), deliver(sent, memory));
}

bool is_inactive(MPI_Request handle) {
    const auto found = messages().requests.find(handle);
    return found == messages().requests.end() || !found->second.is_active;
}

/// Takes the result of a request that is complete or inactive; nothing of one that is not.
std::optional<int> take(MPI_Request* handle, MPI_Status* status) {
    if (is_inactive(*handle)) {
        set_status(status, MPI_ANY_TAG, 0);
        if (status != MPI_STATUS_IGNORE) status->MPI_SOURCE = MPI_ANY_SOURCE;
        return MPI_SUCCESS;
    }
    Request& request = messages().requests[*handle];
    if (!request.is_complete) return {};
    set_status(status, request.tag, request.num_bytes, request.error);
    const int error = request.error;
    if (request.is_persistent) {
        request.is_complete = request.is_active = false;
    } else {
        messages().requests.erase(*handle);
        *handle = MPI_REQUEST_NULL;
    }
    return error;
}

MPI_Request persistent(std::function<void(MPI_Request)> start) {
    return add_request({.is_persistent = true, .is_active = false, .start = std::move(start)});
}

int test_some(int count, MPI_Request requests[], int* num_done, int indices[], MPI_Status statuses[]) {
    int error = MPI_SUCCESS;
    bool is_any = false;
    *num_done = 0;
    for (int i = 0; i < count; ++i) {
        if (is_inactive(requests[i])) continue;
        is_any = true;
        MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*num_done];
        const std::optional<int> done = take(&requests[i], status);
        if (!done) continue;
        indices[(*num_done)++] = i;
        if (*done != MPI_SUCCESS) error = statuses == MPI_STATUSES_IGNORE ? *done : MPI_ERR_IN_STATUS;
    }
    if (!is_any) *num_done = MPI_UNDEFINED;
    return error;
}

}  // namespace

MPI_Request completed() {
    return add_request({.is_complete = true});
}

}  // namespace hakobi::serial_mpi

using namespace hakobi::serial_mpi;  // MPI's functions, all of them about these

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return send(data, count, type, to, tag, comm, MPI_REQUEST_NULL);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    *request = completed();
    return send(data, count, type, to, tag, comm, MPI_REQUEST_NULL);
}

int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
    *request = add_request({});
    return send(data, count, type, to, tag, comm, *request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
    *request = add_request({});
    receive({data, count, type}, from, tag, comm, *request);
    return MPI_SUCCESS;
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(data, count, type, from, tag, comm, &request);
    return MPI_Wait(&request, status);
}

int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    *request = persistent([=](MPI_Request own) {
        send(data, count, type, to, tag, comm, MPI_REQUEST_NULL);
        complete(own, tag, 0);
    });
    return MPI_SUCCESS;
}

int MPI_Recv_init(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    *request = persistent([=](MPI_Request own) { receive({data, count, type}, from, tag, comm, own); });
    return MPI_SUCCESS;
}

int MPI_Start(MPI_Request* handle) {
    Request& request = messages().requests[*handle];
    request.is_active = true;
    request.start(*handle);
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* handle) {
    messages().requests.erase(*handle);
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Test(MPI_Request* request, int* is_done, MPI_Status* status) {
    const std::optional<int> done = take(request, status);
    *is_done = done ? 1 : 0;
    return done.value_or(MPI_SUCCESS);
}

int MPI_Testall(int count, MPI_Request requests[], int* are_done, MPI_Status statuses[]) {
    const auto is_open = [](MPI_Request each) {
        return !is_inactive(each) && !messages().requests[each].is_complete;
    };
    *are_done = std::none_of(requests, requests + count, is_open) ? 1 : 0;
    return *are_done != 0 ? MPI_Waitall(count, requests, statuses) : MPI_SUCCESS;
}

int MPI_Testsome(int count, MPI_Request requests[], int* num_done, int indices[], MPI_Status statuses[]) {
    return test_some(count, requests, num_done, indices, statuses);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    const std::optional<int> done = take(request, status);
    if (!done) end_stuck("MPI_Wait");
    return *done;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    int error = MPI_SUCCESS;
    for (int i = 0; i < count; ++i) {
        const int each =
            MPI_Wait(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
        if (each != MPI_SUCCESS) error = statuses == MPI_STATUSES_IGNORE ? each : MPI_ERR_IN_STATUS;
    }
    return error;
}

int MPI_Waitsome(int count, MPI_Request requests[], int* num_done, int indices[], MPI_Status statuses[]) {
    const int error = test_some(count, requests, num_done, indices, statuses);
    if (*num_done == 0) end_stuck("MPI_Waitsome");
    return error;
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* has_come, MPI_Status* status) {
    const auto found = find_sent(tag, comm);
    *has_come = from != MPI_PROC_NULL && found != messages().sent.end() ? 1 : 0;
    if (*has_come != 0) set_status(status, found->tag, found->bytes.size());
    return MPI_SUCCESS;
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int* has_come, MPI_Message* message, MPI_Status* status) {
    MPI_Iprobe(from, tag, comm, has_come, status);
    if (*has_come == 0) return MPI_SUCCESS;
    const auto found = find_sent(tag, comm);
    *message = messages().next_message++;
    messages().probed.emplace(*message, std::move(*found));
    messages().sent.erase(found);
    return MPI_SUCCESS;
}

int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
    const auto found = messages().probed.find(*message);
    if (found == messages().probed.end()) return MPI_ERR_REQUEST;
    *request = add_request({});
    complete(*request, found->second.tag, found->second.bytes.size(),
             deliver(found->second, {data, count, type}));
    messages().probed.erase(found);
    *message = MPI_MESSAGE_NULL;
    return MPI_SUCCESS;
}

HAKOBI_ALSO_AS_PMPI(Send)
HAKOBI_ALSO_AS_PMPI(Isend)
HAKOBI_ALSO_AS_PMPI(Issend)
HAKOBI_ALSO_AS_PMPI(Irecv)
HAKOBI_ALSO_AS_PMPI(Recv)
HAKOBI_ALSO_AS_PMPI(Send_init)
HAKOBI_ALSO_AS_PMPI(Recv_init)
HAKOBI_ALSO_AS_PMPI(Start)
HAKOBI_ALSO_AS_PMPI(Request_free)
HAKOBI_ALSO_AS_PMPI(Test)
HAKOBI_ALSO_AS_PMPI(Testall)
HAKOBI_ALSO_AS_PMPI(Testsome)
HAKOBI_ALSO_AS_PMPI(Wait)
HAKOBI_ALSO_AS_PMPI(Waitall)
HAKOBI_ALSO_AS_PMPI(Waitsome)
HAKOBI_ALSO_AS_PMPI(Iprobe)
HAKOBI_ALSO_AS_PMPI(Improbe)
HAKOBI_ALSO_AS_PMPI(Imrecv)
