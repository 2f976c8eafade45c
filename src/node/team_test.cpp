#include "node/team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace hakobi::node {
namespace {

TEST(Gate, LetsOneThroughAtATimeAndForgetsNobody) {
    constexpr int num_threads = 6, num_passes = 2000;
    Gate gate;
    std::atomic<int> inside = 0, most_inside = 0, num_passed = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < num_threads; ++t) {
        threads.emplace_back([&] {
            for (int pass = 0; pass < num_passes; ++pass) {
                gate.enter({});
                const int now_inside = ++inside;
                int most = most_inside;
                while (now_inside > most && !most_inside.compare_exchange_weak(most, now_inside)) {
                }
                std::this_thread::yield();
                ++num_passed;
                --inside;
                gate.leave();
            }
        });
    }
    threads.clear();  // joined
    EXPECT_EQ(num_passed, num_threads * num_passes);
    EXPECT_EQ(most_inside, 1);
}

TEST(Gate, KeepsAllOutUntilItIsLeft) {
    constexpr int num_threads = 3;
    Gate gate;
    gate.enter({});
    std::atomic<int> num_come = 0, num_passed = 0;
    std::vector<std::jthread> sleepers;
    for (int t = 0; t < num_threads; ++t) {
        sleepers.emplace_back([&] {
            ++num_come;
            gate.enter({});
            ++num_passed;
            gate.leave();
        });
    }
    while (num_come < num_threads) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(num_passed, 0);
    gate.leave();
    sleepers.clear();  // joined: each that leaves wakes the next
    EXPECT_EQ(num_passed, num_threads);
}

}  // namespace
}  // namespace hakobi::node
