#include "site_codec.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace hakobi::lattice {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files' byte orders are told apart for such machines");

// A table for each of eight bytes that are taken at once.
constexpr auto crc_tables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xedb88320 : 0);
        tables[0][byte] = value;
    }
    for (std::size_t t = 1; t < tables.size(); ++t) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[t - 1][byte];
            tables[t][byte] = before >> 8 ^ tables[0][before & 0xff];
        }
    }
    return tables;
}();

template <class Real, class Word>
void put(std::byte*& to, double value, bool is_big_endian) {
    Word word = std::bit_cast<Word>(static_cast<Real>(value));
    if (is_big_endian)
        word = sizeof word == 8 ? static_cast<Word>(__builtin_bswap64(word))
                                : static_cast<Word>(__builtin_bswap32(static_cast<std::uint32_t>(word)));
    std::memcpy(to, &word, sizeof word);
    to += sizeof word;
}

template <class Real, class Word>
double take(const std::byte*& from, bool is_big_endian) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    from += sizeof word;
    if (is_big_endian)
        word = sizeof word == 8 ? static_cast<Word>(__builtin_bswap64(word))
                                : static_cast<Word>(__builtin_bswap32(static_cast<std::uint32_t>(word)));
    return static_cast<double>(std::bit_cast<Real>(word));
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) {
    std::uint32_t crc = 0xffffffff;
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word;
        std::memcpy(&word, &bytes[i], sizeof word);
        word ^= crc;
        crc = 0;
        for (std::size_t k = 0; k < 8; ++k) crc ^= crc_tables[7 - k][word >> (8 * k) & 0xff];
    }
    for (; i < bytes.size(); ++i) {
        crc = crc >> 8 ^ crc_tables[0][(crc ^ std::to_integer<std::uint32_t>(bytes[i])) & 0xff];
    }
    return ~crc;
}

std::vector<std::byte> encode_links(const Gauge& gauge, const GaugeLayout& layout) {
    const Geometry& g = gauge.geometry();
    std::vector<std::byte> bytes(at(g.num_sites() * layout.site_bytes()));
    std::byte* to = bytes.data();
    for (const std::int32_t site : g.sites()) {
        for (int mu = 0; mu < num_directions; ++mu) {
            const double* link =
                gauge.data() + site * std::int64_t{Gauge::doubles_per_site} + mu * Gauge::doubles_per_link;
            for (int i = 0; i < 6 * layout.num_rows; ++i) {
                if (layout.bytes_per_real == 8) {
                    put<double, std::uint64_t>(to, link[i], layout.is_big_endian);
                } else {
                    put<float, std::uint32_t>(to, link[i], layout.is_big_endian);
                }
            }
        }
    }
    return bytes;
}

void decode_links(std::span<const std::byte> bytes, const GaugeLayout& layout, Gauge& gauge) {
    const std::byte* from = bytes.data();
    for (const std::int32_t site : gauge.geometry().sites()) {
        for (int mu = 0; mu < num_directions; ++mu) {
            Su3 link;
            for (std::size_t i = 0; i < at(3 * layout.num_rows); ++i) {
                std::array<double, 2> parts;
                for (double& part : parts) {
                    part = layout.bytes_per_real == 8
                               ? take<double, std::uint64_t>(from, layout.is_big_endian)
                               : take<float, std::uint32_t>(from, layout.is_big_endian);
                }
                link.entries[i] = {parts[0], parts[1]};
            }
            if (layout.num_rows == 2) complete_third_row(link);
            gauge.set_link(site, mu, link);
        }
    }
}

Checksums checksums_of(std::span<const std::byte> bytes, const GaugeLayout& layout,
                       const Geometry& geometry) {
    Checksums sums;
    const auto site_bytes = at(layout.site_bytes());
    std::size_t offset = 0;
    for (const std::int32_t site : geometry.sites()) {
        const auto own = bytes.subspan(offset, site_bytes);
        offset += site_bytes;
        for (std::size_t i = 0; i < site_bytes; i += 4) {
            std::uint32_t word;
            std::memcpy(&word, &own[i], sizeof word);
            (layout.is_big_endian ? sums.words_swapped : sums.words) += word;
            (layout.is_big_endian ? sums.words : sums.words_swapped) += __builtin_bswap32(word);
        }
        const std::uint32_t crc = crc32(own);
        const std::int64_t place = geometry.global_index(site);
        sums.crc_29 ^= std::rotl(crc, static_cast<int>(place % 29));
        sums.crc_31 ^= std::rotl(crc, static_cast<int>(place % 31));
    }
    return sums;
}

Checksums combine(const Checksums& own, const Comm& comm) {
    Checksums all = own;
    std::array<std::uint32_t, 2> sums{own.words, own.words_swapped}, turned{own.crc_29, own.crc_31};
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_UINT32_T, MPI_SUM, comm.handle());
    MPI_Allreduce(MPI_IN_PLACE, turned.data(), 2, MPI_UINT32_T, MPI_BXOR, comm.handle());
    all.words = sums[0];
    all.words_swapped = sums[1];
    all.crc_29 = turned[0];
    all.crc_31 = turned[1];
    return all;
}

}  // namespace hakobi::lattice
