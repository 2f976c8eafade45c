// main of every test that runs under an MPI launcher: one GoogleTest process a rank, rank 0 prints, and the
// exit status is the worst of all ranks. All ranks shuffle with the same seed, or collectives would not
// match.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <hakobi/comm.hpp>

#include "chosen_files.hpp"

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ::testing::InitGoogleTest(&argc, argv);
    const bool chosen = hakobi::testing::choose_files(argc, argv);
    // Rank 0's seed, printed with its results: --gtest_random_seed=N repeats an order.
    int seed = GTEST_FLAG_GET(random_seed);
    if (seed == 0) seed = static_cast<int>(std::time(nullptr) % 99999) + 1;
    MPI_Bcast(&seed, 1, MPI_INT, 0, MPI_COMM_WORLD);
    GTEST_FLAG_SET(random_seed, seed);
    GTEST_FLAG_SET(shuffle, true);
    if (rank != 0) {
        auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
        class OnlyFailures : public ::testing::EmptyTestEventListener {
            void OnTestPartResult(const ::testing::TestPartResult& result) override {
                if (!result.failed()) return;
                int failed_rank = 0;
                MPI_Comm_rank(MPI_COMM_WORLD, &failed_rank);
                std::fprintf(stderr, "rank %d: %s:%d: %s\n", failed_rank,
                             result.file_name() ? result.file_name() : "?", result.line_number(),
                             result.message());
            }
        };
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new OnlyFailures);
    }
    int failed = chosen ? RUN_ALL_TESTS() : 2;
    if (chosen && ::testing::UnitTest::GetInstance()->test_to_run_count() == 0) failed = 1;
    int any_failed = 0;
    MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any_failed;
}
