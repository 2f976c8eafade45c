#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "device/device.hpp"

namespace hakobi::io {

/// Memory of the host that this process has locked for devices, which then copy to and from it at their full
/// rate, while the process does other things. Local.
class PageLocks {
  public:
    PageLocks() = default;
    ~PageLocks() { clear(); }
    PageLocks(const PageLocks&) = delete;
    PageLocks& operator=(const PageLocks&) = delete;

    /// Once for each range; ranges are equal or have no page in common. Where a driver locks none its copies
    /// are slower.
    void lock(device::Device& device, std::byte* begin, std::int64_t bytes);
    /// Before the memory goes; no copy is under way.
    void clear() noexcept;
    /// The memory stays locked, and for ever.
    void leave() noexcept { is_locked_.clear(); }

  private:
    std::map<std::pair<device::Device*, std::byte*>, bool> is_locked_;  // of what was asked for
};

}  // namespace hakobi::io
