#include "io/plan.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "io/policy.hpp"

namespace hakobi::io {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t ranks_of_error = std::int64_t{1} << 31;  // more than there are ranks

std::int64_t mean_piece_bytes(const RequestSummary& request) {
    return request.size_bytes / std::max<std::int64_t>(1, request.num_pieces);
}

/// `size_bytes`: of a rank's request.
bool is_short(std::int64_t size_bytes, std::int64_t piece_bytes, bool is_write) {
    return size_bytes <= policy::short_request && piece_bytes >= policy::short_request_piece &&
           (!is_write || size_bytes <= policy::short_request_written_pieces * piece_bytes);
}

bool is_large_in_memory(std::int64_t piece_bytes, bool is_write) {
    return piece_bytes >= (is_write ? policy::direct_write_piece : policy::direct_read_piece);
}

/// Why a rank's accesses in place pay; null: they do not, or the storage is unknown. `size_bytes`: of the largest request.
const char* why_direct(std::int64_t piece_bytes, std::int64_t size_bytes, Service service, bool is_write,
                       std::int64_t large_piece_bytes, bool is_one_node) {
    if (piece_bytes >= large_piece_bytes) return "every rank's pieces are large for any storage";
    if (service != Service::from_memory) return nullptr;
    if (is_large_in_memory(piece_bytes, is_write))
        return "the storage serves from memory and the pieces are large";
    if (is_one_node && is_short(size_bytes, piece_bytes, is_write))
        return "the storage serves from memory and every rank has little";
    return nullptr;
}

}  // namespace

RequestTotals total_of(std::span<const RequestSummary> requests) {
    RequestTotals totals;
    totals.smallest_mean_piece_bytes = no_limit;
    for (std::size_t rank = 0; rank < requests.size(); ++rank) {
        const RequestSummary& request = requests[rank];
        if (request.error_code > totals.error_code) {
            totals.error_code = request.error_code;
            totals.error_rank = static_cast<int>(rank);
        }
        totals.service = std::max(totals.service, request.service);
        totals.end_of_file = std::min(totals.end_of_file, request.end_of_file);
        totals.leaves_holes = totals.leaves_holes || request.leaves_holes != 0;
        if (request.size_bytes == 0) continue;
        const bool is_first = totals.num_ranks_with_data++ == 0;
        totals.begin_bytes =
            is_first ? request.begin_bytes : std::min(totals.begin_bytes, request.begin_bytes);
        totals.end_bytes = is_first ? request.end_bytes : std::max(totals.end_bytes, request.end_bytes);
        totals.size_bytes += request.size_bytes;
        totals.largest_size_bytes = std::max(totals.largest_size_bytes, request.size_bytes);
        totals.smallest_mean_piece_bytes =
            std::min(totals.smallest_mean_piece_bytes, mean_piece_bytes(request));
    }
    return totals;
}

ReducedSummary reduced(const RequestSummary& request, int rank) {
    constexpr std::int64_t nothing = std::numeric_limits<std::int64_t>::min();
    const bool has_data = request.size_bytes > 0;
    ReducedSummary result;
    auto& maxima = result.maxima;
    maxima[ReducedSummary::minus_begin] = has_data ? -request.begin_bytes : nothing;
    maxima[ReducedSummary::end] = has_data ? request.end_bytes : nothing;
    maxima[ReducedSummary::largest_size] = request.size_bytes;
    maxima[ReducedSummary::minus_mean_piece] = has_data ? -mean_piece_bytes(request) : -no_limit;
    maxima[ReducedSummary::service] = static_cast<std::int64_t>(request.service);
    maxima[ReducedSummary::minus_end_of_file] = -request.end_of_file;
    // Of equal codes the lower rank's is the greater number; 0: no error.
    if (request.error_code > 0)
        maxima[ReducedSummary::error] = request.error_code * ranks_of_error + (ranks_of_error - 1 - rank);
    maxima[ReducedSummary::holes] = request.leaves_holes;
    result.sums = {request.size_bytes, has_data ? 1 : 0};
    return result;
}

RequestTotals total_of(const ReducedSummary& of_all_ranks) {
    const auto& maxima = of_all_ranks.maxima;
    RequestTotals totals;
    totals.size_bytes = of_all_ranks.sums[ReducedSummary::size];
    totals.num_ranks_with_data = of_all_ranks.sums[ReducedSummary::ranks_with_data];
    if (totals.num_ranks_with_data > 0) {
        totals.begin_bytes = -maxima[ReducedSummary::minus_begin];
        totals.end_bytes = maxima[ReducedSummary::end];
    }
    totals.largest_size_bytes = maxima[ReducedSummary::largest_size];
    totals.smallest_mean_piece_bytes = -maxima[ReducedSummary::minus_mean_piece];
    totals.service = static_cast<Service>(maxima[ReducedSummary::service]);
    totals.end_of_file = -maxima[ReducedSummary::minus_end_of_file];
    const std::int64_t error = maxima[ReducedSummary::error];
    totals.error_code = error / ranks_of_error;
    if (error > 0) totals.error_rank = static_cast<int>(ranks_of_error - 1 - error % ranks_of_error);
    totals.leaves_holes = maxima[ReducedSummary::holes] != 0;
    return totals;
}

