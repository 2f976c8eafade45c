#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <string>

/// A service-time model (service_model.hpp) laid over the file calls of any program by
/// LD_PRELOAD.
///
///   HAKOBI_STORAGE_MODEL         servers=4,bandwidth=500,latency=2ms,stripe=1M,seek=0ms
///   HAKOBI_STORAGE_MODEL_PATH    only files below this folder are modelled
///   HAKOBI_STORAGE_MODEL_STATE   optional: the file by which all processes share the servers
///   HAKOBI_STORAGE_MODEL_REPORT  optional: gets one line of JSON from each process that used the storage
///
/// The state's default is a file in /dev/shm, named by user, model and folder. The last process removes it
/// (what a killed one leaves, the next run takes over).
///
/// Without HAKOBI_STORAGE_MODEL the library does nothing; with a value that it cannot read the program ends
/// with status 2, since a run that was to be modelled and was not would be a false figure.
///
/// Modelled: read and write with all their p, v and 2 forms; POSIX AIO and reads and writes by liburing, which stay
/// asynchronous. The real call is made first and its time counts within the modelled time. Not seen: stdio, mmap,
/// io_uring without the shared liburing, splice and sendfile.
namespace hakobi::storage_model {

/// A modelled transfer from its arrival to its completion. Keeps errno.
class Transfer {
  public:
    /// Before the real call. Not modelled (and free) where `fd` is no file below the path.
    Transfer(int fd, bool is_write);

    [[nodiscard]] bool is_modelled() const noexcept { return identity_ != 0; }
    /// After the real call at `offset` that moved `length` bytes: queues it and returns the time of its
    /// completion.
    std::int64_t queue(std::int64_t offset, std::int64_t length) const;
    /// queue(), then sleep until then; a failed call (negative length) costs nothing.
    void wait(std::int64_t offset, std::int64_t length) const;

  private:
    std::uint64_t identity_ = 0;  // of the file; 0: not modelled
    bool is_write_;
    std::int64_t arrival_ns_ = 0;
};

/// Ends the program with status 2 and a line: what was to be modelled cannot be, and would be a false figure.
[[noreturn]] void refuse(const std::string& why);

/// What is known of `fd` no longer holds: it was opened or closed.
void forget(int fd);

/// At the end of the process, however it comes about: writes the report, and removes the shared state if it
/// is the last.
void leave();

/// Sleeps until `time_ns` on the monotonic clock, and counts it as waited.
void sleep_modelled(std::int64_t time_ns);

/// The next definition of a libc function, behind our own.
template <class Function>
Function* next(Function* volatile& cached, const char* name) {
    Function* found = cached;
    if (found == nullptr) cached = found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
    return found;
}

/// errno as it was, at the end of the scope.
class KeepErrno {
  public:
    ~KeepErrno() { errno = saved_; }

  private:
    int saved_ = errno;
};

}  // namespace hakobi::storage_model

/// Calls libc's own `name`, whose type is that of our declaration.
#define HAKOBI_NEXT(name, ...)                                                            \
    ([&] {                                                                                \
        static decltype(name)* volatile cached = nullptr;                                 \
        return ::hakobi::storage_model::next<decltype(name)>(cached, #name)(__VA_ARGS__); \
    }())
