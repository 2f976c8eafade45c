#include "io/summary.hpp"

#include <algorithm>

namespace hakobi::io {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t ranks_of_error = std::int64_t{1} << 31;  // more than there are ranks

std::int64_t mean_piece_bytes(const RequestSummary& request) {
    return request.size_bytes / std::max<std::int64_t>(1, request.num_pieces);
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
        totals.any.has_given_up = totals.any.has_given_up || request.has_given_up != 0;
        totals.any.leaves_holes = totals.any.leaves_holes || request.leaves_holes != 0;
        totals.any.deferred = totals.any.deferred.with(request.deferred);
        if (request.size_bytes == 0) continue;
        totals.any.has_device_memory = totals.any.has_device_memory || request.has_device_memory != 0;
        const bool is_first = totals.num_ranks_with_data++ == 0;
        totals.begin_bytes =
            is_first ? request.begin_bytes : std::min(totals.begin_bytes, request.begin_bytes);
        totals.end_bytes = is_first ? request.end_bytes : std::max(totals.end_bytes, request.end_bytes);
        totals.size_bytes += request.size_bytes;
        totals.joined_bytes += request.joined_bytes;
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
    // Among equal codes the lower rank's gives the greater number; 0: no error.
    if (request.error_code > 0)
        maxima[ReducedSummary::error] = request.error_code * ranks_of_error + (ranks_of_error - 1 - rank);
    maxima[ReducedSummary::given_up] = request.has_given_up;
    maxima[ReducedSummary::holes] = request.leaves_holes;
    maxima[ReducedSummary::device] = has_data ? request.has_device_memory : 0;
    const ByteRange& deferred = request.deferred;
    maxima[ReducedSummary::minus_deferred_begin] = deferred.empty() ? nothing : -deferred.begin_bytes;
    maxima[ReducedSummary::deferred_end] = deferred.empty() ? 0 : deferred.end_bytes;
    result.sums = {request.size_bytes, has_data ? request.joined_bytes : 0, has_data ? 1 : 0};
    return result;
}

RequestTotals total_of(const ReducedSummary& of_all_ranks) {
    const auto& maxima = of_all_ranks.maxima;
    RequestTotals totals;
    totals.size_bytes = of_all_ranks.sums[ReducedSummary::size];
    totals.joined_bytes = of_all_ranks.sums[ReducedSummary::joined];
    totals.num_ranks_with_data = of_all_ranks.sums[ReducedSummary::ranks_with_data];
    if (totals.num_ranks_with_data > 0) {
        totals.begin_bytes = -maxima[ReducedSummary::minus_begin];
        totals.end_bytes = maxima[ReducedSummary::end];
    }
    if (maxima[ReducedSummary::deferred_end] > 0)
        totals.any.deferred = {-maxima[ReducedSummary::minus_deferred_begin],
                               maxima[ReducedSummary::deferred_end]};
    totals.largest_size_bytes = maxima[ReducedSummary::largest_size];
    totals.smallest_mean_piece_bytes = -maxima[ReducedSummary::minus_mean_piece];
    totals.service = static_cast<Service>(maxima[ReducedSummary::service]);
    totals.end_of_file = -maxima[ReducedSummary::minus_end_of_file];
    const std::int64_t error = maxima[ReducedSummary::error];
    totals.error_code = error / ranks_of_error;
    if (error > 0) totals.error_rank = static_cast<int>(ranks_of_error - 1 - error % ranks_of_error);
    totals.any.has_given_up = maxima[ReducedSummary::given_up] != 0;
    totals.any.leaves_holes = maxima[ReducedSummary::holes] != 0;
    totals.any.has_device_memory = maxima[ReducedSummary::device] != 0;
    return totals;
}

}  // namespace hakobi::io
