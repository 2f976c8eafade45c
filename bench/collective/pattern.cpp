#include "pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/nearest.hpp"

namespace hakobi::bench {
namespace {

constexpr std::array<std::string_view, 5> names = {"block3d", "tile2d", "cyclic", "lattice4d", "contiguous"};
constexpr std::int64_t site_bytes = 192;
constexpr std::int64_t largest_element_bytes = 1 << 30, part_bytes = 1 << 20;

// An array of equal extents in blocks.
void set_blocks(Pattern& pattern, std::int64_t bytes, int num_dims, std::int64_t element_bytes, int num_ranks,
                int my_rank) {
    std::vector<int> dims(static_cast<std::size_t>(num_dims), 0);
    MPI_Dims_create(num_ranks, num_dims, dims.data());
    const auto extent = std::max<std::int64_t>(
        dims[0], std::llround(std::pow(static_cast<double>(bytes) / static_cast<double>(element_bytes),
                                       1.0 / num_dims)));
    const auto d = static_cast<std::size_t>(num_dims);
    pattern.element_bytes = element_bytes;
    pattern.global.assign(d, extent);
    pattern.file_bytes = element_bytes;
    for (std::size_t i = 0; i < d; ++i) pattern.file_bytes *= extent;
    for (int rank = 0; rank < num_ranks; ++rank) {
        std::vector<std::int64_t> start(d), count(d);
        int rest = rank;
        for (std::size_t i = d; i-- > 0;) {
            const int index = rest % dims[i];
            rest /= dims[i];
            start[i] = extent * index / dims[i];
            count[i] = extent * (index + 1) / dims[i] - start[i];
        }
        pattern.files.push_back(Region::subarray(0, pattern.global, start, count, element_bytes));
        if (rank == my_rank) {
            pattern.start = start;
            pattern.count = count;
        }
    }
    for (std::size_t i = 0; i < d; ++i) pattern.shape += (i > 0 ? " x " : "") + std::to_string(extent);
    pattern.shape += element_bytes == 8 ? " doubles in " : " sites of 192 B in ";
    for (std::size_t i = 0; i < d; ++i) pattern.shape += (i > 0 ? " x " : "") + std::to_string(dims[i]);
    pattern.shape += " blocks";
}

void set_cyclic(Pattern& pattern, std::int64_t bytes, std::int64_t piece, int num_ranks, int my_rank) {
    // An element is a byte, or where MPI's ints would not count these a piece, or a part of a large one.
    if (piece >= largest_element_bytes) piece -= piece % part_bytes;
    const std::int64_t rounds = std::max<std::int64_t>(1, bytes / (piece * num_ranks));
    pattern.file_bytes = rounds * piece * num_ranks;
    if (pattern.file_bytes > std::numeric_limits<int>::max())
        pattern.element_bytes = piece < largest_element_bytes ? piece : part_bytes;
    const std::int64_t length = piece / pattern.element_bytes;
    pattern.global = {rounds, length * num_ranks};
    for (int rank = 0; rank < num_ranks; ++rank) {
        const std::vector<std::int64_t> start{0, length * rank}, count{rounds, length};
        pattern.files.push_back(Region::subarray(0, pattern.global, start, count, pattern.element_bytes));
        if (rank == my_rank) {
            pattern.start = start;
            pattern.count = count;
        }
    }
    pattern.shape = "pieces of " + std::to_string(piece) + " B dealt in turn";
}

std::uint8_t expected(std::int64_t offset, int seed) {
    const auto x = static_cast<std::uint64_t>(offset);
    return static_cast<std::uint8_t>((x ^ (x >> 8) ^ (x >> 16) ^ (x >> 24)) * 31 +
                                     static_cast<unsigned>(seed) * 17 + 1);
}

}  // namespace

Result<Pattern> make_pattern(std::string_view name, std::int64_t bytes, std::int64_t piece_bytes,
                             int num_ranks, int rank) {
    Pattern pattern;
    pattern.name = name;
    if (name == "block3d") {
        set_blocks(pattern, bytes, 3, 8, num_ranks, rank);
    } else if (name == "tile2d") {
        set_blocks(pattern, bytes, 2, 8, num_ranks, rank);
    } else if (name == "lattice4d") {
        set_blocks(pattern, bytes, 4, site_bytes, num_ranks, rank);
    } else if (name == "cyclic") {
        set_cyclic(pattern, bytes, piece_bytes, num_ranks, rank);
    } else if (name == "contiguous") {
        set_cyclic(pattern, bytes, std::max<std::int64_t>(1, bytes / num_ranks), num_ranks, rank);
        pattern.shape = "one piece a rank";
    } else {
        std::string text = "unknown pattern '" + std::string(name) + "'";
        if (const std::string nearest = nearest_name(name, names); !nearest.empty())
            text += "; did you mean '" + nearest + "'?";
        return Status(ErrorCode::invalid_argument, std::move(text));
    }
    for (const Region& file : pattern.files) {
        if (file.num_pieces() > 0)
            pattern.piece_bytes = std::max(pattern.piece_bytes, file.size_bytes() / file.num_pieces());
    }
    return pattern;
}

std::span<const std::string_view> pattern_names() {
    return names;
}

void fill_expected(std::span<std::byte> bytes, std::int64_t offset, int seed) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = std::byte{expected(offset + static_cast<std::int64_t>(i), seed)};
}

std::int64_t first_wrong(std::span<const std::byte> bytes, std::int64_t offset, int seed) {
    unsigned wrong = 0;  // the usual case without a branch a byte
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        wrong |= static_cast<unsigned>(bytes[i]) ^ expected(offset + static_cast<std::int64_t>(i), seed);
    }
    if (wrong == 0) return -1;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (static_cast<std::uint8_t>(bytes[i]) != expected(offset + static_cast<std::int64_t>(i), seed))
            return static_cast<std::int64_t>(i);
    }
    return -1;
}

}  // namespace hakobi::bench
