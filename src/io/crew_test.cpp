// Files that share a communicator's buffers and threads.
#include "io/crew.hpp"

#include "io/engine_fixture.hpp"

namespace hakobi::io {
namespace {

class CrewOf : public EngineTest {
  protected:
    static constexpr std::int64_t piece = 3000, num_pieces = 700;

    void SetUp() override {
        EngineTest::SetUp();
        file_ = Region::strided(comm_.rank() * piece, num_pieces, comm_.size() * piece,
                                Region::contiguous(0, piece));
        memory_ = Region::contiguous(0, piece * num_pieces);
    }
    void TearDown() override {
        engines_.clear();
        mpi::agree_or_throw(comm_, {});
        for (int f = 0; f < 8 && comm_.rank() == 0; ++f) std::filesystem::remove(path(f));
        EngineTest::TearDown();
    }
    [[nodiscard]] std::string path(int file) const { return path_ + "_" + std::to_string(file); }

    Engine& open(int file, const Hints& more = {}) {
        if (comm_.rank() == 0) std::ofstream(path(file), std::ios::trunc);
        mpi::agree_or_throw(comm_, {});
        return open_at(path(file), more);
    }
    Engine& open_at(const std::string& path, const Hints& more = {}) {
        Hints hints = GetParam().hints;
        for (const auto& [name, value] : more) hints[name] = value;
        engines_.push_back(open_engine({path, true}, hints));
        return *engines_.back();
    }
    [[nodiscard]] std::vector<std::byte> values(int file) const {
        std::vector<std::byte> values(static_cast<std::size_t>(piece * num_pieces));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = value_at(static_cast<std::int64_t>(i), 10 * file + comm_.rank());
        return values;
    }
    /// Expects the file that `values` of all ranks make.
    void expect_whole(int file) {
        mpi::agree_or_throw(comm_, {});
        std::vector<std::byte> bytes(static_cast<std::size_t>(comm_.size() * piece * num_pieces));
        std::ifstream(path(file), std::ios::binary)
            .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        const std::vector<std::byte> mine = values(file);
        std::int64_t at = 0;
        for (Cursor cursor(file_); !cursor.at_end(); cursor.advance(1), ++at)
            ASSERT_EQ(bytes[static_cast<std::size_t>(cursor.offset())], mine[static_cast<std::size_t>(at)])
                << "file " << file << ", byte " << cursor.offset();
    }
    void expect_read_back(int file) {
        Engine& engine = *engines_.emplace_back(open_engine({path(file), false}, GetParam().hints));
        std::vector<std::byte> read(static_cast<std::size_t>(piece * num_pieces));
        std::int64_t bytes_read = 0;
        engine.read_all(file_, read.data(), memory_, bytes_read).throw_if_error();
        EXPECT_EQ(bytes_read, std::ssize(read));
        EXPECT_EQ(read, values(file));
        engine.close().throw_if_error();
    }

    Region file_, memory_;
    std::vector<std::unique_ptr<Engine>> engines_;
};
INSTANTIATE_TEST_SUITE_P(
    All, CrewOf,
    testing::Values(Setting{"one_aggregator", {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "256k"}}},
                    Setting{"two_aggregators",
                            {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "256k"}, {"cb_nodes", "2"}}},
                    Setting{"in_line", {{"hakobi_shuffle", "always"}, {"hakobi_access", "posix"}}},
                    Setting{"uring", {{"hakobi_shuffle", "always"}, {"hakobi_access", "uring"}}},
                    Setting{"a_rank_a_node",
                            {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "256k"}, {"hakobi_depth", "2"}},
                            1},
                    Setting{"uneven_nodes",
                            {{"hakobi_shuffle", "always"}, {"cb_nodes", "3"}, {"hakobi_async_budget", "40M"}},
                            2}),
    [](const auto& test) { return test.param.name; });

bool is_without_ring(const mpi::Agreed& agreed) {
    return agreed.status.code() == ErrorCode::unsupported;
}

