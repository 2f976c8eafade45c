#include "base/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hakobi {

std::uint64_t checksum_of(std::span<const std::byte> bytes, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

struct Checksum::State {
    XXH3_state_t state;
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
    reset();
}
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum::~Checksum() = default;

void Checksum::reset() {
    XXH3_64bits_reset(&state_->state);
}

void Checksum::add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(&state_->state, bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const {
    return XXH3_64bits_digest(&state_->state);
}

}  // namespace hakobi
