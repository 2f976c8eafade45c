// Device memory of one process in another, over each driver.
#include <gtest/gtest.h>

#include <hakobi/comm.hpp>

#include "device/program.hpp"

namespace hakobi::device {
namespace {

const bool is_set = ::setenv("HAKOBI_FAKE_HIP_DEVICES", "1", 1) == 0;

class DeviceSharing : public testing::TestWithParam<std::string> {
  protected:
    static Device* device() {
        for (Device* device : all_devices())
            if (device->text().starts_with(GetParam())) return device;
        return nullptr;
    }
    static int rank() {
        int rank = -1;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return rank;
    }
    template <class T>
    static T of_rank_0(T value) {
        MPI_Bcast(&value, sizeof(T), MPI_BYTE, 0, MPI_COMM_WORLD);
        return value;
    }
    static std::byte* bytes_of(int* ints) { return reinterpret_cast<std::byte*>(ints); }
};

INSTANTIATE_TEST_SUITE_P(Drivers, DeviceSharing, testing::Values("CUDA", "HIP"),
                         [](const auto& of) { return of.param; });

TEST_P(DeviceSharing, WhatOneProcessWritesAnotherReads) {
    if (!device()) GTEST_SKIP() << "no device of " << GetParam();
    const device_test::Array<int> array(std::vector<int>(3000, 5), *device());
    EXPECT_EQ(of_rank_0(device()->uuid()), device()->uuid());
    const SharedHandle handle = of_rank_0(device()->share(bytes_of(array.data() + 100)).value());
    if (rank() > 0) {
        std::byte* opened = device()->open_shared(handle).value();
        std::byte* again = device()->open_shared(handle).value();
        auto queue = device()->make_queue().value();
        EXPECT_EQ(device_of(opened, 2900 * 4).value(), device());
        EXPECT_FALSE(device()->share(opened).ok());
        int value = 0, mine = 1000 + rank();
        ASSERT_TRUE(queue->start({.to = bytes_of(&value), .from = opened, .length_bytes = 4}).ok());
        ASSERT_TRUE(queue->finish().ok());
        EXPECT_EQ(value, 5);
        ASSERT_TRUE(
            queue->start({.to = opened + rank() * 4, .from = bytes_of(&mine), .length_bytes = 4}).ok());
        ASSERT_TRUE(queue->finish().ok());
        device()->close_shared(opened);
        device()->close_shared(again);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int num_ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    if (rank() == 0) {
        for (int other = 1; other < num_ranks; ++other) EXPECT_EQ(array.values()[100 + other], 1000 + other);
        EXPECT_FALSE(device()->open_shared(handle).ok());  // it is this process's
    }
}

TEST_P(DeviceSharing, OnlyAllocationsOfItsOwnCanBeShared) {
    if (!device()) GTEST_SKIP() << "no device of " << GetParam();
    std::array<int, 10> host{};
    EXPECT_EQ(device()->share(bytes_of(host.data())).status().code(), ErrorCode::invalid_argument);
    const device_test::Program program(0, GetParam() == "HIP");
    int* managed = program.allocate_managed<int>(10);
    EXPECT_EQ(device()->share(bytes_of(managed)).status().code(), ErrorCode::unsupported);
    program.release(managed);
    SharedHandle handle{};
    EXPECT_FALSE(device()->open_shared(handle).ok());
}

}  // namespace
}  // namespace hakobi::device
