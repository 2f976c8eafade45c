// Ranks that run ahead of each other, on files whose errors are the ranks' own, and on storage that is known
// to serve from memory or to make requests wait.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "io/engine_fixture.hpp"
#include "storage/storage_profile.hpp"

namespace hakobi::io {
namespace {

using std::chrono::milliseconds;

class Ahead : public EngineTest {
  protected:
    static constexpr std::int64_t piece = 8 << 10;

    void SetUp() override {
        EngineTest::SetUp();
        if (waits()) learn(Service::waits);
    }
    void TearDown() override {
        if (waits()) learn(Service::from_memory);
        EngineTest::TearDown();
    }
    [[nodiscard]] static bool waits() { return GetParam().name == std::string("waiting"); }
    void learn(Service service) const {
        struct stat info {};
        ASSERT_EQ(::stat(std::filesystem::path(path_).parent_path().c_str(), &info), 0);
        storage::StorageProfile::of_device(info.st_dev)->set_service(service);
    }

    /// After calls that let the ranks run ahead: the storage is known from the first.
    std::unique_ptr<Engine> open_running() {
        auto engine = open_engine({path_, true, path_, true}, {});
        for (int i = 0; i < 3; ++i) write(*engine, 0);
        return engine;
    }
    [[nodiscard]] std::int64_t begin_of(std::int64_t call, int rank) const {
        return (call * comm_.size() + rank) * piece;
    }
    /// One piece a rank.
    void write(Engine& engine, std::int64_t call) {
        const std::vector<std::byte> data(piece, value_at(call, comm_.rank()));
        engine
            .write_all(Region::contiguous(begin_of(call, comm_.rank()), piece), data.data(),
                       Region::contiguous(0, piece))
            .throw_if_error();
    }
    /// Whether the bytes of a call's rank are all there.
    void expect_written(std::span<const std::byte> file, std::int64_t call) {
        for (int rank = 0; rank < comm_.size(); ++rank) {
            const auto part =
                file.subspan(static_cast<std::size_t>(begin_of(call, rank)), static_cast<std::size_t>(piece));
            EXPECT_TRUE(
                std::ranges::all_of(part, [&](std::byte each) { return each == value_at(call, rank); }))
                << "call " << call << ", rank " << rank;
        }
    }
};
const Setting one_node[] = {{"from_memory", {}}, {"waiting", {}}};
INSTANTIATE_TEST_SUITE_P(All, Ahead, testing::ValuesIn(one_node),
                         [](const auto& test) { return test.param.name; });

TEST_P(Ahead, NobodyWaitsForALateRank) {
    make_file(0);
    auto engine = open_running();
    const bool is_late = comm_.rank() == comm_.size() - 1;
    if (!is_late)
        for (int call = 1; call < 10; ++call) write(*engine, call);
    // Where the others waited, the late rank would not come to this before it has made its calls.
    MPI_Request met = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &met);
    int is_there = 0;
    const auto begin = std::chrono::steady_clock::now();
    while (is_there == 0 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20))
        MPI_Test(&met, &is_there, MPI_STATUS_IGNORE);
    EXPECT_TRUE(is_there);
    if (is_late)
        for (int call = 1; call < 10; ++call) write(*engine, call);
    MPI_Wait(&met, MPI_STATUS_IGNORE);
    engine->close().throw_if_error();
    const std::vector<std::byte> file = file_bytes();
    for (int call = 0; call < 10; ++call) expect_written(file, call);
}

TEST_P(Ahead, AReadFindsWhatLateRanksWriteBefore) {
    make_file(0);
    auto engine = open_running();
    if (comm_.rank() == comm_.size() - 1) std::this_thread::sleep_for(milliseconds(50));
    for (int call = 1; call < 5; ++call) write(*engine, call);
    const std::int64_t size = begin_of(5, 0);
    std::vector<std::byte> file(static_cast<std::size_t>(size));
    std::int64_t bytes_read = 0;
    engine->read_all(Region::contiguous(0, size), file.data(), Region::contiguous(0, size), bytes_read)
        .throw_if_error();
    EXPECT_EQ(bytes_read, size);
    for (int call = 0; call < 5; ++call) expect_written(file, call);
    engine->close().throw_if_error();
}

TEST_P(Ahead, ARankThatWaitsForTheOthersEndsIt) {
    make_file(0);
    auto engine = open_running();
    mpi::agree_or_throw(comm_, {});
    if (comm_.rank() == 0) engine->wait_for_left_calls();
    mpi::agree_or_throw(comm_, {});
    // They meet again: nobody returns before the last rank has come.
    if (comm_.rank() == comm_.size() - 1) std::this_thread::sleep_for(milliseconds(100));
    const auto begin = std::chrono::steady_clock::now();
    write(*engine, 1);
    const auto taken = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(comm_.rank() > 0 || taken > milliseconds(50));
    engine->close().throw_if_error();
}

// All ranks draw the kind of each call alike, and each how late it comes: pieces, nothing, fine pieces of
// some ranks or of all, reads.
TEST_P(Ahead, CallsOfAnyKindKeepTheirBytes) {
    constexpr int num_calls = 400;
    make_file(0);
    auto engine = open_engine({path_, true, path_, true}, {});
    std::mt19937 alike(7), own(static_cast<unsigned>(comm_.rank()));
    std::vector<std::byte> expected;
    std::vector<std::byte> file;
    for (int call = 0; call < num_calls; ++call) {
        const unsigned kind = alike() % 16;
        const unsigned fine_ranks = kind < 9 ? 0 : alike();  // bits
        const unsigned empty_ranks = alike() % 4 == 0 ? alike() : 0;
        if (own() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 300));
        if (own() % 32 == 0) engine->wait_for_left_calls();
        if (kind == 15) {
            file.assign(expected.size(), std::byte{0});
            std::int64_t bytes_read = 0;
            const auto size = static_cast<std::int64_t>(file.size());
            const Region all = Region::contiguous(0, size);
            engine->read_all(all, file.data(), all, bytes_read).throw_if_error();
            ASSERT_EQ(bytes_read, size);
            ASSERT_TRUE(file == expected) << "call " << call;
            continue;
        }
        const std::int64_t begin = std::ssize(expected);
        // Pieces of 64 bytes, a hole after each, or one of 4 KiB.
        const auto region_of = [&](int rank) {
            if (((empty_ranks >> rank) & 1) != 0 && rank > 0) return Region();
            const std::int64_t at = begin + rank * (std::int64_t{8} << 10);
            if (((fine_ranks >> rank) & 1) != 0)
                return Region::strided(at, 50, 128, Region::contiguous(0, 64));
            return Region::contiguous(at, 4 << 10);
        };
        const Region mine = region_of(comm_.rank());
        const std::vector<std::byte> data(static_cast<std::size_t>(mine.size_bytes()),
                                          value_at(call, comm_.rank()));
        engine->write_all(mine, data.data(), Region::contiguous(0, mine.size_bytes())).throw_if_error();
        for (int rank = 0; rank < comm_.size(); ++rank) {
            const Region region = region_of(rank);
            if (region.end_bytes() > std::ssize(expected))
                expected.resize(static_cast<std::size_t>(region.end_bytes()));
            for (Cursor at(region); !at.at_end(); at.advance(at.remaining()))
                std::fill_n(expected.begin() + at.offset(), at.remaining(), value_at(call, rank));
        }
    }
    engine->close().throw_if_error();
    file = file_bytes();
    EXPECT_TRUE(file == expected);
}

}  // namespace
}  // namespace hakobi::io
