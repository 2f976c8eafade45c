#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "io/plan.hpp"
#include "io/slots.hpp"

namespace hakobi::io {

/// How many bytes each rank of a node has in each cycle of a phase, which gives the order in which they pack a buffer for
/// another node: 4 bytes a cycle in the rank's mailbox, which nothing else uses where there are several nodes. All set theirs
/// before a meeting of the node, and read after it; a phase begins when the one before has ended on all ranks.
class NodeParts {
  public:
    NodeParts(std::span<RankPlace> places, int node_rank) : places_(places), node_rank_(node_rank) {}

    void set(std::span<const CyclePart> parts, std::int64_t num_cycles) const {
        std::byte* const own = places_[static_cast<std::size_t>(node_rank_)].mail.data();
        std::memset(own, 0, static_cast<std::size_t>(num_cycles) * sizeof(Bytes));
        for (const CyclePart& part : parts) {
            const std::int64_t bytes = part.stream_end - part.stream_begin;
            assert(bytes <= std::numeric_limits<Bytes>::max());  // a collective buffer is smaller
            const auto value = static_cast<Bytes>(bytes);
            std::memcpy(own + part.cycle * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
        }
    }
    /// Of the ranks before this one.
    [[nodiscard]] std::int64_t bytes_before(std::int64_t cycle) const {
        std::int64_t sum = 0;
        for (const RankPlace& place : places_.first(static_cast<std::size_t>(node_rank_))) {
            Bytes value = 0;
            std::memcpy(&value, place.mail.data() + cycle * static_cast<std::int64_t>(sizeof value),
                        sizeof value);
            sum += value;
        }
        return sum;
    }

  private:
    using Bytes = std::uint32_t;
    static_assert(mailbox_bytes >= max_cycles_of_phase * static_cast<std::int64_t>(sizeof(Bytes)));
    std::span<RankPlace> places_;
    int node_rank_;
};

}  // namespace hakobi::io
