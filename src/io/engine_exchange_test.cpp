// Exchanges of the ranks before and between the phases of a call: single cases with hints of their own.
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "base/copy_bytes.hpp"
#include "io/engine_fixture.hpp"
#include "io/policy.hpp"
#include "storage/faulty.hpp"
#include "storage_model/throttled.hpp"

namespace hakobi::io {
namespace {

class EngineWith : public EngineTest {
  protected:
    // Every rank's pieces of 100 bytes, one each 8 KiB, as far as `span` bytes go.
    Region pieces(std::int64_t span) const {
        return Region::strided(comm_.rank() * 100, span / 8192, 8192, Region::contiguous(0, 100));
    }
};
const Setting own_hints[] = {
    {"own_hints", {}}, {"own_hints_a_rank_a_node", {}, 1}, {"own_hints_two_ranks_a_node", {}, 2}};
INSTANTIATE_TEST_SUITE_P(All, EngineWith, testing::ValuesIn(own_hints),
                         [](const auto& test) { return test.param.name; });

// The rest of a call in the tallies of its cycles must not count for the next one.
TEST_P(EngineWith, CyclesThatAreShorterThanABufferEndEveryCall) {
    const std::pair<Hints, std::int64_t> cases[] = {
        {{{"cb_buffer_size", "100000"}, {"hakobi_shuffle", "always"}}, 32 << 20},
        {{{"striping_unit", "192k"}, {"hakobi_shuffle", "always"}}, 16 << 20}};
    for (const auto& [hints, span] : cases) {
        make_file(0);
        auto engine = open_engine({path_, true}, hints);
        const Region file = pieces(span);
        const Region memory = Region::contiguous(0, file.size_bytes());
        std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes())), back(data.size());
        for (int step = 1; step <= 3; ++step) {
            std::fill(data.begin(), data.end(), static_cast<std::byte>(16 * step + comm_.rank()));
            engine->write_all(file, data.data(), memory).throw_if_error();
        }
        std::int64_t bytes_read = 0;
        engine->read_all(file, back.data(), memory, bytes_read).throw_if_error();
        EXPECT_EQ(bytes_read, file.size_bytes());
        EXPECT_EQ(back, data);
        engine->close().throw_if_error();
    }
}

TEST_P(EngineWith, RankZerosOptionsHoldForAll) {
    const Hints of_rank_0{
        {"cb_buffer_size", "128k"}, {"cb_config_list", "*:*"}, {"hakobi_shuffle", "always"}};
    const Hints of_others{{"cb_buffer_size", "64k"}, {"hakobi_depth", "2"}, {"hakobi_shuffle", "never"}};
    make_file(0);
    auto engine = open_engine({path_, true}, comm_.rank() == 0 ? of_rank_0 : of_others);
    EXPECT_EQ(engine->options().cb_buffer_bytes, 128 << 10);
    EXPECT_EQ(engine->options().shuffle, "always");
    EXPECT_EQ(engine->options().depth, policy_limits::usual_depth);
    const Region file = pieces(4 << 20);
    const std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes()), std::byte{7});
    for (int i = 0; i < 2; ++i)
        engine->write_all(file, data.data(), Region::contiguous(0, file.size_bytes())).throw_if_error();
    engine->close().throw_if_error();
    EXPECT_EQ(file_bytes()[8192], std::byte{7});
}

