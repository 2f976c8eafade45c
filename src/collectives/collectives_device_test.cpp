// Collectives on values of a device, which is the one of tests/device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <hakobi/collectives.hpp>
#include <hakobi/error.hpp>
#include <memory>
#include <numeric>
#include <vector>

#include "device/program.hpp"
#include "lowered_limit.hpp"

namespace hakobi {
namespace {

using device_test::Program;

/// The environment is read when the driver is initialised.
const bool is_set = [] {
    setenv("HAKOBI_FAKE_DEVICES", "2", 1);
    setenv("HAKOBI_FAKE_DEVICE_DELAY_S", "0.0001", 1);
    return true;
}();
using Array = device_test::Array<std::int64_t>;
using Values = std::vector<std::int64_t>;

class CollectivesOnDevice : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override { collectives_ = Collectives::create(comm_, {.method = GetParam()}); }
    void TearDown() override {
        collectives_.free();
        comm_.free();
    }
    [[nodiscard]] std::int64_t rank() const { return comm_.rank(); }
    [[nodiscard]] std::int64_t num_ranks() const { return comm_.size(); }
    /// `num` values of a rank.
    static Values values_of(std::int64_t rank, std::int64_t num) {
        Values values(static_cast<std::size_t>(num));
        std::iota(values.begin(), values.end(), 1000 * (rank + 1));
        return values;
    }
    [[nodiscard]] Values sums(std::int64_t num) const {
        Values expected(static_cast<std::size_t>(num));
        for (std::int64_t i = 0; i < num; ++i)
            expected[static_cast<std::size_t>(i)] = 500 * num_ranks() * (num_ranks() + 1) + num_ranks() * i;
        return expected;
    }

