#include "slow_rank.hpp"

#include <signal.h>

#include <cerrno>
#include <chrono>
#include <ctime>

namespace hakobi::bench {

namespace {

std::atomic<std::int64_t> pause_ns;

int signal_number() {
    return SIGRTMIN + 4;
}

void stand_still(int) {
    const int saved = errno;
    timespec left{.tv_sec = pause_ns / 1'000'000'000, .tv_nsec = pause_ns % 1'000'000'000};
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    errno = saved;
}

}  // namespace

SlowRank::SlowRank(double pause_s, double period_s) : slowed_(::pthread_self()) {
    pause_ns = static_cast<std::int64_t>(1e9 * pause_s);
    struct sigaction action {};
    action.sa_handler = stand_still;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal_number(), &action, nullptr);
    clock_ = std::thread([this, period_s] {
        const auto period = std::chrono::duration<double>(period_s);
        for (auto next = std::chrono::steady_clock::now(); !is_over_;) {
            next += std::chrono::duration_cast<std::chrono::steady_clock::duration>(period);
            std::this_thread::sleep_until(next);
            if (!is_over_) ::pthread_kill(slowed_, signal_number());
        }
    });
}

SlowRank::~SlowRank() {
    is_over_ = true;
    clock_.join();
}

}  // namespace hakobi::bench