// A phase of 4,096 buffers goes by the shuffle; behind it rank 0 alone has pieces, large enough to go direct.
TEST_P(EngineWith, AReadThatEndsDirectCountsWhatCameByTheShuffle) {
    constexpr std::int64_t piece = 12288, stride = 12800, num = 6000, file_size = stride * num - 20000;
    if (comm_.rank() == 0) {
        std::ofstream(path_, std::ios::trunc).close();
        std::filesystem::resize_file(path_, file_size);
    }
    mpi::agree_or_throw(comm_, {});
    const Region file = comm_.rank() == 0 ? Region::strided(0, num, stride, Region::contiguous(0, piece))
                                          : Region::strided(piece, 64, stride, Region::contiguous(0, 512));
    std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes()), std::byte{1});
    auto engine = open_engine({path_, false}, {{"cb_buffer_size", "16k"}});
    for (int i = 0; i < 2; ++i) {
        std::int64_t bytes_read = 0;
        engine->read_all(file, data.data(), Region::contiguous(0, file.size_bytes()), bytes_read)
            .throw_if_error();
        EXPECT_EQ(bytes_read, file.bytes_below(file_size)) << "call " << i;
    }
    engine->close().throw_if_error();
}

// Values anywhere in the file, as of an unstructured mesh, over two phases: of each rank's list the
// aggregators on other nodes get their parts, and of the last rank's regular request the whole, once.
TEST_P(EngineWith, ListsOfIndicesCrossNodesAndPhases) {
    constexpr std::int64_t file_size = 70 << 20, piece = 4 << 10;
    const auto owner = [this](std::int64_t i) {
        return static_cast<int>((static_cast<std::uint64_t>(i) * 2654435761u >> 9) %
                                static_cast<unsigned>(std::max(1, comm_.size() - 1)));
    };
    std::mt19937_64 random(3);  // alike on every rank
    std::vector<std::int64_t> offsets, lengths;
    std::int64_t i = 0;
    for (std::int64_t at = 0; at < file_size; at += piece, ++i) {
        if (at % (4 * piece) == 0) continue;  // the last rank's
        const auto offset = static_cast<std::int64_t>(random() % (piece / 8)) * 8;
        if (owner(i) != comm_.rank()) continue;
        offsets.push_back(at + offset);
        lengths.push_back(8);
    }
    const bool is_last = comm_.size() > 1 && comm_.rank() == comm_.size() - 1;
    const Region file =
        is_last ? Region::strided(0, file_size / (4 * piece), 4 * piece, Region::contiguous(0, piece))
                : Region::indexed(offsets, lengths);
    const Region memory = Region::contiguous(0, file.size_bytes());
    std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes())), back(data.size());
    make_file(0);
    auto engine = open_engine({path_, true}, {{"cb_buffer_size", "16k"}, {"hakobi_shuffle", "always"}});
    for (int step = 1; step <= 2; ++step) {
        for (std::size_t b = 0; b < data.size(); ++b)
            data[b] = static_cast<std::byte>(static_cast<std::size_t>(64 * step + comm_.rank()) + b * 7);
        engine->write_all(file, data.data(), memory).throw_if_error();
        const std::vector<std::byte> written = file_bytes();
        std::size_t b = 0;
        for (Cursor at(file); !at.at_end(); at.advance(1), ++b)
            ASSERT_EQ(written[static_cast<std::size_t>(at.offset())], data[b])
                << "step " << step << ", byte " << at.offset();
        std::int64_t bytes_read = 0;
        engine->read_all(file, back.data(), memory, bytes_read).throw_if_error();
        EXPECT_EQ(bytes_read, file.size_bytes());
        ASSERT_EQ(back, data) << "step " << step;
    }
    engine->close().throw_if_error();
}

