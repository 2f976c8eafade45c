// Holes of a collective write: what is in them stays, also while somebody else writes them.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <new>
#include <vector>

#include "io/engine_fixture.hpp"

namespace hakobi::io {
namespace {

constexpr std::int64_t stride = 64, piece = 40;
constexpr std::int64_t num_pieces = 4096, span = stride * num_pieces;

class Holes : public EngineTest {};

/// Writes every hole once and again, a byte value a round, as a process that knows nothing of this one, until
/// the pipe ends. With `is_locking` under process locks, as ROMIO's data sieving takes them. Its exit status
/// is 0 when the holes still hold what it wrote last.
[[noreturn]] void write_holes(const char* path, bool is_locking, int until, std::atomic<int>& rounds) {
    const int fd = ::open(path, O_RDWR);
    fcntl(until, F_SETFL, O_NONBLOCK);
    std::array<char, stride - piece> bytes{}, found{}, last{};
    char word = 0;
    int lost = 0;
    do {
        last = bytes;
        const int round = ++rounds;
        bytes.fill(static_cast<char>(round));
        for (std::int64_t at = piece; at < span; at += stride) {
            struct flock lock {};
            lock.l_type = F_WRLCK;
            lock.l_start = at;
            lock.l_len = stride - piece;
            if (is_locking) fcntl(fd, F_SETLKW, &lock);
            (void)!pread(fd, found.data(), found.size(), at);
            if (round > 1 && found != last) ++lost;
            (void)!pwrite(fd, bytes.data(), bytes.size(), at);
            lock.l_type = F_UNLCK;
            if (is_locking) fcntl(fd, F_SETLK, &lock);
        }
    } while (::read(until, &word, 1) != 0);
    _exit(lost == 0 ? 0 : 1);
}

/// The pieces that all ranks together write: the first 40 of every 64 bytes, dealt out piece by piece.
Region pieces_of(const Comm& comm) {
    const std::int64_t mine = (num_pieces - comm.rank() + comm.size() - 1) / comm.size();
    return Region::strided(comm.rank() * stride, mine, stride * comm.size(), Region::contiguous(0, piece));
}

TEST_P(Holes, KeepWhatAnotherProcessWritesMeanwhile) {
    make_file(span);
    std::array<int, 2> until{};
    pid_t other = -1;
    // How often the other process has been round: it writes beside these ranks only if that grows.
    auto* const rounds = new (mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<int>(0);
    if (comm_.rank() == 0) {
        ASSERT_EQ(pipe(until.data()), 0);
        const bool is_locking = GetParam().hints.count("hakobi_holes") == 0;
        other = fork();
        if (other == 0) {
            close(until[1]);
            write_holes(path_.c_str(), is_locking, until[0], *rounds);
        }
        close(until[0]);
    }
    auto engine = open_engine(true);
    const Region file = pieces_of(comm_);
    std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes()));
    const Region memory = Region::contiguous(0, file.size_bytes());
    std::int64_t others_rounds = 0;
    for (int round = 0; round < 60 || others_rounds < 4; ++round) {
        std::fill(data.begin(), data.end(), static_cast<std::byte>(round < 59 ? round + 1 : 60));
        engine->write_all(file, data.data(), memory).throw_if_error();
        others_rounds = mpi_sum(rounds->load());
    }
    engine->close().throw_if_error();
    Status status;
    if (comm_.rank() == 0) {
        close(until[1]);
        int exit_status = -1;
        waitpid(other, &exit_status, 0);
        if (exit_status != 0) status = {ErrorCode::failed, "lost " + std::to_string(exit_status)};
    }
    mpi::agree_or_throw(comm_, status);
    munmap(rounds, sizeof *rounds);
    const std::vector<std::byte> written = file_bytes();
    for (std::int64_t at = 0; at < span; at += stride) {
        ASSERT_EQ(written[static_cast<std::size_t>(at)], std::byte{60});
        ASSERT_NE(written[static_cast<std::size_t>(at + piece)], untouched);
    }
}

TEST_P(Holes, OfAFileThatEndsInThemAreZeros) {
    make_file(0);
    auto engine = open_engine(true);
    const Region file = pieces_of(comm_);
    const std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes()), std::byte{7});
    engine->write_all(file, data.data(), Region::contiguous(0, file.size_bytes())).throw_if_error();
    engine->close().throw_if_error();
    const std::vector<std::byte> written = file_bytes();
    ASSERT_EQ(std::ssize(written), span - (stride - piece));
    for (std::int64_t at = 0; at + stride <= span - stride; at += stride) {
        ASSERT_EQ(written[static_cast<std::size_t>(at + piece - 1)], std::byte{7});
        ASSERT_EQ(written[static_cast<std::size_t>(at + piece)], std::byte{0});
    }
}

