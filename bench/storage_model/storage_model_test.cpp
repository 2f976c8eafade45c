// Runs under LD_PRELOAD of the library itself, with the model that CMakeLists.txt gives it (4 servers of 500
// MB/s, 2 ms; the LongLatency tests with 250 ms). Times are only asserted where a busy machine cannot falsify
// them: never faster than the model, and far from one request after the other. Counts assert which requests
// are modelled.
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#ifdef HAKOBI_HAVE_URING
#include <liburing.h>
#endif
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"

namespace {

using hakobi::now_s;

constexpr std::size_t part_bytes = 4 << 20, num_parts = 16;
constexpr double total_bytes = 1.0 * part_bytes * num_parts;
constexpr double limit_bytes_s = 4 * 500e6, latency_s = 2e-3;

struct Counts {
    std::int64_t num_reads, bytes_read, num_writes, bytes_written;
};
Counts counts() {
    using Function = void(std::int64_t*);
    auto* function = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, "hakobi_storage_model_counts"));
    Counts result{-1, -1, -1, -1};
    if (function != nullptr) function(&result.num_reads);
    return result;
}

std::string folder() {
    const char* path = std::getenv("HAKOBI_STORAGE_MODEL_PATH");
    return path == nullptr ? "" : path;
}

/// A file below the modelled folder (or elsewhere), open for both ways, that goes with the object.
class TestFile {
  public:
    explicit TestFile(const std::string& where = folder(), int flags = 0) {
        path = where + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "." +
               std::to_string(::getpid());
        fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | flags, 0666);
    }
    ~TestFile() {
        ::close(fd);
        ::unlink(path.c_str());
    }
    std::string path;
    int fd;
};

std::vector<char> pattern(std::size_t bytes, int seed) {
    std::vector<char> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        data[i] = static_cast<char>(i * 31 + i / 4099 + static_cast<std::size_t>(seed));
    return data;
}

/// Prints the rate and says whether it is within the model's limit.
void expect_not_faster(const char* what, double elapsed_s, double least_s) {
    std::printf("%s: %.2f GB/s of %.2f\n", what, 1e-9 * total_bytes / elapsed_s, 1e-9 * limit_bytes_s);
    EXPECT_GE(elapsed_s, 0.999 * least_s) << what << " was faster than its model";
}

class StorageModel : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_GE(counts().num_reads, 0) << "run under LD_PRELOAD, as CTest does"; }
};

TEST_F(StorageModel, OneRequestInFlightPaysEveryLatency) {
    const TestFile file;
    const std::vector<char> data = pattern(part_bytes, 1);
    for (const bool is_write : {true, false}) {
        std::vector<char> in(part_bytes);
        const double start_s = now_s();
        for (std::size_t i = 0; i < num_parts; ++i) {
            const auto offset = static_cast<off_t>(i * part_bytes);
            const ssize_t moved = is_write ? ::pwrite(file.fd, data.data(), part_bytes, offset)
                                           : ::pread(file.fd, in.data(), part_bytes, offset);
            ASSERT_EQ(moved, static_cast<ssize_t>(part_bytes));
        }
        expect_not_faster(is_write ? "one write in flight" : "one read in flight", now_s() - start_s,
                          total_bytes / limit_bytes_s + num_parts * latency_s);
        EXPECT_TRUE(is_write || in == data);
    }
}

TEST_F(StorageModel, FourThreadsShareTheServers) {
    const TestFile file;
    const std::vector<char> data = pattern(part_bytes, 2);
    const double start_s = now_s();
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::size_t i = t; i < num_parts; i += 4) {
                EXPECT_EQ(::pwrite(file.fd, data.data(), part_bytes, static_cast<off_t>(i * part_bytes)),
                          static_cast<ssize_t>(part_bytes));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    expect_not_faster("four writes in flight", now_s() - start_s, total_bytes / limit_bytes_s + latency_s);
}

#ifdef HAKOBI_HAVE_URING