// All ranks want the same, more than a buffer holds of it: whole buffers travel, over two phases. The last
// rank's request has no order.
TEST_P(EngineWith, TheSameListForAllRanksTravelsAsWholeBuffers) {
    constexpr std::int64_t file_size = 70 << 20, stride = 4 << 10, piece = 2000;
    if (comm_.rank() == 0) {
        std::vector<char> bytes(file_size);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<char>(value_at(static_cast<std::int64_t>(i), 0));
        std::ofstream(path_, std::ios::binary | std::ios::trunc).write(bytes.data(), file_size);
    }
    mpi::agree_or_throw(comm_, {});
    const bool is_last = comm_.size() > 1 && comm_.rank() == comm_.size() - 1;
    std::vector<std::int64_t> offsets, lengths;
    for (std::int64_t at = 0; at + piece <= file_size; at += stride) {
        offsets.push_back(is_last ? file_size - piece - at : at + at / stride % 7 * 8);
        lengths.push_back(piece);
    }
    const Region file = Region::indexed(offsets, lengths);
    std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes()));
    auto engine = open_engine({path_, false}, {{"cb_buffer_size", "16k"}, {"hakobi_shuffle", "always"}});
    std::int64_t bytes_read = 0;
    engine->read_all(file, data.data(), Region::contiguous(0, file.size_bytes()), bytes_read)
        .throw_if_error();
    EXPECT_EQ(bytes_read, file.size_bytes());
    for (std::size_t p = 0; p < offsets.size(); ++p)
        for (std::int64_t i = 0; i < piece; ++i)
            ASSERT_EQ(data[p * piece + static_cast<std::size_t>(i)], value_at(offsets[p] + i, 0))
                << "piece " << p << ", byte " << i;
    engine->close().throw_if_error();
}

// The addresses that the kernel is slow at, where the bytes take a way of their own, and others.
TEST_P(EngineWith, LongReadsByTheRanksThemselvesFillMemoryAtAnyAddress) {
    constexpr std::int64_t length = (9 << 20) + 77, margin = 8192;
    make_file(length * comm_.size());
    const Region file = Region::contiguous(comm_.rank() * length, length);
    std::vector<std::byte> data(static_cast<std::size_t>(length)), back(data.size() + margin);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::byte>(i * 31 + i / 4099 + static_cast<std::size_t>(comm_.rank()));
    auto engine = open_engine({path_, true}, {{"hakobi_shuffle", "never"}});
    engine->write_all(file, data.data(), Region::contiguous(0, length)).throw_if_error();
    for (const std::int64_t above : {0, 1, 16, 63, 4080}) {
        std::fill(back.begin(), back.end(), std::byte{0});
        std::byte* const begin = congruent_with(file.begin_bytes(), back.data()) + above;
        std::int64_t bytes_read = 0;
        engine->read_all(file, begin, Region::contiguous(0, length), bytes_read).throw_if_error();
        EXPECT_EQ(bytes_read, length);
        EXPECT_TRUE(std::equal(data.begin(), data.end(), begin)) << above << " bytes above a page";
        EXPECT_TRUE(std::all_of(back.data(), begin, [](std::byte b) { return b == std::byte{0}; }));
    }
    engine->close().throw_if_error();
}

// They have no order that buffers could follow, so that nothing else makes their ranks wait.
TEST_P(EngineWith, UnorderedRequestsWaitForTheOthersAsynchronousWrites) {
    constexpr std::int64_t n = 1 << 18, piece = 1 << 14;
    make_file(n * comm_.size());
    storage::register_throttled();
    auto engine = open_engine({"throttled:servers=1,bandwidth=50,latency=1ms,stripe=64K:" + path_, true}, {});
    std::vector<std::byte> data(n), back(n);
    const Region memory = Region::contiguous(0, n);
    const int next = (comm_.rank() + 1) % comm_.size();
    for (int step = 1; step <= 3; ++step) {
        std::fill(data.begin(), data.end(), static_cast<std::byte>(16 * step + comm_.rank()));
        engine->start_write_all(Region::contiguous(comm_.rank() * n, n), data.data(), memory)
            .throw_if_error();
        const Region backwards =
            Region::strided(next * n + n - piece, n / piece, -piece, Region::contiguous(0, piece));
        std::int64_t bytes_read = 0;
        engine->read_all(backwards, back.data(), memory, bytes_read).throw_if_error();
        EXPECT_EQ(bytes_read, n);
        const auto is_new = [&](std::byte b) { return b == static_cast<std::byte>(16 * step + next); };
        ASSERT_TRUE(std::all_of(back.begin(), back.end(), is_new)) << "step " << step;
    }
    engine->close().throw_if_error();
}

