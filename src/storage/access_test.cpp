// The contract of access.hpp, held against every backend by every access.
#include "storage/access.hpp"

#include <atomic>
#include <thread>
#include <tuple>

#include "storage/contract.hpp"

namespace hakobi::storage::contract {
namespace {

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
        if (file->abilities().keeps_data) {
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
    EXPECT_EQ(std::ranges::equal(in.span(), out.span()), file->abilities().keeps_data);
}

TEST_P(AccessContract, ReadsShortAtTheEnd) {
    OpenedFile file(backend());
    if (!file->abilities().keeps_data) GTEST_SKIP() << "reads zeros everywhere";
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
    if (!file->abilities().keeps_data) GTEST_SKIP() << "takes everything";
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
    EXPECT_EQ(std::ranges::equal(in.span(), out.span()), file->abilities().keeps_data);
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
    EXPECT_GE(access->thread_limit(), 1);
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
}  // namespace hakobi::storage::contract
