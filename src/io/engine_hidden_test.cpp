// Elective hidden writes against a model of the file: random writes that follow each other without a wait,
// with reads, sizes and accesses of one rank between them.
#include <fcntl.h>

#include <algorithm>
#include <string>

#include "io/engine_fixture.hpp"
#include "io/hidden_writes.hpp"
#include "storage_model/throttled.hpp"

namespace hakobi::io {
namespace {

class EngineHidden : public EngineTest {
  protected:
    // As the program of `rank` sees it in a call.
    void write(Engine& engine, const std::vector<Region>& files, int round) {
        const Region& mine = files[static_cast<std::size_t>(comm_.rank())];
        std::vector<std::byte> values = values_of(mine, comm_.rank() + 8 * round);
        engine.write_all_electively(mine, values.data(), Region::contiguous(0, mine.size_bytes()))
            .throw_if_error();
        std::ranges::fill(values, untouched);  // the memory is the program's again
        for (int rank = 0; rank < comm_.size(); ++rank) {
            for (Cursor at(files[static_cast<std::size_t>(rank)]); !at.at_end(); at.advance(1)) {
                const auto index = static_cast<std::size_t>(at.offset());
                if (index >= image_.size()) image_.resize(index + 1, std::byte{0});
                image_[index] = value_at(at.offset(), rank + 8 * round);
            }
        }
    }
    // A short write of one rank: behind what is open where that can be. All know of it afterwards.
    void write_alone(Engine& engine, Draws& draws, int round) {
        const auto writer = static_cast<int>(draws(0, 100)) % comm_.size();
        const std::int64_t offset = draws(0, 400000), length = draws(1, 5000);
        std::vector<std::byte> values(static_cast<std::size_t>(length));
        for (std::int64_t i = 0; i < length; ++i)
            values[static_cast<std::size_t>(i)] = value_at(offset + i, 1000 + round);
        if (comm_.rank() == writer && !engine.hidden_writes().defer(values, offset)) {
            engine.hidden_writes().wait();
            const Descriptor file(::open(path_.c_str(), O_WRONLY));
            ASSERT_EQ(::pwrite(file.get(), values.data(), values.size(), offset), length);
        }
        if (static_cast<std::int64_t>(image_.size()) < offset + length)
            image_.resize(static_cast<std::size_t>(offset + length), std::byte{0});
        std::ranges::copy(values, image_.begin() + offset);
        mpi::agree_or_throw(comm_, {});
        if (comm_.rank() == (writer + 1) % comm_.size()) {
            EXPECT_LE(engine.hidden_writes().open_end_bytes(), static_cast<std::int64_t>(image_.size()));
            if (engine.hidden_writes().has_open(offset, offset + length)) engine.hidden_writes().wait();
            std::vector<std::byte> found(values.size());
            const Descriptor file(::open(path_.c_str(), O_RDONLY));
            EXPECT_EQ(::pread(file.get(), found.data(), found.size(), offset), length);
            EXPECT_EQ(found, values) << "round " << round;
        }
        mpi::agree_or_throw(comm_, {});
    }
    void expect_image(const std::vector<std::byte>& found, const std::string& when) {
        ASSERT_EQ(found.size(), image_.size()) << when;
        ASSERT_TRUE(std::ranges::equal(found, image_))
            << when << ": first difference at " << std::ranges::mismatch(found, image_).in1 - found.begin();
    }
    std::vector<std::byte> image_;
};

INSTANTIATE_TEST_SUITE_P(
    All, EngineHidden,
    testing::Values(
        Setting{"one_node", {{"hakobi_hidden", "write"}, {"hakobi_shuffle", "always"}}},
        Setting{"two_nodes",
                {{"hakobi_hidden", "write"}, {"hakobi_shuffle", "always"}, {"cb_buffer_size", "5000"}},
                2},
        Setting{"a_rank_a_node",
                {{"hakobi_hidden", "write"}, {"hakobi_shuffle", "always"}, {"hakobi_depth", "2"}},
                1},
        Setting{"as_it_comes", {{"hakobi_hidden", "close"}}}),
    [](const auto& test) { return test.param.name; });

TEST_P(EngineHidden, WritesTakeEffectInOrderAndAreSeen) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Draws draws(seed);
        make_file(0);
        image_.clear();
        auto engine = open_engine(true);
        ASSERT_TRUE(engine->may_hide());
        for (int round = 0; round < 12; ++round) {
            write(*engine, draws.interleaved(comm_.size(), draws(0, 300000), 12, 9000), round);
            const std::int64_t then = draws(0, 4);
            if (then == 0) {  // a collective read
                std::vector<std::byte> found(image_.size() + 10, untouched);
                std::int64_t bytes_read = 0;
                const Region all = Region::contiguous(0, static_cast<std::int64_t>(found.size()));
                engine->read_all(all, found.data(), all, bytes_read).throw_if_error();
                found.resize(static_cast<std::size_t>(bytes_read));
                expect_image(found, "read together");
            } else if (then == 1 && comm_.rank() == draws(0, 100) % comm_.size()) {  // one rank alone
                EXPECT_LE(engine->hidden_writes().open_end_bytes(), static_cast<std::int64_t>(image_.size()));
                engine->hidden_writes().wait();
                EXPECT_EQ(engine->hidden_writes().open_end_bytes(), 0);
                std::vector<std::byte> found(std::filesystem::file_size(path_));
                std::ifstream file(path_, std::ios::binary);
                file.read(reinterpret_cast<char*>(found.data()), static_cast<std::streamsize>(found.size()));
                expect_image(found, "read alone");
            }
            if (then == 2) write_alone(*engine, draws, round);
            if (then == 1) mpi::agree_or_throw(comm_, {});  // nobody writes what that rank reads
        }
        engine->close().throw_if_error();
        expect_image(file_bytes(), "closed");
    }
}

