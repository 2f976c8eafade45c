#include "base/md5.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace hakobi {
namespace {

using State = std::array<std::uint32_t, 4>;

std::array<std::uint32_t, 64> make_sines() {
    std::array<std::uint32_t, 64> sines{};
    for (std::size_t i = 0; i < 64; ++i)
        sines[i] = static_cast<std::uint32_t>(
            std::floor(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
    return sines;
}

void add_block(State& state, const std::byte* block) {
    static const std::array<std::uint32_t, 64> sines = make_sines();
    constexpr std::array<std::array<int, 4>, 4> shifts = {
        {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
    std::array<std::uint32_t, 16> words{};
    for (std::size_t i = 0; i < 64; ++i)
        words[i / 4] |= std::to_integer<std::uint32_t>(block[i]) << (i % 4 * 8);
    auto [a, b, c, d] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        std::uint32_t mixed = 0;
        std::size_t word = 0;
        switch (i / 16) {
            case 0:
                mixed = (b & c) | (~b & d);
                word = i;
                break;
            case 1:
                mixed = (d & b) | (~d & c);
                word = (5 * i + 1) % 16;
                break;
            case 2:
                mixed = b ^ c ^ d;
                word = (3 * i + 5) % 16;
                break;
            default:
                mixed = c ^ (b | ~d);
                word = 7 * i % 16;
        }
        mixed += a + sines[i] + words[word];
        a = d;
        d = c;
        c = b;
        b += std::rotl(mixed, shifts[i / 16][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

}  // namespace

std::array<std::byte, 16> md5(std::span<const std::byte> bytes) {
    State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const std::uint64_t num_bits = std::uint64_t{bytes.size()} * 8;
    for (; bytes.size() >= 64; bytes = bytes.subspan(64)) add_block(state, bytes.data());
    std::array<std::byte, 128> tail{};
    if (!bytes.empty()) std::memcpy(tail.data(), bytes.data(), bytes.size());
    tail[bytes.size()] = std::byte{0x80};
    const std::size_t length = bytes.size() < 56 ? 64 : 128;
    for (std::size_t i = 0; i < 8; ++i) tail[length - 8 + i] = static_cast<std::byte>(num_bits >> (8 * i));
    for (std::size_t begin = 0; begin < length; begin += 64) add_block(state, tail.data() + begin);
    std::array<std::byte, 16> digest{};
    for (std::size_t i = 0; i < 16; ++i) digest[i] = static_cast<std::byte>(state[i / 4] >> (i % 4 * 8));
    return digest;
}

}  // namespace hakobi