TEST_P(Holes, StayWhereAnEngineHasBeenToldToLeaveThem) {
    make_file(span);
    auto engine = open_engine(true);
    if (comm_.rank() == comm_.size() - 1) engine->leave_holes();
    const Region file = pieces_of(comm_);
    const std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes()), std::byte{7});
    engine->write_all(file, data.data(), Region::contiguous(0, file.size_bytes())).throw_if_error();
    EXPECT_EQ(mpi_sum(engine->counters().filled_bytes), 0);
    engine->close().throw_if_error();
}

TEST_P(Holes, AreFilledByDefault) {
    make_file(span);
    auto engine = open_engine(true);
    const Region file = pieces_of(comm_);
    const std::vector<std::byte> data(static_cast<std::size_t>(file.size_bytes()), std::byte{7});
    engine->write_all(file, data.data(), Region::contiguous(0, file.size_bytes())).throw_if_error();
    const std::int64_t filled = mpi_sum(engine->counters().filled_bytes);
    EXPECT_EQ(filled > 0, GetParam().hints.count("hakobi_holes") == 0) << filled;
    engine->close().throw_if_error();
}

// A deep pipeline has tens of MB of marks, and a file a step opens it anew: the few that a call uses are all
// it clears.
TEST_P(Holes, TouchNoMarksOfBuffersThatHaveNone) {
    // io_uring pins every buffer, a node's staging is cleared as a whole.
    if (GetParam().hints.contains("hakobi_access") || GetParam().ranks_per_node > 0)
        GTEST_SKIP() << "all of its memory is touched";
    const auto shared_kb = [] {
        std::ifstream status("/proc/self/status");
        for (std::string word; status >> word;) {
            if (std::int64_t kb = 0; word == "RssShmem:" && status >> kb) return kb;
        }
        return std::int64_t{0};
    };
    make_file(span);
    std::vector<std::byte> data(static_cast<std::size_t>(span), std::byte{1});
    auto engine = open_engine(true);
    const std::int64_t before_kb = shared_kb();
    const Region mine = pieces_of(comm_);
    engine->start_write_all(mine, data.data(), Region::contiguous(0, mine.size_bytes())).throw_if_error();
    EXPECT_TRUE(engine->wait().status.ok());
    EXPECT_LT(shared_kb() - before_kb, 16 << 10);
    EXPECT_TRUE(engine->close().status.ok());
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Holes,
    testing::Values(Setting{"filled", {{"hakobi_shuffle", "always"}}},
                    Setting{"untouched", {{"hakobi_shuffle", "always"}, {"hakobi_holes", "untouched"}}},
                    Setting{"small_buffers", {{"hakobi_shuffle", "always"}, {"cb_buffer_size", "10000"}}},
                    Setting{"in_line", {{"hakobi_shuffle", "always"}, {"hakobi_access", "posix"}}},
                    Setting{"uring", {{"hakobi_shuffle", "always"}, {"hakobi_access", "uring"}}},
                    Setting{"nodes_of_one", {{"hakobi_shuffle", "always"}}, 1}),
    [](const auto& setting) { return std::string(setting.param.name); });

}  // namespace
}  // namespace hakobi::io
