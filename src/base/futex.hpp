#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace hakobi {

/// Waiting on a 32-bit word that other threads, or processes that map the same memory, change. The kernel's
/// futex: waiters sleep, so ranks may exceed cores.
using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == 4 && FutexWord::is_always_lock_free);

/// Sleeps while `word` is `value`, `timeout_s` seconds at most; may return early. Returns at once when it
/// differs.
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

/// The tries before a wait sleeps: first `spins` looks in a row, then `yields` that leave the core to another
/// thread. Where threads exceed cores, giving way to those that one waits for is cheaper than being put to
/// sleep and woken.
struct Patience {
    int spins = 0;
    int yields = 0;
};

/// Leaves the core to another thread. False when it came back late: then it went to somebody else's program,
/// which keeps it for a scheduler's slice, and a sleeper is woken sooner than that.
inline bool give_way() {
    constexpr double longest_s = 5e-4;
    const double before_s = now_s();
    sched_yield();
    return now_s() - before_s <= longest_s;
}

/// Waits until `done(word's value)`; sleeps between looks once its patience is spent.
template <class Done>
void futex_wait_until(FutexWord& word, Patience patience, Done done) {
    for (;;) {
        const std::uint32_t value = word.load(std::memory_order_acquire);
        if (done(value)) return;
        if (patience.spins-- > 0) {
            spin_pause();
            continue;
        }
        if (patience.yields-- > 0) {
            if (!give_way()) patience.yields = 0;
            continue;
        }
        futex_wait(word, value, 1.0);
    }
}

}  // namespace hakobi
