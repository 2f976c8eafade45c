// What src/device promises, over each driver.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "device/program.hpp"

namespace hakobi::device {
namespace {

using device_test::Array;
using device_test::Program;

/// The environment is read when the driver is initialised.
const bool is_set = [] {
    ::setenv("HAKOBI_FAKE_DEVICES", "2", 1);
    ::setenv("HAKOBI_FAKE_DEVICE_BYTES", "67108864", 1);
    ::setenv("HAKOBI_FAKE_DEVICE_DELAY_S", "0.002", 1);
    return true;
}();

template <class T>
std::byte* bytes_of(T* values) {
    return reinterpret_cast<std::byte*>(values);
}
template <class T>
const std::byte* bytes_of(const T* values) {
    return reinterpret_cast<const std::byte*>(values);
}

class DeviceContract : public testing::Test {
  protected:
    Program program_;
    Device& device_ = *all_devices().at(0);
    Device& other_ = *all_devices().at(1);
    std::unique_ptr<Queue> queue_ = device_.make_queue().value();

    static Result<Device*> device_of_ints(const int* ints, std::int64_t num,
                                          Memory said = Memory::automatic) {
        return device_of(ints, num * std::int64_t{sizeof(int)}, said);
    }
};

TEST_F(DeviceContract, DevicesHaveNumbersTextsAndUuids) {
    EXPECT_EQ(all_devices().size(), 2U);
    EXPECT_EQ(other_.number(), 1);
    EXPECT_NE(device_.uuid(), other_.uuid());
    EXPECT_EQ(device_.text(), "CUDA device 0 (fake)");
    EXPECT_TRUE(refused_drivers().empty());
}

TEST_F(DeviceContract, DeviceOfKnowsEachMemory) {
    const Array<int> array(std::vector<int>(1000), device_), of_other(std::vector<int>(10), other_);
    EXPECT_EQ(device_of_ints(array.data(), 1000).value(), &device_);
    EXPECT_EQ(device_of_ints(array.data() + 999, 1).value(), &device_);
    EXPECT_EQ(device_of_ints(of_other.data(), 10, Memory::device).value(), &other_);
    std::vector<int> host(10);
    EXPECT_EQ(device_of_ints(host.data(), 10).value(), nullptr);
    program_.lock(host.data(), 40);
    EXPECT_EQ(device_of_ints(host.data(), 10).value(), nullptr);
    program_.unlock(host.data());
    EXPECT_EQ(device_of(nullptr, 0).value(), nullptr);
    EXPECT_EQ(device_of_ints(array.data(), 1000, Memory::host).value(), nullptr);  // the word is taken
}

TEST_F(DeviceContract, ManagedMemoryIsTheDevices) {
    int* managed = program_.allocate_managed<int>(10);
    managed[9] = 7;
    EXPECT_EQ(device_of_ints(managed, 10).value(), &device_);
    int copy = 0;
    ASSERT_TRUE(
        queue_->start({.to = bytes_of(&copy), .from = bytes_of(managed + 9), .length_bytes = 4}).ok());
    ASSERT_TRUE(queue_->finish().ok());
    EXPECT_EQ(copy, 7);
    program_.release(managed);
}

TEST_F(DeviceContract, WrongMemoryIsInvalid) {
    std::vector<int> host(10);
    EXPECT_EQ(device_of_ints(host.data(), 10, Memory::device).status().code(), ErrorCode::invalid_argument);
    int* memory = program_.allocate<int>(1024);
    EXPECT_EQ(device_of_ints(memory + 1, 1024).status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(device_of_ints(memory - 1, 2).status().code(), ErrorCode::invalid_argument);
    program_.release(memory);
    EXPECT_EQ(device_of_ints(memory, 1024).status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(device_of_ints(memory, 1024, Memory::device).status().code(), ErrorCode::invalid_argument);
}

TEST_F(DeviceContract, HalfOnTheHostIsInvalid) {
    constexpr std::size_t page = 4096;
    int* memory = program_.allocate<int>(page / sizeof(int));
    // The fake leaves the page behind an allocation free of other's memory: the program's own page goes there.
    void* behind = ::mmap(memory + page / sizeof(int), page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ASSERT_NE(behind, MAP_FAILED);
    const auto found = device_of_ints(memory, 2048);
    EXPECT_EQ(found.status().code(), ErrorCode::invalid_argument) << found.status().text();
    program_.release(memory);
}

using DeviceContractDeathTest = DeviceContract;

TEST_F(DeviceContractDeathTest, APlainAccessIsAFault) {
    const Array<int> array(std::vector<int>(10, 1), device_);
    const volatile int* plain = array.data();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        std::exit(*plain), [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 1; }, "");
}

/// Copies boxes of random shapes and compares with a plain loop, which is given host copies.
TEST_F(DeviceContract, CopiesOfEveryShapeAndDirection) {
    std::mt19937 random(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
    const auto below = [&](int end) {
        return static_cast<std::int64_t>(random() % static_cast<unsigned>(end));
    };
    constexpr std::int64_t size = 1 << 14;
    for (int round = 0; round < 60; ++round) {
        Copy copy{.length_bytes = 1 + below(40), .num = {1 + below(6), 1 + below(9)}};
        const auto some_strides = [&] {
            std::array<std::int64_t, 2> strides{};
            const int fast = static_cast<int>(below(2)), slow = 1 - fast;
            strides[fast] = copy.length_bytes + (below(2) ? below(20) : 0);
            strides[slow] =
                strides[fast] * copy.num[fast] + (below(3) ? strides[fast] * below(3) : below(50));
            return strides;
        };
        copy.to_strides_bytes = some_strides();
        copy.from_strides_bytes = some_strides();
        std::vector<std::byte> from(size), to(size, std::byte{255});
        for (std::byte& byte : from) byte = static_cast<std::byte>(below(255));
        auto expected = to;
        const std::int64_t to_begin = below(1000), from_begin = below(1000);
        for (std::int64_t plane = 0; plane < copy.num[0]; ++plane)
            for (std::int64_t row = 0; row < copy.num[1]; ++row)
                for (std::int64_t byte = 0; byte < copy.length_bytes; ++byte)
                    expected[to_begin + plane * copy.to_strides_bytes[0] + row * copy.to_strides_bytes[1] +
                             byte] = from[from_begin + plane * copy.from_strides_bytes[0] +
                                          row * copy.from_strides_bytes[1] + byte];
        const Array<std::byte> device_from(from, device_), device_to(to, device_);
        const bool is_from_device = round % 3 != 0, is_to_device = round % 3 != 1;
        const bool is_locked = below(2) != 0;
        if (is_locked) {
            ASSERT_TRUE(device_.lock_pages(to.data(), size).ok());
            ASSERT_TRUE(device_.lock_pages(from.data(), size).ok());
        }
        copy.to = (is_to_device ? device_to.data() : to.data()) + to_begin;
        copy.from = (is_from_device ? device_from.data() : from.data()) + from_begin;
        ASSERT_TRUE(queue_->start(copy).ok());
        ASSERT_TRUE(queue_->finish().ok());
        ASSERT_EQ(is_to_device ? device_to.values() : to, expected) << "round " << round;
        if (is_locked) {
            device_.unlock_pages(to.data());
            device_.unlock_pages(from.data());
        }
    }
}

TEST_F(DeviceContract, CopiesGoOnLaterInTheirOrder) {
    const Array<int> array(std::vector<int>(100, 1), device_);
    std::vector<int> first(100), second(100);
    ASSERT_TRUE(device_.lock_pages(bytes_of(first.data()), 400).ok());
    ASSERT_TRUE(device_.lock_pages(bytes_of(second.data()), 400).ok());
    ASSERT_TRUE(
        queue_->start({.to = bytes_of(first.data()), .from = bytes_of(array.data()), .length_bytes = 400})
            .ok());
    auto mark = queue_->mark().value();
    EXPECT_FALSE(mark->is_over().value());  // each copy is delayed
    ASSERT_TRUE(
        queue_->start({.to = bytes_of(second.data()), .from = bytes_of(array.data()), .length_bytes = 400})
            .ok());
    while (!mark->is_over().value()) std::this_thread::yield();
    EXPECT_EQ(first, std::vector<int>(100, 1));
    ASSERT_TRUE(queue_->finish().ok());
    EXPECT_EQ(second, std::vector<int>(100, 1));
    EXPECT_TRUE(mark->is_over().value());
    device_.unlock_pages(bytes_of(first.data()));
    device_.unlock_pages(bytes_of(second.data()));
}

/// The queue copies what the program's stream makes, and the program overwrites it afterwards: both by order alone.
void copy_between(const Program& program, Device& device, Queue& queue, DeviceStream stream) {
    const Array<int> ones(std::vector<int>(100, 1), device), twos(std::vector<int>(100, 2), device),
        field(std::vector<int>(100, 0), device);
    std::vector<int> copied(100);
    ASSERT_TRUE(device.lock_pages(bytes_of(copied.data()), 400).ok());
    program.copy(field.data(), ones.data(), 400, stream);
    ASSERT_TRUE(queue.begin_after(stream).ok());
    ASSERT_TRUE(
        queue.start({.to = bytes_of(copied.data()), .from = bytes_of(field.data()), .length_bytes = 400})
            .ok());
    ASSERT_TRUE(queue.hold_back(stream).ok());
    program.copy(field.data(), twos.data(), 400, stream);
    ASSERT_TRUE(queue.finish().ok());
    EXPECT_EQ(copied, std::vector<int>(100, 1));
    program.finish(stream);
    EXPECT_EQ(field.values(), std::vector<int>(100, 2));
    device.unlock_pages(bytes_of(copied.data()));
}

TEST_F(DeviceContract, OrderWithTheProgramsStreams) {
    DeviceStream stream = program_.make_stream();
    for (int round = 0; round < 5; ++round) {
        copy_between(program_, device_, *queue_, stream);
        copy_between(program_, device_, *queue_, nullptr);
        copy_between(program_, device_, *queue_,
                     reinterpret_cast<DeviceStream>(1));  // the legacy default stream
        copy_between(program_, device_, *queue_, reinterpret_cast<DeviceStream>(2));  // the thread's
    }
    program_.destroy(stream);
}

TEST_F(DeviceContract, TheDefaultStreamIsThatOfTheQueuesDevice) {
    program_.use(1);
    EXPECT_TRUE(queue_->begin_after(nullptr).ok());
    EXPECT_TRUE(queue_->hold_back(nullptr).ok());
    EXPECT_TRUE(queue_->finish().ok());
    program_.use(0);
}

TEST_F(DeviceContract, WrongStreamsAreInvalid) {
    program_.use(1);
    DeviceStream of_other = program_.make_stream();
    program_.use(0);
    EXPECT_EQ(queue_->begin_after(of_other).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(queue_->hold_back(of_other).code(), ErrorCode::invalid_argument);
    DeviceStream stream = program_.make_stream();
    program_.capture(stream);
    EXPECT_EQ(queue_->begin_after(stream).code(), ErrorCode::invalid_argument);
    program_.destroy(stream);
    EXPECT_EQ(queue_->begin_after(stream).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(queue_->hold_back(stream).code(), ErrorCode::invalid_argument);
}

TEST_F(DeviceContract, TheProgramsDeviceStaysCurrent) {
    program_.use(1);
    const auto before = program_.current();
    copy_between(program_, other_, *other_.make_queue().value(), nullptr);
    auto queue = device_.make_queue();
    EXPECT_TRUE(queue.value()->mark().value()->is_over().ok());
    device_.release(device_.allocate(100).value());
    DeviceStream stream = program_.make_stream();
    EXPECT_FALSE(queue.value()->begin_after(stream).ok());
    program_.destroy(stream);
    EXPECT_FALSE(queue.value()->begin_after(stream).ok());
    EXPECT_EQ(program_.current(), before);
    program_.use(0);
}

TEST_F(DeviceContract, CopiesWithoutADeviceAreInvalid) {
    std::vector<std::byte> a(10), b(10);
    EXPECT_EQ(queue_->start({.to = a.data(), .from = b.data(), .length_bytes = 10}).code(),
              ErrorCode::invalid_argument);
    auto* memory = program_.allocate<std::byte>(10);
    program_.release(memory);
    EXPECT_EQ(queue_->start({.to = a.data(), .from = memory, .length_bytes = 10}).code(),
              ErrorCode::invalid_argument);
    EXPECT_TRUE(queue_->start({.to = a.data(), .from = memory, .length_bytes = 0}).ok());
    EXPECT_TRUE(queue_->finish().ok());
}

TEST_F(DeviceContract, TooMuchMemoryIsOutOfMemory) {
    EXPECT_EQ(device_.allocate(std::int64_t{1} << 40).status().code(), ErrorCode::out_of_memory);
}

TEST_F(DeviceContract, PagesAreLockedOncePerCaller) {
    std::vector<std::byte> host(10'000);
    ASSERT_TRUE(device_.lock_pages(host.data(), 10'000).ok());
    EXPECT_TRUE(device_.lock_pages(host.data(), 10'000).ok());
    EXPECT_TRUE(device_.lock_pages(host.data() + 100, 100).ok());
    device_.unlock_pages(host.data() + 100);  // not what locked it
    device_.unlock_pages(host.data());
    const Array<std::byte> array(std::vector<std::byte>(10, std::byte{1}), device_);
    ASSERT_TRUE(queue_->start({.to = host.data(), .from = array.data(), .length_bytes = 10}).ok());
    EXPECT_FALSE(queue_->mark().value()->is_over().value());  // still locked: the copy goes on
    ASSERT_TRUE(queue_->finish().ok());
    device_.unlock_pages(host.data());
    program_.lock(host.data(), 10'000);  // no longer registered
    EXPECT_TRUE(device_.lock_pages(host.data(), 10'000).ok());
    device_.unlock_pages(host.data());
    program_.unlock(host.data());  // still registered: it is the program's
}

}  // namespace
}  // namespace hakobi::device
