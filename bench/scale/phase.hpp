#pragma once

#include <cstdint>
#include <vector>

#include "io/plan.hpp"
#include "io/slots.hpp"
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

/// One phase, once all have described their requests.
struct PhaseWork {
    const io::Domains* domains = nullptr;
    std::vector<RankParts> ranks;
    double told_s = 0;  ///< from the end of the phase before: the ranks meet, and describe their requests
};

/// The engine's work in phases that follow each other: events in the order of time.
///
///  1. A rank copies its parts one after the other, each when its buffer is open: the aggregator's where that
///     is on its node, else one of its node's staging buffers. By server it takes a part of any lane that has
///     a buffer open.
///  2. The last rank of a node sends a staging buffer on when the aggregator's buffer is open for that turn;
///     the aggregator unpacks what comes, one message after the other.
///  3. A buffer that all contributions are in goes to the next free I/O thread of its aggregator.
///  4. A stored one opens for a later turn of its ring.
///  5. When all of a phase is in its buffers the ranks go on to the next one.
struct PhaseSetting {
    const Job& job;
    const Machine& machine;
    const std::vector<int>& aggregators;  ///< rank of each domain
    io::Rings rings, staging_rings;       ///< of an aggregator; of a node
    int io_threads = 4;                   ///< of an aggregator
    int server_requests = 1;              ///< of an aggregator, in flight for each server
    int requests_of_aggregator = 4;       ///< in flight for all of its servers
    std::int64_t piece_bytes = 0;         ///< of the pattern
};
/// When the last buffer of each phase is stored, in seconds. Adds the busy times to `busy`.
[[nodiscard]] std::vector<double> simulate_phases(const PhaseSetting& setting,
                                                  const std::vector<PhaseWork>& phases, Storage& storage,
                                                  Busy& busy);

}  // namespace hakobi::bench::scale
