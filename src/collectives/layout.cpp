#include "collectives/layout.hpp"

#include <algorithm>
#include <cassert>

namespace hakobi::collectives {

Layout Layout::in_rank_order(const Route& route, std::int64_t element_bytes) {
    Layout layout{route, element_bytes};
    std::stable_sort(layout.digits.begin(), layout.digits.end(),
                     [](const Stage& a, const Stage& b) { return a.stride > b.stride; });
    return layout;
}

bool Layout::has_order_of(const Layout& other) const {
    return std::equal(
        digits.begin(), digits.end(), other.digits.begin(), other.digits.end(),
        [](const Stage& a, const Stage& b) { return a.stride == b.stride && a.radix == b.radix; });
}

std::int64_t Layout::distance(int stride) const {
    std::int64_t bytes = element_bytes;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
        if (digit->stride == stride) return bytes;
        bytes *= digit->radix;
    }
    assert(false && "no such digit");
    return 0;
}

std::int64_t Layout::num_elements() const {
    std::int64_t product = 1;
    for (const Stage& digit : digits) product *= digit.radix;
    return product;
}

Copy copy_between(const Layout& from, Slot from_slot, const Layout& to, Slot to_slot, std::int64_t bytes) {
    Copy copy{from_slot, to_slot, bytes, {}};
    for (const Stage& digit : to.digits)
        copy.repeats.push_back({digit.radix, from.distance(digit.stride), to.distance(digit.stride)});
    // Neighbouring loops that go on where the inner one ends become one, and the innermost joins the bytes.
    auto& loops = copy.repeats;
    for (std::size_t i = loops.size(); i-- > 1;) {
        const Repeat inner = loops[i];
        if (loops[i - 1].from_stride == inner.count * inner.from_stride &&
            loops[i - 1].to_stride == inner.count * inner.to_stride) {
            loops[i - 1] = {loops[i - 1].count * inner.count, inner.from_stride, inner.to_stride};
            loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    if (!loops.empty() && loops.back().from_stride == bytes && loops.back().to_stride == bytes) {
        copy.bytes *= loops.back().count;
        loops.pop_back();
    }
    return copy;
}

}  // namespace hakobi::collectives
