// The contract of src/device, over each driver. Run without the fake drivers it holds the machine's own to
// it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "device/buffer.hpp"
#include "device/pinned.hpp"
#include "device/program.hpp"

namespace hakobi::device {
namespace {

using device_test::Array;
using device_test::Program;

/// The environment is read when the driver is initialised.
const bool is_set = [] {
    ::setenv("HAKOBI_FAKE_DEVICES", "2", 1);
    ::setenv("HAKOBI_FAKE_HIP_DEVICES", "2", 1);
    ::setenv("HAKOBI_FAKE_NUM_COMPILING", "1", 1);  // the second device has no kernels
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

/// With the name of a driver. Tests of two devices, and of what only the fake does, are skipped elsewhere.
class DeviceContract : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        for (Device* device : all_devices())
            if (device->text().starts_with(GetParam())) devices_.push_back(device);
        if (devices_.empty()) GTEST_SKIP() << "no device of " << GetParam();
        program_ = std::make_unique<Program>(0, GetParam() == "HIP");
        queue_ = device().make_queue().value();
    }
    [[nodiscard]] Device& device() const { return *devices_.at(0); }
    [[nodiscard]] Device& other() const { return *devices_.at(1); }
    [[nodiscard]] bool is_fake() const { return device().text().ends_with("(fake)"); }

    std::vector<Device*> devices_;
    std::unique_ptr<Program> program_;
    std::unique_ptr<Queue> queue_;

