#include "storage/concurrency.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/thread.hpp"
#include "lowered_limit.hpp"
#include "storage/access.hpp"
#include "storage/null.hpp"

namespace hakobi::storage {
namespace {

constexpr std::int64_t cb_bytes = 4 << 20;

/// A sample of a storage that gives `gb_s` to all requests in service together.
ServiceSample sample(bool is_write, double gb_s, double sleep_share, int num_running) {
    ServiceSample s{.is_write = is_write, .length_bytes = cb_bytes, .num_running = num_running};
    s.wall_s = num_running * cb_bytes / (1e9 * gb_s);
    s.asleep_s = sleep_share * s.wall_s;
    return s;
}

TEST(Concurrency, MemoryKeepsOneWriterAndTwoReaders) {
    Concurrency concurrency(4, 8);
    for (int i = 0; i < 100; ++i) {
        concurrency.completed(sample(true, 2.8, 0.02, 1));
        concurrency.completed(sample(false, 6.0, 0.0, 2));
    }
    EXPECT_EQ(concurrency.allowed(true), 1);
    EXPECT_EQ(concurrency.allowed(false), 2);
    EXPECT_FALSE(concurrency.blocks());
}

TEST(Concurrency, NeverExceedsItsLimitOrTheCores) {
    EXPECT_EQ(Concurrency(1, 8).allowed(false), 1);
    EXPECT_EQ(Concurrency(4, 1).allowed(false), 1);
    EXPECT_EQ(Concurrency(0, 0).allowed(false), 1);
}

TEST(Concurrency, ASleepingStorageGetsAllThreadsAtOnce) {
    Concurrency concurrency(4, 2);
    concurrency.completed(sample(true, 1.0, 0.9, 1));
    EXPECT_EQ(concurrency.allowed(true), 4);
    EXPECT_EQ(concurrency.allowed(false), 2) << "reads have shown nothing yet";
    EXPECT_TRUE(concurrency.blocks());
    // A node that works as long for its page cache as the servers need is asleep for little of the time.
    Concurrency working(4, 2);
    working.completed(sample(true, 1.0, 0.15, 1));
    EXPECT_EQ(working.allowed(true), 4);
}

/// How many of `num` requests were served while all threads were allowed, by a storage that sleeps and gives
/// `gb_s` of the number of requests together.
template <class Rate>
int num_raised_of(Concurrency& concurrency, bool is_write, int num, const Rate& gb_s) {
    int num_raised = 0;
    for (int i = 0; i < num; ++i) {
        const int running = concurrency.allowed(is_write);
        num_raised += running == concurrency.limit();
        concurrency.completed(sample(is_write, gb_s(running, i), 0.6, running));
    }
    return num_raised;
}

TEST(Concurrency, ThreadsThatMoveMoreStay) {
    Concurrency writing(4, 2), reading(4, 2);
    EXPECT_GE(num_raised_of(writing, true, 1000, [](int running, int) { return running == 1 ? 1.0 : 2.0; }),
              990);
    // Two readers nearly fill it, four do; single requests differ by a tenth.
    const auto nearly = [](int running, int i) {
        return (running == 2 ? 1.78 : 1.95) * (i % 2 == 0 ? 0.95 : 1.05);
    };
    EXPECT_GE(num_raised_of(reading, false, 1000, nearly), 990);
}

TEST(Concurrency, TimeInTheRunQueueSaysNothingAboutTheStorage) {
    Concurrency concurrency(4, 2);
    ServiceSample waited = sample(true, 0.5, 0.25, 1);
    waited.queued_s = 0.5 * waited.wall_s;  // of the half that was its own, half was asleep
    concurrency.completed(waited);
    EXPECT_EQ(concurrency.allowed(true), 4) << "the first request is heard in full";
    ServiceSample worked = sample(false, 0.5, 0, 1);
    worked.queued_s = 0.9 * worked.wall_s;
    concurrency.completed(worked);
    EXPECT_EQ(concurrency.allowed(false), 2);
}

TEST(Concurrency, ThreadsThatMoveNothingMoreAreTakenBack) {
    Concurrency concurrency(4, 2);
    // Others hold the lock: requests sleep, but four at once are served no faster than one.
    EXPECT_LE(num_raised_of(concurrency, true, 1000, [](int, int i) { return i % 2 == 0 ? 0.95 : 1.05; }),
              110);
    EXPECT_GE(num_raised_of(concurrency, true, 4000, [](int running, int) { return 1.0 * running; }), 2000)
        << "never tried again";
}

TEST(Concurrency, ReadersStayUnlessTheyLose) {
    Concurrency same(4, 2), worse(4, 2);
    EXPECT_GE(num_raised_of(same, false, 1000, [](int, int i) { return i % 2 == 0 ? 0.95 : 1.05; }), 990);
    EXPECT_LE(num_raised_of(worse, false, 1000, [](int running, int) { return running == 2 ? 1.0 : 0.8; }),
              110);
}

TEST(Concurrency, TwoBeginUntilTheFirstRequestIsOver) {
    Concurrency concurrency(4, 2);
    EXPECT_EQ(concurrency.allowed(true), 2);
    concurrency.completed(sample(true, 2.8, 0, 1));
    EXPECT_EQ(concurrency.allowed(true), 1);
}

// A program's second file waits for no probe.
TEST(Concurrency, ThreadsOfWhichTheFirstRequestShowsThatTheyPayStayForLong) {
    Concurrency concurrency(4, 2);
    concurrency.completed(sample(true, 1.0, 0.9, 1));
    EXPECT_EQ(num_raised_of(concurrency, true, 1000, [](int, int) { return 2.0; }), 1000);
}

TEST(Concurrency, AFirstRequestThatWasSlowByItselfIsNoMeasureForEver) {
    Concurrency concurrency(4, 2);
    concurrency.completed(sample(true, 0.1, 0.9, 1));
    EXPECT_EQ(concurrency.allowed(true), 4);
    EXPECT_LE(num_raised_of(concurrency, true, 5000, [](int, int) { return 1.0; }), 1400);
}

TEST(Concurrency, AStorageThatSleepsNoLongerGivesItsThreadsBack) {
    Concurrency concurrency(4, 2);
    concurrency.completed(sample(false, 0.5, 1.0, 2));
    ASSERT_EQ(concurrency.allowed(false), 4);
    for (int i = 0; i < 8; ++i) concurrency.completed(sample(false, 6.0, 0.0, 2));
    EXPECT_EQ(concurrency.allowed(false), 2);
    EXPECT_FALSE(concurrency.blocks());
}

TEST(ServiceClock, TellsSleepingFromWorking) {
    ServiceSample slept;
    const ServiceClock sleeping;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    sleeping.stop(slept);
    EXPECT_GE(slept.wall_s, 0.03);
    EXPECT_GT(slept.asleep_s, 0.0);
    EXPECT_LE(slept.asleep_s, slept.wall_s);
    ServiceSample worked;
    const ServiceClock working;
    for (const double end_s = now_s() + 0.02; now_s() < end_s;) {
    }
    working.stop(worked);
    EXPECT_LT(worked.asleep_s, 0.5 * worked.wall_s);
}

/// Discards what it gets, counts how many requests it serves at once, and sleeps, or works, meanwhile if
/// asked.
class WatchedFile final : public File {
  public:
    explicit WatchedFile(std::chrono::microseconds sleep, double work_s = 0)
        : sleep_(sleep), work_s_(work_s) {}
    Status write_at(std::span<const std::byte>, std::int64_t) override { return serve(), Status(); }
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t) override {
        serve();
        return static_cast<std::int64_t>(data.size());
    }
    Result<std::int64_t> size_bytes() override { return std::int64_t{0}; }
    Status set_size(std::int64_t) override { return {}; }
    Status preallocate(std::int64_t) override { return {}; }
    Status sync() override { return {}; }
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }

