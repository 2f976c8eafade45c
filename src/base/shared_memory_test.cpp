#include "base/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "lowered_limit.hpp"

namespace hakobi {
namespace {

class SharedMemoryOf : public testing::TestWithParam<std::int64_t> {};
// A page and less, from which on large pages are asked for, and ends that lie on no page.
INSTANTIATE_TEST_SUITE_P(Sizes, SharedMemoryOf,
                         testing::Values(1, 4096, 4097, (4 << 20) - 1, 4 << 20, (9 << 20) + 12345));

TEST_P(SharedMemoryOf, IsTheSameInAnotherProcess) {
    const std::int64_t bytes = GetParam();
    SharedMemory memory;
    ASSERT_TRUE(SharedMemory::create(bytes, memory).ok());
    EXPECT_EQ(memory.data()[0], std::byte{0});
    EXPECT_EQ(memory.data()[bytes - 1], std::byte{0});
    const SharedMemory::Name name = memory.name();
    EXPECT_EQ(name.bytes, bytes);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        SharedMemory same;
        if (!SharedMemory::attach(name, same).ok()) ::_exit(1);
        same.data()[0] = std::byte{5};
        same.data()[bytes - 1] = std::byte{7};
        ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(memory.data()[bytes - 1], std::byte{7});
    EXPECT_EQ(memory.data()[0], bytes == 1 ? std::byte{7} : std::byte{5});
}

TEST(SharedMemory, OutlivesItsNameAndIsMovedWhole) {
    SharedMemory memory;
    ASSERT_TRUE(SharedMemory::create(10000, memory).ok());
    const SharedMemory::Name name = memory.name();
    memory.forget_name();
    memory.data()[9999] = std::byte{3};
    SharedMemory moved = std::move(memory);
    EXPECT_EQ(moved.data()[9999], std::byte{3});
    SharedMemory late;
    EXPECT_FALSE(SharedMemory::attach(name, late).ok());
    EXPECT_EQ(late.data(), nullptr);
}

TEST(SharedMemory, WhatIsNotItIsRefused) {
    SharedMemory memory, other, attached;
    ASSERT_TRUE(SharedMemory::create(10000, memory).ok());
    ASSERT_TRUE(SharedMemory::create(10000, other).ok());
    SharedMemory::Name name = memory.name();
    name.descriptor = other.name().descriptor;  // the number means another file, as in another namespace
    EXPECT_EQ(SharedMemory::attach(name, attached).code(), ErrorCode::not_found);
    name.process = std::numeric_limits<std::int32_t>::max();
    EXPECT_EQ(SharedMemory::attach(name, attached).code(), ErrorCode::not_found);
    EXPECT_EQ(attached.data(), nullptr);
}

TEST(SharedMemory, MoreThanTheMachineHasIsAnError) {
    SharedMemory memory;
    EXPECT_EQ(SharedMemory::create(std::int64_t{1} << 60, memory).code(), ErrorCode::out_of_memory);
    EXPECT_EQ(memory.data(), nullptr);
}

TEST(SharedMemory, IsNotMadeWhereTheKernelWouldRaiseASignal) {
    const LoweredLimit limit(RLIMIT_FSIZE, 4096);
    SharedMemory memory;
    EXPECT_EQ(SharedMemory::create(8192, memory).code(), ErrorCode::out_of_memory);
    EXPECT_TRUE(SharedMemory::create(4096, memory).ok());
}

TEST(SharedMemory, WithoutDescriptorsIsWithoutMemory) {
    const LoweredLimit limit(RLIMIT_NOFILE, 0);
    SharedMemory memory;
    EXPECT_EQ(SharedMemory::create(4096, memory).code(), ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace hakobi