    static Result<Device*> device_of_ints(const int* ints, std::int64_t num,
                                          Memory said = Memory::automatic) {
        return device_of(ints, num * std::int64_t{sizeof(int)}, said);
    }
};

#define NEEDS(condition) \
    if (!(condition)) GTEST_SKIP() << "needs " #condition

INSTANTIATE_TEST_SUITE_P(Drivers, DeviceContract, testing::Values("CUDA", "HIP"),
                         [](const auto& of) { return of.param; });

TEST_P(DeviceContract, DevicesHaveNumbersTextsAndUuids) {
    std::set<std::array<std::byte, 16>> uuids;
    for (std::size_t number = 0; number < devices_.size(); ++number) {
        const std::string begin = GetParam() + " device " + std::to_string(number) + " (";
        EXPECT_EQ(devices_[number]->number(), static_cast<int>(number));
        EXPECT_EQ(devices_[number]->text().substr(0, begin.size()), begin);
        uuids.insert(devices_[number]->uuid());
    }
    EXPECT_EQ(uuids.size(), devices_.size());
    if (is_fake()) {
        EXPECT_TRUE(refused_drivers().empty());
    }
}

TEST_P(DeviceContract, DeviceOfKnowsEachMemory) {
    const Array<int> array(std::vector<int>(1000), device());
    EXPECT_EQ(device_of_ints(array.data(), 1000).value(), &device());
    EXPECT_EQ(device_of_ints(array.data() + 999, 1).value(), &device());
    EXPECT_EQ(device_of_ints(array.data(), 10, Memory::device).value(), &device());
    std::vector<int> host(10);
    EXPECT_EQ(device_of_ints(host.data(), 10).value(), nullptr);
    program_->lock(host.data(), 40);
    EXPECT_EQ(device_of_ints(host.data(), 10).value(), nullptr);
    program_->unlock(host.data());
    EXPECT_EQ(device_of(nullptr, 0).value(), nullptr);
    EXPECT_EQ(device_of_ints(array.data(), 1000, Memory::host).value(), nullptr);  // the word is taken
}

TEST_P(DeviceContract, DeviceOfKnowsWhichDevice) {
    NEEDS(devices_.size() > 1);
    const Array<int> array(std::vector<int>(10), other());
    EXPECT_EQ(device_of_ints(array.data(), 10).value(), &other());
}

TEST_P(DeviceContract, ManagedMemoryIsTheDevices) {
    int* managed = program_->allocate_managed<int>(10);
    managed[9] = 7;
    EXPECT_EQ(device_of_ints(managed, 10).value(), &device());
    int copy = 0;
    ASSERT_TRUE(
        queue_->start({.to = bytes_of(&copy), .from = bytes_of(managed + 9), .length_bytes = 4}).ok());
    ASSERT_TRUE(queue_->finish().ok());
    EXPECT_EQ(copy, 7);
    program_->release(managed);
}

TEST_P(DeviceContract, WrongMemoryIsInvalid) {
    std::vector<int> host(10);
    EXPECT_EQ(device_of_ints(host.data(), 10, Memory::device).status().code(), ErrorCode::invalid_argument);
    int* memory = program_->allocate<int>(1024);
    EXPECT_EQ(device_of_ints(memory + 1, 1024).status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(device_of_ints(memory - 1, 2).status().code(), ErrorCode::invalid_argument);
    program_->release(memory);
    EXPECT_EQ(device_of_ints(memory, 1024).status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(device_of_ints(memory, 1024, Memory::device).status().code(), ErrorCode::invalid_argument);
}

TEST_P(DeviceContract, HalfOnTheHostIsInvalid) {
    NEEDS(is_fake());
    constexpr std::size_t page = 4096;
    int* memory = program_->allocate<int>(page / sizeof(int));
    // The fake leaves the page behind an allocation free of other's memory: the program's own page goes
    // there.
    void* behind = ::mmap(memory + page / sizeof(int), page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ASSERT_NE(behind, MAP_FAILED);
    const auto found = device_of_ints(memory, 2048);
    EXPECT_EQ(found.status().code(), ErrorCode::invalid_argument) << found.status().text();
    const auto before = device_of_ints(memory + page / sizeof(int) + 1, 4);
    EXPECT_EQ(before.value(), nullptr);
    program_->release(memory);
}

TEST_P(DeviceContract, APlainAccessIsAFault) {
    NEEDS(is_fake());
    const Array<int> array(std::vector<int>(10, 77), device());
    const volatile int* plain = array.data();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        std::exit(*plain), [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 77; }, "");
}

/// Copies boxes of random shapes and compares with a plain loop, which is given host copies.
TEST_P(DeviceContract, CopiesOfEveryShapeAndDirection) {
    std::mt19937 random(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
    const auto below = [&](int end) {
        return static_cast<std::int64_t>(random() % static_cast<unsigned>(end));
    };
    constexpr std::int64_t size = 1 << 14;
    Array<std::byte> device_from(std::vector<std::byte>(size), device()),
        device_to(std::vector<std::byte>(size), device());
    for (int round = 0; round < 24; ++round) {
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
        device_from.set(from);
        device_to.set(to);
        const bool is_from_device = round % 3 != 0, is_to_device = round % 3 != 1;
        const bool is_locked = below(2) != 0;
        if (is_locked) {
            ASSERT_TRUE(device().lock_pages(to.data(), size).ok());
            ASSERT_TRUE(device().lock_pages(from.data(), size).ok());
        }
        copy.to = (is_to_device ? device_to.data() : to.data()) + to_begin;
        copy.from = (is_from_device ? device_from.data() : from.data()) + from_begin;
        ASSERT_TRUE(queue_->start(copy).ok());
        ASSERT_TRUE(queue_->finish().ok());
        ASSERT_EQ(is_to_device ? device_to.values() : to, expected) << "round " << round;
        if (is_locked) {
            device().unlock_pages(to.data());
            device().unlock_pages(from.data());
        }
    }
}

/// Boxes of random shapes and alignments beside each other, and what has to be in the target then.
class Boxes {
  public:
    static constexpr std::int64_t size_bytes = 1 << 14;
    Boxes(std::mt19937& random, std::byte* to, const std::byte* from) {
        const auto below = [&](int end) {
            return static_cast<std::int64_t>(random() % static_cast<unsigned>(end));
        };
        std::array<std::int64_t, 2> at{};  // in the target and the source
        for (;;) {
            const std::int64_t unit = std::int64_t{1} << below(5);
            Copy copy{.length_bytes = unit * (1 + below(9)), .num = {1 + below(4), 1 + below(9)}};
            std::array<std::int64_t, 2> extent{};
            for (int side : {0, 1}) {
                auto& strides = side == 0 ? copy.to_strides_bytes : copy.from_strides_bytes;
                strides[1] = copy.length_bytes + (below(2) ? unit * below(4) : 0);
                strides[0] = strides[1] * copy.num[1] + (below(2) ? unit * below(5) : 0);
                extent[side] = strides[0] * copy.num[0];
                at[side] = (at[side] + unit - 1) / unit * unit;
            }
            if (std::max(at[0] + extent[0], at[1] + extent[1]) > size_bytes) return;
            copy.to = to + at[0];
            copy.from = from + at[1];
            for (int side : {0, 1}) at[side] += extent[side] + below(7);
            copies_.push_back(copy);
        }
    }
    [[nodiscard]] const std::vector<Copy>& copies() const { return copies_; }
    /// The same by plain loops, on the host's copies of what is at `to` and `from`.
    void run(std::vector<std::byte>& target, const std::byte* to, const std::vector<std::byte>& source,
             const std::byte* from) const {
        for (const Copy& copy : copies_)
            for (std::int64_t plane = 0; plane < copy.num[0]; ++plane)
                for (std::int64_t row = 0; row < copy.num[1]; ++row)
                    std::copy_n(source.begin() + (copy.from - from) + plane * copy.from_strides_bytes[0] +
                                    row * copy.from_strides_bytes[1],
                                copy.length_bytes,
                                target.begin() + (copy.to - to) + plane * copy.to_strides_bytes[0] +
                                    row * copy.to_strides_bytes[1]);
    }

  private:
    std::vector<Copy> copies_;
};

/// To the device, within it, and to the host again, by three lists that only their order on the queue keeps
/// apart.
TEST_P(DeviceContract, PreparedCopiesOfEveryShapeInTheirOrder) {
    std::mt19937 random(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
    constexpr std::int64_t size = Boxes::size_bytes;
    for (Device* device : devices_) {
        Array<std::byte> first(std::vector<std::byte>(size), *device),
            second(std::vector<std::byte>(size), *device);
        auto from = Buffer::locked(*device, size).value(), to = Buffer::locked(*device, size).value();
        const Boxes in(random, first.data(), from.data()), within(random, second.data(), first.data()),
            out(random, to.data(), second.data());
        const auto list_in = device->prepare(in.copies()), list_within = device->prepare(within.copies()),
                   list_out = device->prepare(out.copies());
        const auto queue = device->make_queue().value();
        std::vector<std::byte> source(size), at_first(size), at_second(size), target(size);
        const std::int64_t launches = program_->num_launches();
        std::fill_n(to.data(), size, std::byte{0});
        for (int round = 0; round < 3; ++round) {
            for (std::byte& byte : source) byte = static_cast<std::byte>(random());
            std::copy(source.begin(), source.end(), from.data());
            ASSERT_TRUE(queue->start(*list_in.value()).ok());
            ASSERT_TRUE(queue->start(*list_within.value()).ok());
            ASSERT_TRUE(queue->start(*list_out.value()).ok());
            const auto mark = queue->mark().value();
            if (is_fake()) {
                EXPECT_FALSE(mark->is_over().value());
            }
            while (!mark->is_over().value()) std::this_thread::yield();
            in.run(at_first, first.data(), source, from.data());
            within.run(at_second, second.data(), at_first, first.data());
            out.run(target, to.data(), at_second, second.data());
            ASSERT_TRUE(std::equal(target.begin(), target.end(), to.data())) << "round " << round;
        }
        EXPECT_EQ(first.values(), at_first);
        EXPECT_EQ(second.values(), at_second);
        if (is_fake()) {
            const bool has_kernel = GetParam() == "CUDA" && device == devices_[0];
            EXPECT_EQ(program_->num_launches() - launches, has_kernel ? 9 : 0);
        }
    }
}

/// The program's stream makes what a list copies, and overwrites it afterwards.
TEST_P(DeviceContract, PreparedCopiesInOrderWithAStream) {
    DeviceStream stream = program_->make_stream();
    const Array<int> ones(std::vector<int>(100, 1), device()), twos(std::vector<int>(100, 2), device()),
        field(std::vector<int>(100, 0), device()), copied(std::vector<int>(100, 0), device());
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < 100; ++i)
        copies.push_back(
            {.to = bytes_of(copied.data() + i), .from = bytes_of(field.data() + i), .length_bytes = 4});
    const auto list = device().prepare(copies).value();
    program_->copy(field.data(), ones.data(), 400, stream);
    ASSERT_TRUE(queue_->begin_after(stream).ok());
    ASSERT_TRUE(queue_->start(*list).ok());
    ASSERT_TRUE(queue_->hold_back(stream).ok());
    program_->copy(field.data(), twos.data(), 400, stream);
    program_->finish(stream);
    EXPECT_EQ(copied.values(), std::vector<int>(100, 1));
    EXPECT_EQ(field.values(), std::vector<int>(100, 2));
    program_->destroy(stream);
}

/// Memory that the program locked without mapping it, and memory that nobody locked.
TEST_P(DeviceContract, PreparedCopiesToMemoryThatNoKernelReaches) {
    std::vector<int> locked(64), plain(64);
    const Array<int> array(std::vector<int>(64, 5), device());
    program_->lock(locked.data(), 256);
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < 64; ++i)
        for (int* to : {&locked[i], &plain[i]})
            copies.push_back({.to = bytes_of(to), .from = bytes_of(array.data() + i), .length_bytes = 4});
    const auto list = device().prepare(copies).value();
    ASSERT_TRUE(queue_->start(*list).ok());
    ASSERT_TRUE(queue_->finish().ok());
    program_->unlock(locked.data());
    EXPECT_EQ(locked, std::vector<int>(64, 5));
    EXPECT_EQ(plain, std::vector<int>(64, 5));
}

TEST_P(DeviceContract, NothingPreparedIsNothing) {
    const std::vector<Copy> none, empty{{}};
    for (const auto& copies : {none, empty}) {
        const auto list = device().prepare(copies).value();
        EXPECT_TRUE(queue_->start(*list).ok());
    }
    EXPECT_TRUE(queue_->finish().ok());
}

TEST_P(DeviceContract, CopiesGoOnLaterInTheirOrder) {
    const Array<int> array(std::vector<int>(100, 1), device());
    std::vector<int> first(100), second(100);
    ASSERT_TRUE(device().lock_pages(bytes_of(first.data()), 400).ok());
    ASSERT_TRUE(device().lock_pages(bytes_of(second.data()), 400).ok());
    ASSERT_TRUE(
        queue_->start({.to = bytes_of(first.data()), .from = bytes_of(array.data()), .length_bytes = 400})
            .ok());
    auto mark = queue_->mark().value();
    if (is_fake()) {
        EXPECT_FALSE(mark->is_over().value());  // each copy is delayed
    }
    ASSERT_TRUE(
        queue_->start({.to = bytes_of(second.data()), .from = bytes_of(array.data()), .length_bytes = 400})
            .ok());
    while (!mark->is_over().value()) std::this_thread::yield();
    EXPECT_EQ(first, std::vector<int>(100, 1));
    ASSERT_TRUE(queue_->finish().ok());
    EXPECT_EQ(second, std::vector<int>(100, 1));
    EXPECT_TRUE(mark->is_over().value());
    device().unlock_pages(bytes_of(first.data()));
    device().unlock_pages(bytes_of(second.data()));
}

/// The queue copies what the program's stream makes, and the program overwrites it afterwards: both by order
/// alone.
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

TEST_P(DeviceContract, OrderWithTheProgramsStreams) {
    DeviceStream stream = program_->make_stream();
    for (int round = 0; round < 2; ++round) {
        copy_between(*program_, device(), *queue_, stream);
        copy_between(*program_, device(), *queue_, nullptr);
        copy_between(*program_, device(), *queue_,
                     reinterpret_cast<DeviceStream>(1));  // the legacy default stream
        copy_between(*program_, device(), *queue_, reinterpret_cast<DeviceStream>(2));  // the thread's
    }
    program_->destroy(stream);
}

TEST_P(DeviceContract, TheDefaultStreamIsThatOfTheQueuesDevice) {
    NEEDS(devices_.size() > 1);
    program_->use(1);
    EXPECT_TRUE(queue_->begin_after(nullptr).ok());
    EXPECT_TRUE(queue_->hold_back(nullptr).ok());
    EXPECT_TRUE(queue_->finish().ok());
    program_->use(0);
}

TEST_P(DeviceContract, WrongStreamsAreInvalid) {
    NEEDS(devices_.size() > 1);
    program_->use(1);
    DeviceStream of_other = program_->make_stream();
    program_->use(0);
    EXPECT_EQ(queue_->begin_after(of_other).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(queue_->hold_back(of_other).code(), ErrorCode::invalid_argument);
    program_->destroy(of_other);
}

TEST_P(DeviceContract, StreamsThatCannotBeWaitedForAreInvalid) {
    DeviceStream stream = program_->make_stream();
    program_->capture(stream);
    EXPECT_EQ(queue_->begin_after(stream).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(queue_->hold_back(stream).code(), ErrorCode::invalid_argument);
    NEEDS(is_fake());  // the drivers promise nothing for a stream that is no more
    program_->destroy(stream);
    EXPECT_EQ(queue_->begin_after(stream).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(queue_->hold_back(stream).code(), ErrorCode::invalid_argument);
}

TEST_P(DeviceContract, TheProgramsDeviceStaysCurrent) {
    NEEDS(devices_.size() > 1);
    program_->use(1);
    const auto before = program_->current();
    copy_between(*program_, other(), *other().make_queue().value(), nullptr);
    auto queue = device().make_queue();
    EXPECT_TRUE(queue.value()->mark().value()->is_over().ok());
    device().release(device().allocate(100).value());
    DeviceStream stream = program_->make_stream();
    EXPECT_FALSE(queue.value()->begin_after(stream).ok());
    program_->destroy(stream);
    EXPECT_FALSE(queue.value()->begin_after(stream).ok());
    EXPECT_EQ(program_->current(), before);
    program_->use(0);
}

TEST_P(DeviceContract, RunsMayMeetAndLieInSeveralAllocations) {
    std::array<int*, 2> arrays{program_->allocate<int>(2), program_->allocate<int>(2)};
    std::ranges::sort(arrays);
    std::array<int, 4> values{1, 2, 3, 4}, found{};
    const std::int64_t apart = bytes_of(arrays[1]) - bytes_of(arrays[0]);
    ASSERT_TRUE(queue_
                    ->start({.to = bytes_of(arrays[0]),
                             .from = bytes_of(values.data()),
                             .length_bytes = 8,
                             .num = {1, 2},
                             .to_strides_bytes = {0, apart},
                             .from_strides_bytes = {0, 8}})
                    .ok());
    // The second int of each array, twice.
    ASSERT_TRUE(queue_
                    ->start({.to = bytes_of(found.data()),
                             .from = bytes_of(arrays[0] + 1),
                             .length_bytes = 4,
                             .num = {2, 2},
                             .to_strides_bytes = {8, 4},
                             .from_strides_bytes = {apart, 0}})
                    .ok());
    ASSERT_TRUE(queue_->finish().ok());
    EXPECT_EQ(found, (std::array{2, 2, 4, 4}));
    for (int* const array : arrays) program_->release(array);
}

TEST_P(DeviceContract, CopiesWithoutADeviceAreInvalid) {
    std::vector<std::byte> a(10), b(10);
    EXPECT_EQ(queue_->start({.to = a.data(), .from = b.data(), .length_bytes = 10}).code(),
              ErrorCode::invalid_argument);
    auto* memory = program_->allocate<std::byte>(10);
    program_->release(memory);
    EXPECT_EQ(queue_->start({.to = a.data(), .from = memory, .length_bytes = 10}).code(),
              ErrorCode::invalid_argument);
    EXPECT_TRUE(queue_->start({.to = a.data(), .from = memory, .length_bytes = 0}).ok());
    EXPECT_TRUE(queue_->finish().ok());
}

TEST_P(DeviceContract, TooMuchMemoryIsOutOfMemory) {
    EXPECT_EQ(device().allocate(std::int64_t{1} << 40).status().code(), ErrorCode::out_of_memory);
}

TEST_P(DeviceContract, PagesAreLockedOncePerCaller) {
    std::vector<std::byte> host(10'000);
    ASSERT_TRUE(device().lock_pages(host.data(), 10'000).ok());
    EXPECT_TRUE(device().lock_pages(host.data(), 10'000).ok());
    EXPECT_TRUE(device().lock_pages(host.data() + 100, 100).ok());
    device().unlock_pages(host.data() + 100);  // not what locked it
    device().unlock_pages(host.data());
    const Array<std::byte> array(std::vector<std::byte>(10, std::byte{1}), device());
    ASSERT_TRUE(queue_->start({.to = host.data(), .from = array.data(), .length_bytes = 10}).ok());
    if (is_fake()) {
        EXPECT_FALSE(queue_->mark().value()->is_over().value());  // still locked: the copy goes on
    }
    ASSERT_TRUE(queue_->finish().ok());
    device().unlock_pages(host.data());
    program_->lock(host.data(), 10'000);  // no longer registered
    EXPECT_TRUE(device().lock_pages(host.data(), 10'000).ok());
    device().unlock_pages(host.data());
    program_->unlock(host.data());  // still registered: it is the program's
}

TEST_P(DeviceContract, PinnedMemoryIsReused) {
    std::byte* data = nullptr;
    {
        Pinned pinned = Pinned::of(device(), 100'000).value();
        ASSERT_GE(pinned.size_bytes(), 100'000);
        data = pinned.data();
        const Array<std::byte> array(std::vector<std::byte>(100'000, std::byte{3}), device());
        ASSERT_TRUE(queue_->start({.to = data, .from = array.data(), .length_bytes = 100'000}).ok());
        if (is_fake()) {
            EXPECT_FALSE(queue_->mark().value()->is_over().value());  // locked: the copy goes on
        }
        ASSERT_TRUE(queue_->finish().ok());
        EXPECT_EQ(data[99'999], std::byte{3});
        EXPECT_NE(Pinned::of(device(), 100'000).value().data(), data);
    }
    const Pinned again = Pinned::of(device(), 99'000).value();
    EXPECT_EQ(again.data(), data);
    EXPECT_EQ(Pinned::of(device(), std::int64_t{1} << 60).status().code(), ErrorCode::out_of_memory);
}

int num_locked(const std::vector<Pinned>& all) {
    int num = 0;
    for (const Pinned& pinned : all) num += pinned.is_locked() ? 1 : 0;
    return num;
}

TEST_P(DeviceContract, MorePinnedMemoryThanIsKeptIsFreed) {
    for (int round = 0; round < 2; ++round) {
        std::vector<Pinned> all;
        for (int i = 0; i < 70; ++i) all.push_back(Pinned::of(device(), 8 << 20).value());
        EXPECT_EQ(num_locked(all), 70);
    }
    EXPECT_EQ(Pinned::of(device(), 2 * Pinned::max_kept_bytes).value().size_bytes(),
              2 * Pinned::max_kept_bytes);
}

}  // namespace
}  // namespace hakobi::device
