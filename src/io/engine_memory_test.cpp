// A rank without memory for its part of a call: the others learn it, and nobody waits for ever.
#include "io/engine_fixture.hpp"
#include "limited_memory.hpp"

namespace hakobi::io {
namespace {

// Each rank's long pieces of the file that are short ones in memory: going direct they are gathered in a
// buffer.
class EngineWithoutMemory : public EngineTest {
  protected:
    static constexpr std::int64_t piece = 1 << 20, num = 6, run = 4096;

    void SetUp() override {
        EngineTest::SetUp();
        make_file(num * comm_.size() * piece);
        file_ =
            Region::strided(comm_.rank() * piece, num, comm_.size() * piece, Region::contiguous(0, piece));
        memory_ = Region::strided(0, num * piece / run, 2 * run, Region::contiguous(0, run));
        data_.assign(static_cast<std::size_t>(2 * num * piece), std::byte{1});
        engine_ = open_engine(true);
    }
    void TearDown() override {
        limit_allocations(unlimited);
        engine_.reset();
        EngineTest::TearDown();
    }
    Status write(std::size_t limit_of_last_rank) {
        return limited(limit_of_last_rank, [&] { return engine_->write_all(file_, data_.data(), memory_); });
    }
    Status read(std::size_t limit_of_last_rank, std::int64_t& bytes_read) {
        return limited(limit_of_last_rank,
                       [&] { return engine_->read_all(file_, data_.data(), memory_, bytes_read); });
    }
    template <class Call>
    Status limited(std::size_t limit_of_last_rank, const Call& call) {
        if (comm_.rank() == comm_.size() - 1) limit_allocations(limit_of_last_rank);
        Status status = call().status;
        limit_allocations(unlimited);
        return status;
    }

    Region file_, memory_;
    std::vector<std::byte> data_;
    std::unique_ptr<Engine> engine_;
};

class GoingDirectWithoutMemory : public EngineWithoutMemory {};
INSTANTIATE_TEST_SUITE_P(All, GoingDirectWithoutMemory,
                         testing::Values(Setting{"threads", {{"hakobi_shuffle", "never"}}},
                                         Setting{"posix",
                                                 {{"hakobi_shuffle", "never"}, {"hakobi_access", "posix"}}},
                                         Setting{"threads_a_rank_a_node", {{"hakobi_shuffle", "never"}}, 1}),
                         [](const auto& test) { return test.param.name; });

TEST_P(GoingDirectWithoutMemory, EveryRankHasTheErrorAndTheNextCallWorks) {
    std::int64_t bytes_read = 0;
    for (int step = 0; step < 2; ++step) {
        EXPECT_EQ(write(16 << 10).code(), ErrorCode::out_of_memory);
        EXPECT_EQ(read(16 << 10, bytes_read).code(), ErrorCode::out_of_memory);
        data_.assign(data_.size(), static_cast<std::byte>(10 * step + comm_.rank() + 1));
        EXPECT_TRUE(write(unlimited).ok());
        const std::vector<std::byte> written = data_;
        data_.assign(data_.size(), untouched);
        EXPECT_TRUE(read(unlimited, bytes_read).ok());
        EXPECT_EQ(bytes_read, file_.size_bytes());
        for (std::int64_t at = 0; at < num * piece; ++at) {
            const auto in_memory = static_cast<std::size_t>(at / run * 2 * run + at % run);
            ASSERT_EQ(data_[in_memory], written[in_memory]) << "byte " << at;
        }
    }
    EXPECT_TRUE(engine_->close().status.ok());
}

class ShuffleWithoutMemory : public EngineWithoutMemory {};
INSTANTIATE_TEST_SUITE_P(All, ShuffleWithoutMemory,
                         testing::Values(Setting{"on_a_node",
                                                 {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "256k"}}}),
                         [](const auto& test) { return test.param.name; });

TEST_P(ShuffleWithoutMemory, NeedsNoneBesidesItsBuffers) {
    std::int64_t bytes_read = 0;
    EXPECT_TRUE(write(16 << 10).ok());
    EXPECT_TRUE(read(16 << 10, bytes_read).ok());
    EXPECT_EQ(bytes_read, file_.size_bytes());
    EXPECT_TRUE(engine_->close().status.ok());
}

// The others wait for this rank's messages: the program must end, and say why. CMakeLists.txt runs it by
// itself.
class MessagesWithoutMemory : public EngineWithoutMemory {};
INSTANTIATE_TEST_SUITE_P(DISABLED_All, MessagesWithoutMemory,
                         testing::Values(Setting{
                             "a_rank_a_node", {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "256k"}}, 1}),
                         [](const auto& test) { return test.param.name; });

TEST_P(MessagesWithoutMemory, EndTheProgram) {
    (void)write(16 << 10);
}

}  // namespace
}  // namespace hakobi::io
