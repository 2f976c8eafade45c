#include "pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sampler.hpp"

namespace hakobi::bench {
namespace {

constexpr std::int64_t window_bytes = std::int64_t{1} << 20;
const SamplingOptions quick{.sample_s = 0, .max_iterations = 5};

class EveryPattern : public ::testing::TestWithParam<std::string_view> {
  protected:
    void SetUp() override { comm_ = Comm::duplicate(MPI_COMM_WORLD); }
    void TearDown() override { comm_.free(); }
    Memory memory(Buffering buffering) {
        auto memory = Memory::create(buffering, comm_.rank(), window_bytes, window_bytes);
        EXPECT_TRUE(memory.ok());
        return std::move(memory).value();
    }
    Comm comm_;
};

TEST_P(EveryPattern, BringsEveryByteToItsPlaceWithEveryBuffering) {
    const auto pattern = make_pattern(GetParam(), comm_);
    for (Buffering buffering :
         {Buffering::hot, Buffering::cold, Buffering::cold_huge, Buffering::first_touch}) {
        if (buffering == Buffering::first_touch && (GetParam() == "put" || GetParam() == "get")) continue;
        Memory windows = memory(buffering);
        for (std::int64_t bytes : {0, 1, 7, 8, 1000, 4096, 65537}) {
            Sampler sampler(comm_, *pattern, windows, bytes, quick);
            for (int i = 0; i < 3; ++i)
                EXPECT_GT(sampler.sample(), 0) << bytes << ' ' << to_string(buffering);
        }
    }
}

TEST_P(EveryPattern, SaysOnEveryRankWhenOneReceivedByteIsWrong) {
    const auto pattern = make_pattern(GetParam(), comm_);
    if (!pattern->has_bytes()) GTEST_SKIP() << "nothing is transferred";
    Memory windows = memory(Buffering::cold);
    for (std::int64_t bytes : {1, 8, 4099}) {
        Sampler sampler(comm_, *pattern, windows, bytes, quick);
        sampler.tamper = [](Memory&, const Buffers& last) { last.receive.back() ^= std::byte{1}; };
        try {
            (void)sampler.sample();
            FAIL() << "a flipped bit passed: " << bytes << " bytes";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::format);
            EXPECT_NE(std::string(error.what()).find("wrong data"), std::string::npos);
        }
    }
}

TEST_P(EveryPattern, SaysWhenAMessageDidNotArrive) {
    const auto pattern = make_pattern(GetParam(), comm_);
    if (!pattern->has_bytes()) GTEST_SKIP() << "nothing is transferred";
    // As if the last message had been lost: the buffer still holds what it held before, for the hot buffer too.
    for (Buffering buffering : {Buffering::hot, Buffering::cold}) {
        Memory windows = memory(buffering);
        Sampler sampler(comm_, *pattern, windows, 4096, quick);
        sampler.tamper = [](Memory&, const Buffers& last) {
            std::fill(last.receive.begin(), last.receive.end(), std::byte{0x5a});
        };
        EXPECT_THROW((void)sampler.sample(), Error);
    }
}

TEST_P(EveryPattern, TimedConsumptionReadsTheSameData) {
    const auto pattern = make_pattern(GetParam(), comm_);
    Memory windows = memory(Buffering::cold);
    Sampler sampler(comm_, *pattern, windows, 4096,
                    {.sample_s = 0, .max_iterations = 5, .consume = Consume::timed});
    EXPECT_GT(sampler.sample(), 0);
}

INSTANTIATE_TEST_SUITE_P(Patterns, EveryPattern,
                         ::testing::ValuesIn(pattern_names().begin(), pattern_names().end()),
                         [](const auto& name) { return std::string(name.param); });

TEST(Pattern, CountsBytesAsIntelMpiBenchmarksDo) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    EXPECT_EQ(make_pattern("sendrecv", comm)->counted_bytes(1000), 2000);
    EXPECT_EQ(make_pattern("exchange", comm)->counted_bytes(1000), 4000);
    EXPECT_EQ(make_pattern("pingpong", comm)->counted_bytes(1000), 1000);
    EXPECT_EQ(make_pattern("pingpong", comm)->times_per_iteration(), 2);
    EXPECT_EQ(make_pattern("nonsense", comm), nullptr);
    comm.free();
}

}  // namespace
}  // namespace hakobi::bench