    std::atomic<int> most_at_once = 0;

  private:
    void serve() {
        const int now = ++num_inside_;
        int seen = most_at_once;
        while (seen < now && !most_at_once.compare_exchange_weak(seen, now)) {
        }
        if (sleep_.count() > 0) std::this_thread::sleep_for(sleep_);
        for (const double end_s = now_s() + work_s_; work_s_ > 0 && now_s() < end_s;) {
        }
        --num_inside_;
    }
    std::string path_ = "watched";
    std::chrono::microseconds sleep_;
    double work_s_;
    std::atomic<int> num_inside_ = 0;
};

void run_rounds(Access& access, bool is_write, int num_rounds, const std::atomic<int>& most, int enough) {
    std::array<std::byte, 64> buffer{};
    for (int round = 0; round < num_rounds && most < enough; ++round) {
        std::vector<Request> requests(16);
        for (Request& request : requests) {
            request = {.is_write = is_write, .buffer = buffer.data(), .extents = {{0, 0, 64}}};
            access.submit(request);
        }
        access.drain();
    }
}

TEST(ThreadsAccess, SeveralWriteAtOnceWhereTheStorageSleeps) {
    WatchedFile file(std::chrono::milliseconds(2));
    auto access = make_access(file, {.name = "threads", .num_threads = 3});
    ASSERT_TRUE(access.ok());
    run_rounds(*access.value(), true, 200, file.most_at_once, 3);
    EXPECT_EQ(file.most_at_once, 3);
    EXPECT_TRUE(file.profile().blocks(3));
}

