#pragma once

#include <cstdint>
#include <hakobi/export.hpp>
#include <initializer_list>
#include <span>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// A rank's rectangular part of a global array, slowest dimension first (C order). All three vectors have one
/// entry per dimension, in elements.
struct Block {
    std::vector<std::int64_t> global;  ///< the whole array's extents, equal on every rank
    std::vector<std::int64_t> start;   ///< where this part begins
    std::vector<std::int64_t> count;   ///< its extents; a 0 anywhere: this rank has nothing

    /// Product of the counts; the largest std::int64_t if it overflows.
    [[nodiscard]] HAKOBI_EXPORT std::int64_t num_elements() const noexcept;
    friend bool operator==(const Block&, const Block&) = default;
};

/// How many ranks to use in each dimension: `num_ranks` factored so that the blocks of an array of `global`
/// extents have the smallest surface. Local, pure. Throws invalid_argument when no factoring leaves every
/// rank at least one element ("ranks that don't fit the grid").
[[nodiscard]] HAKOBI_EXPORT std::vector<int> dims_of_ranks(std::span<const std::int64_t> global,
                                                           int num_ranks);

/// The block of `rank` when an array of `global` extents is split over `num_ranks` by `dims_of_ranks`; ranks
/// count through the dimensions in C order, and the first `global % dims` parts of a dimension are one
/// element longer. Local, pure. Throws as `dims_of_ranks`.
[[nodiscard]] HAKOBI_EXPORT Block split(std::span<const std::int64_t> global, int num_ranks, int rank);
[[nodiscard]] HAKOBI_EXPORT Block split(std::initializer_list<std::int64_t> global, int num_ranks, int rank);

}  // namespace v0
}  // namespace hakobi
