#include "base/thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace hakobi {
namespace {

/// The clocks of the threads that run, and what those that have ended had used.
struct ThreadClocks {
    std::mutex mutex;
    std::vector<clockid_t> running;
    double ended_s = 0;
};

// Never destroyed: threads may end after main does. A child made by fork has none of the threads, and a lock
// that no thread holds.
ThreadClocks& thread_clocks() {
    static auto* const clocks = [] {
        ::pthread_atfork([] { thread_clocks().mutex.lock(); }, [] { thread_clocks().mutex.unlock(); },
                         [] {
                             thread_clocks().running.clear();
                             thread_clocks().mutex.unlock();
                         });
        return new ThreadClocks;
    }();
    return *clocks;
}

double seconds_of(clockid_t clock) {
    timespec time{};
    if (::clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void run_counted(const std::function<void()>& work) {
    ThreadClocks& clocks = thread_clocks();
    clockid_t clock = 0;
    const bool is_counted = ::pthread_getcpuclockid(::pthread_self(), &clock) == 0;
    if (is_counted) {
        const std::scoped_lock lock(clocks.mutex);
        clocks.running.push_back(clock);
    }
    work();
    if (!is_counted) return;
    const std::scoped_lock lock(clocks.mutex);
    clocks.ended_s += seconds_of(clock);
    std::erase(clocks.running, clock);
}

}  // namespace

double io_threads_cpu_s() {
    ThreadClocks& clocks = thread_clocks();
    const std::scoped_lock lock(clocks.mutex);
    double sum_s = clocks.ended_s;
    for (const clockid_t clock : clocks.running) sum_s += seconds_of(clock);
    return sum_s;
}

int num_cores() {
    static const int num = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    return num;
}

CoreSet own_cores() {
    CoreSet set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    return set;
}

CoreSet united(const CoreSet& a, const CoreSet& b) {
    CoreSet sum;
    CPU_OR(&sum, &a, &b);
    return sum;
}

std::optional<std::thread> start_thread(const std::string& name, const CoreSet& cores,
                                        std::function<void()> work) {
    sigset_t blocked, before;
    ::sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&blocked, fault);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);  // the new thread inherits the mask
    std::optional<std::thread> thread;
    try {
        thread.emplace([work = std::move(work)] { run_counted(work); });
        ::pthread_setname_np(thread->native_handle(), name.c_str());
        // Where that fails the thread stays where its rank is: slower, not wrong.
        if (CPU_COUNT(&cores) > 0)
            (void)::pthread_setaffinity_np(thread->native_handle(), sizeof cores, &cores);
    } catch (const std::system_error&) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

}  // namespace hakobi
