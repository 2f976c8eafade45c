#include "storage/lock_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <fstream>

#include "storage/file.hpp"
#include "storage/range_lock.hpp"

namespace {
int error_of_locks = 0;
}  // namespace

/// The program's own, before libc's: locks fail with error_of_locks where that is set.
extern "C" __attribute__((visibility("default"))) int fcntl64(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    if (error_of_locks != 0 && (command == F_OFD_SETLK || command == F_OFD_SETLKW)) {
        errno = error_of_locks;
        return -1;
    }
    return static_cast<int>(syscall(SYS_fcntl, descriptor, command, argument));
}
extern "C" __attribute__((visibility("default"), alias("fcntl64"), nothrow)) int fcntl(int, int, ...);

namespace hakobi::storage {
namespace {

namespace fs = std::filesystem;

struct FailingLocks {
    explicit FailingLocks(int error) { error_of_locks = error; }
    ~FailingLocks() { error_of_locks = 0; }
    FailingLocks(const FailingLocks&) = delete;
    FailingLocks& operator=(const FailingLocks&) = delete;
};

class LockFileTest : public ::testing::Test {
  protected:
    LockFileTest() {
        char name[] = "/tmp/hakobi_lock_XXXXXX";
        folder = mkdtemp(name);
    }
    ~LockFileTest() override { fs::remove_all(folder); }
    [[nodiscard]] std::string path() const { return folder + "/run.lock"; }
    /// The exit status of a process that does `body`.
    template <class Body>
    static int in_a_process(Body body) {
        const pid_t child = fork();
        if (child == 0) _exit(body());
        int status = -1;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string folder;
};

TEST_F(LockFileTest, KeepsOthersOutAndSaysWhoHasIt) {
    Result<LockFile> mine = LockFile::take(path(), "the steps of run");
    ASSERT_TRUE(mine.ok()) << mine.status().text();
    EXPECT_TRUE(mine.value().is_held());
    const Result<LockFile> again = LockFile::take(path(), "the steps of run");
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.status().code(), ErrorCode::exists);
    EXPECT_NE(again.status().text().find("pid " + std::to_string(getpid()) + " on "), std::string::npos)
        << again.status().text();
    EXPECT_EQ(in_a_process([&] { return LockFile::take(path(), "x").ok() ? 1 : 7; }), 7);
    mine.value().release();
    EXPECT_FALSE(fs::exists(path()));
    EXPECT_TRUE(LockFile::take(path(), "x").ok());
}

TEST_F(LockFileTest, OfADeadOwnerIsTakenOverAndSaidSo) {
    EXPECT_EQ(in_a_process([&] {
                  const Result<LockFile> lock = LockFile::take(path(), "x");
                  _exit(lock.ok() ? 0 : 1);  // no destructor: as a kill would have it
                  return 0;
              }),
              0);
    ASSERT_TRUE(fs::exists(path()));
    const Result<LockFile> lock = LockFile::take(path(), "x");
    ASSERT_TRUE(lock.ok());
    EXPECT_TRUE(lock.value().left_by().starts_with("pid ")) << lock.value().left_by();
}

TEST_F(LockFileTest, WhoseBytesACrashHasLostIsTakenOver) {
    std::ofstream(path()) << std::string(59, '\0');
    EXPECT_TRUE(LockFile::take(path(), "x").ok());
    std::ofstream(path()) << std::string(4096, '\0');
    EXPECT_EQ(LockFile::take(path(), "x").status().code(), ErrorCode::exists) << "no lock was ever so long";
    EXPECT_EQ(fs::file_size(path()), 4096U);
}

// An open file description's locks are shared by fork.
TEST_F(LockFileTest, IsNotHeldByAChildThatOutlivesItsOwner) {
    int ends[2] = {}, begun[2] = {};
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(pipe(begun), 0);
    EXPECT_EQ(in_a_process([&] {
                  const Result<LockFile> lock = LockFile::take(path(), "x");
                  Result<FilePtr> file = open_file(folder + "/data", {.write = true, .create = true});
                  const bool is_locked = lock.ok() && file.ok() && file.value()->lock_range(0, 10).ok();
                  if (fork() == 0) {
                      char none = 0;
                      (void)!write(begun[1], &none, 1);
                      close(ends[1]);
                      _exit(static_cast<int>(read(ends[0], &none, 1)));  // until the test is over
                  }
                  _exit(is_locked ? 0 : 1);
                  return 0;
              }),
              0);
    close(ends[0]);
    char none = 0;
    ASSERT_EQ(read(begun[0], &none, 1), 1);  // what a fork does in the child is done
    EXPECT_TRUE(LockFile::take(path(), "x").ok());
    alarm(20);  // a range is waited for
    Result<FilePtr> file = open_file(folder + "/data", {.write = true});
    EXPECT_TRUE(file.value()->lock_range(0, 10).ok());
    alarm(0);
    for (const int end : {ends[1], begun[0], begun[1]}) close(end);
}

TEST_F(LockFileTest, IsNotReleasedByAChild) {
    Result<LockFile> lock = LockFile::take(path(), "x");
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(in_a_process([&] {
                  const bool is_held = lock.value().is_held();
                  lock.value().release();
                  return is_held ? 1 : 0;
              }),
              0);
    EXPECT_TRUE(fs::exists(path()));
    EXPECT_EQ(LockFile::take(path(), "x").status().code(), ErrorCode::exists);
}

TEST_F(LockFileTest, IsRemovedWhereItsFolderHasBeenMoved) {
    fs::create_directory(folder + "/a");
    Result<LockFile> lock = LockFile::take(folder + "/a/lock", "x");
    ASSERT_TRUE(lock.ok());
    fs::rename(folder + "/a", folder + "/b");
    lock.value().release();
    EXPECT_TRUE(fs::is_empty(folder + "/b"));
}

TEST_F(LockFileTest, LeavesWhatIsNoLockAsItIs) {
    std::ofstream(path()) << "my notes";
    EXPECT_EQ(LockFile::take(path(), "x").status().code(), ErrorCode::exists);
    EXPECT_EQ(fs::file_size(path()), 8U);
    fs::remove(path());
    fs::create_symlink(folder + "/elsewhere", path());
    EXPECT_EQ(LockFile::take(path(), "x").status().code(), ErrorCode::exists);
    EXPECT_FALSE(fs::exists(folder + "/elsewhere"));
    fs::remove(path());
    ASSERT_EQ(mkfifo(path().c_str(), 0666), 0);
    EXPECT_EQ(LockFile::take(path(), "x").status().code(), ErrorCode::exists);
    EXPECT_EQ(LockFile::take(folder + "/none/run.lock", "x").status().code(), ErrorCode::not_found);
}

TEST_F(LockFileTest, HasOneOwnerAtATimeHoweverManyComeAndGo) {
    constexpr int num_processes = 4, num_rounds = 300;
    std::ofstream(folder + "/count") << 0;
    std::vector<pid_t> children;
    for (int p = 0; p < num_processes; ++p) {
        children.push_back(fork());
        if (children.back() != 0) continue;
        for (int round = 0; round < num_rounds;) {
            const Result<LockFile> lock = LockFile::take(path(), "x");
            if (!lock.ok()) continue;
            int count = 0;
            std::ifstream(folder + "/count") >> count;
            std::ofstream(folder + "/count") << count + 1;
            ++round;
        }
        _exit(0);
    }
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    int count = 0;
    std::ifstream(folder + "/count") >> count;
    EXPECT_EQ(count, num_processes * num_rounds);
    EXPECT_FALSE(fs::exists(path()));
}

// 524 is the kernel's ENOTSUPP, as NFS and DVS answer it.
TEST_F(LockFileTest, OfAFileSystemWithoutLocksIsNotHeldAndKeepsNobodyOut) {
    for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL, 524}) {
        const FailingLocks failing(error);
        const Result<LockFile> lock = LockFile::take(path(), "the steps of run");
        ASSERT_TRUE(lock.ok()) << error << ": " << lock.status().text();
        EXPECT_FALSE(lock.value().is_held()) << error;
        EXPECT_FALSE(fs::exists(path())) << error;
        EXPECT_EQ(lock_to_fill(0, 0, 1).code(), ErrorCode::unsupported) << error;
    }
}