/// Moves all parts of the file with `depth` of them in the ring; returns the seconds, negative without
/// io_uring.
double move_by_ring(int fd, std::vector<std::vector<char>>& parts, bool is_write, unsigned depth) {
    io_uring ring{};
    if (::io_uring_queue_init(depth, &ring, 0) < 0) return -1;
    const double start_s = now_s();
    std::size_t num_put = 0, num_done = 0;
    while (num_done < parts.size()) {
        while (num_put < parts.size() && num_put - num_done < depth) {
            io_uring_sqe* entry = ::io_uring_get_sqe(&ring);
            const auto offset = static_cast<std::uint64_t>(num_put * part_bytes);
            if (is_write)
                ::io_uring_prep_write(entry, fd, parts[num_put].data(), part_bytes, offset);
            else
                ::io_uring_prep_read(entry, fd, parts[num_put].data(), part_bytes, offset);
            ::io_uring_sqe_set_data64(entry, num_put++);
        }
        ::io_uring_submit(&ring);
        io_uring_cqe* completion = nullptr;
        if (::io_uring_wait_cqe(&ring, &completion) != 0) continue;
        EXPECT_EQ(completion->res, static_cast<int>(part_bytes)) << "part " << completion->user_data;
        ::io_uring_cqe_seen(&ring, completion);
        ++num_done;
    }
    const double elapsed_s = now_s() - start_s;
    ::io_uring_queue_exit(&ring);
    return elapsed_s;
}

TEST_F(StorageModel, RingsShareTheServersAndKeepTheirBytes) {
    const TestFile file;
    std::vector<std::vector<char>> out, in(num_parts, std::vector<char>(part_bytes));
    for (std::size_t i = 0; i < num_parts; ++i) out.push_back(pattern(part_bytes, static_cast<int>(i)));
    const Counts before = counts();
    const double write_s = move_by_ring(file.fd, out, true, 4);
    if (write_s < 0) GTEST_SKIP() << "the kernel gives no io_uring";
    expect_not_faster("four writes in a ring", write_s, total_bytes / limit_bytes_s + latency_s);
    const double read_s = move_by_ring(file.fd, in, false, 1);
    expect_not_faster("one read in a ring", read_s, total_bytes / limit_bytes_s + num_parts * latency_s);
    EXPECT_TRUE(in == out);
    EXPECT_EQ(counts().bytes_written - before.bytes_written, static_cast<std::int64_t>(total_bytes));
    EXPECT_EQ(counts().num_reads - before.num_reads, static_cast<std::int64_t>(num_parts));
    const TestFile elsewhere("/tmp");
    EXPECT_GE(move_by_ring(elsewhere.fd, out, true, 4), 0);
    EXPECT_EQ(counts().bytes_written - before.bytes_written, static_cast<std::int64_t>(total_bytes))
        << "a file outside the folder was modelled";
}

TEST_F(StorageModel, ARingsErrorComesThrough) {
    io_uring ring{};
    if (::io_uring_queue_init(2, &ring, 0) < 0) GTEST_SKIP() << "the kernel gives no io_uring";
    const TestFile file;
    const int read_only = ::open(file.path.c_str(), O_RDONLY);
    char byte = 1;
    io_uring_sqe* entry = ::io_uring_get_sqe(&ring);
    ::io_uring_prep_write(entry, read_only, &byte, 1, 0);
    ::io_uring_sqe_set_data64(entry, 42);
    ::io_uring_submit(&ring);
    io_uring_cqe* completion = nullptr;
    ASSERT_EQ(::io_uring_wait_cqe(&ring, &completion), 0);
    EXPECT_EQ(completion->res, -EBADF);
    EXPECT_EQ(completion->user_data, 42U);
    ::io_uring_queue_exit(&ring);
    ::close(read_only);
}

#endif

