#include "io/summary.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/status.hpp"
#include "drawing.hpp"

namespace hakobi::io {
namespace {

TEST(RequestTotals, TakeTheWorstErrorOfTheLowestRankAndTheWholeRange) {
    std::vector<RequestSummary> requests(4);
    requests[1] = {.begin_bytes = 50,
                   .end_bytes = 90,
                   .size_bytes = 20,
                   .num_pieces = 4,
                   .service = Service::from_memory};
    requests[3] = {
        .begin_bytes = 10, .end_bytes = 60, .size_bytes = 30, .num_pieces = 3, .service = Service::waits};
    requests[0].error_code = requests[2].error_code = static_cast<int>(ErrorCode::no_space);
    requests[1].error_code = static_cast<int>(ErrorCode::permission);
    const RequestTotals totals = total_of(requests);
    EXPECT_EQ(totals.begin_bytes, 10);
    EXPECT_EQ(totals.end_bytes, 90);
    EXPECT_EQ(totals.size_bytes, 50);
    EXPECT_EQ(totals.largest_size_bytes, 30);
    EXPECT_EQ(totals.smallest_mean_piece_bytes, 5);
    EXPECT_EQ(totals.num_ranks_with_data, 2);
    EXPECT_EQ(totals.service, Service::waits);
    EXPECT_EQ(totals.error_code, static_cast<int>(ErrorCode::no_space));
    EXPECT_EQ(totals.error_rank, 0);
}

TEST(RequestTotals, AreTheSameByAReduction) {
    Random random(7);
    constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 5000; ++i) {
        std::vector<RequestSummary> requests(static_cast<std::size_t>(draw(random, 1, 9)));
        ReducedSummary all;
        for (std::size_t rank = 0; rank < requests.size(); ++rank) {
            RequestSummary& request = requests[rank];
            if (draw(random, 0, 2) > 0) {
                request.begin_bytes = draw(random, 0, 1000) << draw(random, 0, 50);
                request.size_bytes = draw(random, 1, 1000) << draw(random, 0, 30);
                request.end_bytes = request.begin_bytes + request.size_bytes + draw(random, 0, 100);
                request.num_pieces = draw(random, 1, 100);
                request.joined_bytes = draw(random, 0, 1000);
                request.has_device_memory = draw(random, 0, 1);
            }
            request.service = static_cast<Service>(draw(random, -1, 1));
            if (draw(random, 0, 5) == 0) request.error_code = draw(random, 1, 3);
            request.end_of_file = draw(random, 0, 1) == 0 ? no_end : draw(random, 0, 1 << 30);
            request.leaves_holes = draw(random, 0, 4) == 0 ? 1 : 0;
            if (draw(random, 0, 3) == 0) {
                request.deferred.begin_bytes = draw(random, 0, 1000) << draw(random, 0, 40);
                request.deferred.end_bytes = request.deferred.begin_bytes + draw(random, 1, 5000);
            }
            const ReducedSummary each = reduced(request, static_cast<int>(rank));
            if (rank == 0) {
                all = each;
                continue;
            }
            for (std::size_t m = 0; m < all.maxima.size(); ++m)
                all.maxima[m] = std::max(all.maxima[m], each.maxima[m]);
            for (std::size_t s = 0; s < all.sums.size(); ++s) all.sums[s] += each.sums[s];
        }
        ASSERT_EQ(total_of(all), total_of(requests));
    }
}

}  // namespace
}  // namespace hakobi::io
