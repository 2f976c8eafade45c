// The engine against a naive model: every rank's request is applied byte by byte to an image of the file, and
// the file that the engine wrote, or the memory that it read, must be equal to it.
#include <limits>
#include <random>

#include "io/engine_fixture.hpp"

namespace hakobi::io {
namespace {

using Random = std::mt19937_64;

// The file cut at random into pieces that are dealt to the ranks; some pieces stay holes.
std::vector<Region> dealt(Random& random, int num_ranks, std::int64_t file_size, std::int64_t longest,
                          bool with_holes) {
    std::vector<std::vector<std::int64_t>> offsets(static_cast<std::size_t>(num_ranks)),
        lengths(offsets.size());
    for (std::int64_t at = 0; at < file_size;) {
        const std::int64_t length =
            std::min(file_size - at, std::uniform_int_distribution<std::int64_t>(1, longest)(random));
        const int owner = std::uniform_int_distribution<int>(with_holes ? -1 : 0, num_ranks - 1)(random);
        if (owner >= 0) {
            offsets[static_cast<std::size_t>(owner)].push_back(at);
            lengths[static_cast<std::size_t>(owner)].push_back(length);
        }
        at += length;
    }
    std::vector<Region> regions;
    for (std::size_t r = 0; r < offsets.size(); ++r)
        regions.push_back(Region::indexed(offsets[r], lengths[r]));
    return regions;
}

TEST_P(EngineTest, WritesAndReadsWhatRanksWereDealt) {
    for (unsigned seed = 0; seed < 6; ++seed) {
        Random random(seed);
        const std::int64_t longest = seed % 3 == 0 ? 70000 : 700;
        const auto files = dealt(random, comm_.size(), 2000000 + 1000 * seed, longest, seed % 2 == 1);
        const std::int64_t size = files[static_cast<std::size_t>(comm_.rank())].size_bytes();
        round_trip(files, Region::contiguous(0, size), size, 1999000 + 1000 * seed);
    }
}

TEST_P(EngineTest, WritesBlocksOfAnArrayFromMemoryWithGhosts) {
    const std::vector<std::int64_t> global{40, 50, 60};
    std::vector<Region> files;
    Region memory;
    std::int64_t memory_bytes = 0;
    for (int rank = 0; rank < comm_.size(); ++rank) {
        // Uneven slabs in two dimensions; the last rank has nothing when there are four.
        const bool is_idle = comm_.size() == 4 && rank == 3;
        const std::int64_t parts = comm_.size() == 4 ? 3 : comm_.size();
        const std::vector<std::int64_t> start{0, 50 * rank / parts * (is_idle ? 0 : 1), 0};
        const std::vector<std::int64_t> count{40, is_idle ? 0 : 50 * (rank + 1) / parts - 50 * rank / parts,
                                              57};
        files.push_back(Region::subarray(16, global, start, count, 8));
        if (rank == comm_.rank()) {
            const std::vector<std::int64_t> with_ghosts{42, count[1] + 2, 59}, one{1, 1, 1};
            memory = Region::subarray(0, with_ghosts, one, count, 8);
            memory_bytes = 42 * (count[1] + 2) * 59 * 8;
        }
    }
    round_trip(files, memory, memory_bytes, 16 + 40 * 50 * 60 * 8);
}

TEST_P(EngineTest, OneRankAloneWritesWhileTheOthersHaveNothing) {
    std::vector<Region> files(static_cast<std::size_t>(comm_.size()));
    files.back() = Region::strided(3, 5000, 400, Region::contiguous(0, 133));
    const std::int64_t size = files[static_cast<std::size_t>(comm_.rank())].size_bytes();
    round_trip(files, Region::contiguous(0, size), size, 3 + 5000 * 400);
}

// As types of types describe them: each level has a piece behind all that was there.
TEST_P(EngineTest, WritesAndReadsRequestsOfDeepNesting) {
    const std::int64_t length = 700, period = length * comm_.size();
    std::vector<Region> files;
    for (int rank = 0; rank < comm_.size(); ++rank) {
        Region nested = Region::strided(rank * length, 3, 2 * period, Region::contiguous(0, length));
        for (int level = 0; level < 80 + 20 * rank; ++level) {
            const std::vector<Region::Part> parts{
                {0, nested},
                {nested.end_bytes() - length + period * (1 + level % 3), Region::contiguous(0, length)}};
            nested = Region::concatenated(parts);
        }
        files.push_back(nested);
    }
    const std::int64_t size = files[static_cast<std::size_t>(comm_.rank())].size_bytes();
    round_trip(files, Region::contiguous(0, size), size, files.back().end_bytes());
}

TEST_P(EngineTest, NobodyHasAnything) {
    std::vector<Region> files(static_cast<std::size_t>(comm_.size()));
    round_trip(files, Region(), 0, 10);
}

TEST_P(EngineTest, ReachesFarAcrossAHole) {
    make_file(0);
    const std::int64_t far = (std::int64_t{5} << 30) * (comm_.rank() + 1) + 17;
    const std::vector<std::int64_t> offsets{100 * comm_.rank(), far}, lengths{100, 50000};
    const Region file = Region::indexed(offsets, lengths);
    std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes()));
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = value_at(static_cast<std::int64_t>(i), comm_.rank());
    auto engine = open_engine(true);
    const Region memory = Region::contiguous(0, file.size_bytes());
    engine->write_all(file, data.data(), memory).throw_if_error();
    std::vector<std::byte> back(data.size());
    std::int64_t bytes_read = 0;
    engine->read_all(file, back.data(), memory, bytes_read).throw_if_error();
    EXPECT_EQ(bytes_read, file.size_bytes());
    EXPECT_EQ(back, data);
    engine->close().throw_if_error();
}

