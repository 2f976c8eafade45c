#include "exchange/device_copy.hpp"

#include <algorithm>
#include <utility>

namespace hakobi::exchange {
namespace {

/// Goes through a dimension from its other end.
void turn(StridedCopy& copy, StridedCopy::Dimension& dim) {
    copy.from_offset += (dim.count - 1) * dim.from_stride;
    copy.to_offset += (dim.count - 1) * dim.to_stride;
    dim.from_stride = -dim.from_stride;
    dim.to_stride = -dim.to_stride;
}

}  // namespace

std::vector<device::Copy> device_copies(const StridedCopy& copy, const std::byte* from, std::byte* to) {
    if (copy.bytes() == 0) return {};
    StridedCopy outer = copy;  // what is left to be gone through, one copy for each of its pieces
    for (StridedCopy::Dimension& dim : outer.dims)
        if (dim.from_stride <= 0 && dim.to_stride <= 0) turn(outer, dim);
    outer = simplified(std::move(outer));
    // The longest two make the fewest copies. A device only goes forwards, on both sides, over runs that do
    // not overlap: those of elements that two neighbours get may.
    device::Copy one{.length_bytes = outer.piece_bytes};
    for (std::size_t taken = 0; taken < 2; ++taken) {
        auto longest = outer.dims.end();
        for (auto dim = outer.dims.begin(); dim != outer.dims.end(); ++dim) {
            const bool is_apart = std::min(dim->from_stride, dim->to_stride) >= outer.piece_bytes;
            if (is_apart && (longest == outer.dims.end() || dim->count > longest->count)) longest = dim;
        }
        if (longest == outer.dims.end()) break;
        const std::size_t inner = 1 - taken;
        one.num[inner] = longest->count;
        one.from_strides_bytes[inner] = longest->from_stride;
        one.to_strides_bytes[inner] = longest->to_stride;
        outer.dims.erase(longest);
    }
    if (one.num[0] > 1 && one.from_strides_bytes[0] < one.from_strides_bytes[1]) {
        for (auto* const pair : {&one.num, &one.from_strides_bytes, &one.to_strides_bytes})
            std::swap((*pair)[0], (*pair)[1]);  // slowest first
    }
    std::vector<device::Copy> copies;
    for_each_piece(outer, [&](std::int64_t from_offset, std::int64_t to_offset) {
        one.from = from + from_offset;
        one.to = to + to_offset;
        copies.push_back(one);
    });
    return copies;
}

}  // namespace hakobi::exchange
