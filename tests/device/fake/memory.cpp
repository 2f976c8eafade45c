// Allocations, registered host memory, and memory of other processes.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "state.hpp"

namespace fake {

int allocate(int device, std::size_t bytes, bool is_managed, void** memory) {
    const std::lock_guard lock(the().mutex);
    if (bytes == 0) return invalid_value;
    Device& from = *the().devices[device];
    const auto size = static_cast<std::size_t>(settings().memory_bytes);
    const std::size_t needed = whole_pages(bytes) + page;
    std::size_t offset = from.next;
    for (int round = 0; round < 2; ++round) {
        for (const auto& [begin, used] : from.used)
            if (begin < offset + needed && offset < begin + used) offset = begin + used;
        if (needed <= size && offset <= size - needed) break;
        if (round) return out_of_memory;
        offset = 0;
    }
    from.used[offset] = needed;
    from.next = offset + needed;
    char* seen = from.seen + offset;
    if (is_managed && ::mprotect(seen, whole_pages(bytes), PROT_READ | PROT_WRITE)) return out_of_memory;
    the().allocations[seen] = {
        .seen = seen, .own = from.own + offset, .bytes = bytes, .device = device, .is_managed = is_managed};
    *memory = seen;
    return success;
}

int release(void* memory) {
    Tickets pending;
    int device = 0;
    {
        const std::lock_guard lock(the().mutex);
        const auto found = the().allocations.find(static_cast<char*>(memory));
        if (found == the().allocations.end() || found->second.times_opened) return invalid_value;
        device = found->second.device;
        for (const auto& [stream, owner] : the().streams)
            if (stream->device == device && stream->last) pending.push_back(stream->last);
    }
    for (const auto& ticket : pending) ticket->wait();  // as on a real device
    const std::lock_guard lock(the().mutex);
    const auto found = the().allocations.find(static_cast<char*>(memory));
    if (found == the().allocations.end()) return invalid_value;
    Device& from = *the().devices[device];
    const std::size_t bytes = whole_pages(found->second.bytes);
    const std::size_t offset = static_cast<std::size_t>(found->second.seen - from.seen);
    if (found->second.is_managed && ::mprotect(memory, bytes, PROT_NONE)) return map_failed;
    ::fallocate(from.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(bytes));
    from.used.erase(offset);
    the().allocations.erase(found);
    return success;
}

int register_host(void* memory, std::size_t bytes, int device, bool is_mapped) {
    const std::lock_guard lock(the().mutex);
    const auto* begin = static_cast<const char*>(memory);
    if (!memory || bytes == 0 || find_allocation(begin) != the().allocations.end()) return invalid_value;
    const auto next = the().registered.lower_bound(begin);
    if (find_registered(begin) != the().registered.end() ||
        (next != the().registered.end() && next->first < begin + bytes))
        return already_registered;
    the().registered[begin] = {bytes, device, is_mapped};
    return success;
}

int unregister_host(void* memory) {
    const std::lock_guard lock(the().mutex);
    return the().registered.erase(static_cast<const char*>(memory)) ? success : not_registered;
}

namespace {

/// The contents of a Handle.
struct Shared {
    std::uint64_t magic = 0x68616b6f62694444;
    int pid = 0, fd = 0;
    std::int64_t offset = 0;
    std::size_t bytes = 0;
};
static_assert(sizeof(Shared) <= sizeof(Handle));

}  // namespace

int share(const void* memory, Handle* handle) {
    const std::lock_guard lock(the().mutex);
    const auto found = find_allocation(static_cast<const char*>(memory));
    if (found == the().allocations.end() || found->second.times_opened || found->second.is_managed)
        return invalid_value;
    const Device& from = *the().devices[found->second.device];
    const Shared shared{.pid = ::getpid(),
                        .fd = from.fd,
                        .offset = found->second.seen - from.seen,
                        .bytes = found->second.bytes};
    *handle = {};
    std::memcpy(handle->data(), &shared, sizeof(shared));
    return success;
}

int open_shared(int device, const Handle& handle, void** memory) {
    const std::lock_guard lock(the().mutex);
    Shared shared;
    std::memcpy(&shared, handle.data(), sizeof(shared));
    if (shared.magic != Shared{}.magic) return invalid_handle;
    if (shared.pid == ::getpid()) return invalid_context;
    for (auto& [seen, allocation] : the().allocations) {
        if (!allocation.times_opened || allocation.handle != handle) continue;
        ++allocation.times_opened;
        *memory = allocation.seen;
        return success;
    }
    const std::string path = "/proc/" + std::to_string(shared.pid) + "/fd/" + std::to_string(shared.fd);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return map_failed;
    const std::size_t bytes = whole_pages(shared.bytes);
    void* seen = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, fd, shared.offset);
    void* own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, shared.offset);
    ::close(fd);
    if (seen == MAP_FAILED || own == MAP_FAILED) return map_failed;
    the().allocations[static_cast<char*>(seen)] = {.seen = static_cast<char*>(seen),
                                                   .own = static_cast<char*>(own),
                                                   .bytes = shared.bytes,
                                                   .device = device,
                                                   .times_opened = 1,
                                                   .handle = handle};
    *memory = seen;
    return success;
}

int close_shared(void* memory) {
    const std::lock_guard lock(the().mutex);
    const auto found = the().allocations.find(static_cast<char*>(memory));
    if (found == the().allocations.end() || !found->second.times_opened) return invalid_value;
    if (--found->second.times_opened) return success;
    ::munmap(found->second.seen, whole_pages(found->second.bytes));
    ::munmap(found->second.own, whole_pages(found->second.bytes));
    the().allocations.erase(found);
    return success;
}

}  // namespace fake
