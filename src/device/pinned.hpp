#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mapping.hpp"
#include "device/device.hpp"

namespace hakobi::device {

/// Page-locked host memory for copies to and from one device: its `data` has at least the bytes that were
/// asked for, and unknown content. It goes back to a pool of the process, which keeps some for the next who
/// asks, because to lock pages takes longer than to copy them. Thread-safe as a whole; a single one is not.
/// Nothing is freed when the process ends.
class Pinned {
  public:
    Pinned() = default;
    /// Page-aligned memory of `bytes` > 0. Where the system or the driver does not lock so much, it is not
    /// locked: copies are correct, and keep their callers waiting. out_of_memory.
    [[nodiscard]] static Result<Pinned> of(Device& device, std::int64_t bytes);
    Pinned(Pinned&& other) noexcept;
    Pinned& operator=(Pinned&& other) noexcept;
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    /// No copy may be under way.
    ~Pinned();

    [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return memory_.size_bytes(); }
    [[nodiscard]] bool is_locked() const noexcept { return is_locked_; }

    /// The pool keeps at most so much.
    static constexpr std::int64_t max_kept_bytes = std::int64_t{256} << 20;

  private:
    friend class PinnedPool;
    Pinned(Device& device, Mapping memory, bool is_locked);

    Device* device_ = nullptr;
    Mapping memory_;
    bool is_locked_ = false;
};

}  // namespace hakobi::device
