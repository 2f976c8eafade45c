#pragma once

#include <cstdint>

#include "base/patience.hpp"
#include "base/shared_atomic.hpp"

namespace hakobi {

/// Waiting on a 32-bit word that others change. The kernel's futex: waiters sleep, so ranks may exceed cores.
using FutexWord = SharedAtomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == 4 && FutexWord::is_always_lock_free);

/// Sleeps while `word` is `value`, `timeout_s` seconds at most; may return early. Returns at once when it
/// differs.
void futex_wait(FutexWord& word, std::uint32_t value, double timeout_s);
void futex_wake_all(FutexWord& word);
void futex_wake_one(FutexWord& word);

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