TEST_F(LockFileTest, OfAFailingStorageIsAnErrorAndNotInUse) {
    const FailingLocks failing(EIO);
    const Status status = LockFile::take(path(), "the steps of run").status();
    EXPECT_EQ(status.code(), ErrorCode::io);
    EXPECT_TRUE(status.text().starts_with("cannot lock " + path())) << status.text();
    EXPECT_EQ(lock_to_fill(0, 0, 1).code(), ErrorCode::io);
}

/// Another process has the whole file until it reads on stderr that it is waited for.
TEST_F(LockFileTest, OfAnotherProgramIsWaitedForAndItsHolderNamed) {
    const std::string file = folder + "/data", told = folder + "/told";
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    ASSERT_GE(descriptor, 0);
    const pid_t holder = fork();
    if (holder == 0) {
        struct flock whole = lock_on(F_WRLCK, 0, 0);
        if (::fcntl(descriptor, F_SETLK, &whole) != 0) _exit(1);
        std::ofstream(folder + "/locked") << "";
        for (int tries = 0; tries < 2000; ++tries, ::usleep(10'000)) {
            std::ifstream said(told);
            const std::string text{std::istreambuf_iterator<char>(said), {}};
            if (text.find("process " + std::to_string(::getpid()) + " holds") != std::string::npos) _exit(0);
        }
        _exit(2);
    }
    while (!fs::exists(folder + "/locked")) ::usleep(1000);
    std::fflush(stderr);
    const int before = ::dup(STDERR_FILENO);
    const int said = ::open(told.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    ::dup2(said, STDERR_FILENO);
    const Status status = lock_to_fill(descriptor, 10, 100, 0.01);
    std::fflush(stderr);
    ::dup2(before, STDERR_FILENO);
    int ended = 0;
    waitpid(holder, &ended, 0);
    EXPECT_TRUE(status.ok()) << status.text();
    EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    std::ifstream lines(told);
    const std::string text{std::istreambuf_iterator<char>(lines), {}};
    EXPECT_NE(text.find("hakobi: " + file + ": a write waits for a lock that process"), std::string::npos)
        << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << "told once";
    EXPECT_TRUE(unlock_filled(descriptor, 10, 100).ok());
    for (const int each : {before, said, descriptor}) ::close(each);
}

TEST_F(LockFileTest, RegularOnlyFilesAreOpenedAtOnceOrRefused) {
    const OpenMode reading{.regular_only = true};
    const OpenMode writing{.read = false, .write = true, .create = true, .regular_only = true};
    ASSERT_EQ(mkfifo((folder + "/fifo").c_str(), 0666), 0);
    fs::create_symlink(folder + "/elsewhere", folder + "/link");
    for (const std::string name : {"/fifo", "/link"}) {
        EXPECT_EQ(open_file(folder + name, reading).status().code(), ErrorCode::format) << name;
        EXPECT_EQ(open_file(folder + name, writing).status().code(), ErrorCode::exists) << name;
    }
    EXPECT_EQ(open_file("/dev/zero", reading).status().code(), ErrorCode::format);
    EXPECT_TRUE(open_file(folder + "/new", writing).ok());
    EXPECT_TRUE(open_file(folder + "/new", reading).ok());
}

TEST_F(LockFileTest, ARenameThatIsToBeNewReplacesNothing) {
    std::ofstream(folder + "/from") << "new";
    std::ofstream(folder + "/to") << "old";
    EXPECT_EQ(commit_file(folder + "/from", folder + "/to").code(), ErrorCode::exists);
    EXPECT_EQ(fs::file_size(folder + "/from"), 3U);
    EXPECT_TRUE(commit_file(folder + "/from", folder + "/there").ok());
    EXPECT_FALSE(fs::exists(folder + "/from"));
}

}  // namespace
}  // namespace hakobi::storage
