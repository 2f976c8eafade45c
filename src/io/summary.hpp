#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "io/byte_range.hpp"
#include "storage/storage_profile.hpp"

namespace hakobi::io {

/// The highest of the ranks' views holds.
using storage::Service;

/// The summary of a request that every rank sends to the others at the start of a phase.
struct RequestSummary {
    std::int64_t begin_bytes = 0, end_bytes = 0;  ///< of the file region; equal when there is nothing
    std::int64_t size_bytes = 0;
    std::int64_t num_pieces = 0;         ///< in the file
    Service service = Service::unknown;  ///< what this rank knows of the storage
    std::int64_t error_code = 0;         ///< ErrorCode of this rank
    std::int64_t end_of_file =
        std::numeric_limits<std::int64_t>::max();  ///< lowest offset seen behind the file's end
    std::int64_t has_given_up = 0;                 ///< an access of this rank may never end
    std::int64_t leaves_holes = 0;       ///< this rank may be writing into holes: nobody may fill them
    std::int64_t has_device_memory = 0;  ///< of the request, some memory is a device's
    std::int64_t joined_bytes =
        0;  ///< reading by requests (FileSetting): size_bytes with gaps that are read over; else 0
    ByteRange deferred;  ///< around this rank's own writes behind hidden ones (hidden_writes.hpp)
};

/// Totals of all ranks' requests, known to all ranks.
struct RequestTotals {
    std::int64_t begin_bytes = 0, end_bytes = 0, size_bytes = 0;
    std::int64_t joined_bytes = 0;
    std::int64_t largest_size_bytes = 0;         ///< a rank's
    std::int64_t smallest_mean_piece_bytes = 0;  ///< over ranks with data; 2^63-1 without any
    std::int64_t num_ranks_with_data = 0;
    Service service = Service::unknown;  ///< the highest of the ranks' views
    std::int64_t end_of_file = std::numeric_limits<std::int64_t>::max();
    std::int64_t error_code = 0;  ///< the most severe
    int error_rank = -1;          ///< the lowest rank with it
    /// Holds for some rank, or for all together.
    struct Any {
        bool leaves_holes = false, has_given_up = false;
        bool has_device_memory = false;  ///< of a rank with data
        ByteRange deferred;              ///< around them all
        friend bool operator==(const Any&, const Any&) = default;
    } any;
    friend bool operator==(const RequestTotals&, const RequestTotals&) = default;
};
[[nodiscard]] RequestTotals total_of(std::span<const RequestSummary> requests);

/// The same for ranks that do not see each other's summaries: each rank's part of one reduction of few
/// numbers, the maximum of each of `maxima` and the sum of each of `sums`. `total_of` makes the totals from
/// the result.
struct ReducedSummary {
    enum Maximum {
        minus_begin,
        end,
        largest_size,
        minus_mean_piece,
        service,
        minus_end_of_file,
        error,
        given_up,
        holes,
        device,
        minus_deferred_begin,
        deferred_end
    };
    enum Sum { size, joined, ranks_with_data };
    std::array<std::int64_t, deferred_end + 1> maxima{};
    std::array<std::int64_t, ranks_with_data + 1> sums{};
};
[[nodiscard]] ReducedSummary reduced(const RequestSummary& request, int rank);
[[nodiscard]] RequestTotals total_of(const ReducedSummary& of_all_ranks);

}  // namespace hakobi::io
