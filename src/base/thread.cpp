#include "base/thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace hakobi {

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
        thread.emplace(std::move(work));
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
