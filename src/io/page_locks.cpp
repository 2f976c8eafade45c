#include "io/page_locks.hpp"

namespace hakobi::io {

void PageLocks::lock(device::Device& device, std::byte* begin, std::int64_t bytes) {
    const auto [at, is_new] = is_locked_.try_emplace({&device, begin}, false);
    if (is_new) at->second = device.lock_pages(begin, bytes).ok();
}

void PageLocks::clear() noexcept {
    for (const auto& [range, is_locked] : is_locked_)
        if (is_locked) range.first->unlock_pages(range.second);
    is_locked_.clear();
}

}  // namespace hakobi::io
