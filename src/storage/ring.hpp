#pragma once

#ifdef HAKOBI_HAVE_URING

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"

namespace hakobi::storage {

/// One transfer for the kernel, at most 1 GiB (the length has 32 bits).
struct RingEntry {
    bool is_write = false;
    int descriptor = -1;
    std::byte* address = nullptr;
    std::int64_t offset_bytes = 0;
    std::int64_t length_bytes = 0;  ///< more than the most is cut; the rest goes by a further entry
    bool is_deferred = false;       ///< never carried out within enter(), but by the kernel's workers
    void* data = nullptr;           ///< comes back with the completion
};

struct RingCompletion {
    void* data = nullptr;
    int result = 0;  ///< bytes moved, or a negative errno
};

/// The kernel's submission and completion queue. put and enter need one caller at a time, wait another; the
/// two may be at it together. Nothing here is thread-safe beyond that.
class Ring {
  public:
    Ring() = default;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring();

    /// Makes the queues. unsupported, with the reason, where the kernel has no io_uring or lacks an
    /// operation.
    Status start(int num_entries);
    /// Buffers that the kernel shall keep mapped. Where it refuses (the limit of locked memory is low, say)
    /// transfers map their pages each time, which is slower and no error.
    void register_buffers(std::vector<std::span<std::byte>> buffers);
    /// Queues an entry; at most num_entries may be without completion. Without a descriptor: one that does
    /// nothing.
    void put(const RingEntry& entry);
    /// Hands what was put to the kernel.
    void enter();
    /// Sleeps until a transfer is complete.
    RingCompletion wait();

  private:
    [[nodiscard]] int registered_index(const std::byte* address, std::int64_t length_bytes) const;

    bool is_started_ = false;
    io_uring ring_{};
    std::vector<std::span<std::byte>> buffers_;  // registered
};

}  // namespace hakobi::storage

#endif
