#pragma once

#include <atomic>
#include <cstdint>

namespace hakobi {

/// Waiting on a 32-bit word that other threads, or processes that map the same memory, change. The kernel's futex:
/// waiters sleep, so ranks may exceed cores.
using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == 4 && FutexWord::is_always_lock_free);

/// Sleeps while `word` is `value`, `timeout_s` seconds at most; may return early. Returns at once when it differs.
void futex_wait(FutexWord& word, std::uint32_t value, double timeout_s);
void futex_wake_all(FutexWord& word);
void futex_wake_one(FutexWord& word);

/// Tells the processor that this is a spin loop.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Waits until `done(word's value)`; spins `spins` times first, then sleeps between looks.
template <class Done>
void futex_wait_until(FutexWord& word, int spins, Done done) {
    for (;;) {
        const std::uint32_t value = word.load(std::memory_order_acquire);
        if (done(value)) return;
        if (spins-- > 0) {
            spin_pause();
            continue;
        }
        futex_wait(word, value, 1.0);
    }
}

}  // namespace hakobi
