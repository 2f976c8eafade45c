#pragma once

namespace hakobi {

/// To sleep at once is to see less: what spins reads, the machine reads in another run.
struct Patience {
    struct None {
        constexpr None(int /*tries*/ = 0) {}
        constexpr operator int() const { return 0; }
        constexpr None operator--() { return {}; }
        constexpr None operator--(int) { return {}; }
    };
    None spins = {}, yields = {};
};
inline void spin_pause() {}
inline bool give_way() {
    return true;
}

}  // namespace hakobi
