#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <span>

#include "io/plan.hpp"

namespace hakobi::io {

/// How many bytes each rank of a node has in each cycle of a phase, which gives the order in which they pack
/// a buffer for another node. All set theirs before a meeting of the node, and read after it; a phase begins
/// when the one before has ended on all ranks.
class NodeParts {
  public:
    using Bytes = std::uint32_t;
    /// `words`: max_cycles_of_phase a rank, in memory that the node shares; lent.
    NodeParts(std::span<Bytes> words, int node_rank) : words_(words), node_rank_(node_rank) {}

    void set(std::span<const CyclePart> parts, std::int64_t num_cycles) const {
        const std::span<Bytes> own = words_of(node_rank_);
        std::ranges::fill(own.first(static_cast<std::size_t>(num_cycles)), 0);
        for (const CyclePart& part : parts) {
            const std::int64_t bytes = part.stream_end - part.stream_begin;
            assert(bytes <= std::numeric_limits<Bytes>::max());  // a collective buffer is smaller
            own[static_cast<std::size_t>(part.cycle)] = static_cast<Bytes>(bytes);
        }
    }
    /// The bytes that ranks before this one contribute to `cycle`.
    [[nodiscard]] std::int64_t bytes_before(std::int64_t cycle) const {
        std::int64_t sum = 0;
        for (int rank = 0; rank < node_rank_; ++rank) sum += words_of(rank)[static_cast<std::size_t>(cycle)];
        return sum;
    }

  private:
    [[nodiscard]] std::span<Bytes> words_of(int node_rank) const {
        constexpr auto num = static_cast<std::size_t>(max_cycles_of_phase);
        return words_.subspan(static_cast<std::size_t>(node_rank) * num, num);
    }
    std::span<Bytes> words_;
    int node_rank_;
};

}  // namespace hakobi::io
