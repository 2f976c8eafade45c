#include "overview/fingerprint.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

namespace hakobi::overview {

namespace {

constexpr std::array<std::uint32_t, 8> initial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
/// The words of a block, in each round's order.
constexpr std::array<std::string_view, 10> order{
    "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
    "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0"};

std::size_t digit(char c) {
    return static_cast<std::size_t>(c <= '9' ? c - '0' : c - 'a' + 10);
}

class Blake2s {
  public:
    Blake2s() { state_[0] ^= 0x01010000U ^ 16U; }

    void take(std::span<const std::byte, 64> block, std::uint64_t num_bytes, bool is_last) {
        std::array<std::uint32_t, 16> m{}, v{};
        std::memcpy(m.data(), block.data(), 64);
        std::ranges::copy(state_, v.begin());
        std::ranges::copy(initial, v.begin() + 8);
        v[12] ^= static_cast<std::uint32_t>(num_bytes);
        v[13] ^= static_cast<std::uint32_t>(num_bytes >> 32U);
        if (is_last) v[14] = ~v[14];
        const auto mix = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::uint32_t x,
                             std::uint32_t y) {
            v[a] += v[b] + x;
            v[d] = std::rotr(v[d] ^ v[a], 16);
            v[c] += v[d];
            v[b] = std::rotr(v[b] ^ v[c], 12);
            v[a] += v[b] + y;
            v[d] = std::rotr(v[d] ^ v[a], 8);
            v[c] += v[d];
            v[b] = std::rotr(v[b] ^ v[c], 7);
        };
        for (const std::string_view words : order) {
            const auto word = [&](std::size_t k) { return m[digit(words[k])]; };
            for (std::size_t k = 0; k < 4; ++k) mix(k, 4 + k, 8 + k, 12 + k, word(2 * k), word(2 * k + 1));
            for (std::size_t k = 0; k < 4; ++k) {
                mix(k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4, word(8 + 2 * k), word(9 + 2 * k));
            }
        }
        for (std::size_t k = 0; k < 8; ++k) state_[k] ^= v[k] ^ v[k + 8];
    }

    [[nodiscard]] std::string digits() const {
        constexpr std::string_view hex = "0123456789abcdef";
        std::string text;
        for (std::size_t byte = 0; byte < 16; ++byte) {
            const std::uint32_t value = state_[byte / 4] >> (8 * (byte % 4));
            text += hex[(value >> 4U) & 15U];
            text += hex[value & 15U];
        }
        return text;
    }

  private:
    std::array<std::uint32_t, 8> state_ = initial;
};

}  // namespace

std::string blake2s(std::span<const std::byte> bytes) {
    Blake2s hash;
    std::uint64_t done = 0;
    for (; bytes.size() > 64; bytes = bytes.subspan(64)) hash.take(bytes.first<64>(), done += 64, false);
    std::array<std::byte, 64> last{};
    std::ranges::copy(bytes, last.begin());
    hash.take(last, done + bytes.size(), true);
    return hash.digits();
}

std::string fingerprint(int fd, std::int64_t num_bytes) {
    constexpr std::int64_t num_samples = 66, sample_bytes = 4096;
    const std::string size = std::to_string(num_bytes);
    const auto head = std::as_bytes(std::span(size));
    std::vector<std::byte> all(head.begin(), head.end());
    for (std::int64_t sample = 0; sample < num_samples; ++sample) {
        std::array<std::byte, sample_bytes> piece{};
        const std::int64_t place =
            sample * std::max<std::int64_t>(0, num_bytes - sample_bytes) / (num_samples - 1);
        const ssize_t count = ::pread(fd, piece.data(), piece.size(), place);
        all.insert(all.end(), piece.begin(), piece.begin() + std::max<ssize_t>(0, count));
    }
    return blake2s(all);
}

}  // namespace hakobi::overview
