// Makes of the MPI library of a test one that takes device memory, as far as halos call it: persistent
// messages from and to a device go by memory of the host, copied when they start and when they are complete.
// In the test's program, where these names come before the library's.
#include <hakobi/comm.hpp>
#include <map>
#include <vector>

#include "device/device.hpp"

namespace {

using hakobi::device::Device;

struct Message {
    Device* device = nullptr;
    std::byte* on_device = nullptr;
    std::vector<std::byte> on_host;
    bool is_send = false;
};
std::map<MPI_Request, Message>& messages() {
    static std::map<MPI_Request, Message> all;
    return all;
}

void copy(Device& device, std::byte* to, const std::byte* from, std::size_t bytes) {
    const auto queue = device.make_queue().value();
    queue->start({.to = to, .from = from, .length_bytes = static_cast<std::int64_t>(bytes)}).throw_if_error();
    queue->finish().throw_if_error();
}

/// Makes the library's message, with memory of the host in the place of a device's.
template <class Init>
int init(void* buffer, int count, MPI_Datatype type, bool is_send, MPI_Request* request, Init make) {
    Device* const device = type == MPI_BYTE ? hakobi::device::device_of(buffer, count).value() : nullptr;
    if (device == nullptr) return make(buffer);
    Message message{device, static_cast<std::byte*>(buffer),
                    std::vector<std::byte>(static_cast<std::size_t>(count)), is_send};
    const int error = make(message.on_host.data());
    messages()[*request] = std::move(message);
    return error;
}

}  // namespace

#define CALL extern "C" __attribute__((visibility("default"))) int

CALL MPIX_Query_cuda_support() {
    return 1;
}

CALL MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
    return init(const_cast<void*>(buffer), count, type, true, request,
                [&](void* bytes) { return PMPI_Send_init(bytes, count, type, to, tag, comm, request); });
}

CALL MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                   MPI_Request* request) {
    return init(buffer, count, type, false, request,
                [&](void* bytes) { return PMPI_Recv_init(bytes, count, type, from, tag, comm, request); });
}

CALL MPI_Start(MPI_Request* request) {
    const auto found = messages().find(*request);
    if (found != messages().end() && found->second.is_send) {
        Message& message = found->second;
        copy(*message.device, message.on_host.data(), message.on_device, message.on_host.size());
    }
    return PMPI_Start(request);
}

CALL MPI_Testsome(int num, MPI_Request* requests, int* num_complete, int* indices, MPI_Status* statuses) {
    const int error = PMPI_Testsome(num, requests, num_complete, indices, statuses);
    for (int i = 0; *num_complete != MPI_UNDEFINED && i < *num_complete; ++i) {
        const auto found = messages().find(requests[indices[i]]);
        if (found == messages().end() || found->second.is_send) continue;
        const Message& message = found->second;
        copy(*message.device, message.on_device, message.on_host.data(), message.on_host.size());
    }
    return error;
}

CALL MPI_Request_free(MPI_Request* request) {
    messages().erase(*request);
    return PMPI_Request_free(request);
}
