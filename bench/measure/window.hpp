#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/mapping.hpp"
#include "base/status.hpp"

namespace hakobi::measure {

struct WindowOptions {
    std::int64_t bytes = 0;  ///< size of the window; rounded up to whole pages (2 MiB pages with huge_pages)
    bool huge_pages =
        false;  ///< asks for 2 MiB pages by madvise: what remains then is cache misses, not TLB misses
    bool touch = true;  ///< writes every page before use; without it, first use pays page faults too
};

/// Memory through which a benchmark's buffers rotate, so that a buffer was last used a whole window ago: with
/// a window larger than the last-level cache every buffer is cold. Owns an anonymous mapping; not
/// thread-safe.
///
/// Slots of one size are visited with neighbours in time far apart in memory (hardware prefetchers follow
/// short strides within a page), each exactly once before the first comes again; slots are whole pairs of
/// cache lines. Every rank that makes the same calls sees the same offsets.
class BufferWindow {
  public:
    /// out_of_memory when the mapping or its pages cannot be had, invalid_argument when bytes <= 0.
    [[nodiscard]] static Result<BufferWindow> create(const WindowOptions& options);

    /// How many slots of `bytes` the window has; 0 when it is too small for one.
    [[nodiscard]] std::int64_t num_slots(std::int64_t bytes) const noexcept;
    /// Offset of the `visit`-th slot of `bytes` (visit >= 0, any size of number); num_slots(bytes) must not
    /// be 0.
    [[nodiscard]] std::int64_t offset_of_visit(std::int64_t bytes, std::int64_t visit) const noexcept;
    [[nodiscard]] std::span<std::byte> slot(std::int64_t bytes, std::int64_t visit) noexcept {
        return {mapping_.data() + offset_of_visit(bytes, visit), static_cast<std::size_t>(bytes)};
    }
    /// The whole window.
    [[nodiscard]] std::span<std::byte> bytes() noexcept {
        return {mapping_.data(), static_cast<std::size_t>(mapping_.size_bytes())};
    }

    /// Gives all pages back to the system: the next use of each pays its first touch again, and reads zeros
    /// before.
    void forget() noexcept;

    /// Seconds that the first touch took: what an application pays once, kept apart from what it pays each
    /// time.
    [[nodiscard]] double first_touch_s() const noexcept { return first_touch_s_; }
    /// Bytes that the kernel really gave huge pages (from /proc/self/smaps); 0 when it gave none or does not
    /// say.
    [[nodiscard]] std::int64_t huge_page_bytes() const;

  private:
    BufferWindow() = default;
    Mapping mapping_;
    double first_touch_s_ = 0;
};

}  // namespace hakobi::measure
