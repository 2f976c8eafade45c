#include "measure/window.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <fstream>
#include <numeric>
#include <string>

#include "base/clock.hpp"

namespace hakobi::measure {
namespace {

// Two lines: the adjacent-line prefetcher fetches pairs, and a neighbour's line would come along.
constexpr std::int64_t slot_alignment = 128;

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

std::int64_t stride_of(std::int64_t bytes) {
    return round_up(std::max<std::int64_t>(bytes, 1), slot_alignment);
}

/// A step coprime to `slots`, near the golden ratio of it: i -> i * step mod slots then visits every slot
/// once, with neighbours in time far apart in memory.
std::int64_t step_of(std::int64_t slots) {
    auto step = static_cast<std::int64_t>(0.6180339887498949 * static_cast<double>(slots));
    step = std::max<std::int64_t>(step, 1);
    while (std::gcd(step, slots) != 1) ++step;
    return step;
}

}  // namespace

Result<BufferWindow> BufferWindow::create(const WindowOptions& options) {
    if (options.bytes <= 0)
        return Status(ErrorCode::invalid_argument, "a buffer window needs at least one byte");
    const std::int64_t unit = options.huge_pages ? hakobi::huge_page_bytes : sysconf(_SC_PAGESIZE);
    BufferWindow window;
    window.mapping_ = Mapping::of(round_up(options.bytes, unit), unit);
    std::byte* const data = window.mapping_.data();
    const auto length = window.bytes().size();
    if (data == nullptr) {
        return Status(ErrorCode::out_of_memory, "a buffer window of " +
                                                    std::to_string(round_up(options.bytes, unit)) +
                                                    " bytes cannot be mapped");
    }
    // Without huge pages wanted they are refused, or `always` systems would measure something else than
    // asked.
    madvise(data, length, options.huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    if (options.touch) {
        const double start_s = now_s();
#ifdef MADV_POPULATE_WRITE
        // Reports a lack of memory instead of ending the process; kernels before 5.14 say EINVAL.
        if (madvise(data, length, MADV_POPULATE_WRITE) != 0 && (errno == ENOMEM || errno == EHWPOISON)) {
            return Status(ErrorCode::out_of_memory,
                          "no memory behind a buffer window of " + std::to_string(length) + " bytes");
        }
#endif
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        for (std::size_t at = 0; at < length; at += page) {
            *static_cast<volatile std::byte*>(data + at) = std::byte{0};
        }
        window.first_touch_s_ = now_s() - start_s;
    }
    return window;
}

std::int64_t BufferWindow::num_slots(std::int64_t bytes) const noexcept {
    return bytes > mapping_.size_bytes()
               ? 0
               : std::max<std::int64_t>(1, mapping_.size_bytes() / stride_of(bytes));
}

std::int64_t BufferWindow::offset_of_visit(std::int64_t bytes, std::int64_t visit) const noexcept {
    const std::int64_t slots = num_slots(bytes);
    assert(slots > 0 && visit >= 0);
    // Both factors are below 2^31 for any window that fits a machine (2^31 slots of 128 bytes are 256 GiB).
    return (visit % slots) * step_of(slots) % slots * stride_of(bytes);
}

void BufferWindow::forget() noexcept {
    madvise(mapping_.data(), static_cast<std::size_t>(mapping_.size_bytes()), MADV_DONTNEED);
}

std::int64_t BufferWindow::huge_page_bytes() const {
    std::ifstream smaps("/proc/self/smaps");
    const auto first = reinterpret_cast<std::uintptr_t>(mapping_.data());
    const auto end = first + static_cast<std::uintptr_t>(mapping_.size_bytes());
    std::int64_t total = 0;
    bool inside = false;
    for (std::string line; std::getline(smaps, line);) {
        const std::size_t dash = line.find('-');
        const std::size_t colon = line.find(':');
        if (dash != std::string::npos && dash < line.find(' ') &&
            (colon == std::string::npos || dash < colon)) {
            const std::uintptr_t begins = std::stoull(line.substr(0, dash), nullptr, 16);
            inside = begins < end && std::stoull(line.substr(dash + 1), nullptr, 16) > first;
        } else if (inside && line.starts_with("AnonHugePages:")) {
            total += std::stoll(line.substr(colon + 1)) * 1024;
        }
    }
    return std::min(total, mapping_.size_bytes());
}

}  // namespace hakobi::measure
