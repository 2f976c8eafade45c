#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io/plan.hpp"
#include "region/region.hpp"

namespace hakobi::io {

// Distributes the ranks' file regions between nodes: an aggregator learns of the bytes in its file domain,
// and nobody else does. Pure; paths/two_phase.cpp sends. A description is one word that says for how long it
// holds, and Region::to_words of the whole region or of its part in the domain, whichever is shorter.

/// The message of one rank to the aggregator of a file domain.
struct Description {
    int domain = 0;
    std::span<const std::int64_t> words;
};

/// The sender's side, for one call.
class Describer {
  public:
    /// `region`: ordered.
    explicit Describer(Region region) : region_(std::move(region)), num_words_(region_.num_words()) {}

    /// Those due in the phase of `domains`, one for each domain that the region has bytes in: not for domains
    /// whose aggregator is on this node (`local_index` >= 0), nor where the whole region has been told in an
    /// earlier phase. Valid until the next call.
    [[nodiscard]] std::span<const Description> due(const Domains& domains, std::span<const int> local_index);

  private:
    struct Share {
        std::int64_t stream_begin = 0, stream_end = 0;  // of the region, in a domain
    };
    void find_contiguous(const Domains& domains, std::int64_t first, std::int64_t last);
    void add(int domain, std::span<const Share> shares);

    Region region_;
    std::int64_t num_words_;                    // of the whole
    std::vector<std::int64_t> whole_;           // written when first needed
    std::vector<bool> has_whole_;               // by domain
    std::map<int, std::vector<Share>> shares_;  // by domain, of the phase
    std::deque<std::vector<std::int64_t>> clipped_;
    std::vector<Description> due_;
};

/// The receiver's side, for one call: an aggregator's regions of ranks of other nodes.
class HeldRegions {
  public:
    struct OfRank {
        int node = 0, rank = 0;
        bool is_whole = false;
        Region region;
        std::int64_t num_words = 0;
    };

    /// Forgets what held for the phase before only, and regions that end before this one.
    void begin_phase(const Domains& domains);
    /// False when the words are no description: a bug. `arrange` follows the last.
    [[nodiscard]] bool hold(int node, int rank, std::span<const std::int64_t> words);
    void arrange();

    /// Nodes with a region that begins before and ends behind a byte of [begin, end), ascending: no others
    /// have bytes there.
    [[nodiscard]] std::vector<int> nodes_around(std::int64_t begin_bytes, std::int64_t end_bytes) const;
    /// A node's regions, by rank.
    [[nodiscard]] std::span<const OfRank> of_node(int node) const;
    [[nodiscard]] std::int64_t num_words() const;

  private:
    std::vector<OfRank> regions_;
    struct Extent {
        std::int64_t begin_bytes = 0, end_bytes = 0;
        int node = 0;
    };
    std::vector<Extent> extents_;  // of the regions, by begin
    std::int64_t longest_bytes_ = 0;
};

/// The descriptions that one rank has sent in a call, and those that it holds as an aggregator.
struct Descriptions {
    std::optional<Describer> told = {};
    HeldRegions held = {};
};

/// Bytes of an ordered region in one cycle.
[[nodiscard]] inline std::int64_t bytes_in_cycle(const Region& region, const Domains& domains,
                                                 std::int64_t cycle) {
    return region.bytes_below(domains.cycle_end(cycle)) - region.bytes_below(domains.cycle_begin(cycle));
}

}  // namespace hakobi::io
