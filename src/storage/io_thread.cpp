#include "storage/io_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

namespace hakobi::storage {

std::optional<std::thread> start_io_thread(const std::string& name, std::function<void()> work) {
    sigset_t blocked, before;
    ::sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) ::sigdelset(&blocked, fault);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);  // the new thread inherits the mask
    std::optional<std::thread> thread;
    try {
        thread.emplace(std::move(work));
        ::pthread_setname_np(thread->native_handle(), name.c_str());
    } catch (const std::system_error&) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

}  // namespace hakobi::storage
