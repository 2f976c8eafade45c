#include "storage/posix.hpp"
#include "storage/posix_abilities.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "lowered_limit.hpp"
#include "storage/access.hpp"

namespace hakobi::storage {
namespace {

constexpr OpenMode creating = {.read = true, .write = true, .create = true, .truncate = true};

/// A folder of its own for each test.
class PosixFile : public ::testing::Test {
  protected:
    PosixFile() {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder = std::filesystem::current_path() /
                 ("posix." + std::string(test->name()) + "." + std::to_string(::getpid()));
        std::filesystem::create_directory(folder);
    }
    ~PosixFile() override { std::filesystem::remove_all(folder); }
    [[nodiscard]] std::string path(const std::string& name) const { return (folder / name).string(); }
    std::filesystem::path folder;
    std::vector<std::byte> data = std::vector<std::byte>(16'384, std::byte{7});
};

TEST_F(PosixFile, PrefixesOfFileSystemsNameTheSameFile) {
    for (const std::string prefix : {"posix:", "ufs:", "lustre:", "nfs:"}) {
        Result<FilePtr> file = open_file(prefix + path("same"), creating);
        ASSERT_TRUE(file.ok()) << file.status().text();
        EXPECT_EQ(file.value()->path(), path("same"));
    }
    EXPECT_TRUE(remove_file("ufs:" + path("same")).ok());
}

TEST_F(PosixFile, AColonInANameIsPartOfIt) {
    const std::string before = std::filesystem::current_path();
    std::filesystem::current_path(folder);
    EXPECT_TRUE(open_file("run:12:00.nc", creating).ok());
    EXPECT_TRUE(std::filesystem::exists("run:12:00.nc"));
    std::filesystem::current_path(before);
}

TEST_F(PosixFile, NoNameLeadsOutOfARoot) {
    namespace fs = std::filesystem;
    const std::string root = path("root");
    fs::create_directories(root + "/real");
    fs::create_directory(path("out"));
    for (const std::string& there : {path("out/file"), root + "/real/file"})
        ASSERT_TRUE(open_file(there, creating).ok());
    fs::create_directory_symlink(path("out"), root + "/link");
    fs::create_symlink(path("out/file"), root + "/real/link");
    fs::create_directory_symlink(root, path("way"));
    for (const std::string inside : {"/link/file", "/../out/file", "/real/../../out/file", "/real/./file",
                                     "//file", "/real//file", "/real/link"}) {
        const std::string name = root + inside;
        OpenMode mode = creating;
        mode.root = root;
        EXPECT_FALSE(open_file(name, {.root = root}).ok()) << name;
        EXPECT_FALSE(open_file(name, mode).ok()) << name;
        EXPECT_FALSE(commit_file(root + "/real/file", root + "/link/x", {.root = root}).ok());
        if (inside == "/real/link") continue;  // of a link itself these are: it is no file that it leads to
        EXPECT_FALSE(remove_file(name, root).ok()) << name;
        EXPECT_FALSE(commit_file(name, path("taken"), {.replaces = true, .root = root}).ok()) << name;
    }
    EXPECT_EQ(open_file(root + "/link/file", {.root = root}).status().code(), ErrorCode::format);
    EXPECT_FALSE(list_folder(root + "/link", root).ok());
    EXPECT_TRUE(fs::exists(path("out/file")));
    EXPECT_FALSE(fs::exists(path("taken")));
    // The root itself may be reached by links, and what is not in it is as ever.
    const std::string way = path("way");
    EXPECT_TRUE(open_file(way + "/real/file", {.root = way}).ok());
    EXPECT_EQ(list_folder(way + "/real", way).value().size(), 2U);
    EXPECT_TRUE(commit_file(path("out/file"), way + "/real/new", {.is_durable = true, .root = way}).ok());
    EXPECT_TRUE(remove_file(way + "/real/new", way).ok());
    EXPECT_EQ(remove_file(way + "/none/new", way).code(), ErrorCode::not_found);
}

TEST_F(PosixFile, ErrorsNameTheFileAndTheCause) {
    const Status missing = open_file(path("none/run.nc"), creating).status();
    EXPECT_EQ(missing.code(), ErrorCode::not_found);
    EXPECT_NE(missing.text().find(path("none/run.nc")), std::string::npos);
    EXPECT_NE(missing.text().find("No such file"), std::string::npos);
    EXPECT_FALSE(open_file(folder.string(), creating).ok());
    EXPECT_FALSE(open_file(folder.string(), {}).ok());
}

TEST_F(PosixFile, AFullDeviceIsNoSpace) {
    Result<FilePtr> file = open_file("/dev/full", {.read = false, .write = true});
    if (!file.ok()) GTEST_SKIP() << file.status().text();
    EXPECT_EQ(file.value()->write_at(data, 0).code(), ErrorCode::no_space);
    for (const std::string_view name : {"threads", "uring"}) {
        auto access = make_access(*file.value(), {.name = name});
        ASSERT_TRUE(access.ok() || name == "uring") << access.status().text();
        if (!access.ok()) continue;  // no io_uring in this kernel
        Request request{
            .is_write = true, .buffer = data.data(), .extents = {{0, 0, 4096}, {4096, 4096, 4096}}};
        access.value()->submit(request);
        access.value()->drain();
        EXPECT_EQ(request.status.code(), ErrorCode::no_space) << name;
        EXPECT_EQ(request.transferred_bytes, 0) << name;
    }
}

/// The kernel's own answer to a file above the limit is a signal that ends the process.
TEST_F(PosixFile, TheSizeLimitIsAnErrorAndNotASignal) {
    const LoweredLimit limit(RLIMIT_FSIZE, 10'000);
    Result<FilePtr> file = open_file(path("limited"), creating);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file.value()->write_at(data, 0).code(), ErrorCode::no_space);
    EXPECT_EQ(file.value()->size_bytes().value(), 10'000) << "what has room is written";
    EXPECT_EQ(file.value()->set_size(20'000).code(), ErrorCode::no_space);
    EXPECT_EQ(file.value()->preallocate(20'000).code(), ErrorCode::no_space);
    for (const std::string_view name : {"posix", "threads", "uring"}) {
        auto access = make_access(*file.value(), {.name = name});
        ASSERT_TRUE(access.ok() || name == "uring") << access.status().text();
        if (!access.ok()) continue;  // no io_uring in this kernel
        Request request{.is_write = true, .buffer = data.data(), .extents = {{0, 0, 16'384}}};
        access.value()->submit(request);
        access.value()->drain();
        EXPECT_EQ(request.status.code(), ErrorCode::no_space) << name;
    }
}

TEST_F(PosixFile, PreallocationHasStorageBehindIt) {
    Result<FilePtr> file = open_file(path("full"), creating);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file.value()->preallocate(1 << 20).ok());
    struct stat info {};
    ASSERT_EQ(::stat(path("full").c_str(), &info), 0);
    EXPECT_GE(info.st_blocks * 512, 1 << 20);
}

TEST_F(PosixFile, ClosingTwiceIsHarmless) {
    Result<FilePtr> file = open_file(path("closed"), creating);
    ASSERT_TRUE(file.ok());
    EXPECT_GE(file.value()->descriptor(), 0);
    EXPECT_TRUE(file.value()->close().ok());
    EXPECT_EQ(file.value()->descriptor(), -1);
    EXPECT_TRUE(file.value()->close().ok());
    EXPECT_FALSE(file.value()->write_at(data, 0).ok());
}

TEST_F(PosixFile, KnowsAUsefulAlignment) {
    Result<FilePtr> file = open_file(path("aligned"), creating);
    ASSERT_TRUE(file.ok());
    EXPECT_GE(file.value()->abilities().stripe_bytes, 512);
}

}  // namespace
}  // namespace hakobi::storage
