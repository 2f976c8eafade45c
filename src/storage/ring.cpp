#include "storage/ring.hpp"

#ifdef HAKOBI_HAVE_URING

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace hakobi::storage {

namespace {
constexpr std::int64_t most_bytes = 1LL << 30;
}

Ring::~Ring() {
    if (is_started_) io_uring_queue_exit(&ring_);
}

Status Ring::start(int num_entries) {
    const auto refused = [](std::string why) {
        return Status(ErrorCode::unsupported, "file access 'uring': " + std::move(why));
    };
    assert(!is_started_ && num_entries > 0);
    if (const int error = io_uring_queue_init(static_cast<unsigned>(num_entries), &ring_, 0); error < 0) {
        return refused(std::string("the kernel gives no io_uring: ") + std::strerror(-error) +
                       (error == -EPERM ? " (kernel.io_uring_disabled, or the container's policy)" : ""));
    }
    is_started_ = true;
    io_uring_probe* probe = io_uring_get_probe_ring(&ring_);
    const bool has_operations = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_READ) &&
                                io_uring_opcode_supported(probe, IORING_OP_WRITE);
    if (probe != nullptr) io_uring_free_probe(probe);
    return has_operations ? Status()
                          : refused("the kernel's io_uring has no read and write (5.6 or later is needed)");
}

void Ring::register_buffers(std::vector<std::span<std::byte>> buffers) {
    std::vector<iovec> vectors;
    for (const std::span<std::byte>& buffer : buffers) vectors.push_back({buffer.data(), buffer.size()});
    const auto count = static_cast<unsigned>(vectors.size());
    if (count > 0 && io_uring_register_buffers(&ring_, vectors.data(), count) == 0)
        buffers_ = std::move(buffers);
}

int Ring::registered_index(const std::byte* address, std::int64_t length_bytes) const {
    const auto entry = std::ranges::find_if(buffers_, [&](const std::span<std::byte>& buffer) {
        return address >= buffer.data() && address + length_bytes <= buffer.data() + buffer.size();
    });
    return entry == buffers_.end() ? -1 : static_cast<int>(entry - buffers_.begin());
}

void Ring::put(const RingEntry& entry) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    assert(sqe != nullptr);  // no more are put than the ring has
    const auto length = static_cast<unsigned>(std::min(entry.length_bytes, most_bytes));
    assert(entry.descriptor < 0 || (entry.offset_bytes >= 0 && entry.length_bytes > 0));
    const auto offset = static_cast<std::uint64_t>(entry.offset_bytes);
    const int buffer = registered_index(entry.address, length);
    if (entry.descriptor < 0) {
        io_uring_prep_nop(sqe);
    } else if (buffer >= 0 && entry.is_write) {
        io_uring_prep_write_fixed(sqe, entry.descriptor, entry.address, length, offset, buffer);
    } else if (buffer >= 0) {
        io_uring_prep_read_fixed(sqe, entry.descriptor, entry.address, length, offset, buffer);
    } else if (entry.is_write) {
        io_uring_prep_write(sqe, entry.descriptor, entry.address, length, offset);
    } else {
        io_uring_prep_read(sqe, entry.descriptor, entry.address, length, offset);
    }
    if (entry.is_deferred) sqe->flags |= IOSQE_ASYNC;
    io_uring_sqe_set_data(sqe, entry.data);
}

void Ring::enter() {
    for (;;) {
        const int result = io_uring_submit(&ring_);
        if (result >= 0) return;
        if (result != -EINTR && result != -EAGAIN && result != -EBUSY) {
            std::fprintf(stderr, "hakobi: io_uring_enter: %s\n", std::strerror(-result));
            std::abort();  // a ring that we use wrongly
        }
        if (result != -EINTR) ::usleep(100);  // the kernel is short of memory for the moment
    }
}

RingCompletion Ring::wait() {
    for (;;) {
        io_uring_cqe* completion = nullptr;
        const int result = io_uring_wait_cqe(&ring_, &completion);
        if (result == 0) {
            const RingCompletion taken{io_uring_cqe_get_data(completion), completion->res};
            io_uring_cqe_seen(&ring_, completion);
            return taken;
        }
        if (result != -EINTR) ::usleep(100);
    }
}

}  // namespace hakobi::storage

#endif
