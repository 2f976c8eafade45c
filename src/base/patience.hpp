#pragma once

#include <sched.h>

#include "base/clock.hpp"

namespace hakobi {

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

}  // namespace hakobi
