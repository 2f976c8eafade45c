#include "mpi/messages.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hakobi::mpi {
namespace {

TEST(AllMaxAndSum, EveryRankGetsBothOfAllRanks) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const std::int64_t rank = comm.rank(), size = comm.size();
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    std::vector<std::int64_t> maxima{rank, -rank, lowest, rank == size - 1 ? lowest + 1 : lowest};
    std::vector<std::int64_t> sums{rank + 1, std::int64_t{1} << 40};
    all_max_and_sum(comm, maxima, sums);
    EXPECT_EQ(maxima, (std::vector<std::int64_t>{size - 1, 0, lowest, lowest + 1}));
    EXPECT_EQ(sums, (std::vector<std::int64_t>{size * (size + 1) / 2, size << 40}));
    comm.free();
}

TEST(AllMaxAndSum, MayHaveMoreSumsThanMaxima) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    std::vector<std::int64_t> maxima, sums{1, 2, 3};
    all_max_and_sum(comm, maxima, sums);
    const std::int64_t size = comm.size();
    EXPECT_EQ(sums, (std::vector<std::int64_t>{size, 2 * size, 3 * size}));
    comm.free();
}

}  // namespace
}  // namespace hakobi::mpi
