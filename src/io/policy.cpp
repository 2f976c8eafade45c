#include "io/policy.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "base/nearest.hpp"
#include "io/options.hpp"

namespace hakobi::io {
namespace {

constexpr std::string_view prefix = "hakobi_policy_";
/// More than any request has, and products of it stay in range.
constexpr std::int64_t endless = std::int64_t{1} << 40;
constexpr std::int64_t many = 1 << 16;

using P = Policy;
constexpr std::array threshold_table = {
    Threshold{"direct_write_piece", &P::direct_write_piece, endless, "rows300k"},
    Threshold{"direct_read_piece", &P::direct_read_piece, endless, "tile2d rows300k"},
    Threshold{"large_piece", &P::large_piece, endless, "flash", 1},
    Threshold{"short_request", &P::short_request, 0, "opens47k"},
    Threshold{"short_request_piece", &P::short_request_piece, 1, "pieces2k"},
    Threshold{"sparse_piece", &P::sparse_piece, endless, "sparse4k-8 sparse4k-2"},
    Threshold{"least_sparse_part", &P::least_sparse_part, 1, "cyclic4k", 1},
    Threshold{"tried_piece", &P::tried_piece, endless, "opens47k flash"},
    Threshold{"waited_us", &P::waited_us, endless, "flash"},
    Threshold{"believed_waits", &P::believed_waits, 1, "calls256k", 1},
    Threshold{"bounced_from", &P::bounced_from, endless, "ior64k-1 ior64k-2"},
    Threshold{"past_cache_from", &P::past_cache_from, endless, "flash memory-gaps"},
    Threshold{"sieve_window", &P::sieve_window, 4 << 20, "one-rank512 holes8-1", 4 << 10},
    Threshold{"sieved_stride", &P::sieved_stride, 0, "one-rank512"},
    Threshold{"most_waiting_runs", &P::most_waiting_runs, many, "mail8"},
    Threshold{"joined_gap", &P::joined_gap, 0, "mail8"},
    Threshold{"most_waiting_ranks", &P::most_waiting_ranks, 0, "ior64k-8 ior64k-2"},
    Threshold{"cached_cycle", &P::cached_cycle, endless, "block3d cyclic512 tile2d", 4 << 10},
    Threshold{"requested_gap", &P::requested_gap, 0, "lab/input/compare.py"},
    Threshold{"least_striped_cycle", &P::least_striped_cycle, 0, "study stripes"},
    Threshold{"most_aggregators_of_server", &P::most_aggregators_of_server, many, "study stripes", 1},
    Threshold{"servers_of_aggregator", &P::servers_of_aggregator, many, "study stripes", 1},
    Threshold{"most_aggregators_of_node", &P::most_aggregators_of_node, 1, "study stripes", 1},
    Threshold{"server_requests", &P::server_requests, many, "study stripes", 1},
    Threshold{"auto_stripes_a_node", &P::auto_stripes_a_node, many, "study stripes", 1},
    Threshold{"least_auto_stripe_share", &P::least_auto_stripe_share, 1, "study stripes", 1},
};
static_assert(threshold_table.size() * sizeof(std::int64_t) == sizeof(Policy), "each threshold has a line");

Policy policy_of_process() {
    Policy policy;
    const Result<Hints> hints = hints_of_process();
    if (!hints.ok()) return policy;  // engine_options says why
    for (const auto& [name, value] : hints.value())
        if (is_threshold(name)) (void)set_threshold(name, value, policy);  // as above
    return policy;
}

}  // namespace

std::span<const Threshold> thresholds() {
    return threshold_table;
}

const Policy& policy() {
    static const Policy in_force = policy_of_process();
    return in_force;
}

bool is_threshold(std::string_view hint) {
    return hint.starts_with(prefix);
}

Status set_threshold(std::string_view hint, std::string_view value, Policy& policy) {
    const std::string_view name = hint.substr(prefix.size());
    const auto found = std::ranges::find(threshold_table, name, &Threshold::name);
    if (found == threshold_table.end()) {
        std::array<std::string_view, threshold_table.size()> known;
        std::ranges::transform(threshold_table, known.begin(), &Threshold::name);
        std::string text = "unknown threshold '" + std::string(hint) + "'";
        if (const std::string nearest = nearest_name(std::string(name), known); !nearest.empty())
            text.append(" (did you mean '").append(prefix).append(nearest).append("'?)");
        return {ErrorCode::invalid_argument, std::move(text)};
    }
    const std::optional<std::int64_t> number = parsed_bytes(value);
    if (!number || *number < found->least || *number > endless) {
        return {ErrorCode::invalid_argument, "hint " + std::string(hint) + ": '" + std::string(value) +
                                                 "' is not a number from " + std::to_string(found->least) +
                                                 " to " + std::to_string(endless)};
    }
    policy.*found->value = *number;
    return {};
}

std::int64_t fingerprint(const Policy& policy) {
    std::string text;
    for (const Threshold& each : threshold_table) text.append(std::to_string(policy.*each.value)).append(";");
    return static_cast<std::int64_t>(std::hash<std::string>()(text) >> 2);
}

}  // namespace hakobi::io