    Program program_;
    Comm comm_ = Comm::duplicate(MPI_COMM_WORLD);
    Collectives collectives_;
};
INSTANTIATE_TEST_SUITE_P(Methods, CollectivesOnDevice, testing::Values("model", "mpi"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(CollectivesOnDevice, AllreduceAlsoInPlaceAndWithOneSideOnTheHost) {
    for (const std::int64_t num : {0, 1, 3, 20011}) {
        CollectivePlan plan = collectives_.allreduce(ElementType::int64, Reduction::sum, num);
        const Values mine = values_of(rank(), num);
        // One more: no memory has no place.
        Values padded = mine;
        padded.push_back(0);
        Array input(padded), output(padded);
        const auto first = [&](Values values) {
            values.resize(static_cast<std::size_t>(num));
            return values;
        };
        plan.execute(input.data(), output.data());
        ASSERT_EQ(first(output.values()), sums(num)) << plan.explain();
        Values host(mine.size());
        plan.execute(input.data(), host.data());
        ASSERT_EQ(host, sums(num));
        output.set(padded);
        plan.execute(mine.data(), output.data());
        ASSERT_EQ(first(output.values()), sums(num));
        plan.execute(input.data(), input.data());
        ASSERT_EQ(first(input.values()), sums(num)) << "in place";
    }
}

TEST_P(CollectivesOnDevice, TheOtherOperations) {
    const std::int64_t num = 1000, bytes = 8 * num;
    Values all;
    for (std::int64_t r = 0; r < num_ranks(); ++r) {
        const Values block = values_of(r, num);
        all.insert(all.end(), block.begin(), block.end());
    }
    {
        CollectivePlan plan = collectives_.allgather(bytes);
        const Array input(values_of(rank(), num));
        Array output(Values(all.size(), -1));
        plan.execute(input.data(), output.data());
        EXPECT_EQ(output.values(), all);
        Values own(all.size(), -1);
        const Values mine = values_of(rank(), num);
        std::copy(mine.begin(), mine.end(), own.begin() + rank() * num);
        output.set(own);
        plan.execute(output.data() + rank() * num, output.data());
        EXPECT_EQ(output.values(), all) << "in place";
    }
    {
        CollectivePlan plan = collectives_.broadcast(bytes, comm_.size() - 1);
        const Array output(values_of(rank(), num));
        plan.execute(nullptr, output.data());
        EXPECT_EQ(output.values(), values_of(num_ranks() - 1, num));
    }
    {
        // To each rank a block of this rank's number and the other's.
        CollectivePlan plan = collectives_.alltoall(16);
        Values out, expected;
        for (std::int64_t r = 0; r < num_ranks(); ++r) {
            out.insert(out.end(), {rank(), r});
            expected.insert(expected.end(), {r, rank()});
        }
        const Array input(out), output(Values(out.size()));
        plan.execute(input.data(), output.data());
        EXPECT_EQ(output.values(), expected);
        plan.execute(input.data(), input.data());
        EXPECT_EQ(input.values(), expected) << "in place";
    }
}

TEST_P(CollectivesOnDevice, KeepTheOrderOfAStream) {
    constexpr std::size_t num_rounds = 5;
    CollectivePlan dot = collectives_.allreduce(ElementType::int64, Reduction::sum, 2);
    const DeviceStream stream = program_.make_stream();
    const Array local(Values(2)), global(Values(2));
    std::vector<Values> made, used(num_rounds, Values(2));
    for (std::size_t round = 0; round < num_rounds; ++round) {
        made.push_back(values_of(rank() + static_cast<std::int64_t>(round), 2));
        program_.lock(made[round].data(), 16);
        program_.lock(used[round].data(), 16);
    }
    const std::int64_t num_waits = program_.num_waits();
    for (std::size_t round = 0; round < num_rounds; ++round) {
        program_.copy(local.data(), made[round].data(), 16, stream);
        dot.start(local.data(), global.data(), stream);
        dot.wait(stream);
        program_.copy(used[round].data(), global.data(), 16, stream);
    }
    EXPECT_EQ(program_.num_waits(), num_waits);
    program_.finish(stream);
    for (std::size_t round = 0; round < num_rounds; ++round) {
        Values expected = sums(2);
        for (std::int64_t& value : expected) value += 1000 * num_ranks() * static_cast<std::int64_t>(round);
        ASSERT_EQ(used[round], expected) << "round " << round;
        program_.unlock(made[round].data());
        program_.unlock(used[round].data());
    }
    program_.destroy(stream);
}

TEST_P(CollectivesOnDevice, BeginInTheOrderOfTheirStartsWhereverTheValuesAre) {
    constexpr std::int64_t num = 5000;
    CollectivePlan plans[] = {collectives_.allreduce(ElementType::int64, Reduction::sum, num),
                              collectives_.allreduce(ElementType::int64, Reduction::sum, num),
                              collectives_.broadcast(8 * num, 0)};
    for (int round = 0; round < 6; ++round) {
        // Each rank has others of the three on its device, so that their input is late in an order of its
        // own.
        Values host[3];
        std::unique_ptr<Array> device[3];
        void* memory[3];
        for (std::size_t i = 0; i < 3; ++i) {
            host[i] = values_of(rank(), num);
            if ((rank() + round + static_cast<std::int64_t>(i)) % 2 == 0)
                device[i] = std::make_unique<Array>(host[i]);
            memory[i] = device[i] ? static_cast<void*>(device[i]->data()) : host[i].data();
        }
        plans[0].start(memory[0], memory[0]);
        plans[1].start(memory[1], memory[1]);
        plans[2].start(nullptr, memory[2]);
        for (std::size_t i = 3; i-- > 0;) plans[(i + static_cast<std::size_t>(rank())) % 3].wait();
        for (std::size_t i = 0; i < 3; ++i) {
            const Values come = device[i] ? device[i]->values() : host[i];
            ASSERT_EQ(come, i < 2 ? sums(num) : values_of(0, num)) << "round " << round << ", plan " << i;
        }
    }
}

TEST_P(CollectivesOnDevice, RefuseWhatCannotBe) {
    if (device::all_devices().size() < 2) GTEST_SKIP() << "there is one device";
    CollectivePlan plan = collectives_.allreduce(ElementType::int64, Reduction::sum, 2);
    const Array here(Values(2)), there(Values(2), *device::all_devices().at(1));
    std::int64_t* const freed = program_.allocate<std::int64_t>(2);
    program_.release(freed);
    const Program second(1);
    const DeviceStream foreign = second.make_stream();
    const auto code_of = [&](const void* input, void* output, DeviceStream stream) {
        try {
            plan.start(input, output, stream);
        } catch (const Error& error) {
            return error.code();
        }
        return ErrorCode::ok;
    };
    EXPECT_EQ(code_of(here.data(), there.data(), nullptr), ErrorCode::unsupported);
    EXPECT_EQ(code_of(freed, here.data(), nullptr), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(here.data() + 1, here.data(), nullptr), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(here.data(), here.data(), foreign), ErrorCode::invalid_argument);
    EXPECT_TRUE(plan.test());
    plan.execute(here.data(), here.data());
    second.destroy(foreign);
}

/// It is run by a test of its own, which reads the output.
TEST_P(CollectivesOnDevice, DISABLED_ARankThatLacksMemoryForIt) {
    const std::int64_t num = 8'000'000;
    CollectivePlan plan = collectives_.allreduce(ElementType::int64, Reduction::sum, num);
    Values host = values_of(rank(), num);
    Array there(host);
    plan.execute(there.data(), host.data());
    if (rank() < num_ranks() - 1) return plan.execute(host.data(), host.data());
    rlim_t num_pages = 0;
    std::ifstream("/proc/self/statm") >> num_pages;
    const LoweredLimit little_more(RLIMIT_AS, num_pages * 4096 + (rlim_t{16} << 20));
    plan.execute(host.data(), there.data());
}

}  // namespace
}  // namespace hakobi
