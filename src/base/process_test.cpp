#include "base/process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hakobi {
namespace {

TEST(Process, OfOneselfHasNotEnded) {
    const ProcessId own = own_process();
    EXPECT_EQ(own.pid, getpid());
    EXPECT_FALSE(has_ended(own));
}

TEST(Process, HasEndedAsAZombieAndAfterwards) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        const ProcessId own = own_process();
        const bool is_written = write(ends[1], &own, sizeof own) == sizeof own;
        _exit(is_written ? 0 : 1);
    }
    ProcessId id;
    ASSERT_EQ(read(ends[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
    EXPECT_EQ(id.pid, child);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(has_ended(id));
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(has_ended(id));
    close(ends[0]);
    close(ends[1]);
}

TEST(Process, IsAnotherWhereItsNumberWasGivenAgain) {
    ProcessId other = own_process();
    ++other.start_ticks;
    EXPECT_TRUE(has_ended(other));
}

TEST(Process, OfAnotherNamespaceIsNotJudged) {
    ProcessId other = own_process();
    ++other.start_ticks;
    ++other.pid_namespace;
    EXPECT_FALSE(has_ended(other));
    EXPECT_FALSE(has_ended(ProcessId{}));
}

}  // namespace
}  // namespace hakobi
