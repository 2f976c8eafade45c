// What every File and every Access promises (file.hpp, access.hpp), held against all of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "storage/access.hpp"
#include "storage/faulty.hpp"
#include "storage/file.hpp"

namespace hakobi::storage {
namespace {

constexpr OpenMode creating = {.read = true, .write = true, .create = true, .truncate = true};

struct FreeAligned {
    void operator()(std::byte* address) const { std::free(address); }
};

/// Memory that O_DIRECT takes.
class Buffer {
  public:
    explicit Buffer(std::size_t bytes, unsigned seed = 0)
        : bytes_(bytes),
          data_(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) {
        for (std::size_t i = 0; i < bytes; ++i) data_.get()[i] = value(i, seed);
    }
    /// Differs from its neighbours and from other seeds; never 0, which holes read as.
    static std::byte value(std::size_t i, unsigned seed) {
        return std::byte((i * 7 + i / 251 + seed * 31) % 255 + 1);
    }
    std::byte* data() { return data_.get(); }
    std::span<std::byte> span() { return {data_.get(), bytes_}; }

  private:
    std::size_t bytes_;
    std::unique_ptr<std::byte, FreeAligned> data_;
};

/// A backend under test: the prefix of the file's name, and whether it is opened with O_DIRECT.
struct Backend {
    std::string name;
    std::string prefix;
    bool is_direct = false;
    bool is_under_fault = false;
};

void PrintTo(const Backend& backend, std::ostream* out) {
    *out << backend.name;
}

const std::vector<Backend>& backends() {
    static const std::vector<Backend> all = {
        {"posix", "posix:"},
        {"direct", "", true},
        {"null", "null:"},
        {"memory", "memory:"},
        {"throttled", "throttled:servers=3,bandwidth=20000,latency=10us,stripe=4K:"},
        {"throttled_memory", "throttled:bandwidth=20000,latency=0:memory:"},
        {"faulty", "", false, true},
    };
    return all;
}

/// A file of its own for each test, removed afterwards, also where the test failed.
class OpenedFile {
  public:
    explicit OpenedFile(const Backend& backend) : backend_(backend) {
        // A fault that never fires decorates the file all the same.
        if (backend.is_under_fault) arm_fault({.operation = FileOperation::write, .nth = 1'000'000'000});
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        std::string name = std::string(test->name()) + "." + std::to_string(::getpid());
        std::ranges::replace(name, '/', '.');
        path_ = backend.prefix + (std::filesystem::current_path() / ("storage." + name)).string();
        mode_ = creating;
        mode_.direct = backend.is_direct;
        reopen();
        mode_.create = mode_.truncate = false;
    }
    ~OpenedFile() {
        (void)file_->close();
        EXPECT_TRUE(remove_file(path_).ok());
        disarm_fault();
    }
    void reopen() {
        Result<FilePtr> opened = open_file(path_, mode_);
        if (!opened.ok()) throw std::runtime_error(opened.status().text());
        file_ = std::move(opened).value();
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    File& operator*() { return *file_; }
    File* operator->() { return file_.get(); }

  private:
    Backend backend_;
    std::string path_;
    OpenMode mode_;
    FilePtr file_;
};

bool is_all(std::span<const std::byte> data, std::byte value) {
    return std::ranges::all_of(data, [&](std::byte b) { return b == value; });
}

class FileContract : public ::testing::TestWithParam<Backend> {};

TEST_P(FileContract, ReadsBackWhatWasWritten) {
    OpenedFile file(GetParam());
    Buffer out(70'001, 1), in(70'001, 2);
    ASSERT_TRUE(file->write_at(out.span(), 12'345).ok());
    EXPECT_EQ(file->size_bytes().value(), 12'345 + 70'001);
    ASSERT_EQ(file->read_at(in.span(), 12'345).value(), 70'001);
    EXPECT_EQ(std::ranges::equal(in.span(), out.span()), file->keeps_data());
}

TEST_P(FileContract, KeepsBytesOverClose) {
    OpenedFile file(GetParam());
    if (!file->keeps_data()) GTEST_SKIP() << "keeps nothing";
    Buffer out(8192, 3), in(8192, 4);
    ASSERT_TRUE(file->write_at(out.span(), 0).ok());
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(file->close().ok());
    file.reopen();
    ASSERT_EQ(file->read_at(in.span(), 0).value(), 8192);
    EXPECT_TRUE(std::ranges::equal(in.span(), out.span()));
}

TEST_P(FileContract, HolesReadAsZeros) {
    OpenedFile file(GetParam());
    Buffer out(4096, 5), in(3 * 4096, 6);
    ASSERT_TRUE(file->write_at(out.span(), 2 * 4096).ok());
    ASSERT_EQ(file->read_at(in.span(), 0).value(), 3 * 4096);
    EXPECT_TRUE(is_all(in.span().first(2 * 4096), std::byte{0}));
}

TEST_P(FileContract, ReadsShortAtTheEnd) {
    OpenedFile file(GetParam());
    if (!file->keeps_data()) GTEST_SKIP() << "reads zeros everywhere";
    Buffer out(5000, 7), in(8192, 8);
    ASSERT_TRUE(file->write_at(out.span(), 0).ok());
    ASSERT_EQ(file->read_at(in.span(), 0).value(), 5000);
    EXPECT_EQ(in.span()[5000], Buffer::value(5000, 8)) << "touched a byte that the file does not have";
    EXPECT_EQ(file->read_at(in.span(), 4096).value(), 904);
    EXPECT_EQ(file->read_at(in.span(), 5000).value(), 0);
    EXPECT_EQ(file->read_at(in.span(), 1 << 20).value(), 0);
}

TEST_P(FileContract, UnalignedNeighboursStayAsTheyAre) {
    OpenedFile file(GetParam());
    if (!file->keeps_data()) GTEST_SKIP() << "keeps nothing";
    Buffer out(40'000, 9), patch(20'000, 10), in(40'000, 11);
    ASSERT_TRUE(file->write_at(out.span(), 0).ok());
    ASSERT_TRUE(
        file->write_at(patch.span().subspan(100, 19'000), 4096 + 100).ok());  // aligned beyond its head
    ASSERT_TRUE(file->write_at(patch.span().subspan(3, 11), 30'001).ok());
    std::ranges::copy(patch.span().subspan(100, 19'000), out.data() + 4096 + 100);
    std::ranges::copy(patch.span().subspan(3, 11), out.data() + 30'001);
    ASSERT_EQ(file->read_at(in.span(), 0).value(), 40'000);
    EXPECT_TRUE(std::ranges::equal(in.span(), out.span()));
}

TEST_P(FileContract, SizeFollowsSetSizeAndPreallocate) {
    OpenedFile file(GetParam());
    Buffer out(10'000, 12), in(20'000, 13);
    ASSERT_TRUE(file->write_at(out.span(), 0).ok());
    ASSERT_TRUE(file->preallocate(5'000).ok());
    EXPECT_EQ(file->size_bytes().value(), 10'000);
    ASSERT_TRUE(file->preallocate(20'000).ok());
    EXPECT_EQ(file->size_bytes().value(), 20'000);
    ASSERT_TRUE(file->set_size(6'001).ok());
    EXPECT_EQ(file->size_bytes().value(), 6'001);
    ASSERT_TRUE(file->set_size(20'000).ok());
    EXPECT_EQ(file->size_bytes().value(), 20'000);
    ASSERT_EQ(file->read_at(in.span(), 0).value(), 20'000);
    EXPECT_TRUE(is_all(in.span().subspan(6'001), std::byte{0}));
    if (file->keeps_data()) {
        EXPECT_TRUE(std::ranges::equal(in.span().first(6'001), out.span().first(6'001)));
    }
}

TEST_P(FileContract, RefusesNegativeOffsetsAndSizes) {
    OpenedFile file(GetParam());
    Buffer data(16);
    EXPECT_FALSE(file->write_at(data.span(), -1).ok());
    EXPECT_FALSE(file->read_at(data.span(), -1).ok());
    EXPECT_FALSE(file->set_size(-1).ok());
    EXPECT_FALSE(file->preallocate(-1).ok());
    EXPECT_FALSE(file->write_at(data.span(), INT64_MAX - 3).ok());
}

TEST_P(FileContract, NothingIsMovedByAnEmptyTransfer) {
    OpenedFile file(GetParam());
    EXPECT_TRUE(file->write_at({}, 100).ok());
    EXPECT_EQ(file->read_at({}, 100).value(), 0);
    EXPECT_EQ(file->size_bytes().value(), 0);
}

TEST_P(FileContract, OpeningSaysWhatIsThere) {
    OpenedFile file(GetParam());
    if (!file->keeps_data()) GTEST_SKIP() << "has no names";
    EXPECT_EQ(open_file(file.path(), {.write = true, .create = true, .exclusive = true}).status().code(),
              ErrorCode::exists);
    EXPECT_EQ(open_file(file.path() + ".missing", {}).status().code(), ErrorCode::not_found);
    EXPECT_EQ(remove_file(file.path() + ".missing").code(), ErrorCode::not_found);
    EXPECT_EQ(open_file(file.path(), {.read = false, .write = false}).status().code(),
              ErrorCode::invalid_argument);
}

TEST_P(FileContract, AFileOpenedForReadingIsNotWritten) {
    OpenedFile file(GetParam());
    if (!file->keeps_data()) GTEST_SKIP() << "has nothing to protect";
    Result<FilePtr> reader = open_file(file.path(), {.read = true, .write = false});
    ASSERT_TRUE(reader.ok());
    Buffer data(16);
    EXPECT_FALSE(reader.value()->write_at(data.span(), 0).ok());
    EXPECT_EQ(file->size_bytes().value(), 0);
}

TEST_P(FileContract, RenamingReplacesAndKeepsOpenFilesOpen) {
    OpenedFile file(GetParam());
    if (!file->keeps_data()) GTEST_SKIP() << "has no names";
    const std::string other = file.path() + ".other";
    ASSERT_TRUE(open_file(other, creating).ok());
    ASSERT_TRUE(rename_file(file.path(), other).ok());
    Buffer out(100, 14), in(100, 15);
    ASSERT_TRUE(file->write_at(out.span(), 0).ok());
    ASSERT_TRUE(rename_file(other, file.path()).ok());
    file.reopen();
    ASSERT_EQ(file->read_at(in.span(), 0).value(), 100);
    EXPECT_TRUE(std::ranges::equal(in.span(), out.span()));
}

TEST_P(FileContract, ThreadsWriteAndReadOneFileAtOnce) {
    OpenedFile file(GetParam());
    constexpr int num_threads = 4, num_rounds = 8;
    constexpr std::int64_t part = 9'001;
    std::atomic<int> num_wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < num_threads; ++t) {
        threads.emplace_back([&, t] {
            Buffer in(part);
            for (int round = 0; round < num_rounds; ++round) {
                Buffer out(part, static_cast<unsigned>(t * num_rounds + round));
                const std::int64_t offset = (round * num_threads + t) * part;
                if (!file->write_at(out.span(), offset).ok()) ++num_wrong;
                const Result<std::int64_t> bytes = file->read_at(in.span(), offset);
                if (!bytes.ok() || bytes.value() != part) ++num_wrong;
                if (file->keeps_data() && !std::ranges::equal(in.span(), out.span())) ++num_wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(num_wrong, 0);
    EXPECT_EQ(file->size_bytes().value(), num_threads * num_rounds * part);
}

TEST_P(FileContract, OffsetsBeyondFourGigabytesAreSparse) {
    OpenedFile file(GetParam());
    constexpr std::int64_t far = 5LL << 30;
    Buffer out(4096, 16), in(8192, 17);
    ASSERT_TRUE(file->write_at(out.span(), far).ok());
    EXPECT_EQ(file->size_bytes().value(), far + 4096);
    ASSERT_EQ(file->read_at(in.span(), far - 4096).value(), 8192);
    EXPECT_TRUE(is_all(in.span().first(4096), std::byte{0}));
    EXPECT_EQ(std::ranges::equal(in.span().subspan(4096), out.span()), file->keeps_data());
}

INSTANTIATE_TEST_SUITE_P(All, FileContract, ::testing::ValuesIn(backends()),
                         [](const auto& param_info) { return param_info.param.name; });

/// Every backend by every access.
class AccessContract : public ::testing::TestWithParam<std::tuple<Backend, std::string>> {
  protected:
    static const Backend& backend() { return std::get<0>(GetParam()); }

    /// Null, with the test skipped, where this kernel has no such access.
    static std::unique_ptr<Access> make(File& file, std::vector<std::span<std::byte>> buffers = {}) {
        const std::string& name = std::get<1>(GetParam());
        Result<std::unique_ptr<Access>> access = make_access(
            file, {.name = name, .num_threads = 3, .queue_depth = 4, .buffers = std::move(buffers)});
        if (access.ok()) {
            EXPECT_EQ(access.value()->name(), name);
            return std::move(access).value();
        }
        EXPECT_EQ(name, "uring") << access.status().text();
        EXPECT_EQ(access.status().code(), ErrorCode::unsupported);
        EXPECT_FALSE(access.status().text().empty());
        return nullptr;
    }
};

#define MAKE_OR_SKIP(access, ...)          \
    const auto access = make(__VA_ARGS__); \
    if (!access) GTEST_SKIP() << "this kernel has no such access"

void count_done(Request& request) {
    ++*static_cast<std::atomic<int>*>(request.context);
}

TEST_P(AccessContract, ExtentsInAnyOrderAreReadBack) {
    OpenedFile file(backend());
    Buffer out(64 * 1024, 20), in(64 * 1024, 21);
    MAKE_OR_SKIP(access, *file, {out.span(), in.span()});
    std::atomic<int> num_done = 0;
    // Backwards in the file, forwards in the buffer, with a hole, an empty one and one that no alignment
    // suits.
    const std::vector<Extent> extents = {{0, 49'152, 16'384},
                                         {16'384, 20'480, 8'192},
                                         {24'576, 0, 0},
                                         {24'576, 4'097, 1'001},
                                         {28'672, 0, 4'096}};
    Request write{
        .is_write = true, .buffer = out.data(), .extents = extents, .done = count_done, .context = &num_done};
    access->submit(write);
    access->drain();
    ASSERT_TRUE(write.status.ok()) << write.status.text();
    EXPECT_EQ(write.transferred_bytes, 16'384 + 8'192 + 1'001 + 4'096);
    EXPECT_LE(write.start_s, write.end_s);
    EXPECT_GT(write.start_s, 0);
    Request read{.buffer = in.data(), .extents = extents, .done = count_done, .context = &num_done};
    access->submit(read);
    access->drain();
    ASSERT_TRUE(read.status.ok()) << read.status.text();
    EXPECT_EQ(read.transferred_bytes, write.transferred_bytes);
    EXPECT_EQ(num_done, 2);
    for (const Extent& extent : extents) {
        const auto at = static_cast<std::size_t>(extent.buffer_bytes),
                   length = static_cast<std::size_t>(extent.length_bytes);
        if (file->keeps_data()) {
            EXPECT_TRUE(std::ranges::equal(in.span().subspan(at, length), out.span().subspan(at, length)));
        }
    }
    EXPECT_EQ(in.span()[26'000], Buffer::value(26'000, 21)) << "touched the buffer between extents";
}

TEST_P(AccessContract, AlignedExtentsAreReadBack) {
    OpenedFile file(backend());
    Buffer out(256 * 1024, 22), in(256 * 1024, 23);
    MAKE_OR_SKIP(access, *file, {out.span(), in.span()});
    std::vector<Extent> extents;
    for (int i = 15; i >= 0; --i) extents.push_back({i * 16'384, (i * 7 % 16) * 16'384, 16'384});
    for (const bool is_write : {true, false}) {
        Request request{
            .is_write = is_write, .buffer = is_write ? out.data() : in.data(), .extents = extents};
        access->submit(request);
        access->drain();
        ASSERT_TRUE(request.status.ok()) << request.status.text();
        EXPECT_EQ(request.transferred_bytes, 256 * 1024);
    }
    EXPECT_EQ(std::ranges::equal(in.span(), out.span()), file->keeps_data());
}

TEST_P(AccessContract, ReadsShortAtTheEnd) {
    OpenedFile file(backend());
    if (!file->keeps_data()) GTEST_SKIP() << "reads zeros everywhere";
    Buffer out(10'000, 24), in(3 * 8'192, 25);
    ASSERT_TRUE(file->write_at(out.span(), 0).ok());
    MAKE_OR_SKIP(access, *file);
    Request read{.buffer = in.data(),
                 .extents = {{16'384, 65'536, 8'192}, {8'192, 8'192, 8'192}, {0, 0, 8'192}}};
    access->submit(read);
    access->drain();
    ASSERT_TRUE(read.status.ok()) << read.status.text();
    EXPECT_EQ(read.transferred_bytes, 10'000);
    EXPECT_TRUE(std::ranges::equal(in.span().first(10'000), out.span()));
    EXPECT_EQ(in.span()[10'000], Buffer::value(10'000, 25));
    EXPECT_EQ(in.span()[16'384], Buffer::value(16'384, 25));
}

TEST_P(AccessContract, NothingToMoveIsDoneAtOnce) {
    OpenedFile file(backend());
    MAKE_OR_SKIP(access, *file);
    std::atomic<int> num_done = 0;
    Request none{.is_write = true, .done = count_done, .context = &num_done};
    access->submit(none);
    access->drain();
    EXPECT_EQ(num_done, 1);
    EXPECT_TRUE(none.status.ok());
    EXPECT_EQ(file->size_bytes().value(), 0);
}

TEST_P(AccessContract, TheFirstErrorIsKeptAndTheRestIsNotMoved) {
    OpenedFile file(backend());
    Buffer data(8'192, 26);
    MAKE_OR_SKIP(access, *file);
    Request write{.is_write = true,
                  .buffer = data.data(),
                  .extents = {{0, 0, 4'096}, {0, -4'096, 4'096}, {4'096, 8'192, 4'096}}};
    access->submit(write);
    access->drain();
    EXPECT_EQ(write.status.code(), ErrorCode::invalid_argument);
    EXPECT_LE(file->size_bytes().value(), 4'096);
    // The access goes on after an error.
    Request next{.is_write = true, .buffer = data.data(), .extents = {{0, 0, 8'192}}};
    access->submit(next);
    access->drain();
    EXPECT_TRUE(next.status.ok());
    EXPECT_EQ(file->size_bytes().value(), 8'192);
}

TEST_P(AccessContract, AnErrorOfTheStorageReachesTheRequest) {
    OpenedFile file(backend());
    if (!file->keeps_data()) GTEST_SKIP() << "takes everything";
    Result<FilePtr> reader = open_file(file.path(), {.read = true, .direct = backend().is_direct});
    ASSERT_TRUE(reader.ok());
    Buffer data(4'096, 27);
    MAKE_OR_SKIP(access, *reader.value());
    Request write{.is_write = true, .buffer = data.data(), .extents = {{0, 0, 4'096}}};
    access->submit(write);
    access->drain();
    EXPECT_FALSE(write.status.ok());
    EXPECT_NE(write.status.text().find("cannot write"), std::string::npos) << write.status.text();
    EXPECT_EQ(file->size_bytes().value(), 0);
}

/// A request that submits itself again until `left` is used up.
struct Chain {
    Access* access;
    std::atomic<int> left;
};
void submit_again(Request& request) {
    Chain& chain = *static_cast<Chain*>(request.context);
    if (chain.left.fetch_sub(1) <= 1) return;
    request.extents.front().file_bytes += request.extents.front().length_bytes;
    chain.access->submit(request);
}

TEST_P(AccessContract, DoneMaySubmitAgain) {
    OpenedFile file(backend());
    Buffer data(4'096, 28);
    MAKE_OR_SKIP(access, *file);
    constexpr int num_links = 2'000;  // deep enough to overflow a stack that nests them with their frames
    Chain chain{access.get(), num_links};
    Request request{.is_write = true,
                    .buffer = data.data(),
                    .extents = {{0, 0, 16}},
                    .done = submit_again,
                    .context = &chain};
    access->submit(request);
    access->drain();
    EXPECT_LE(chain.left, 0);
    EXPECT_EQ(file->size_bytes().value(), num_links * 16);
}

TEST_P(AccessContract, ManyThreadsSubmitMoreThanTheQueueHolds) {
    OpenedFile file(backend());
    constexpr int num_threads = 3, num_requests = 24;
    constexpr std::int64_t part = 8'192;
    Buffer out(num_threads * num_requests * part, 29), in(num_threads * num_requests * part, 30);
    MAKE_OR_SKIP(access, *file, {out.span()});
    std::atomic<int> num_done = 0;
    for (const bool is_write : {true, false}) {
        std::vector<Request> requests(num_threads * num_requests);
        std::vector<std::thread> threads;
        for (int t = 0; t < num_threads; ++t) {
            // The submitting thread ends before its requests do.
            threads.emplace_back([&, t] {
                for (int i = 0; i < num_requests; ++i) {
                    const std::int64_t at = (i * num_threads + t) * part;
                    Request& request = requests[static_cast<std::size_t>(t * num_requests + i)];
                    request.is_write = is_write;
                    request.buffer = is_write ? out.data() : in.data();
                    request.extents = {{at, at, part / 2}, {at + part / 2, at + part / 2, part / 2}};
                    request.done = count_done;
                    request.context = &num_done;
                    access->submit(request);
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        access->drain();
        for (const Request& request : requests) {
            EXPECT_TRUE(request.status.ok()) << request.status.text();
            EXPECT_EQ(request.transferred_bytes, part);
        }
    }
    EXPECT_EQ(num_done, 2 * num_threads * num_requests);
    EXPECT_EQ(std::ranges::equal(in.span(), out.span()), file->keeps_data());
}

TEST_P(AccessContract, DestructionWaitsForWhatIsPending) {
    OpenedFile file(backend());
    Buffer data(65'536, 31);
    std::atomic<int> num_done = 0;
    std::vector<Request> requests(8);
    {
        MAKE_OR_SKIP(access, *file);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i) * 8'192;
            requests[i] = {.is_write = true,
                           .buffer = data.data(),
                           .extents = {{at, at, 8'192}},
                           .done = count_done,
                           .context = &num_done};
            access->submit(requests[i]);
        }
    }
    EXPECT_EQ(num_done, 8);
    EXPECT_EQ(file->size_bytes().value(), 65'536);
}

TEST_P(AccessContract, IdleMakingAndDrainingIsHarmless) {
    OpenedFile file(backend());
    MAKE_OR_SKIP(access, *file);
    EXPECT_FALSE(access->storage_blocks());
    access->drain();
}

INSTANTIATE_TEST_SUITE_P(All, AccessContract,
                         ::testing::Combine(::testing::ValuesIn(backends()),
                                            ::testing::Values("posix", "threads", "uring")),
                         [](const auto& param_info) {
                             return std::get<0>(param_info.param).name + "_by_" +
                                    std::get<1>(param_info.param);
                         });

}  // namespace
}  // namespace hakobi::storage