TEST_P(EngineTest, ReadsUpToTheEndOfTheFileAndLeavesTheRestOfMemoryAlone) {
    const std::int64_t file_size = 1000003;
    make_file(file_size);
    // Cyclic pieces that go on behind the end.
    const std::int64_t n = comm_.size();
    const Region file = Region::strided(comm_.rank() * 5000, 100, n * 5000, Region::contiguous(0, 5000));
    std::vector<std::byte> target(static_cast<std::size_t>(file.size_bytes()), std::byte{1});
    auto engine = open_engine(false);
    std::int64_t bytes_read = 0;
    engine->read_all(file, target.data(), Region::contiguous(0, file.size_bytes()), bytes_read)
        .throw_if_error();
    EXPECT_EQ(bytes_read, std::min(file.size_bytes(), file.bytes_below(file_size)));
    for (std::size_t i = 0; i < target.size(); ++i) {
        ASSERT_EQ(target[i], static_cast<std::int64_t>(i) < bytes_read ? untouched : std::byte{1}) << i;
    }
    engine->close().throw_if_error();
}

TEST_P(EngineTest, ReadsNoMoreOfACycleThanItsPiecesSpan) {
    // Two pieces a rank, megabytes apart; the last one goes on behind the file's end.
    constexpr std::int64_t length = 3000, stride = 8 << 20;
    const std::int64_t last = (2 * comm_.size() - 1) * stride + 1717;
    make_file(0);
    if (comm_.rank() == 0) std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(last + 1000));
    mpi::agree_or_throw(comm_, {});
    const Region file = Region::strided(comm_.rank() * stride + 1717, 2, comm_.size() * stride,
                                        Region::contiguous(0, length));
    Hints hints = GetParam().hints;
    hints["hakobi_shuffle"] = "always";
    auto engine = open_engine({path_, false}, hints);
    std::vector<std::byte> target(static_cast<std::size_t>(file.size_bytes()), untouched);
    std::int64_t bytes_read = 0;
    engine->read_all(file, target.data(), Region::contiguous(0, file.size_bytes()), bytes_read)
        .throw_if_error();
    EXPECT_EQ(bytes_read, file.bytes_below(last + 1000));
    for (std::size_t i = 0; i < target.size(); ++i)
        ASSERT_EQ(target[i], static_cast<std::int64_t>(i) < bytes_read ? std::byte{0} : untouched) << i;
    // Pieces lie in two pages each.
    EXPECT_LE(mpi_sum(engine->counters().storage_bytes), 2 * comm_.size() * 2 * 4096);
    engine->close().throw_if_error();
}

TEST_P(EngineTest, AllRanksReadTheSame) {
    const std::int64_t file_size = 3000000;
    make_file(file_size);
    std::vector<std::byte> target(static_cast<std::size_t>(file_size));
    auto engine = open_engine(false);
    std::int64_t bytes_read = 0;
    const Region all = Region::contiguous(0, file_size);
    const Region fine = Region::strided(0, file_size / 1000, 1000, Region::contiguous(0, 900));
    engine->read_all(all, target.data(), all, bytes_read).throw_if_error();
    EXPECT_EQ(bytes_read, file_size);
    EXPECT_TRUE(std::all_of(target.begin(), target.end(), [](std::byte b) { return b == untouched; }));
    engine->read_all(fine, target.data(), Region::contiguous(0, fine.size_bytes()), bytes_read)
        .throw_if_error();
    EXPECT_EQ(bytes_read, fine.size_bytes());
    engine->close().throw_if_error();
}

