#include "exchange/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <cstring>

#include "base/copy_bytes.hpp"

namespace hakobi::exchange {
namespace {

/// From here on a piece is its own stream, which the processor's prefetchers see by themselves.
constexpr std::int64_t small_piece_bytes = 256;
/// How many small pieces ahead their cache lines are asked for (decision 10).
constexpr std::int64_t ahead = 24;
/// The head of the next larger piece, prefetched before the processor's own prefetchers have seen it.
constexpr std::int64_t line_bytes = 64, head_bytes = 4 * line_bytes;

/// Goes through the pieces in order.
class Cursor {
  public:
    Cursor(const StridedCopy& copy, const std::byte* from, std::byte* to)
        : from_(from + copy.from_offset), to_(to + copy.to_offset) {
        std::int64_t from_inner = 0, to_inner = 0;
        for (std::size_t i = 0; i < copy.dims.size(); ++i) {
            const auto& dim = copy.dims[copy.dims.size() - 1 - i];
            count_[i] = dim.count;
            from_step_[i] = dim.from_stride - from_inner;
            to_step_[i] = dim.to_stride - to_inner;
            from_inner += (dim.count - 1) * dim.from_stride;
            to_inner += (dim.count - 1) * dim.to_stride;
        }
        count_[copy.dims.size()] = -1;  // never reached: the caller counts pieces
    }
    void next() {
        std::size_t i = 0;
        while (++index_[i] == count_[i]) index_[i++] = 0;
        from_ += from_step_[i];
        to_ += to_step_[i];
    }
    [[nodiscard]] const std::byte* from() const { return from_; }
    [[nodiscard]] std::byte* to() const { return to_; }

  private:
    const std::byte* from_;
    std::byte* to_;
    std::array<std::int64_t, most_dims + 1> count_{}, index_{}, from_step_{}, to_step_{};
};

template <std::size_t Bytes>
void run_small(const StridedCopy& copy, const std::byte* from, std::byte* to) {
    const std::int64_t num_pieces = copy.num_pieces();
    const auto bytes = Bytes > 0 ? Bytes : static_cast<std::size_t>(copy.piece_bytes);
    Cursor now(copy, from, to), later(copy, from, to);
    const auto fetch = [&] {
        __builtin_prefetch(later.from(), 0);
        __builtin_prefetch(later.to(), 1);
        if (Bytes == 0 || Bytes > 8) {
            __builtin_prefetch(later.from() + bytes - 1, 0);
            __builtin_prefetch(later.to() + bytes - 1, 1);
        }
        later.next();
    };
    const std::int64_t num_ahead = std::min(ahead, num_pieces);
    for (std::int64_t i = 0; i < num_ahead; ++i) fetch();
    for (std::int64_t i = 0; i < num_pieces - num_ahead; ++i) {
        fetch();
        std::memcpy(now.to(), now.from(), bytes);
        now.next();
    }
    for (std::int64_t i = 0; i < num_ahead; ++i) {
        std::memcpy(now.to(), now.from(), bytes);
        now.next();
    }
}

std::int64_t distance(const StridedCopy::Dimension& dim) {
    return std::abs(dim.from_stride) + std::abs(dim.to_stride);
}

}  // namespace

std::int64_t StridedCopy::num_pieces() const noexcept {
    std::int64_t num = 1;
    for (const Dimension& dim : dims) num *= dim.count;
    return num;
}

StridedCopy simplified(StridedCopy copy) {
    std::erase_if(copy.dims, [](const auto& dim) { return dim.count == 1; });
    std::stable_sort(copy.dims.begin(), copy.dims.end(),
                     [](const auto& a, const auto& b) { return distance(a) > distance(b); });
    while (!copy.dims.empty() && copy.dims.back().from_stride == copy.piece_bytes &&
           copy.dims.back().to_stride == copy.piece_bytes) {
        copy.piece_bytes *= copy.dims.back().count;
        copy.dims.pop_back();
    }
    for (std::size_t i = copy.dims.size(); i-- > 1;) {
        const StridedCopy::Dimension inner = copy.dims[i];
        StridedCopy::Dimension& outer = copy.dims[i - 1];
        if (outer.from_stride != inner.count * inner.from_stride ||
            outer.to_stride != inner.count * inner.to_stride) {
            continue;
        }
        outer = {outer.count * inner.count, inner.from_stride, inner.to_stride};
        copy.dims.erase(copy.dims.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return copy;
}

std::vector<StridedCopy> fused(const std::vector<StridedCopy>& copies) {
    std::vector<StridedCopy> result;
    std::vector<bool> is_taken(copies.size());
    for (std::size_t i = 0; i < copies.size(); ++i) {
        if (is_taken[i]) continue;
        StridedCopy copy = copies[i];
        for (std::size_t j = i + 1; j < copies.size(); ++j) {
            const StridedCopy& other = copies[j];
            if (is_taken[j] || other.piece_bytes != copy.piece_bytes || other.dims != copies[i].dims)
                continue;
            is_taken[j] = true;
            copy.dims.push_back({2, other.from_offset - copy.from_offset, other.to_offset - copy.to_offset});
            copy = simplified(std::move(copy));
            break;
        }
        result.push_back(std::move(copy));
    }
    return result;
}

void run(const StridedCopy& copy, const std::byte* from, std::byte* to) {
    assert(copy.dims.size() <= most_dims);
    switch (copy.piece_bytes) {
        case 0:
            return;
        case 4:
            return run_small<4>(copy, from, to);
        case 8:
            return run_small<8>(copy, from, to);
        case 16:
            return run_small<16>(copy, from, to);
        case 32:
            return run_small<32>(copy, from, to);
        case 64:
            return run_small<64>(copy, from, to);
        default:
            break;
    }
    if (copy.piece_bytes <= small_piece_bytes) return run_small<0>(copy, from, to);
    Cursor now(copy, from, to), later(copy, from, to);
    for (std::int64_t left = copy.num_pieces(); left-- > 0; now.next()) {
        if (left > 0) {
            later.next();
            for (std::int64_t line = 0; line < head_bytes; line += line_bytes) {
                __builtin_prefetch(later.from() + line, 0);
                __builtin_prefetch(later.to() + line, 1);
            }
        }
        copy_bytes(now.to(), now.from(), static_cast<std::size_t>(copy.piece_bytes));
    }
}

}  // namespace hakobi::exchange