PathChoice choose_path(const RequestTotals& totals, bool is_write, std::string_view shuffle_hint,
                       std::int64_t large_piece_bytes, bool is_one_node) {
    if (totals.size_bytes == 0) return {Path::nothing, "no rank has anything"};
    if (shuffle_hint == "always") return {Path::shuffle, "hakobi_shuffle=always"};
    if (shuffle_hint == "never") return {Path::direct, "hakobi_shuffle=never"};
    const std::int64_t piece = totals.smallest_mean_piece_bytes;
    if (totals.service == Service::from_memory && totals.num_ranks_with_data == 1)
        return {Path::direct, "one rank alone has data, and the storage serves it from memory"};
    if (const char* why = why_direct(piece, totals.largest_size_bytes, totals.service, is_write,
                                     large_piece_bytes, is_one_node))
        return {Path::direct, why};
    if (totals.service == Service::from_memory && piece >= policy::sparse_piece &&
        totals.size_bytes <= (totals.end_bytes - totals.begin_bytes) / policy::least_sparse_part)
        return {Path::direct, "the storage serves from memory and the pieces are far apart"};
    return {Path::shuffle,
            totals.service == Service::waits ? "the storage makes requests wait" : "the pieces are fine"};
}

std::int64_t large_piece_bytes(std::int64_t striping_unit_bytes, std::int64_t cb_bytes) {
    return std::min(cb_bytes, std::max<std::int64_t>(policy::large_piece, 2 * striping_unit_bytes));
}

std::int64_t Domains::cycle_begin(std::int64_t cycle) const {
    return std::max(begin_bytes, base_bytes + cycle * cycle_bytes);
}
std::int64_t Domains::cycle_end(std::int64_t cycle) const {
    return std::min(end_bytes - base_bytes, (cycle + 1) * cycle_bytes) + base_bytes;
}

Domains make_domains(std::int64_t begin_bytes, std::int64_t end_bytes, int num_aggregators,
                     std::int64_t cb_bytes, std::int64_t align_bytes, std::int64_t max_cycles) {
    assert(begin_bytes < end_bytes && num_aggregators > 0 && cb_bytes > 0 && align_bytes > 0 &&
           max_cycles > 0);
    Domains domains;
    // A collective buffer of whole stripes where it holds one at all; else a stripe is cut, and a cycle still never
    // reaches over a multiple of itself.
    domains.cycle_bytes = cb_bytes >= align_bytes ? cb_bytes / align_bytes * align_bytes : cb_bytes;
    domains.base_bytes = begin_bytes / domains.cycle_bytes * domains.cycle_bytes;
    if (align_bytes < domains.cycle_bytes) domains.base_bytes = begin_bytes / align_bytes * align_bytes;
    domains.begin_bytes = begin_bytes;
    // The end is compared by differences: base + max_cycles * cycle may lie beyond 2^63.
    const std::int64_t span = end_bytes - domains.base_bytes;
    const std::int64_t covered =
        max_cycles <= span / domains.cycle_bytes ? max_cycles * domains.cycle_bytes : span;
    domains.end_bytes = domains.base_bytes + covered;
    domains.num_cycles = (covered - 1) / domains.cycle_bytes + 1;
    domains.cycles_per_domain = (domains.num_cycles - 1) / num_aggregators + 1;
    domains.num_domains = static_cast<int>((domains.num_cycles - 1) / domains.cycles_per_domain + 1);
    return domains;
}

std::vector<CyclePart> parts_of(const Region& region, const Domains& domains) {
    std::vector<CyclePart> parts;
    if (region.empty()) return parts;
    const std::int64_t lowest = std::max(region.begin_bytes(), domains.begin_bytes);
    const std::int64_t highest = std::min(region.end_bytes(), domains.end_bytes);
    if (lowest >= highest) return parts;
    const std::int64_t first = domains.cycle_of(lowest);
    const std::int64_t last = domains.cycle_of(highest - 1);
    std::int64_t stream_begin = region.bytes_below(domains.cycle_begin(first));
    for (std::int64_t cycle = first; cycle <= last; ++cycle) {
        const std::int64_t stream_end = region.bytes_below(domains.cycle_end(cycle));
        if (stream_end > stream_begin) parts.push_back({cycle, stream_begin, stream_end});
        stream_begin = stream_end;
    }
    std::stable_sort(parts.begin(), parts.end(), [&](const CyclePart& a, const CyclePart& b) {
        return a.cycle % domains.cycles_per_domain < b.cycle % domains.cycles_per_domain;
    });
    return parts;
}

std::vector<int> choose_aggregators(std::span<const std::vector<int>> ranks_of_node, int count,
                                    int per_node) {
    std::vector<int> num_of_node(ranks_of_node.size());
    int total = 0;
    int left = count > 0 ? count : per_node * static_cast<int>(ranks_of_node.size());
    // One a node, then a second a node, … until the count is reached or every rank aggregates.
    for (int round = 0; left > 0; ++round) {
        bool any = false;
        for (std::size_t n = 0; n < ranks_of_node.size() && left > 0; ++n) {
            if (round >= static_cast<int>(ranks_of_node[n].size())) continue;
            ++num_of_node[n];
            ++total;
            --left;
            any = true;
        }
        if (!any) break;
    }
    std::vector<int> aggregators;
    aggregators.reserve(static_cast<std::size_t>(total));
    for (std::size_t n = 0; n < ranks_of_node.size(); ++n) {
        const std::int64_t size = static_cast<std::int64_t>(ranks_of_node[n].size());
        for (std::int64_t i = 0; i < num_of_node[n]; ++i) {
            aggregators.push_back(ranks_of_node[n][static_cast<std::size_t>(i * size / num_of_node[n])]);
        }
    }
    return aggregators;
}

}  // namespace hakobi::io