TEST_P(EngineHidden, WhoWaitsFindsNothingOpen) {
    make_file(0);
    image_.clear();
    auto engine = open_engine(true);
    std::vector<Region> files;
    for (int rank = 0; rank < comm_.size(); ++rank)
        files.push_back(Region::strided(rank * 100, 400, 100 * comm_.size(), Region::contiguous(0, 100)));
    write(*engine, files, 0);
    HiddenWrites& hidden = engine->hidden_writes();
    EXPECT_FALSE(hidden.has_open(40000 * comm_.size(), 50000 * comm_.size()));
    hidden.wait();
    EXPECT_FALSE(hidden.has_open(0, 1));
    mpi::agree_or_throw(comm_, {});
    EXPECT_EQ(HiddenWrites::is_held(Descriptor(::open(path_.c_str(), O_RDONLY)).get()), 0);
    expect_image(file_bytes(), "waited for");
    engine->close().throw_if_error();
}

// On storage that makes requests wait, calls to different bytes follow each other, those to the same do not.
TEST(EngineHiddenOnSlowStorage, OnlyTheSameBytesAreWaitedFor) {
    storage::register_throttled();
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    std::vector<std::int64_t> pid{getpid()};
    mpi::all_max(comm, pid);
    const std::string path =
        std::filesystem::temp_directory_path() / ("hakobi_hidden_" + std::to_string(pid[0]));
    if (comm.rank() == 0) std::ofstream(path, std::ios::binary);
    mpi::agree_or_throw(comm, {});
    std::vector<std::string> warnings;
    std::unique_ptr<Engine> engine;
    Engine::open(comm, {"throttled:servers=1,bandwidth=20,latency=1ms,stripe=64K:" + path, true},
                 engine_options({{"hakobi_hidden", "write"}}, warnings).value(), engine)
        .throw_if_error();
    const std::int64_t length = (2 << 20) / comm.size();  // a tenth of a second together
    const std::vector<std::byte> values(static_cast<std::size_t>(length), std::byte{7});
    const Region memory = Region::contiguous(0, length);
    const auto call = [&](std::int64_t step) {
        const std::int64_t at = (step * comm.size() + comm.rank()) * length;
        engine->write_all_electively(Region::contiguous(at, length), values.data(), memory).throw_if_error();
    };
    call(0);
    call(1);
    EXPECT_TRUE(engine->hidden_writes().has_open(0, length));
    EXPECT_EQ(engine->hidden_writes().open_end_bytes(), 2 * comm.size() * length);
    call(1);  // the same bytes: both before it are over
    EXPECT_FALSE(engine->hidden_writes().has_open(0, length));
    EXPECT_TRUE(engine->hidden_writes().has_open(comm.size() * length, comm.size() * length + 1));
    engine->close().throw_if_error();
    EXPECT_EQ(std::filesystem::file_size(path), static_cast<std::uintmax_t>(2 * comm.size() * length));
    mpi::agree_or_throw(comm, {});
    if (comm.rank() == 0) std::filesystem::remove(path);
    comm.free();
}

}  // namespace
}  // namespace hakobi::io
