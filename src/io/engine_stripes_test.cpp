// Files with stripes, of every layout: the same bytes as without. The decorator "throttled" says what layout
// a file has.
#include <algorithm>
#include <utility>

#include "engine_fixture.hpp"
#include "mpi/messages.hpp"
#include "storage/faulty.hpp"
#include "storage_model/throttled.hpp"
#include "units.hpp"

namespace hakobi::io {
namespace {

class StripedTest : public EngineTest {
  protected:
    void SetUp() override {
        storage::register_throttled();
        EngineTest::SetUp();
        path_ += std::string(".") + GetParam().name;  // a model's file: it stalls once
    }
    std::string striped(const std::string& words) const {
        return "throttled:bandwidth=100000,latency=0," + words + ":" + path_;
    }
    void write_in_phases(const Region& mine, std::int64_t size);

    Draws draw{20260511};
};

void put(const Region& region, int seed, std::vector<std::byte>& image) {
    for (Cursor at(region); !at.at_end(); at.advance(at.remaining()))
        for (std::int64_t i = 0; i < at.remaining(); ++i)
            image[static_cast<std::size_t>(at.offset() + i)] = value_at(at.offset() + i, seed);
}

TEST_P(StripedTest, EveryLayoutKeepsEveryByte) {
    for (const char* const words : {"servers=7,stripes=1,stripe=256K", "servers=7,stripes=3,stripe=256K",
                                    "servers=7,stripes=4,stripe=512K", "servers=7,stripes=7,stripe=320K",
                                    "servers=4,stripes=4,stripe=64K"}) {
        const std::int64_t size = 3 << 20;
        make_file(size);
        std::vector<std::byte> image(static_cast<std::size_t>(size), untouched);
        auto engine = open_engine({striped(words), true}, GetParam().hints);
        for (int call = 0; call < 4; ++call) {
            std::vector<Region> regions;
            do {
                regions = draw.interleaved(comm_.size(), draw(0, size / 3), draw(1, 40), draw(1, 60) * kib);
            } while (
                std::ranges::any_of(regions, [&](const Region& each) { return each.end_bytes() > size; }));
            const Region& mine = regions[static_cast<std::size_t>(comm_.rank())];
            const std::vector<std::byte> values = values_of(mine, comm_.rank());
            const Region memory = Region::contiguous(0, mine.size_bytes());
            const bool is_hidden = call == 2;
            if (is_hidden) {
                engine->start_write_all(mine, values.data(), memory).throw_if_error();
            } else {
                engine->write_all(mine, values.data(), memory).throw_if_error();
            }
            for (int rank = 0; rank < comm_.size(); ++rank)
                put(regions[static_cast<std::size_t>(rank)], rank, image);
            std::vector<std::byte> read(values.size(), untouched);
            std::int64_t bytes_read = -1;
            engine->read_all(mine, read.data(), memory, bytes_read).throw_if_error();
            ASSERT_EQ(bytes_read, mine.size_bytes()) << words;
            ASSERT_EQ(read, values) << words;
        }
        engine->close().throw_if_error();
        const std::vector<std::byte> written = file_bytes();
        ASSERT_EQ(written.size(), image.size());
        ASSERT_TRUE(written == image)
            << words << ": first difference at "
            << std::mismatch(image.begin(), image.end(), written.begin()).first - image.begin();
    }
}

// Few tags make a call of several phases, as many bytes do. Between nodes each goes through the whole range.
// `mine` ends before `size`.
void StripedTest::write_in_phases(const Region& mine, std::int64_t size) {
    const int highest_tag = std::exchange(comm_.state().highest_tag, 8 * comm_.num_nodes() + 1);
    make_file(size);
    auto engine = open_engine({striped("servers=4,stripes=4,stripe=256K"), true}, GetParam().hints);
    const Region memory = Region::contiguous(0, mine.size_bytes());
    for (int call = 0; call < 3; ++call) {
        const std::vector<std::byte> values = values_of(mine, call);
        if (call == 1) {
            engine->start_write_all(mine, values.data(), memory).throw_if_error();
        } else {
            engine->write_all(mine, values.data(), memory).throw_if_error();
        }
        std::vector<std::byte> read(values.size(), untouched);
        std::int64_t bytes_read = -1;
        engine->read_all(mine, read.data(), memory, bytes_read).throw_if_error();
        ASSERT_EQ(bytes_read, mine.size_bytes());
        ASSERT_TRUE(read == values) << call;
    }
    engine->close().throw_if_error();
    comm_.state().highest_tag = highest_tag;
}

TEST_P(StripedTest, PhasesOfALongCallKeepEveryByte) {
    const std::int64_t size = 16 * mib, piece = 20 * kib;
    const std::int64_t num = size / piece / comm_.size();
    write_in_phases(
        Region::strided(comm_.rank() * piece, num, comm_.size() * piece, Region::contiguous(0, piece)), size);
}

// Its pieces are behind the others', and moved once the first phase is over: the range left is a shorter one.
TEST_P(StripedTest, ARankWithoutOrderLeavesALongCallAfterItsFirstPhase) {
    if (comm_.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    const std::int64_t size = 16 * mib, piece = 20 * kib;
    const int last = comm_.size() - 1;
    const std::int64_t num = size / piece / last;
    write_in_phases(
        comm_.rank() < last
            ? Region::strided(comm_.rank() * piece, num, last * piece, Region::contiguous(0, piece))
            : Region::strided(size + 4 * mib - piece, 4 * mib / piece, -piece, Region::contiguous(0, piece)),
        size + 4 * mib);
}

// The next phase is described while this one is stored: an error of either is the call's, of no later one.
TEST_P(StripedTest, AnErrorOfAnyPhaseIsItsCalls) {
    const std::int64_t size = 16 * mib, piece = 20 * kib;
    const std::int64_t num = size / piece / comm_.size();
    const Region mine =
        Region::strided(comm_.rank() * piece, num, comm_.size() * piece, Region::contiguous(0, piece));
    const Region memory = Region::contiguous(0, mine.size_bytes());
    const std::vector<std::byte> values = values_of(mine, 1);
    const int highest_tag = std::exchange(comm_.state().highest_tag, 8 * comm_.num_nodes() + 1);
    storage::set_fault_rank(comm_.rank());
    for (const std::int64_t nth : {1, 3, 9, 20}) {
        make_file(size);
        storage::arm_fault({.rank = 0, .nth = nth, .error = ENOSPC});
        auto engine = open_engine({striped("servers=4,stripes=4,stripe=256K"), true}, GetParam().hints);
        const mpi::Agreed failed = engine->write_all(mine, values.data(), memory);
        std::vector<std::int64_t> has_fired = {storage::fault_count().has_fired ? 1 : 0};
        mpi::all_max(comm_, has_fired);
        EXPECT_EQ(failed.status.code(), has_fired[0] != 0 ? ErrorCode::no_space : ErrorCode::ok) << nth;
        storage::disarm_fault();
        engine->write_all(mine, values.data(), memory).throw_if_error();
        std::vector<std::byte> read(values.size(), untouched);
        std::int64_t bytes_read = -1;
        engine->read_all(mine, read.data(), memory, bytes_read).throw_if_error();
        EXPECT_TRUE(read == values) << nth;
        engine->close().throw_if_error();
    }
    comm_.state().highest_tag = highest_tag;
}

TEST_P(StripedTest, FilesOfSeveralLayoutsTakeTurns) {
    const std::int64_t size = 2 << 20;
    const std::string paths[] = {path_ + ".a", path_ + ".b", path_ + ".c"};
    const char* const words[] = {"servers=5,stripes=5,stripe=256K", "servers=5,stripes=2,stripe=256K", ""};
    std::vector<std::unique_ptr<Engine>> engines;
    for (int file = 0; file < 3; ++file) {
        if (comm_.rank() == 0) std::ofstream(paths[file], std::ios::binary);
        mpi::agree_or_throw(comm_, {});
        const std::string prefix = "throttled:bandwidth=100000,latency=0," + std::string(words[file]) + ":";
        engines.push_back(open_engine({(file == 2 ? "" : prefix) + paths[file], true}, GetParam().hints));
    }
    const std::int64_t piece = 3000, stride = piece * comm_.size();
    const Region mine =
        Region::strided(piece * comm_.rank(), size / stride, stride, Region::contiguous(0, piece));
    const Region memory = Region::contiguous(0, mine.size_bytes());
    std::vector<std::vector<std::byte>> values;
    for (int step = 0; step < 6; ++step) {
        values.push_back(values_of(mine, comm_.rank() + 100 * step));
        engines[static_cast<std::size_t>(step % 3)]
            ->start_write_all(mine, values.back().data(), memory)
            .throw_if_error();
    }
    for (int file = 0; file < 3; ++file) {
        std::vector<std::byte> read(values.front().size());
        std::int64_t bytes_read = -1;
        engines[static_cast<std::size_t>(file)]
            ->read_all(mine, read.data(), memory, bytes_read)
            .throw_if_error();
        EXPECT_EQ(read, values[static_cast<std::size_t>(file + 3)]) << "file " << file;
        engines[static_cast<std::size_t>(file)]->close().throw_if_error();
    }
    mpi::agree_or_throw(comm_, {});
    if (comm_.rank() == 0)
        for (const std::string& path : paths) std::filesystem::remove(path);
}

TEST_P(StripedTest, BehindTheEndOfTheFileNothingIsRead) {
    make_file(700 * kib);
    auto engine = open_engine({striped("servers=3,stripes=3,stripe=256K"), false}, GetParam().hints);
    const std::int64_t piece = 10'000, stride = piece * comm_.size();
    const Region mine =
        Region::strided(piece * comm_.rank(), 1 + (1 << 20) / stride, stride, Region::contiguous(0, piece));
    std::vector<std::byte> read(static_cast<std::size_t>(mine.size_bytes()), std::byte{1});
    std::int64_t bytes_read = -1;
    engine->read_all(mine, read.data(), Region::contiguous(0, mine.size_bytes()), bytes_read)
        .throw_if_error();
    EXPECT_EQ(bytes_read, mine.bytes_below(700 * kib));
    for (std::int64_t i = 0; i < mine.size_bytes(); ++i)
        ASSERT_EQ(read[static_cast<std::size_t>(i)], i < bytes_read ? untouched : std::byte{1}) << i;
    engine->close().throw_if_error();
}

// Server 1 does not answer before the limit: the same error everywhere, the buffers are left to it, and the
// next file is written as if nothing had been.
TEST_P(StripedTest, AServerThatDoesNotAnswerIsAnErrorOnAllRanks) {
    make_file(0);
    Hints hints = GetParam().hints;
    hints["hakobi_storage_timeout_s"] = "0.3";
    const std::int64_t piece = 20'000, stride = piece * comm_.size();
    const Region mine =
        Region::strided(piece * comm_.rank(), (3 << 20) / stride, stride, Region::contiguous(0, piece));
    const Region memory = Region::contiguous(0, mine.size_bytes());
    const std::vector<std::byte> values = values_of(mine, comm_.rank());
    auto engine =
        open_engine({striped("servers=4,stripes=4,stripe=256K,stalled_server=1,stall=3s"), true}, hints);
    const mpi::Agreed agreed = engine->write_all(mine, values.data(), memory);
    EXPECT_EQ(agreed.status.code(), ErrorCode::io);
    EXPECT_NE(agreed.status.text().find("server 1 has not answered for"), std::string::npos)
        << agreed.status.text();
    EXPECT_TRUE(engine->close().status.ok());
    auto next = open_engine({striped("servers=3,stripes=3,stripe=256K"), true}, hints);
    next->write_all(mine, values.data(), memory).throw_if_error();
    std::vector<std::byte> read(values.size());
    std::int64_t bytes_read = -1;
    next->read_all(mine, read.data(), memory, bytes_read).throw_if_error();
    EXPECT_EQ(read, values);
    next->close().throw_if_error();
}

INSTANTIATE_TEST_SUITE_P(
    Striped, StripedTest,
    testing::Values(Setting{"one_node", {{"hakobi_shuffle", "always"}}},
                    Setting{"small_buffers",
                            {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "256K"}, {"hakobi_depth", "3"}},
                            2},
                    Setting{"a_rank_a_node", {{"hakobi_shuffle", "always"}}, 1},
                    Setting{"all_aggregate",
                            {{"hakobi_shuffle", "always"},
                             {"cb_config_list", "*:*"},
                             {"cb_buffer_size", "512K"},
                             {"hakobi_depth", "1"},
                             {"hakobi_server_requests", "1"}},
                            1}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace hakobi::io
