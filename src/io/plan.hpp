#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "region/region.hpp"

namespace hakobi::io {

/// How storage serves requests, as far as is known: the highest of the ranks' views holds.
enum class Service : std::int64_t { unknown = -1, from_memory = 0, waits = 1 };

/// What every rank tells the others of its request at the start of a phase.
struct RequestSummary {
    std::int64_t begin_bytes = 0, end_bytes = 0;  ///< of the file region; equal when there is nothing
    std::int64_t size_bytes = 0;
    std::int64_t num_pieces = 0;         ///< in the file
    Service service = Service::unknown;  ///< what this rank knows of the storage
    std::int64_t error_code = 0;         ///< ErrorCode of this rank
    std::int64_t end_of_file =
        std::numeric_limits<std::int64_t>::max();  ///< lowest offset seen behind the file's end
    std::int64_t leaves_holes = 0;  ///< this rank may be writing into holes: nobody may fill them
};

/// What all ranks know of all requests.
struct RequestTotals {
    std::int64_t begin_bytes = 0, end_bytes = 0, size_bytes = 0;
    std::int64_t largest_size_bytes = 0;         ///< a rank's
    std::int64_t smallest_mean_piece_bytes = 0;  ///< over ranks with data; 2^63-1 without any
    std::int64_t num_ranks_with_data = 0;
    Service service = Service::unknown;  ///< the highest of the ranks' views
    std::int64_t end_of_file = std::numeric_limits<std::int64_t>::max();
    std::int64_t error_code = 0;  ///< the most severe
    int error_rank = -1;          ///< the lowest rank with it
    bool leaves_holes = false;    ///< some rank's wish
    friend bool operator==(const RequestTotals&, const RequestTotals&) = default;
};
[[nodiscard]] RequestTotals total_of(std::span<const RequestSummary> requests);

/// The same for ranks that do not see each other's summaries: what each gives to one reduction of few numbers, the maximum
/// of each of `maxima` and the sum of each of `sums`. Of all ranks' together `total_of` makes the totals.
struct ReducedSummary {
    enum Maximum {
        minus_begin,
        end,
        largest_size,
        minus_mean_piece,
        service,
        minus_end_of_file,
        error,
        holes
    };
    enum Sum { size, ranks_with_data };
    std::array<std::int64_t, holes + 1> maxima{};
    std::array<std::int64_t, ranks_with_data + 1> sums{};
};
[[nodiscard]] ReducedSummary reduced(const RequestSummary& request, int rank);
[[nodiscard]] RequestTotals total_of(const ReducedSummary& of_all_ranks);

/// How a phase is carried out. The thresholds: policy.hpp.
enum class Path { nothing, direct, shuffle };
struct PathChoice {
    Path path = Path::nothing;
    const char* why = "";
};
[[nodiscard]] PathChoice choose_path(const RequestTotals& totals, bool is_write,
                                     std::string_view shuffle_hint, std::int64_t large_piece_bytes,
                                     bool is_one_node);
/// Pieces from which on no storage gains by the shuffle: 1 MiB, but two stripes at least, so that few stripes have two
/// writers, and no more than a collective buffer, the shuffle's own largest access.
[[nodiscard]] std::int64_t large_piece_bytes(std::int64_t striping_unit_bytes, std::int64_t cb_bytes);

/// The part of the file that one phase of a collective call covers, divided into cycles of one collective buffer, and
/// the cycles into file domains, one an aggregator: aggregator a owns cycles [a * cycles_per_domain, …). Cycle
/// boundaries are multiples of the alignment, so that no cycle crosses a stripe that it does not own whole.
struct Domains {
    std::int64_t begin_bytes = 0, end_bytes = 0;  ///< clipped to what is asked
    std::int64_t base_bytes = 0;                  ///< begin_bytes rounded down to the alignment
    std::int64_t cycle_bytes = 0;
    std::int64_t num_cycles = 0;
    std::int64_t cycles_per_domain = 0;
    int num_domains = 0;

    [[nodiscard]] std::int64_t cycle_begin(std::int64_t cycle) const;  ///< clipped to [begin, end)
    [[nodiscard]] std::int64_t cycle_end(std::int64_t cycle) const;
    /// Domain d owns the cycles [first_cycle(d), end_cycle(d)).
    [[nodiscard]] std::int64_t first_cycle(int domain) const { return domain * cycles_per_domain; }
    [[nodiscard]] std::int64_t end_cycle(int domain) const {
        return std::min((domain + 1) * cycles_per_domain, num_cycles);
    }
    [[nodiscard]] int domain_of(std::int64_t cycle) const {
        return static_cast<int>(cycle / cycles_per_domain);
    }
    [[nodiscard]] std::int64_t cycle_of(std::int64_t offset_bytes) const {
        return (offset_bytes - base_bytes) / cycle_bytes;
    }
};
/// `max_cycles` bounds the phase: what lies behind it is left to the next one.
[[nodiscard]] Domains make_domains(std::int64_t begin_bytes, std::int64_t end_bytes, int num_aggregators,
                                   std::int64_t cb_bytes, std::int64_t align_bytes, std::int64_t max_cycles);

/// One rank's part of one cycle: the bytes [stream_begin, stream_end) of its region.
struct CyclePart {
    std::int64_t cycle = 0;
    std::int64_t stream_begin = 0, stream_end = 0;
};
/// The cycles that an ordered region has bytes in, in the order in which all ranks work: the first cycle of every
/// domain, then the second of every domain, and so on, which keeps all aggregators busy.
[[nodiscard]] std::vector<CyclePart> parts_of(const Region& region, const Domains& domains);

/// Which ranks aggregate: `count` of them (0: `per_node` a node), spread over the nodes and within each; ascending by
/// node. `ranks_of_node[n]` lists the ranks of node n.
[[nodiscard]] std::vector<int> choose_aggregators(std::span<const std::vector<int>> ranks_of_node, int count,
                                                  int per_node);

}  // namespace hakobi::io
