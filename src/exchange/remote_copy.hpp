#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/halo_plan.hpp"

namespace hakobi::exchange {

/// By what a process finds out whether the kernel lets it read another's memory: a number at an address.
struct Probe {
    std::int64_t process = 0, address = 0, value = 0;
    std::int64_t secret = 0;  ///< what others read at `address`; in the original only

    /// Local; the object must stay where it is for as long as others look.
    [[nodiscard]] static Probe own();
    /// The copy that other processes get, without `secret`.
    [[nodiscard]] Probe told() const;
};

/// Whether it does: permission, process namespace and all. Local.
[[nodiscard]] bool can_read(const Probe& probe);

/// Copies from another process's memory into this one's, as lists of pieces for the kernel.
struct HaloPeer::Remote {
    /// `first` is where the copies' sources begin in `process`.
    Remote(std::int64_t process, std::int64_t first, std::byte* to, std::span<const StridedCopy> copies);

    std::int64_t process = 0;
    std::vector<::iovec> from, to;
};

/// Reads all of `from`, pieces cut as they come, into `to`; false when the kernel refuses. As many bytes on
/// both sides.
[[nodiscard]] bool read_remote(std::int64_t process, std::span<const ::iovec> from,
                               std::span<const ::iovec> to);

}  // namespace hakobi::exchange
