#include "base/crc.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace hakobi {

namespace {

/// Eight bytes a round: table k has what a byte does to the remainder k bytes later (Kounavis and Berry
/// 2005).
class Crc {
  public:
    explicit constexpr Crc(std::uint32_t polynomial) {
        for (std::uint32_t byte = 0; byte < 256; ++byte) {
            std::uint32_t rest = byte;
            for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? polynomial : 0U);
            table_[0][byte] = rest;
        }
        for (std::size_t k = 1; k < 8; ++k) {
            for (std::size_t byte = 0; byte < 256; ++byte) {
                const std::uint32_t rest = table_[k - 1][byte];
                table_[k][byte] = (rest >> 8U) ^ table_[0][rest & 0xffU];
            }
        }
    }

    [[nodiscard]] std::uint32_t of(std::span<const std::byte> bytes, std::uint32_t before) const {
        static_assert(std::endian::native == std::endian::little);
        std::uint32_t rest = ~before;
        const std::byte* at = bytes.data();
        std::size_t left = bytes.size();
        for (; left >= 8; left -= 8, at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, at, 8);
            word ^= rest;
            rest = 0;
            for (std::size_t k = 0; k < 8; ++k) rest ^= table_[7 - k][(word >> (8 * k)) & 0xffU];
        }
        for (; left > 0; --left, ++at) {
            rest = (rest >> 8U) ^ table_[0][(rest ^ static_cast<std::uint32_t>(*at)) & 0xffU];
        }
        return ~rest;
    }

  private:
    std::array<std::array<std::uint32_t, 256>, 8> table_{};
};

constexpr std::uint32_t zip = 0xedb88320U;
constexpr Crc of_zip(zip);

/// Product of two polynomials modulo CRC-32's, bits reflected (bit 31 is x^0).
std::uint32_t times(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (; b != 0; b <<= 1U) {
        if ((b & 0x80000000U) != 0) product ^= a;
        a = (a >> 1U) ^ ((a & 1U) != 0 ? zip : 0U);
    }
    return product;
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
    return of_zip.of(bytes, before);
}

std::uint32_t combined_crc32(std::uint32_t first, std::uint32_t second, std::int64_t second_bytes) {
    std::uint32_t power = 0x80000000U, square = 0x40000000U;  // x^(8 second_bytes)
    for (auto exponent = 8 * static_cast<std::uint64_t>(second_bytes); exponent != 0; exponent >>= 1U) {
        if ((exponent & 1U) != 0) power = times(square, power);
        square = times(square, square);
    }
    return times(power, first) ^ second;
}

}  // namespace hakobi
