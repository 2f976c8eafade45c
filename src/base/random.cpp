#include "base/random.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>

namespace hakobi {

std::uint64_t random_bits() noexcept {
    std::uint64_t bits = 0;
    if (::getrandom(&bits, sizeof bits, 0) == static_cast<ssize_t>(sizeof bits)) return bits;
    // A kernel without random numbers: what differs between processes and moments.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return static_cast<std::uint64_t>(now) + static_cast<std::uint64_t>(::getpid()) * 0x9e3779b97f4a7c15U;
}

std::string random_name() {
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(random_bits()),
                  static_cast<unsigned long long>(random_bits()));
    return text.data();
}

}  // namespace hakobi
