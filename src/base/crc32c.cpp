#include "base/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace hakobi {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected

constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
        tables[0][i] = crc;
    }
    for (std::size_t t = 1; t < 8; ++t) {
        for (std::size_t i = 0; i < 256; ++i)
            tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    }
    return tables;
}
constexpr auto tables = make_tables();

/// Eight bytes a turn ("slicing by 8", Kounavis and Berry 2005).
std::uint32_t by_tables(const std::byte* bytes, std::size_t length, std::uint32_t crc) {
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
    for (; length >= 8; bytes += 8, length -= 8) {
        crc ^= byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
        crc = tables[7][crc & 0xff] ^ tables[6][crc >> 8 & 0xff] ^ tables[5][crc >> 16 & 0xff] ^
              tables[4][crc >> 24] ^ tables[3][byte(4)] ^ tables[2][byte(5)] ^ tables[1][byte(6)] ^
              tables[0][byte(7)];
    }
    for (; length > 0; ++bytes, --length) crc = (crc >> 8) ^ tables[0][(crc ^ byte(0)) & 0xff];
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2,crc32"))) std::uint32_t by_instruction(const std::byte* bytes,
                                                                     std::size_t length, std::uint32_t crc) {
    std::uint64_t wide = crc;
    for (; length >= 8; bytes += 8, length -= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = static_cast<std::uint32_t>(wide);
    for (; length > 0; ++bytes, --length) crc = _mm_crc32_u8(crc, std::to_integer<unsigned char>(*bytes));
    return crc;
}
#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
#if defined(__x86_64__)
    static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
    if (has_instruction) return ~by_instruction(bytes.data(), bytes.size(), ~crc);
#endif
    return ~by_tables(bytes.data(), bytes.size(), ~crc);
}

}  // namespace hakobi