TEST_F(StorageModel, ProcessesShareTheServers) {
    const TestFile file;
    const std::vector<char> data = pattern(part_bytes, 3);
    const double start_s = now_s();
    std::vector<pid_t> children;
    for (std::size_t c = 0; c < 4; ++c) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            bool is_right = true;
            for (std::size_t i = c; i < num_parts; i += 4) {
                is_right &= ::pwrite(file.fd, data.data(), part_bytes, static_cast<off_t>(i * part_bytes)) ==
                            static_cast<ssize_t>(part_bytes);
            }
            ::_exit(is_right ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    expect_not_faster("four processes", now_s() - start_s, total_bytes / limit_bytes_s + latency_s);
}

TEST_F(StorageModel, AsynchronousWritesAreInProgressUntilTheModelHasThem) {
    const TestFile file;
    std::vector<char> data = pattern(part_bytes * num_parts, 4);
    std::vector<aiocb> blocks(num_parts);
    const double start_s = now_s();
    for (std::size_t i = 0; i < num_parts; ++i) {
        blocks[i] = aiocb{};
        blocks[i].aio_fildes = file.fd;
        blocks[i].aio_buf = data.data() + i * part_bytes;
        blocks[i].aio_nbytes = part_bytes;
        blocks[i].aio_offset = static_cast<off_t>(i * part_bytes);
        blocks[i].aio_sigevent.sigev_notify = SIGEV_NONE;
        ASSERT_EQ(::aio_write(&blocks[i]), 0);
    }
    for (std::size_t i = 0; i < num_parts; ++i) {
        const aiocb* one = &blocks[i];
        while (::aio_error(one) == EINPROGRESS) ASSERT_EQ(::aio_suspend(&one, 1, nullptr), 0);
        EXPECT_EQ(::aio_error(one), 0);
        EXPECT_EQ(::aio_return(&blocks[i]), static_cast<ssize_t>(part_bytes));
    }
    expect_not_faster("sixteen AIO writes in flight", now_s() - start_s,
                      total_bytes / limit_bytes_s + latency_s);
    std::vector<char> in(data.size());
    ASSERT_EQ(::pread(file.fd, in.data(), in.size(), 0), static_cast<ssize_t>(in.size()));
    EXPECT_TRUE(in == data);
}

TEST_F(StorageModel, EveryFormOfACallIsModelledOnce) {
    const TestFile file;
    std::array<char, 1000> bytes{};
    std::array<iovec, 2> parts = {{{bytes.data(), 400}, {bytes.data() + 400, 600}}};
    const std::vector<std::pair<const char*, std::function<ssize_t()>>> writes = {
        {"write", [&] { return ::write(file.fd, bytes.data(), 1000); }},
        {"writev", [&] { return ::writev(file.fd, parts.data(), 2); }},
        {"pwrite", [&] { return ::pwrite(file.fd, bytes.data(), 1000, 0); }},
        {"pwrite64", [&] { return ::pwrite64(file.fd, bytes.data(), 1000, 0); }},
        {"pwritev", [&] { return ::pwritev(file.fd, parts.data(), 2, 0); }},
        {"pwritev64", [&] { return ::pwritev64(file.fd, parts.data(), 2, 0); }},
        {"pwritev2", [&] { return ::pwritev2(file.fd, parts.data(), 2, 0, 0); }},
        {"pwritev64v2", [&] { return ::pwritev64v2(file.fd, parts.data(), 2, -1, 0); }},
    };
    for (const auto& [name, call] : writes) {
        const Counts before = counts();
        const double start_s = now_s();
        EXPECT_EQ(call(), 1000) << name;
        EXPECT_GE(now_s() - start_s, 0.999 * latency_s) << name;
        EXPECT_EQ(counts().num_writes, before.num_writes + 1) << name;
        EXPECT_EQ(counts().bytes_written, before.bytes_written + 1000) << name;
        EXPECT_EQ(counts().num_reads, before.num_reads) << name;
    }
    ASSERT_EQ(::lseek(file.fd, 0, SEEK_SET), 0);
    const std::vector<std::pair<const char*, std::function<ssize_t()>>> reads = {
        {"read", [&] { return ::read(file.fd, bytes.data(), 1000); }},
        {"readv", [&] { return ::readv(file.fd, parts.data(), 2); }},
        {"pread", [&] { return ::pread(file.fd, bytes.data(), 1000, 0); }},
        {"pread64", [&] { return ::pread64(file.fd, bytes.data(), 1000, 0); }},
        {"preadv", [&] { return ::preadv(file.fd, parts.data(), 2, 0); }},
        {"preadv64", [&] { return ::preadv64(file.fd, parts.data(), 2, 0); }},
        {"preadv2", [&] { return ::preadv2(file.fd, parts.data(), 2, -1, 0); }},
        {"preadv64v2", [&] { return ::preadv64v2(file.fd, parts.data(), 2, 0, 0); }},
    };
    for (const auto& [name, call] : reads) {
        const Counts before = counts();
        EXPECT_EQ(call(), 1000) << name;
        EXPECT_EQ(counts().num_reads, before.num_reads + 1) << name;
        EXPECT_EQ(counts().bytes_read, before.bytes_read + 1000) << name;
        EXPECT_EQ(counts().num_writes, before.num_writes) << name;
    }
}

TEST_F(StorageModel, PositionsAndAppendingStayAsTheyAre) {
    const TestFile file(folder(), O_APPEND);
    EXPECT_EQ(::write(file.fd, "abc", 3), 3);
    EXPECT_EQ(::lseek(file.fd, 0, SEEK_SET), 0);
    EXPECT_EQ(::write(file.fd, "def", 3), 3);
    EXPECT_EQ(::lseek(file.fd, 0, SEEK_CUR), 6);
    EXPECT_EQ(::lseek(file.fd, 1, SEEK_SET), 1);
    std::array<char, 10> in{};
    EXPECT_EQ(::read(file.fd, in.data(), 10), 5);
    EXPECT_EQ(std::string(in.data(), 5), "bcdef");
    EXPECT_EQ(::read(file.fd, in.data(), 10), 0);
}

TEST_F(StorageModel, ErrorsAndErrnoPass) {
    const TestFile file;
    const Counts before = counts();
    char byte = 0;
    errno = 0;
    EXPECT_EQ(::pread(file.fd, &byte, 1, -5), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(::write(-1, &byte, 1), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(counts().num_reads, before.num_reads);
    errno = 77;
    EXPECT_EQ(::pwrite(file.fd, &byte, 1, 0), 1);
    EXPECT_EQ(errno, 77) << "a call that succeeded has changed errno";
}

TEST_F(StorageModel, FilesElsewherePipesAndNeighboursAreLeftAlone) {
    const std::string neighbour = folder() + "_neighbour";  // the same name up to its end
    std::filesystem::create_directory(neighbour);
    {
        const TestFile outside(std::filesystem::temp_directory_path()), beside(neighbour);
        std::array<int, 2> pipe{};
        ASSERT_EQ(::pipe(pipe.data()), 0);
        const Counts before = counts();
        EXPECT_EQ(::pwrite(outside.fd, "x", 1, 0), 1);
        EXPECT_EQ(::pwrite(beside.fd, "x", 1, 0), 1);
        EXPECT_EQ(::write(pipe[1], "x", 1), 1);
        char byte = 0;
        EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
        EXPECT_EQ(counts().num_writes, before.num_writes);
        EXPECT_EQ(counts().num_reads, before.num_reads);
        ::close(pipe[0]);
        ::close(pipe[1]);
    }
    std::filesystem::remove(neighbour);
}

TEST_F(StorageModel, ADescriptorsNewFileIsLookedAtAnew) {
    const std::string here = folder() + "/reused",
                      there = (std::filesystem::temp_directory_path() / "storage_model_reused").string();
    for (int round = 0; round < 3; ++round) {
        for (const std::string& path : {here, there}) {
            const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0666);
            const Counts before = counts();
            EXPECT_EQ(::write(fd, "x", 1), 1);
            EXPECT_EQ(counts().num_writes - before.num_writes, path == here ? 1 : 0);
            const int copy = ::dup(fd);
            ::close(fd);
            EXPECT_EQ(::write(copy, "x", 1), 1);
            EXPECT_EQ(counts().num_writes - before.num_writes, path == here ? 2 : 0);
            ::close(copy);
        }
    }
    ::unlink(here.c_str());
    ::unlink(there.c_str());
}

TEST_F(StorageModel, AListOfRequestsIsModelledOneByOne) {
    const TestFile file;
    std::array<char, 64> bytes{};
    std::array<aiocb, 3> blocks{};
    std::array<aiocb*, 4> list{};
    for (std::size_t i = 0; i < 3; ++i) {
        blocks[i].aio_fildes = file.fd;
        blocks[i].aio_buf = bytes.data();
        blocks[i].aio_nbytes = bytes.size();
        blocks[i].aio_offset = static_cast<off_t>(64 * i);
        blocks[i].aio_lio_opcode = LIO_WRITE;
        blocks[i].aio_sigevent.sigev_notify = SIGEV_NONE;
        list[i] = &blocks[i];
    }
    const Counts before = counts();
    const double start_s = now_s();
    EXPECT_EQ(::lio_listio(LIO_WAIT, list.data(), 4, nullptr), 0);
    EXPECT_GE(now_s() - start_s, 0.999 * latency_s);
    EXPECT_EQ(counts().num_writes - before.num_writes, 3);
    for (aiocb& block : blocks) EXPECT_EQ(::aio_return(&block), 64);
    struct stat info {};
    ASSERT_EQ(::fstat(file.fd, &info), 0);
    EXPECT_EQ(info.st_size, 192);
}

/// Runs /bin/sh with variables of its own and returns its exit status.
int shell(const std::string& variables, const std::string& command) {
    const int status = std::system((variables + " /bin/sh -c '" + command + "' 2>/dev/null").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(StorageModel, WhatItCannotReadEndsTheProgram) {
    EXPECT_EQ(shell("HAKOBI_STORAGE_MODEL=servers=4", "exit 7"), 7);
    EXPECT_EQ(shell("HAKOBI_STORAGE_MODEL=", "exit 7"), 7);
    EXPECT_EQ(shell("HAKOBI_STORAGE_MODEL=server=4", "exit 7"), 2);
    EXPECT_EQ(shell("HAKOBI_STORAGE_MODEL_PATH=", "exit 7"), 2);
    EXPECT_EQ(shell("HAKOBI_STORAGE_MODEL_STATE=/nonexistent/state", "exit 7"), 2);
}

TEST_F(StorageModel, AProcessReportsWhatItMoved) {
    const TestFile file;
    const std::string report = folder() + "/report." + std::to_string(::getpid());
    const std::string command = "dd if=/dev/zero of=" + file.path + " bs=1000 count=3";
    EXPECT_EQ(shell("HAKOBI_STORAGE_MODEL_REPORT=" + report, command), 0);
    std::ifstream lines(report);
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_NE(line.find("\"num_writes\": 3, \"bytes_written\": 3000"), std::string::npos) << line;
    EXPECT_NE(line.find("\"limit_gb_s\": 2.0"), std::string::npos) << line;
    ::unlink(report.c_str());
}

TEST_F(StorageModel, AProcessTracesWhatServersHadOfItsRequests) {
    const TestFile file;
    const std::string trace = folder() + "/trace." + std::to_string(::getpid());
    const std::string command = "dd if=/dev/zero of=" + file.path + " bs=1000 count=3";
    EXPECT_EQ(shell("HAKOBI_STORAGE_MODEL_TRACE=" + trace, command), 0);
    std::ifstream lines(trace);
    std::string line;
    int num_lines = 0;
    for (long long before_ns = 0; std::getline(lines, line); ++num_lines) {
        int server = -1;
        long long arrival_ns = 0, begin_ns = 0, end_ns = 0;
        const char* const form =
            "{\"server\": %d, \"arrival_ns\": %lld, \"begin_ns\": %lld, \"end_ns\": %lld}";
        ASSERT_EQ(std::sscanf(line.c_str(), form, &server, &arrival_ns, &begin_ns, &end_ns), 4) << line;
        EXPECT_EQ(server, 0);
        EXPECT_LE(before_ns, arrival_ns);
        EXPECT_LE(arrival_ns, begin_ns);
        EXPECT_LT(begin_ns, end_ns);
        before_ns = end_ns;
    }
    EXPECT_EQ(num_lines, 3);
    ::unlink(trace.c_str());
}

TEST_F(StorageModel, TheLastProcessRemovesTheSharedState) {
    const auto num_states = [] {
        return std::ranges::count_if(std::filesystem::directory_iterator("/dev/shm"), [](const auto& entry) {
            return entry.path().filename().string().starts_with("hakobi-storage-model.");
        });
    };
    // Another model than this process's own; both processes of the shell line are gone afterwards.
    const auto before = num_states();
    EXPECT_EQ(shell("HAKOBI_STORAGE_MODEL=servers=3,latency=0", "ls / >/dev/null & wait; exit 7"), 7);
    EXPECT_EQ(num_states(), before);
}

TEST(LongLatency, AClientReadsAheadUntilTheFileIsClosed) {
    constexpr int num_requests = 16;
    constexpr double long_latency_s = 0.25;
    const TestFile file;
    std::vector<char> bytes(num_requests << 10);
    ASSERT_EQ(::pwrite(file.fd, bytes.data(), bytes.size(), 0), std::ssize(bytes));
    const auto read_s = [&](int fd, int first, int last) {
        const double start_s = now_s();
        for (int i = first; i < last; ++i) EXPECT_EQ(::pread(fd, bytes.data(), 1024, i * 1024), 1024);
        return now_s() - start_s;
    };
    const double whole_s = read_s(file.fd, 0, num_requests);
    EXPECT_GE(whole_s, 2 * 0.999 * long_latency_s) << "the first two were not asked for before";
    EXPECT_LT(whole_s, num_requests * long_latency_s / 2) << "one after the other";
    const int again = ::open(("/proc/self/fd/" + std::to_string(file.fd)).c_str(), O_RDONLY);
    ASSERT_GE(again, 0);
    EXPECT_GE(read_s(again, 0, 2), 2 * 0.999 * long_latency_s) << "another descriptor";
    ::close(again);
}

TEST(LongLatency, RequestsInFlightOverlapTheirLatencies) {
    ASSERT_GE(counts().num_reads, 0) << "run under LD_PRELOAD, as CTest does";
    constexpr int num_requests = 8;
    constexpr double long_latency_s = 0.25;
    const TestFile file;
    std::array<char, 512> bytes{};
    std::array<aiocb, num_requests> blocks{};
    const double start_s = now_s();
    for (aiocb& block : blocks) {
        block.aio_fildes = file.fd;
        block.aio_buf = bytes.data();
        block.aio_nbytes = bytes.size();
        block.aio_sigevent.sigev_notify = SIGEV_NONE;
        ASSERT_EQ(::aio_write(&block), 0);
    }
    const double submitted_s = now_s() - start_s;
    EXPECT_EQ(::aio_error(&blocks.back()), EINPROGRESS);
    EXPECT_LT(submitted_s, num_requests * long_latency_s / 2) << "submitting waited for the model";
    const aiocb* last = &blocks.back();
    const timespec short_time{.tv_sec = 0, .tv_nsec = 1000};
    EXPECT_EQ(::aio_suspend(&last, 1, &short_time), -1);
    EXPECT_EQ(errno, EAGAIN);
    for (aiocb& block : blocks) {
        const aiocb* one = &block;
        while (::aio_error(one) == EINPROGRESS) ASSERT_EQ(::aio_suspend(&one, 1, nullptr), 0);
        EXPECT_EQ(::aio_return(&block), 512);
    }
    const double elapsed_s = now_s() - start_s;
    EXPECT_GE(elapsed_s, 0.999 * long_latency_s);
    EXPECT_LT(elapsed_s, num_requests * long_latency_s / 2) << "one after the other";
}

}  // namespace