// Rank 0's request is short and in one piece; the others' pieces are fine, so that all go by the shuffle,
// some of them into the same pages.
TEST_P(EngineWith, AShortRequestIsMovedBesideFineOnes) {
    constexpr std::int64_t length = 47008, fine = 500, num_fine = 90;
    make_file(0);
    auto engine = open_engine(true);
    // Behind rank 0's bytes, from within its last page on.
    const Region file = comm_.rank() == 0 ? Region::contiguous(length, length)
                                          : Region::strided(2 * length + comm_.rank() * fine, num_fine,
                                                            8 * fine, Region::contiguous(0, fine));
    const Region memory = Region::contiguous(0, file.size_bytes());
    std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes())), back(data.size());
    for (int step = 1; step <= 5; ++step) {
        std::fill(data.begin(), data.end(), static_cast<std::byte>(16 * step + comm_.rank()));
        engine->write_all(file, data.data(), memory).throw_if_error();
        std::int64_t bytes_read = 0;
        engine->read_all(file, back.data(), memory, bytes_read).throw_if_error();
        EXPECT_EQ(bytes_read, file.size_bytes());
        ASSERT_EQ(back, data) << "step " << step;
    }
    engine->close().throw_if_error();
    const std::vector<std::byte> bytes = file_bytes();
    EXPECT_EQ(bytes[length], std::byte{80});
    EXPECT_EQ(bytes[2 * length - 1], std::byte{80});
}

// A late rank's own read, as its own write, comes before what others write in a call to which it has not
// come.
TEST_P(EngineWith, NobodyWritesBeforeAllRanksHaveCome) {
    constexpr std::int64_t length = 2 << 20;
    const Region file = Region::contiguous(comm_.rank() * length, length);
    const Region memory = Region::contiguous(0, length);
    const std::vector<std::byte> data(length, std::byte{7});
    for (int file_number = 0; file_number < 2; ++file_number) {  // the second on storage that is known
        make_file(0);
        auto engine = open_engine(true);
        if (comm_.rank() == comm_.size() - 1 && comm_.size() > 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            EXPECT_EQ(std::filesystem::file_size(path_), 0U);
        }
        engine->write_all(file, data.data(), memory).throw_if_error();
        engine->close().throw_if_error();
        const std::vector<std::byte> written = file_bytes();
        EXPECT_EQ(written.size(), static_cast<std::size_t>(comm_.size() * length));
        EXPECT_TRUE(
            std::all_of(written.begin(), written.end(), [](std::byte b) { return b == std::byte{7}; }));
    }
}

// As MPI lets ranks leave a collective call: who has written its own piece does not hear of the others'
// errors.
TEST_P(EngineWith, ADirectCallsErrorIsItsRanksOwnWhereTheFileSaysSo) {
    if (comm_.num_nodes() > 1 || comm_.size() == 1) GTEST_SKIP() << "ranks of one node";
    constexpr std::int64_t length = 100000;
    make_file(0);
    const std::vector<std::byte> data(length, std::byte{7});
    const Region file = Region::contiguous(comm_.rank() * length, length);
    const Region memory = Region::contiguous(0, length);
    const int last = comm_.size() - 1;
    storage::set_fault_rank(comm_.rank());
    storage::arm_fault({.rank = last, .operation = storage::FileOperation::write, .error = ENOSPC});
    auto engine = open_engine({path_, true, path_, true}, {{"hakobi_shuffle", "never"}});
    const mpi::Agreed failed = engine->write_all(file, data.data(), memory);
    EXPECT_EQ(failed.status.code(), comm_.rank() == last ? ErrorCode::no_space : ErrorCode::ok);
    EXPECT_TRUE(failed.is_own);
    EXPECT_TRUE(engine->write_all(file, data.data(), memory).status.ok());
    engine->wait_for_left_calls();
    EXPECT_EQ(std::filesystem::file_size(path_), static_cast<std::uintmax_t>(comm_.size() * length));
    engine->close().throw_if_error();
    storage::disarm_fault();
}

