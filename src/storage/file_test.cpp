// The contract of file.hpp, held against every backend.
#include <atomic>
#include <thread>

#include "storage/contract.hpp"

namespace hakobi::storage::contract {
namespace {

class FileContract : public ::testing::TestWithParam<Backend> {};

TEST(Address, IsAWordBeforeTwoSlashes) {
    EXPECT_EQ(scheme_of_address("gs://b/run"), "gs");
    EXPECT_EQ(scheme_of_address("a+b.c-1://x"), "a+b.c-1");
    for (const char* path :
         {"run", "./gs://b", "gs:/b", "gs:b", "://b", "1s://b", "a b://c", "ü://c", "out/gs://b", ""})
        EXPECT_EQ(scheme_of_address(path), "") << path;
}

TEST(Address, OfOtherStorageIsUnsupported) {
    for (const char* path : {"run", "./gs://b", "gs:b", "s3://b/run", "rados://p/run", "memory://x",
                             "posix:///tmp/x", "null://x", "rados:p/run", "12:00"})
        EXPECT_TRUE(check_address(path).ok()) << path;
    for (const char* path :
         {"gs://b/run", "S3://b/run", "http://h/x", "file:///tmp", "nfs://server/x", "posix:gs://b"})
        EXPECT_EQ(check_address(path).code(), ErrorCode::unsupported) << path;
    EXPECT_EQ(
        check_address("gs://b/run").text(),
        "gs://b/run: there is no storage 'gs' here: give a path, rados:pool/prefix or s3://bucket/prefix");
}

TEST_P(FileContract, ReadsBackWhatWasWritten) {
    OpenedFile file(GetParam());
    Buffer out(70'001, 1), in(70'001, 2);
    ASSERT_TRUE(file->write_at(out.span(), 12'345).ok());
    EXPECT_EQ(file->size_bytes().value(), 12'345 + 70'001);
    ASSERT_EQ(file->read_at(in.span(), 12'345).value(), 70'001);
    EXPECT_EQ(std::ranges::equal(in.span(), out.span()), file->abilities().keeps_data);
}

TEST_P(FileContract, KeepsBytesOverClose) {
    OpenedFile file(GetParam());
    if (!file->abilities().keeps_data) GTEST_SKIP() << "keeps nothing";
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
    if (!file->abilities().keeps_data) GTEST_SKIP() << "reads zeros everywhere";
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
    if (!file->abilities().keeps_data) GTEST_SKIP() << "keeps nothing";
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
    if (file->abilities().keeps_data) {
        EXPECT_TRUE(std::ranges::equal(in.span().first(6'001), out.span().first(6'001)));
    }
}

TEST_P(FileContract, RefusesNegativeOffsetsAndSizes) {
    OpenedFile file(GetParam());
    Buffer data(16);
    EXPECT_EQ(file->write_at(data.span(), -1).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(file->read_at(data.span(), -1).status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(file->set_size(-1).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(file->preallocate(-1).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(file->write_at(data.span(), INT64_MAX - 3).code(), ErrorCode::no_space);
}

TEST_P(FileContract, NothingIsMovedByAnEmptyTransfer) {
    OpenedFile file(GetParam());
    EXPECT_TRUE(file->write_at({}, 100).ok());
    EXPECT_EQ(file->read_at({}, 100).value(), 0);
    EXPECT_EQ(file->size_bytes().value(), 0);
}

TEST_P(FileContract, OpeningSaysWhatIsThere) {
    OpenedFile file(GetParam());
    if (!file->abilities().keeps_data) GTEST_SKIP() << "has no names";
    EXPECT_EQ(open_file(file.path(), {.write = true, .create = true, .exclusive = true}).status().code(),
              ErrorCode::exists);
    EXPECT_EQ(open_file(file.path() + ".missing", {}).status().code(), ErrorCode::not_found);
    EXPECT_EQ(remove_file(file.path() + ".missing").code(), ErrorCode::not_found);
    EXPECT_EQ(open_file(file.path(), {.read = false, .write = false}).status().code(),
              ErrorCode::invalid_argument);
}

TEST_P(FileContract, AFileOpenedForReadingIsNotWritten) {
    OpenedFile file(GetParam());
    if (!file->abilities().keeps_data) GTEST_SKIP() << "has nothing to protect";
    Result<FilePtr> reader = open_file(file.path(), {.read = true, .write = false});
    ASSERT_TRUE(reader.ok());
    Buffer data(16);
    // The system's EBADF and EINVAL: no argument of these calls is wrong.
    EXPECT_EQ(reader.value()->write_at(data.span(), 0).code(), ErrorCode::io);
    EXPECT_EQ(reader.value()->set_size(5).code(), ErrorCode::io);
    EXPECT_EQ(file->size_bytes().value(), 0);
}

TEST_P(FileContract, RenamingReplacesAndKeepsOpenFilesOpen) {
    OpenedFile file(GetParam());
    if (!file->abilities().keeps_data) GTEST_SKIP() << "has no names";
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

TEST_P(FileContract, CommittingSparesWhatHasTheName) {
    OpenedFile file(GetParam());
    if (!file->abilities().keeps_data) GTEST_SKIP() << "has no names";
    const std::string other = file.path() + ".other";
    ASSERT_TRUE(open_file(other, creating).ok());
    EXPECT_EQ(commit_file(file.path(), other).code(), ErrorCode::exists);
    ASSERT_TRUE(remove_file(other).ok());
    ASSERT_TRUE(commit_file(file.path(), other, {.is_durable = true}).ok());
    EXPECT_EQ(open_file(file.path(), {}).status().code(), ErrorCode::not_found);
    EXPECT_EQ(commit_file(file.path(), other).code(), ErrorCode::not_found);
    ASSERT_TRUE(commit_file(other, file.path()).ok());
}

TEST_P(FileContract, ListingFindsTheFilesOfAFolder) {
    OpenedFile file(GetParam());
    if (!file->abilities().keeps_data) GTEST_SKIP() << "has no names";
    const std::size_t slash = file.path().rfind('/');
    const Result<std::vector<Listed>> found = list_folder(file.path().substr(0, slash));
    ASSERT_TRUE(found.ok()) << found.status().text();
    const auto is_it = [&](const Listed& each) {
        return each.name == file.path().substr(slash + 1) && each.kind == Listed::Kind::file;
    };
    EXPECT_EQ(std::ranges::count_if(found.value(), is_it), 1);
    EXPECT_EQ(list_folder(file.path() + ".missing").status().code(), ErrorCode::not_found);
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
                if (file->abilities().keeps_data && !std::ranges::equal(in.span(), out.span())) ++num_wrong;
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
    EXPECT_EQ(std::ranges::equal(in.span().subspan(4096), out.span()), file->abilities().keeps_data);
}

INSTANTIATE_TEST_SUITE_P(All, FileContract, ::testing::ValuesIn(backends()),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace hakobi::storage::contract
