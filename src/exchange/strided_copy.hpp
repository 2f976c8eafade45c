#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hakobi::exchange {

/// A copy of pieces that lie at regular distances, distances and order of their own on either side. Pure.
struct StridedCopy {
    struct Dimension {
        std::int64_t count = 1, from_stride = 0, to_stride = 0;
        friend bool operator==(const Dimension&, const Dimension&) = default;
    };
    std::vector<Dimension> dims;  ///< outermost first; counts of at least 1
    std::int64_t piece_bytes = 0;
    std::int64_t from_offset = 0, to_offset = 0;  ///< of the first piece, from the addresses that `run` gets

    [[nodiscard]] std::int64_t num_pieces() const noexcept;
    [[nodiscard]] std::int64_t bytes() const noexcept { return num_pieces() * piece_bytes; }
};

/// The same copy with as few and as large pieces as can be, in the order in which memory is gone through
/// best: short distances innermost.
[[nodiscard]] StridedCopy simplified(StridedCopy copy);

/// Copies of equal shape made one: the low and the high face of a dimension lie side by side in memory where
/// that dimension is the fastest, and a pass for each would fetch the same cache lines twice. All of `copies`
/// are simplified, and relative to the same addresses; the order is kept otherwise.
[[nodiscard]] std::vector<StridedCopy> fused(const std::vector<StridedCopy>& copies);

/// Calls `visit(from_offset, to_offset)` for each piece, in order.
template <class Visit>
void for_each_piece(const StridedCopy& copy, Visit visit) {
    std::vector<std::int64_t> index(copy.dims.size(), 0);
    for (std::int64_t left = copy.num_pieces(); left > 0; --left) {
        std::int64_t from = copy.from_offset, to = copy.to_offset;
        for (std::size_t d = 0; d < index.size(); ++d) {
            from += index[d] * copy.dims[d].from_stride;
            to += index[d] * copy.dims[d].to_stride;
        }
        visit(from, to);
        for (std::size_t d = index.size(); d-- > 0 && ++index[d] == copy.dims[d].count;) index[d] = 0;
    }
}

/// Carries one of at most this many dimensions out. `from` and `to` do not overlap where they are touched.
inline constexpr std::size_t most_dims = 7;
void run(const StridedCopy& copy, const std::byte* from, std::byte* to);

/// A copy with the addresses that it starts from.
struct Work {
    StridedCopy copy;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    void operator()() const { run(copy, from, to); }
};

}  // namespace hakobi::exchange
