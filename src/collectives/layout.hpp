#pragma once

#include "collectives/schedule.hpp"

namespace hakobi::collectives {

/// One element of `element_bytes` for each rank of a grid, the stages' digits nested in the order of
/// `digits`, slowest first.
struct Layout {
    std::vector<Stage> digits;
    std::int64_t element_bytes = 0;  ///< from one element to the next

    /// The grid in order of rank: the largest stride is slowest.
    [[nodiscard]] static Layout in_rank_order(const Route& route, std::int64_t element_bytes);
    [[nodiscard]] bool has_order_of(const Layout& other) const;
    /// Bytes between neighbours in the digit with this stride.
    [[nodiscard]] std::int64_t distance(int stride) const;
    [[nodiscard]] std::int64_t num_elements() const;
};

/// Copies `bytes` of each element from one layout of the same grid to another.
[[nodiscard]] Copy copy_between(const Layout& from, Slot from_slot, const Layout& to, Slot to_slot,
                                std::int64_t bytes);

}  // namespace hakobi::collectives
