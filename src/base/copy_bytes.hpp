#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hakobi {

/// As memcpy, in steps that no C library hands to the processor's string instruction (`rep movsb`): AMD's Zen
/// carries that out at a fifth of the speed where `to` lies a few bytes above `from` modulo 4 KiB, and a
/// large array from malloc lies 16 bytes above a page, where collective buffers begin (decision 6).
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t num_bytes) {
    constexpr std::size_t step_bytes = 2048;
    while (num_bytes > 0) {
        const std::size_t step = std::min(num_bytes, step_bytes);
        std::memcpy(to, from, step);
        to += step;
        from += step;
        num_bytes -= step;
    }
}

/// As copy_bytes, but `to` is not brought into the processor's cache: for more bytes than would stay there,
/// and memory that is not read again at once. Where the processor cannot, as copy_bytes.
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t num_bytes);

constexpr std::int64_t page_bytes = 4096;

/// The first address at or after `memory` that is congruent with `offset` modulo a page: less than a page
/// further.
[[nodiscard]] inline std::byte* congruent_with(std::int64_t offset, std::byte* memory) {
    const auto distance = static_cast<std::uintptr_t>(offset) - reinterpret_cast<std::uintptr_t>(memory);
    return memory + distance % static_cast<std::uintptr_t>(page_bytes);
}

/// Whether the kernel, which copies with the string instruction, is slow from one address (of memory, or an
/// offset in a file, which lies in pages) to another: a copy that passes through a buffer congruent with the
/// file is then faster. False on processors that do not mind; the first call that could be true finds that
/// out, in less than a millisecond.
[[nodiscard]] bool is_slow_copy(std::size_t to_address, std::size_t from_address);

}  // namespace hakobi