TEST_P(EngineTest, OverlappingWritesLeaveOneRanksBytesAndNoOthers) {
    const std::int64_t file_size = 1500000;
    make_file(file_size);
    const Region file = Region::strided(0, file_size / 1500, 1500, Region::contiguous(0, 1000));
    const std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes()),
                                      static_cast<std::byte>(comm_.rank() + 1));
    auto engine = open_engine(true);
    engine->write_all(file, data.data(), Region::contiguous(0, file.size_bytes())).throw_if_error();
    engine->close().throw_if_error();
    const std::vector<std::byte> written = file_bytes();
    ASSERT_EQ(written.size(), static_cast<std::size_t>(file_size));
    for (std::size_t i = 0; i < written.size(); ++i) {
        if (i % 1500 < 1000) {
            ASSERT_TRUE(written[i] >= std::byte{1} && written[i] <= static_cast<std::byte>(comm_.size()))
                << i;
        } else {
            ASSERT_EQ(written[i], untouched) << i;
        }
    }
}

TEST_P(EngineTest, ManyAsynchronousWritesAreWholeAtClose) {
    make_file(0);
    auto engine = open_engine(true);
    const std::int64_t step = 600000;
    for (int i = 0; i < 5; ++i) {
        std::vector<std::byte> data(static_cast<std::size_t>(step), static_cast<std::byte>(i + 1));
        const std::int64_t offset = (i * comm_.size() + comm_.rank()) * step;
        engine->start_write_all(Region::contiguous(offset, step), data.data(), Region::contiguous(0, step))
            .throw_if_error();
        std::fill(data.begin(), data.end(), std::byte{0xff});  // ours again on return
    }
    engine->close().throw_if_error();
    const std::vector<std::byte> written = file_bytes();
    ASSERT_EQ(written.size(), static_cast<std::size_t>(5 * comm_.size() * step));
    for (std::size_t i = 0; i < written.size(); ++i) {
        ASSERT_EQ(written[i], static_cast<std::byte>(i / static_cast<std::size_t>(comm_.size() * step) + 1))
            << i;
    }
}

// Even ranks have one large piece, odd ones have fine pieces.
TEST_P(EngineTest, RanksWithLargePiecesMeetRanksWithFineOnes) {
    const std::int64_t zone = 3 << 19, n = 1 << 20;
    make_file(zone * comm_.size());
    auto engine = open_engine(true);
    const auto region_of = [&](int rank) {
        return rank % 2 == 0 ? Region::contiguous(rank * zone + 77, n)
                             : Region::strided(rank * zone, n / 128, 192, Region::contiguous(0, 128));
    };
    const int next = (comm_.rank() + 1) % comm_.size();
    const Region memory = Region::contiguous(0, n);
    std::vector<std::byte> data(n), back(n);
    for (int step = 1; step <= 4; ++step) {
        const auto written_by = [&](int rank) { return static_cast<std::byte>(16 * step + rank); };
        std::fill(data.begin(), data.end(), written_by(comm_.rank()));
        // Bytes written asynchronously must be there for the next reader.
        const mpi::Agreed agreed = step % 2 == 0
                                       ? engine->start_write_all(region_of(comm_.rank()), data.data(), memory)
                                       : engine->write_all(region_of(comm_.rank()), data.data(), memory);
        ASSERT_TRUE(agreed.status.ok()) << agreed.status.text();
        std::int64_t bytes_read = 0;
        engine->read_all(region_of(next), back.data(), memory, bytes_read).throw_if_error();
        EXPECT_EQ(bytes_read, n);
        ASSERT_TRUE(std::all_of(back.begin(), back.end(), [&](std::byte b) { return b == written_by(next); }))
            << "step " << step;
    }
    const Status mine =
        comm_.rank() == comm_.size() - 1 ? Status(ErrorCode::invalid_argument, "refused") : Status();
    const mpi::Agreed refused = engine->write_all(region_of(comm_.rank()), data.data(), memory, mine);
    EXPECT_EQ(refused.status.text(), "refused");
    EXPECT_EQ(refused.rank, comm_.size() - 1);
    EXPECT_TRUE(engine->write_all(region_of(comm_.rank()), data.data(), memory).status.ok());
    engine->close().throw_if_error();
    const std::vector<std::byte> whole = file_bytes();
    for (int rank = 0; rank < comm_.size(); ++rank) {  // what lies between the pieces is as it was
        const std::int64_t hole = rank * zone + (rank % 2 == 0 ? 76 : 128);
        EXPECT_EQ(whole[static_cast<std::size_t>(hole)], untouched) << rank;
    }
}