TEST(ThreadsAccess, OneWritesWhereTheStorageIsMemory) {
    WatchedFile file(std::chrono::microseconds(0));
    auto access = make_access(file, {.name = "threads", .num_threads = 4});
    ASSERT_TRUE(access.ok());
    run_rounds(*access.value(), true, 1, file.most_at_once, 100);
    file.most_at_once = 0;  // two began, since nothing was known
    run_rounds(*access.value(), true, 20, file.most_at_once, 100);
    EXPECT_EQ(file.most_at_once, 1);
    EXPECT_FALSE(file.profile().blocks(4));
}

/// The holes of a buffer whose first half is data.
class HalfData final : public Holes {
  public:
    void append_runs(const Extent& extent, std::vector<Extent>& runs) const override {
        runs.push_back({extent.buffer_bytes, extent.file_bytes, extent.length_bytes / 2});
    }
    void fill(const Extent&, const std::byte*) override {}
};

TEST(ThreadsAccess, AsManyAsCoresFillHolesWhereTheStorageIsMemory) {
    if (num_cores() < 2) GTEST_SKIP() << "one core";
    WatchedFile file(std::chrono::microseconds(0), 1e-3);
    auto access = make_access(file, {.name = "threads", .num_threads = 4});
    ASSERT_TRUE(access.ok());
    run_rounds(*access.value(), true, 1, file.most_at_once, 100);
    ASSERT_FALSE(file.profile().blocks(4));
    file.most_at_once = 0;
    std::array<std::byte, 64> buffer{};
    HalfData holes;
    for (const double end_s = now_s() + 20; now_s() < end_s && file.most_at_once < 2;) {
        std::vector<Request> requests(16);
        for (Request& request : requests) {
            request = {
                .is_write = true, .buffer = buffer.data(), .extents = {{0, 0, 64, true}}, .holes = &holes};
            access.value()->submit(request);
        }
        access.value()->drain();
    }
    EXPECT_GE(file.most_at_once, 2);
}

TEST(ThreadsAccess, OneThreadIsOneAtATime) {
    WatchedFile file(std::chrono::microseconds(200));
    auto access = make_access(file, {.name = "threads", .num_threads = 1});
    ASSERT_TRUE(access.ok());
    run_rounds(*access.value(), true, 4, file.most_at_once, 100);
    run_rounds(*access.value(), false, 4, file.most_at_once, 100);
    EXPECT_EQ(file.most_at_once, 1);
}

TEST(IoThread, HasItsNameAndTakesNoSignals) {
    std::array<char, 16> name{};
    sigset_t blocked;
    std::optional<std::thread> thread = start_thread("hakobi-io7", {}, [&] {
        // The name is given by the starter, perhaps a moment later.
        for (const double end_s = now_s() + 20;
             now_s() < end_s && std::string(name.data()) != "hakobi-io7";) {
            ::pthread_getname_np(::pthread_self(), name.data(), name.size());
            std::this_thread::yield();
        }
        ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    });
    ASSERT_TRUE(thread);
    thread->join();
    EXPECT_STREQ(name.data(), "hakobi-io7");
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGXFSZ})
        EXPECT_EQ(::sigismember(&blocked, signal), 1);
    EXPECT_EQ(::sigismember(&blocked, SIGSEGV), 0);
    sigset_t own;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &own);
    EXPECT_EQ(::sigismember(&own, SIGTERM), 0) << "the starter's own mask has changed";
}

TEST(MakeAccess, AnUnknownNameIsAnswered) {
    const FilePtr file = make_null("x");
    const auto access = make_access(*file, {.name = "thread"});
    EXPECT_EQ(access.status().code(), ErrorCode::invalid_argument);
    EXPECT_NE(access.status().text().find("did you mean 'threads'"), std::string::npos)
        << access.status().text();
}

TEST(MakeAccess, AKernelThatRefusesIoUringIsUnsupportedWithItsReason) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer's own check of pointers needs the descriptors that this test takes away";
#endif
    const FilePtr file = make_null("x");
    const LoweredLimit limit(RLIMIT_NOFILE, 0);
    const auto access = make_access(*file, {.name = "uring"});
    EXPECT_EQ(access.status().code(), ErrorCode::unsupported);
    EXPECT_NE(access.status().text().find("uring': "), std::string::npos) << access.status().text();
}

}  // namespace
}  // namespace hakobi::storage