TEST_P(CrewOf, SeveralFilesAreWrittenAtOnce) {
    std::vector<std::vector<std::byte>> sent;
    for (int f = 0; f < 4; ++f) {
        sent.push_back(values(f));
        const mpi::Agreed agreed = open(f).start_write_all(file_, sent.back().data(), memory_);
        if (is_without_ring(agreed)) GTEST_SKIP() << agreed.status.text();
        agreed.throw_if_error();
        sent.back().assign(sent.back().size(), untouched);  // it is the caller's again
    }
    // Closed in another order than begun, one of them after a wait, one after a read of another file.
    engines_[2]->close().throw_if_error();
    engines_[0]->wait().throw_if_error();
    expect_whole(2);
    expect_whole(0);
    expect_read_back(2);
    for (const int f : {3, 0, 1}) {
        engines_[static_cast<std::size_t>(f)]->wait_for_own_storage();
        EXPECT_TRUE(engines_[static_cast<std::size_t>(f)]->is_stored());
        engines_[static_cast<std::size_t>(f)]->close().throw_if_error();
        expect_whole(f);
    }
}

TEST_P(CrewOf, AFilesErrorIsItsOwn) {
    const std::vector<std::byte> first = values(0), second = values(1);
    Engine& full = open_at("/dev/full");
    const mpi::Agreed agreed = full.start_write_all(file_, first.data(), memory_);
    if (is_without_ring(agreed)) GTEST_SKIP() << agreed.status.text();
    Engine& whole = open(1);
    whole.write_all(file_, second.data(), memory_).throw_if_error();
    const mpi::Agreed failed = full.wait();
    EXPECT_EQ(failed.status.code(), ErrorCode::no_space) << failed.status.text();
    EXPECT_TRUE(full.wait().status.ok());  // told once
    EXPECT_TRUE(full.close().status.ok());
    EXPECT_TRUE(whole.close().status.ok());
    expect_whole(1);
}

TEST_P(CrewOf, OtherBuffersReplaceThoseInUse) {
    const std::vector<std::byte> first = values(0), second = values(1), third = values(2);
    const mpi::Agreed agreed = open(0).start_write_all(file_, first.data(), memory_);
    if (is_without_ring(agreed)) GTEST_SKIP() << agreed.status.text();
    open(1, {{"cb_buffer_size", "512k"}, {"cb_nodes", "1"}})
        .start_write_all(file_, second.data(), memory_)
        .throw_if_error();
    open(2, {{"hakobi_depth", "3"}, {"hakobi_access", "posix"}})
        .write_all(file_, third.data(), memory_)
        .throw_if_error();
    for (int f = 0; f < 3; ++f) engines_[static_cast<std::size_t>(f)]->close().throw_if_error();
    for (int f = 0; f < 3; ++f) expect_whole(f);
}

TEST_P(CrewOf, TurnsBeginAnewBehindTheHighest) {
    Crew& crew = Crew::of(comm_);
    for (int f = 0; f < 4; ++f) {
        const std::vector<std::byte> sent = values(f);
        const mpi::Agreed agreed = open(f).start_write_all(file_, sent.data(), memory_);
        if (is_without_ring(agreed)) GTEST_SKIP() << agreed.status.text();
        for (const std::uint32_t turn : crew.next_turns()) EXPECT_GT(turn, 0U);
        for (std::uint32_t& turn : crew.next_turns()) turn += f % 2 == 0 ? Slot::most_turns : 0;
    }
    for (int f = 0; f < 4; ++f) engines_[static_cast<std::size_t>(f)]->close().throw_if_error();
    for (int f = 0; f < 4; ++f) expect_whole(f);
}

// Hidden output wants more buffers than an unhidden file has set up, on all nodes or on none.
TEST_P(CrewOf, AHiddenFileFollowsAnUnhiddenOne) {
    const std::vector<std::byte> first = values(0), second = values(1);
    const mpi::Agreed agreed = open(0).write_all(file_, first.data(), memory_);
    if (is_without_ring(agreed)) GTEST_SKIP() << agreed.status.text();
    open(1).start_write_all(file_, second.data(), memory_).throw_if_error();
    for (int f = 0; f < 2; ++f) engines_[static_cast<std::size_t>(f)]->close().throw_if_error();
    for (int f = 0; f < 2; ++f) expect_whole(f);
}

TEST_P(CrewOf, AnEngineThatIsDroppedLeavesItsBuffersInOrder) {
    const std::vector<std::byte> first = values(0), second = values(1);
    const mpi::Agreed agreed = open(0).start_write_all(file_, first.data(), memory_);
    if (is_without_ring(agreed)) GTEST_SKIP() << agreed.status.text();
    engines_.clear();
    open(1).write_all(file_, second.data(), memory_).throw_if_error();
    engines_.back()->close().throw_if_error();
    expect_whole(1);
}

}  // namespace
}  // namespace hakobi::io
