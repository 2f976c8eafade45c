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
    // As if the last message had been lost: the buffer still holds what it held before, for the hot buffer
    // too.
    for (Buffering buffering : {Buffering::hot, Buffering::cold}) {
        Memory windows = memory(buffering);
        Sampler sampler(comm_, *pattern, windows, 4096, quick);
        sampler.tamper = [](Memory&, const Buffers& last) {
            std::fill(last.receive.begin(), last.receive.end(), std::byte{0x5a});
        };
        EXPECT_THROW((void)sampler.sample(), Error);
    }
}

/// Another pattern whose timed iterations are lost, all or one: as if a receive returned without its bytes.
/// Iterations that prime a hot buffer go through, and so do all while `is_faulty` is false.
class Lossy : public Pattern {
  public:
    Lossy(const Comm& comm, std::string_view name, std::int64_t num_primings)
        : Pattern(comm), inner_(make_pattern(name, comm)), num_primings_(num_primings) {}
    [[nodiscard]] std::int64_t send_bytes(std::int64_t bytes) const override {
        return inner_->send_bytes(bytes);
    }
    [[nodiscard]] std::int64_t receive_bytes(std::int64_t bytes) const override {
        return inner_->receive_bytes(bytes);
    }
    void begin(std::span<std::byte> send_window, std::span<std::byte> receive_window) override {
        inner_->begin(send_window, receive_window);
    }
    void end() override { inner_->end(); }
    void settle() override { inner_->settle(); }
    void run(const Buffers& buffers, std::int64_t bytes, std::int64_t number) override {
        const std::int64_t timed = num_calls_++ - num_primings_;
        if (is_faulty && timed >= 0 && (lost < 0 || timed == lost)) return;
        inner_->run(buffers, bytes, number);
    }
    [[nodiscard]] std::vector<Arrival> arrivals(std::int64_t bytes, std::int64_t number) const override {
        return inner_->arrivals(bytes, number);
    }
    [[nodiscard]] bool is_reduced() const override { return inner_->is_reduced(); }

    void start_faults() {
        is_faulty = true;
        num_calls_ = 0;
    }
    bool is_faulty = false;
    std::int64_t lost = -1;  ///< which timed iteration; all where it is negative

  private:
    std::unique_ptr<Pattern> inner_;
    std::int64_t num_primings_;
    std::int64_t num_calls_ = 0;
};

TEST_P(EveryPattern, SaysWhenOnlyPrimingBroughtWhatAHotBufferHolds) {
    if (!make_pattern(GetParam(), comm_)->has_bytes()) GTEST_SKIP() << "nothing is transferred";
    for (const auto& [bytes, num_primings] : {std::pair{1, 16}, std::pair{4096, 16}, std::pair{65540, 2}}) {
        Lossy pattern(comm_, GetParam(), num_primings);
        Memory windows = memory(Buffering::hot);
        Sampler sampler(comm_, pattern, windows, bytes, quick);
        EXPECT_GT(sampler.sample(), 0) << bytes;
        pattern.start_faults();
        EXPECT_THROW((void)sampler.sample(), Error) << bytes;
    }
}

TEST_P(EveryPattern, SaysWhenOneColdIterationOfASampleBroughtNothing) {
    if (!make_pattern(GetParam(), comm_)->has_bytes()) GTEST_SKIP() << "nothing is transferred";
    for (std::int64_t lost = 0; lost < 3; ++lost) {
        Lossy pattern(comm_, GetParam(), 0);
        pattern.lost = lost;
        Memory windows = memory(Buffering::cold);
        Sampler sampler(comm_, pattern, windows, 4096, {.sample_s = 1, .max_iterations = 3});
        EXPECT_GT(sampler.sample(), 0);
        pattern.start_faults();
        EXPECT_THROW((void)sampler.sample(), Error) << lost;
    }
}

TEST_P(EveryPattern, TimedConsumptionReadsTheSameData) {
    const auto pattern = make_pattern(GetParam(), comm_);
    Memory windows = memory(Buffering::cold);
    Sampler sampler(comm_, *pattern, windows, 4096,
                    {.sample_s = 0, .max_iterations = 5, .consume = Consume::timed});
    EXPECT_GT(sampler.sample(), 0);
}

TEST_P(EveryPattern, SaysOnEveryRankWhenThereIsNoMemoryToEmptyCachesWith) {
    const auto pattern = make_pattern(GetParam(), comm_);
    Memory windows = memory(Buffering::cold);
    const std::int64_t one_has_none = comm_.rank() == 0 ? std::int64_t{1} << 60 : window_bytes;
    const SamplingOptions options{.sample_s = 0, .max_iterations = 5, .eviction_bytes = one_has_none};
    EXPECT_THROW(Sampler(comm_, *pattern, windows, 64, options), Error);
    EXPECT_NO_THROW(Sampler(comm_, *pattern, windows, 64, {.sample_s = 0, .eviction_bytes = window_bytes}));
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
