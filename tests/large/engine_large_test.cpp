// One rank's single request of more than 4 GiB, in a file of more than 2^31 elements, by every path.
//
// It costs 4.3 GB of memory for the file, which lies on a memory file system and is made once, and some
// seconds. The rest has little memory: what is written comes from pages that nobody touched, what is read
// goes into a few pages mapped again and again, but for marked places around 2^31, 2^32 and the ends, which
// are checked. Where there is less memory, the tests are skipped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "io/engine.hpp"

namespace hakobi::io {
namespace {

constexpr std::int64_t element_bytes = 2, num_rows = 32770, num_columns = 65545;
constexpr std::int64_t row_bytes = num_columns * element_bytes;
constexpr std::int64_t file_bytes = num_rows * row_bytes;
constexpr std::int64_t last_columns = 4;  // rank 1's; the others are rank 0's
static_assert(num_rows * num_columns > std::int64_t{1} << 31);
static_assert(num_rows * (num_columns - last_columns) * element_bytes > std::int64_t{1} << 32);

constexpr std::int64_t needed_bytes = std::int64_t{6} << 30;
constexpr std::int64_t marker_bytes = 41;

/// Addresses without memory: zeros to read.
class Mapping {
  public:
    explicit Mapping(std::int64_t bytes)
        : bytes_(static_cast<std::size_t>(std::max<std::int64_t>(1, bytes))),
          data_(map(nullptr, bytes_, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1)) {}
    ~Mapping() { munmap(data_, bytes_); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    [[nodiscard]] std::byte* data() const { return data_; }

    /// Makes it fit for writing: all addresses share a few pages, except the `places`, marker_bytes long,
    /// which have pages of their own.
    void share_pages_except_at(const std::vector<std::int64_t>& places) {
        constexpr std::size_t shared_bytes = 8 << 20, page_bytes = 4096;
        const int shared = memfd_create("shared", 0);
        if (shared < 0 || ftruncate(shared, shared_bytes) != 0) throw std::bad_alloc();
        for (std::size_t at = 0; at < bytes_; at += shared_bytes) {
            map(data_ + at, std::min(shared_bytes, bytes_ - at), MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                shared);
        }
        close(shared);
        for (const std::int64_t place : places) {
            const std::size_t begin = static_cast<std::size_t>(place) / page_bytes * page_bytes;
            map(data_ + begin, static_cast<std::size_t>(place + marker_bytes) - begin,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
        }
    }

  private:
    static std::byte* map(std::byte* at, std::size_t bytes, int flags, int descriptor) {
        void* mapped = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
        if (mapped == MAP_FAILED) throw std::bad_alloc();
        return static_cast<std::byte*>(mapped);
    }

    std::size_t bytes_;
    std::byte* data_;
};

struct AccessPath {
    const char* name;
    Hints hints;
    int ranks_per_node = 0;
};
void PrintTo(const AccessPath& path, std::ostream* os) {
    *os << path.name;
}

class LargeRequest : public testing::TestWithParam<AccessPath> {
  protected:
    // The file, which all tests share: making its pages takes most of the time.
    static void SetUpTestSuite() {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        std::int64_t facts[2] = {getpid(), std::min(free_memory_bytes(), free_file_bytes())};
        MPI_Bcast(facts, 2, MPI_INT64_T, 0, MPI_COMM_WORLD);
        free_bytes_ = facts[1];
        path_ = folder + std::string("/hakobi_engine_large_") + std::to_string(facts[0]);
        if (rank == 0) descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    }
    static void TearDownTestSuite() {
        if (descriptor_ < 0) return;
        ::unlink(path_.c_str());
        ::close(descriptor_);
    }
    void SetUp() override {
#ifdef __SANITIZE_THREAD__
        GTEST_SKIP() << "the sanitizer keeps several times the memory that a program touches";
#endif
        if (free_bytes_ < needed_bytes)
            GTEST_SKIP() << "needs " << needed_bytes << " free bytes in memory and in " << folder
                         << ", there are " << free_bytes_;
        if (GetParam().ranks_per_node > 0)
            setenv("HAKOBI_RANKS_PER_NODE", std::to_string(GetParam().ranks_per_node).c_str(), 1);
        comm_ = Comm::duplicate(MPI_COMM_WORLD);
        unsetenv("HAKOBI_RANKS_PER_NODE");
    }
    void TearDown() override {
        comm_.free();
    }

    // Rank 0 puts every rank's marked bytes into the file, or zeros in their place.
    void mark_file(bool is_zero) {
        bool is_well = true;
        if (comm_.rank() == 0) {
            is_well = descriptor_ >= 0 && ftruncate(descriptor_, file_bytes) == 0;
            for (int owner = 0; owner < comm_.size(); ++owner) {
                for (const std::int64_t at : markers(owner)) {
                    for (std::int64_t i = at; i < at + marker_bytes; ++i) {
                        const std::byte value = is_zero ? std::byte{0} : value_at(owner, i);
                        is_well = is_well && pwrite(descriptor_, &value, 1, file_offset(owner, i)) == 1;
                    }
                }
            }
        }
        mpi::agree_or_throw(comm_, is_well ? Status() : Status(ErrorCode::io, "the test's file: " + path_));
    }

    static std::int64_t free_memory_bytes() {
        std::ifstream meminfo("/proc/meminfo");
        for (std::string word; meminfo >> word;) {
            std::int64_t kib = 0;
            if (word == "MemAvailable:" && meminfo >> kib) return kib * 1024;
        }
        return 0;
    }
    static std::int64_t free_file_bytes() {
        struct statvfs status {};
        if (statvfs(folder, &status) != 0) return 0;
        return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
    }

    std::unique_ptr<Engine> open_engine(bool write) {
        std::vector<std::string> warnings;
        std::unique_ptr<Engine> engine;
        Engine::open(comm_, {path_, write}, engine_options(GetParam().hints, warnings).value(), engine)
            .throw_if_error();
        return engine;
    }

    // This rank's columns of all rows; ranks after the first two have none.
    [[nodiscard]] std::int64_t first_column(int rank) const {
        return rank == 0 ? 0 : num_columns - last_columns;
    }
    [[nodiscard]] std::int64_t columns_of(int rank) const {
        return rank == 0 ? num_columns - last_columns : rank == 1 ? last_columns : 0;
    }
    [[nodiscard]] std::int64_t request_bytes(int rank) const {
        return num_rows * columns_of(rank) * element_bytes;
    }
    [[nodiscard]] Region file_region(int rank) const {
        const std::vector<std::int64_t> sizes{num_rows, num_columns}, start{0, first_column(rank)},
            count{num_rows, columns_of(rank)};
        return columns_of(rank) == 0 ? Region() : Region::subarray(0, sizes, start, count, element_bytes);
    }
    [[nodiscard]] std::int64_t file_offset(int rank, std::int64_t in_request) const {
        const std::int64_t width = columns_of(rank) * element_bytes;
        return in_request / width * row_bytes + first_column(rank) * element_bytes + in_request % width;
    }

    // Places in a rank's request that are not zero, of marker_bytes each; some lie across a row's end.
    [[nodiscard]] std::vector<std::int64_t> markers(int rank) const {
        constexpr std::int64_t gib = std::int64_t{1} << 30;
        std::vector<std::int64_t> places;
        for (const std::int64_t at :
             {std::int64_t{0}, 2 * gib - 3, 2 * gib + 70, 3 * gib, 4 * gib - marker_bytes, 4 * gib + 9,
              request_bytes(rank) - marker_bytes}) {
            if (at >= 0 && at + marker_bytes <= request_bytes(rank)) places.push_back(at);
        }
        return places;
    }
    static std::byte value_at(int rank, std::int64_t in_request) {
        return static_cast<std::byte>(1 + (in_request / 7 + 31 * rank + (in_request >> 31) * 11) % 255);
    }

    static constexpr const char* folder = "/dev/shm";
    static inline std::string path_;
    static inline std::int64_t free_bytes_ = 0;
    static inline int descriptor_ = -1;  // rank 0's
    Comm comm_;
};

TEST_P(LargeRequest, ArrivesInTheFileWhereItBelongs) {
    const int rank = comm_.rank();
    mark_file(true);
    const Mapping source(request_bytes(rank));
    for (const std::int64_t at : markers(rank)) {
        for (std::int64_t i = at; i < at + marker_bytes; ++i) source.data()[i] = value_at(rank, i);
    }
    auto engine = open_engine(true);
    engine->write_all(file_region(rank), source.data(), Region::contiguous(0, request_bytes(rank)))
        .throw_if_error();
    EXPECT_EQ(engine->counters().user_bytes, request_bytes(rank));
    engine->close().throw_if_error();
    if (rank != 0) return;

    EXPECT_EQ(lseek(descriptor_, 0, SEEK_END), file_bytes);
    std::int64_t num_marked = 0;
    for (int owner = 0; owner < comm_.size(); ++owner) {
        for (const std::int64_t at : markers(owner)) {
            for (std::int64_t i = at; i < at + marker_bytes; ++i, ++num_marked) {
                std::byte found{0};
                ASSERT_EQ(pread(descriptor_, &found, 1, file_offset(owner, i)), 1);
                ASSERT_EQ(found, value_at(owner, i)) << "rank " << owner << "'s byte " << i;
            }
        }
    }
    // No marked byte lies where it does not belong: what is not zero is as many bytes as were marked.
    std::int64_t num_found = 0;
    std::vector<std::byte> block(4 << 20);
    for (std::int64_t at = 0, length = 0; at < file_bytes; at += length) {
        length = pread(descriptor_, block.data(), block.size(), at);
        ASSERT_GT(length, 0);
        // Compared with itself one byte on: fast, and without a second buffer.
        const auto size = static_cast<std::size_t>(length);
        if (block[0] == std::byte{0} && std::memcmp(block.data(), block.data() + 1, size - 1) == 0) continue;
        num_found += length - std::count(block.begin(), block.begin() + length, std::byte{0});
    }
    EXPECT_EQ(num_found, num_marked);
}

TEST_P(LargeRequest, ArrivesInMemoryWhereItBelongs) {
    const int rank = comm_.rank();
    mark_file(false);
    Mapping target(request_bytes(rank));
    target.share_pages_except_at(markers(rank));
    auto engine = open_engine(false);
    std::int64_t bytes_read = 0;
    engine->read_all(file_region(rank), target.data(), Region::contiguous(0, request_bytes(rank)), bytes_read)
        .throw_if_error();
    engine->close().throw_if_error();
    EXPECT_EQ(bytes_read, request_bytes(rank));
    for (const std::int64_t at : markers(rank)) {
        for (std::int64_t i = at; i < at + marker_bytes; ++i)
            ASSERT_EQ(target.data()[i], value_at(rank, i)) << "byte " << i;
    }
}

const AccessPath access_paths[] = {
    {"direct", {{"hakobi_shuffle", "never"}}},
    {"shuffled", {{"hakobi_shuffle", "always"}}},
    {"between_nodes", {{"hakobi_shuffle", "always"}}, 1},
};
INSTANTIATE_TEST_SUITE_P(All, LargeRequest, testing::ValuesIn(access_paths),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hakobi::io
