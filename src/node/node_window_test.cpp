#include "node/node_window.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace hakobi::node {
namespace {

constexpr std::int64_t window_bytes = (std::int64_t{3} << 20) + 12345;

long num_faults() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/// Whether the kernel knows the call, and the memory is a file of the memory file system.
bool can_map_ahead(const std::byte* data) {
#ifdef MADV_POPULATE_READ
    alignas(4096) static std::byte page[4096];
    if (::madvise(page, sizeof page, MADV_POPULATE_READ) != 0) return false;
#endif
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long begin = 0, end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
        const auto at = reinterpret_cast<unsigned long>(data);
        if (at >= begin && at < end)
            return line.find("/dev/shm/") != std::string::npos || line.find("/SYSV") != std::string::npos ||
                   line.find("/memfd:") != std::string::npos;
    }
    return false;
}

struct Window {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    NodeWindow memory;
    Window() { EXPECT_TRUE(NodeWindow::allocate(comm, window_bytes, memory).ok()); }
    ~Window() {
        memory.free();
        comm.free();
    }
};

TEST(NodeWindow, MoreThanTheMachineHasIsTheSameErrorOnAllRanks) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    NodeWindow window;
    EXPECT_EQ(NodeWindow::allocate(comm, std::int64_t{1} << 55, window).code(), ErrorCode::out_of_memory);
    EXPECT_EQ(window.data(), nullptr);
    comm.free();
}

TEST(NodeWindow, MappingPagesChangesNothingInThem) {
    Window window;
    const int rank = window.comm.node_rank(), size = window.comm.node_size();
    std::byte* const data = window.memory.data();
    if (rank == 0) std::memset(data, 7, window_bytes);
    NodeWindow::barrier(window.comm);
    // Ends that lie on no page, parts that are empty, what is mapped already.
    window.memory.map_pages(data, window_bytes, rank, size);
    window.memory.map_pages(data + 1, 1, 0, 1);
    window.memory.map_pages(data + window_bytes - 1, 1, size - 1, size);
    window.memory.map_pages(data, 0, 0, 1);
    EXPECT_EQ(data[0], std::byte{7});
    EXPECT_EQ(data[window_bytes - 1], std::byte{7});
    NodeWindow::barrier(window.comm);
    data[100000 + rank] = std::byte(rank);
    NodeWindow::barrier(window.comm);
    for (int r = 0; r < size; ++r) EXPECT_EQ(data[100000 + r], std::byte(r));
}

TEST(NodeWindow, MappedPagesAreWrittenWithoutFaults) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer's notes about each page are pages too";
#endif
    Window window;
    std::byte* const data = window.memory.data();
    if (window.comm.node_rank() == 0) std::memset(data, 0, window_bytes);
    NodeWindow::barrier(window.comm);
    window.memory.map_pages(data, window_bytes, window.comm.node_rank(), window.comm.node_size());
    const long mapped = num_faults();
    for (std::int64_t at = 0; at < window_bytes; at += 4096) data[at] = std::byte{1};
    const long written = num_faults() - mapped;
    NodeWindow::barrier(window.comm);
    if (!can_map_ahead(data)) GTEST_SKIP() << "this kernel maps no pages in advance";
    EXPECT_LT(written, 100);
}

// Nobody has written to them before: a rank takes its own part first, then maps what the others have taken.
TEST(NodeWindow, PagesThatNobodyHadAreMappedOnAllRanksWithFewFaults) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer's notes about each page are pages too";
#endif
    Window window;
    std::byte* const data = window.memory.data();
    if (!can_map_ahead(data)) GTEST_SKIP() << "this kernel maps no pages in advance";
    const int rank = window.comm.node_rank(), size = window.comm.node_size();
    window.memory.map_pages(data, window_bytes, rank, size);
    NodeWindow::barrier(window.comm);
    const long before = num_faults();
    for (std::int64_t at = rank; at < window_bytes; at += 4096) data[at] = std::byte(rank + 1);
    const long faults = num_faults() - before;
    NodeWindow::barrier(window.comm);
    EXPECT_LT(faults, 100);
    for (int r = 0; r < size; ++r) EXPECT_EQ(data[4096 + r], std::byte(r + 1));
}

TEST(NodeWindow, GivesItsMemoryBackAndKeepsNoDescriptor) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const auto num_descriptors = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    const auto num_mapped = [] {
        std::ifstream maps("/proc/self/maps");
        int num = 0;
        for (std::string line; std::getline(maps, line);)
            num += line.find("/memfd:hakobi") != std::string::npos;
        return num;
    };
    const auto descriptors = num_descriptors();
    const int mapped = num_mapped();  // by the Comm, whose ranks share cores
    NodeWindow window;
    ASSERT_TRUE(NodeWindow::allocate(comm, window_bytes, window).ok());
    EXPECT_EQ(num_mapped(), mapped + 1);
    EXPECT_EQ(num_descriptors(), descriptors);
    NodeWindow::barrier(comm);
    window.free();
    EXPECT_EQ(num_mapped(), mapped);
    EXPECT_EQ(window.data(), nullptr);
    Comm(comm).free();
}

}  // namespace
}  // namespace hakobi::node
