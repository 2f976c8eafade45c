// main of every test that runs without MPI.
#include <gtest/gtest.h>

#include "chosen_files.hpp"

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    if (!hakobi::testing::choose_files(argc, argv)) return 2;
    const int failed = RUN_ALL_TESTS();
    return ::testing::UnitTest::GetInstance()->test_to_run_count() == 0 ? 1 : failed;
}
