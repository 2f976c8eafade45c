#include "device/pinned.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace hakobi::device {

/// Memory that has been given back, the last piece at the end.
class PinnedPool {
  public:
    static PinnedPool& of_process() {
        static PinnedPool& pool = *new PinnedPool;  // not destroyed: the drivers may have ended before
        return pool;
    }

    /// One of this size, or an empty one.
    Pinned take(Device& device, std::int64_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](const Pinned& pinned) {
            return pinned.device_ == &device && pinned.size_bytes() == bytes;
        });
        if (found == kept_.rend()) return {};
        Pinned taken = std::move(*found);
        kept_bytes_ -= bytes;
        kept_.erase(std::next(found).base());
        return taken;
    }

    /// Frees the oldest until there is room.
    void keep(Pinned pinned) noexcept {
        while (pinned.data()) {
            Pinned oldest;
            {
                const std::lock_guard lock(mutex_);
                if (kept_.size() < max_kept && kept_bytes_ + pinned.size_bytes() <= Pinned::max_kept_bytes) {
                    kept_bytes_ += pinned.size_bytes();
                    kept_.push_back(std::move(pinned));
                    return;
                }
                if (kept_.empty()) {
                    oldest = std::move(pinned);
                } else {
                    oldest = std::move(kept_.front());
                    kept_.erase(kept_.begin());
                    kept_bytes_ -= oldest.size_bytes();
                }
            }
            if (oldest.is_locked_) oldest.device_->unlock_pages(oldest.data());
            oldest.memory_ = {};
        }
    }

  private:
    static constexpr std::size_t max_kept = 64;
    PinnedPool() { kept_.reserve(max_kept); }  // so that keep does not allocate

    std::mutex mutex_;
    std::vector<Pinned> kept_;
    std::int64_t kept_bytes_ = 0;
};

Result<Pinned> Pinned::of(Device& device, std::int64_t bytes) {
    constexpr std::int64_t least_bytes = 64 << 10;
    // Few sizes, so that the next who asks finds one: powers of two, and quarters of them.
    const auto octave =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max(bytes, least_bytes))));
    const std::int64_t rounded_bytes =
        (std::max(bytes, least_bytes) + octave / 4 - 1) / (octave / 4) * (octave / 4);
    if (Pinned kept = PinnedPool::of_process().take(device, rounded_bytes); kept.data()) return kept;
    Mapping memory = Mapping::of(rounded_bytes, rounded_bytes < huge_page_bytes ? 1 : huge_page_bytes);
    if (!memory.data())
        return Status(ErrorCode::out_of_memory,
                      "no " + std::to_string(rounded_bytes) + " bytes of host memory");
    const bool is_locked = device.lock_pages(memory.data(), rounded_bytes).ok();
    return Pinned(device, std::move(memory), is_locked);
}

Pinned::Pinned(Device& device, Mapping memory, bool is_locked)
    : device_(&device), memory_(std::move(memory)), is_locked_(is_locked) {}

Pinned::Pinned(Pinned&& other) noexcept = default;

Pinned& Pinned::operator=(Pinned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    std::swap(is_locked_, other.is_locked_);
    return *this;
}

Pinned::~Pinned() {
    if (memory_.data()) PinnedPool::of_process().keep(std::move(*this));
}

}  // namespace hakobi::device