TEST_P(EngineTest, UnorderedRequestsMoveToo) {
    const std::int64_t n = 3000;
    make_file(n * comm_.size());
    const Region file =
        Region::strided(comm_.rank() * n + n - 100, n / 100, -100, Region::contiguous(0, 100));
    std::vector<std::byte> data(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = value_at(static_cast<std::int64_t>(i), comm_.rank());
    auto engine = open_engine(true);
    const Region memory = Region::contiguous(0, n);
    engine->write_all(file, data.data(), memory).throw_if_error();
    std::vector<std::byte> back(data.size());
    std::int64_t bytes_read = 0;
    engine->read_all(file, back.data(), memory, bytes_read).throw_if_error();
    EXPECT_EQ(bytes_read, n);
    EXPECT_EQ(back, data);
    engine->close().throw_if_error();
}

TEST_P(EngineTest, OneRanksMistakeIsEveryRanksErrorAndTheNextCallWorks) {
    make_file(1000000);
    auto engine = open_engine(true);
    const std::vector<std::byte> data(200000);
    const bool is_wrong = comm_.rank() == comm_.size() - 1;
    const Region file = Region::contiguous(comm_.rank() * 200000, 200000);
    const mpi::Agreed agreed =
        engine->write_all(file, data.data(), Region::contiguous(0, is_wrong ? 7 : 200000));
    EXPECT_EQ(agreed.status.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(agreed.rank, comm_.size() - 1);
    EXPECT_NE(agreed.status.text().find("200000 bytes of the file and 7 of memory"), std::string::npos)
        << agreed.status.text();
    EXPECT_TRUE(engine->write_all(file, data.data(), Region::contiguous(0, 200000)).status.ok());
    const mpi::Agreed beyond =
        engine->write_all(Region::contiguous(std::numeric_limits<std::int64_t>::max() - 5, 10), data.data(),
                          Region::contiguous(0, 10));
    EXPECT_EQ(beyond.status.code(), ErrorCode::invalid_argument);
    engine->close().throw_if_error();
}

TEST_P(EngineTest, AMissingFileIsTheSameErrorEverywhere) {
    std::unique_ptr<Engine> engine;
    std::vector<std::string> warnings;
    const mpi::Agreed agreed = Engine::open(comm_, {path_ + ".not_there", false},
                                            engine_options(GetParam().hints, warnings).value(), engine);
    EXPECT_EQ(agreed.status.code(), ErrorCode::not_found);
    EXPECT_EQ(engine, nullptr);
}

const Setting settings[] = {
    {"defaults", {}},
    {"always_shuffle", {{"hakobi_shuffle", "always"}}},
    {"small_buffers", {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "64k"}, {"hakobi_depth", "2"}}},
    {"odd_buffers", {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "70001"}, {"striping_unit", "4096"}}},
    {"tiny_buffers", {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "1000"}, {"hakobi_depth", "3"}}},
    {"direct", {{"hakobi_shuffle", "never"}}},
    {"posix", {{"hakobi_access", "posix"}, {"hakobi_shuffle", "always"}, {"cb_buffer_size", "64k"}}},
    {"uring", {{"hakobi_access", "uring"}, {"hakobi_shuffle", "always"}, {"cb_buffer_size", "128k"}}},
    {"one_aggregator", {{"cb_nodes", "1"}, {"hakobi_shuffle", "always"}, {"cb_buffer_size", "128k"}}},
    {"all_aggregate", {{"cb_config_list", "*:*"}, {"hakobi_shuffle", "always"}, {"cb_buffer_size", "128k"}}},
    {"a_rank_a_node", {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "64k"}}, 1},
    {"two_ranks_a_node", {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "64k"}, {"hakobi_depth", "2"}}, 2},
    {"nodes_one_aggregator",
     {{"cb_nodes", "1"}, {"hakobi_shuffle", "always"}, {"cb_buffer_size", "100k"}},
     2},
    {"nodes_defaults", {}, 2},
};
INSTANTIATE_TEST_SUITE_P(All, EngineTest, testing::ValuesIn(settings),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hakobi::io
