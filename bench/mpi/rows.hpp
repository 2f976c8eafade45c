#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/record.hpp"
#include "measure/topology.hpp"
#include "options.hpp"

namespace hakobi::bench {

/// Where the ranks are, as every rank knows it.
struct Placement {
    std::vector<std::string> units;  ///< of each rank: processing units it may run on; "" when not known
    std::string text;                ///< of ranks 0 and 1, in words: "same core complex", "other node", …
    bool is_oversubscribed = false;  ///< more ranks on a node than cores
};

/// Collective: binds ranks as `place` asks ("as-launched": leaves them) and tells where they are.
/// unsupported, on all ranks, when the machine has no such pair of cores or refuses to bind.
Placement place_ranks(const Comm& comm, const measure::Topology& topology, const std::string& place);

/// One pattern and size, measured. `comparison` is cold over hot, where both were.
struct Row {
    std::string pattern;
    std::int64_t bytes = 0;
    bool has_rate = false;  ///< whether `counted_bytes` makes a bandwidth
    double counted_bytes = 0;
    std::vector<Buffering> bufferings;
    std::vector<measure::Measurement> measurements;  ///< seconds, in the order of bufferings
    std::vector<std::int64_t> iterations;
    std::vector<int> num_late;
    measure::Comparison comparison;
    bool is_cache_inflated = false;
    std::string skipped;  ///< why there are no measurements; "" when there are

    [[nodiscard]] double gb_s(std::size_t which) const;
    [[nodiscard]] double gb_s_of(Buffering buffering) const;  ///< 0 when it was not measured
};

/// The windows of each buffering, made once for all rows.
using Memories = std::vector<std::unique_ptr<Memory>>;

/// Collective; throws alike on all ranks when data arrived wrong.
Row measure_row(const Comm& comm, const std::string& pattern_name, std::int64_t bytes, Memories& memories,
                const Options& options);

/// Collective: how many of `options.num_self_comparisons` comparisons of a buffering with itself name a
/// difference.
int count_self_differences(const Comm& comm, const std::string& pattern_name, std::int64_t bytes,
                           Memory& memory, const Options& options);

[[nodiscard]] std::vector<measure::Record> records_of(const Row& row, int num_ranks,
                                                      const std::string& transport,
                                                      const Placement& placement);
[[nodiscard]] measure::Record summary_of(const Row& row, int num_ranks, const std::string& transport);

/// The table's head for these bufferings, and a row's line.
[[nodiscard]] std::string table_head(const std::vector<Buffering>& bufferings);
[[nodiscard]] std::string table_line(const Row& row);

}  // namespace hakobi::bench
