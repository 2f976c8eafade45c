#pragma once

#include <cstdint>
#include <vector>

#include "io/plan.hpp"
#include "machine.hpp"
#include "storage.hpp"

namespace hakobi::bench::scale {

/// One rank's bytes of one cycle, as parts_of has found them.
struct Part {
    int cycle = 0;
    std::int64_t bytes = 0;
};
/// A rank's parts of a phase, in the order in which it works.
struct RankParts {
    int rank = 0;
    std::vector<Part> parts;
};

/// Who owns the cycles of a phase: the planner's contiguous domains; or, with `num_objects`, by server. Then a cycle is a
/// stripe, an object is what lies on one server, and the objects stand one behind the other, each with its stripes in order:
/// every owner has an equal part of that row. So an object has one owner, or a few with a contiguous part of it each.
struct Owners {
    io::Domains domains;
    int num_objects = 0, num_by_server = 0;  ///< objects, and owners: one of the two divides the other

    [[nodiscard]] int num_owners() const { return num_objects > 0 ? num_by_server : domains.num_domains; }
    [[nodiscard]] int owner_of(std::int64_t cycle) const;
    /// Ranks work on cycles in the order of their places: the first cycle of every owner (by server: of every object of its),
    /// then the second of every owner, …
    [[nodiscard]] std::int64_t place_of(std::int64_t cycle) const;

  private:
    struct InObject {
        std::int64_t object = 0, index = 0, num = 0;  // of its stripes in the phase
    };
    [[nodiscard]] InObject in_object(std::int64_t cycle) const;
};

/// What the engine does in a phase once all have described their requests: events in the order of time.
///
///  1. A rank copies its parts one after the other, each when its buffer is open: the aggregator's where that is on its
///     node, else one of its node's staging buffers.
///  2. The last rank of a node sends a staging buffer on when the aggregator's buffer is open for that turn; the aggregator
///     unpacks what comes, one message after the other.
///  3. A buffer that all contributions are in goes to the next free I/O thread of its aggregator.
///  4. A stored one opens for the turn `depth` behind it.
struct PhaseSetting {
    const Job& job;
    const Machine& machine;
    const Owners& owners;
    const std::vector<int>& aggregators;  ///< rank of each owner
    std::int64_t piece_bytes = 0;         ///< of the pattern
    int depth = 8, io_threads = 4;
};
/// Seconds from the first copy to the last buffer's end. What was busy is added.
[[nodiscard]] double simulate_phase(const PhaseSetting& setting, const std::vector<RankParts>& ranks,
                                    Storage& storage, Busy& busy);

}  // namespace hakobi::bench::scale
