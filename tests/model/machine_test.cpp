// That the machine permits what the memory model permits, and nothing else: the litmus tests that everybody
// knows.
#include "model/machine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "base/futex.hpp"

namespace hakobi::model {
namespace {

using std::memory_order;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto total = std::memory_order_seq_cst;

/// At the same place in each run, as a job needs it.
struct Memory {
    SharedAtomic<int> x, y;
    FutexWord word;
    Plain<int> data;
    std::array<int, 4> read{};
};
Memory& memory() {
    alignas(Memory) static std::byte bytes[sizeof(Memory)];
    return *new (bytes) Memory();
}

/// All that the processes of any run have read.
std::set<std::array<int, 4>> read_by(
    const std::function<std::vector<std::function<void()>>(Memory&)>& processes) {
    std::set<std::array<int, 4>> all;
    const Outcome outcome = explore(
        [&] {
            Memory& shared = memory();
            return Job{processes(shared), [&] { all.insert(shared.read); }};
        },
        {});
    EXPECT_EQ(outcome.violation, "");
    EXPECT_TRUE(outcome.is_whole);
    return all;
}

std::string violation_of(const std::function<std::vector<std::function<void()>>(Memory&)>& processes,
                         int num_early = 0) {
    return explore([&] { return Job{processes(memory())}; }, {.bounds = {.num_early_returns = num_early}})
        .violation;
}

TEST(Machine, LoadsPassStoresUnlessBothAreTotallyOrdered) {
    const auto both = [](memory_order stored, memory_order loaded) {
        return read_by([=](Memory& m) -> std::vector<std::function<void()>> {
            return {[=, &m] { m.x.store(1, stored), m.read[0] = m.y.load(loaded); },
                    [=, &m] { m.y.store(1, stored), m.read[1] = m.x.load(loaded); }};
        });
    };
    EXPECT_TRUE(both(relaxed, relaxed).contains({0, 0}));
    EXPECT_TRUE(both(release, acquire).contains({0, 0}));
    EXPECT_TRUE(both(total, acquire).contains({0, 0}));
    EXPECT_TRUE(both(release, total).contains({0, 0}));
    EXPECT_EQ(both(total, total), (std::set<std::array<int, 4>>{{0, 1}, {1, 0}, {1, 1}}));
}

TEST(Machine, AMessageNeedsAReleaseAndAnAcquire) {
    const auto passed = [](memory_order stored, memory_order loaded) {
        return read_by([=](Memory& m) -> std::vector<std::function<void()>> {
            return {[=, &m] { m.x.store(1, relaxed), m.y.store(1, stored); },
                    [=, &m] { m.read[0] = m.y.load(loaded), m.read[1] = m.x.load(relaxed); }};
        });
    };
    EXPECT_FALSE(passed(release, acquire).contains({1, 0}));
    EXPECT_TRUE(passed(relaxed, acquire).contains({1, 0}));
    EXPECT_TRUE(passed(release, relaxed).contains({1, 0}));
}

TEST(Machine, AModificationPassesOnWhatItFound) {
    const auto passed = [](auto middle) {
        return read_by([=](Memory& m) -> std::vector<std::function<void()>> {
            return {[&m] { m.x.store(1, relaxed), m.y.fetch_add(1, release); }, [=, &m] { middle(m.y); },
                    [&m] { m.read[0] = m.y.load(acquire), m.read[1] = m.x.load(relaxed); }};
        });
    };
    EXPECT_FALSE(passed([](auto& y) { y.fetch_add(1, relaxed); }).contains({2, 0}));
    EXPECT_TRUE(passed([](auto& y) {
                    if (y.load(relaxed) == 1) y.store(2, relaxed);
                }).contains({2, 0}));
}

TEST(Machine, TwoReadersAgreeOnTheOrderOfTotallyOrderedStores) {
    const auto read = [](memory_order stored, memory_order loaded) {
        return read_by([=](Memory& m) -> std::vector<std::function<void()>> {
            return {[=, &m] { m.x.store(1, stored); }, [=, &m] { m.y.store(1, stored); },
                    [=, &m] { m.read[0] = m.x.load(loaded), m.read[1] = m.y.load(loaded); },
                    [=, &m] { m.read[2] = m.y.load(loaded), m.read[3] = m.x.load(loaded); }};
        });
    };
    EXPECT_TRUE(read(release, acquire).contains({1, 0, 1, 0}));
    EXPECT_FALSE(read(total, total).contains({1, 0, 1, 0}));
}

TEST(Machine, NoReaderGoesBackInTheStoresOfOneVariable) {
    const auto all = read_by([](Memory& m) -> std::vector<std::function<void()>> {
        return {[&m] { m.x.store(1, relaxed), m.x.store(2, relaxed); },
                [&m] { m.read[0] = m.x.load(relaxed), m.read[1] = m.x.load(relaxed); }};
    });
    EXPECT_EQ(all, (std::set<std::array<int, 4>>{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

TEST(Machine, ModificationsAreNeverLost) {
    const auto all = read_by([](Memory& m) -> std::vector<std::function<void()>> {
        const auto add = [&m](std::size_t at) {
            return [&m, at] { m.read[at] = m.x.fetch_add(1, relaxed) + 1; };
        };
        return {add(0), add(1), add(2)};
    });
    EXPECT_EQ(all.size(), 6U);
    for (const auto& read : all) EXPECT_EQ(read[0] + read[1] + read[2], 6);
}

TEST(Machine, OneOfTwoExchangesSucceeds) {
    const auto all = read_by([](Memory& m) -> std::vector<std::function<void()>> {
        const auto take = [&m](std::size_t at) {
            return [&m, at] {
                int expected = 0;
                m.read[at] = m.x.compare_exchange_strong(expected, 1) ? 1 : 0;
            };
        };
        return {take(0), take(1)};
    });
    EXPECT_EQ(all, (std::set<std::array<int, 4>>{{0, 1}, {1, 0}}));
}

TEST(Machine, FindsRacesInWhateverOrderTheyHappen) {
    const auto both = [](bool is_first_a_write, bool is_second_a_write) {
        return violation_of([=](Memory& m) -> std::vector<std::function<void()>> {
            const auto access = [&m](bool is_write) {
                return [&m, is_write] { is_write ? m.data.set(1) : static_cast<void>(m.data.get()); };
            };
            return {access(is_first_a_write), access(is_second_a_write)};
        });
    };
    EXPECT_NE(both(true, true).find("race"), std::string::npos);
    EXPECT_NE(both(true, false).find("race"), std::string::npos);
    EXPECT_NE(both(false, true).find("race"), std::string::npos);
    EXPECT_EQ(both(false, false), "");
    // A fence of sequentially consistent operations alone orders no other memory.
    EXPECT_NE(violation_of([](Memory& m) -> std::vector<std::function<void()>> {
                  return {[&m] { m.data.set(1), m.x.store(1, relaxed); },
                          [&m] {
                              if (m.x.load(relaxed) == 1) (void)m.data.get();
                          }};
              }).find("race"),
              std::string::npos);
}

TEST(Machine, FindsAStoreThatMayGoUnseen) {
    EXPECT_NE(violation_of([](Memory& m) -> std::vector<std::function<void()>> {
                  return {[&m] { m.x.store(1, release); }, [&m] { m.x.store(2, release); }};
              }).find("does not know of"),
              std::string::npos);
}

TEST(Machine, FindsALostWake) {
    const auto sleeper = [](Memory& m) {
        return [&m] {
            while (m.word.load(acquire) == 0) futex_wait(m.word, 0, 1);
        };
    };
    const auto waker = [](Memory& m, bool wakes) {
        return [&m, wakes] {
            m.word.store(1, release);
            if (wakes) futex_wake_all(m.word);
        };
    };
    EXPECT_EQ(violation_of([&](Memory& m) -> std::vector<std::function<void()>> {
                  return {sleeper(m), waker(m, true)};
              }),
              "");
    const std::string lost = violation_of([&](Memory& m) -> std::vector<std::function<void()>> {
        return {sleeper(m), waker(m, false)};
    });
    EXPECT_NE(lost.find("for ever: process 0 sleeps behind"), std::string::npos) << lost;
    // To return early once helps nobody.
    EXPECT_NE(violation_of(
                  [&](Memory& m) -> std::vector<std::function<void()>> {
                      return {sleeper(m), waker(m, false)};
                  },
                  1),
              "");
}

TEST(Machine, FindsThatOneIsWokenOfTwo) {
    const auto job = [](bool all) {
        return violation_of([all](Memory& m) -> std::vector<std::function<void()>> {
            const auto sleeper = [&m] {
                while (m.word.load(acquire) == 0) futex_wait(m.word, 0, 1);
            };
            return {sleeper, sleeper, [&m, all] {
                        m.word.store(1, release);
                        all ? futex_wake_all(m.word) : futex_wake_one(m.word);
                    }};
        });
    };
    EXPECT_EQ(job(true), "");
    EXPECT_NE(job(false), "");
}

TEST(Machine, FindsALoopThatNobodyEnds) {
    const auto job = [](bool ends) {
        return violation_of([ends](Memory& m) -> std::vector<std::function<void()>> {
            return {[&m] {
                        while (m.x.load(relaxed) < 2) look_later();
                    },
                    [&m, ends] { m.x.store(1, relaxed), m.x.store(ends ? 2 : 1, relaxed); }};
        });
    };
    EXPECT_EQ(job(true), "");
    EXPECT_NE(job(false).find("looks again"), std::string::npos);
}

}  // namespace
}  // namespace hakobi::model