// The last rank aggregates, but a short call leaves it without a part of the file.
TEST_P(EngineWith, AnAggregatorsErrorIsNotToldAgainByACallInWhichItHasNoPart) {
    constexpr std::int64_t length = 1 << 20;
    make_file(0);
    storage::set_fault_rank(comm_.rank());
    storage::arm_fault(
        {.rank = comm_.size() - 1, .operation = storage::FileOperation::write, .error = ENOSPC});
    auto engine = open_engine({path_, true}, {{"cb_config_list", "*:*"}, {"hakobi_shuffle", "always"}});
    const std::vector<std::byte> data(length, std::byte{7});
    const auto code_of_writing = [&](std::int64_t bytes) {
        const Region file = Region::contiguous(comm_.rank() * bytes, bytes);
        return engine->write_all(file, data.data(), Region::contiguous(0, bytes)).status.code();
    };
    EXPECT_EQ(code_of_writing(length), ErrorCode::no_space);
    EXPECT_EQ(code_of_writing(100), ErrorCode::ok);
    EXPECT_EQ(code_of_writing(length), ErrorCode::ok);
    EXPECT_TRUE(engine->close().status.ok());
    storage::disarm_fault();
}

// The last phase is of one domain alone: its writer tells of all, and the others have stored before.
TEST_P(EngineWith, EveryWriterOfAHiddenCallBringsItsPhasesToStableStorage) {
    constexpr std::int64_t cycle = policy_limits::smallest_cycle;  // whatever is left of the call
    make_file(0);
    const int highest_tag = std::exchange(comm_.state().highest_tag, 2 * comm_.num_nodes());
    storage::set_fault_rank(comm_.rank());
    storage::arm_fault({.operation = storage::FileOperation::sync, .nth = 1000});  // counts them
    auto engine =
        open_engine({path_, true}, {{"cb_config_list", "*:*"}, {"cb_buffer_size", std::to_string(cycle)}});
    const std::int64_t length = 4 * cycle, rest = comm_.rank() == 0 ? 10 : 0;
    const Region file =
        Region::contiguous(comm_.rank() * length + (comm_.rank() > 0 ? 10 : 0), length + rest);
    const std::vector<std::byte> data(static_cast<std::size_t>(length + rest), std::byte{7});
    std::atomic<int> num_told = 0;
    const WhenStored stored{.tell = [&](storage::File&, int, int) { ++num_told; }, .sync = true};
    engine->start_write_all(file, data.data(), Region::contiguous(0, length + rest), {}, stored)
        .throw_if_error();
    engine->close().throw_if_error();
    EXPECT_LE(num_told, 1);
    EXPECT_GE(storage::fault_count().num_operations, 1);
    storage::disarm_fault();
    comm_.state().highest_tag = highest_tag;
}

TEST_P(EngineWith, AnAsynchronousWritesErrorIsToldAlsoByACallThatIsAMistake) {
    constexpr std::int64_t length = 1 << 20;
    make_file(0);
    storage::set_fault_rank(comm_.rank());
    storage::arm_fault({.rank = 0, .operation = storage::FileOperation::write, .error = ENOSPC});
    auto engine = open_engine({path_, true}, {});
    const std::vector<std::byte> data(length, std::byte{7});
    const Region file = Region::contiguous(comm_.rank() * length, length);
    const Region memory = Region::contiguous(0, length);
    EXPECT_TRUE(engine->start_write_all(file, data.data(), memory).status.ok());
    const Status refused(ErrorCode::invalid_argument, "refused");
    EXPECT_EQ(engine->write_all(file, data.data(), memory, refused).status.code(), ErrorCode::no_space);
    EXPECT_EQ(engine->write_all(file, data.data(), memory, refused).status.code(),
              ErrorCode::invalid_argument);
    EXPECT_TRUE(engine->close().status.ok());
    storage::disarm_fault();
}

}  // namespace
}  // namespace hakobi::io
