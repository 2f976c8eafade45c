#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace hakobi::storage {
struct ServiceModel;
struct ServiceState;
}  // namespace hakobi::storage

/// A service-time model (service_model.hpp) laid over the file calls of any program by
/// LD_PRELOAD.
///
///   HAKOBI_STORAGE_MODEL         servers=4,bandwidth=500,latency=2ms,stripe=1M,seek=0ms; all words: service_model.hpp
///   HAKOBI_STORAGE_MODEL_PATH    only files below this folder are modelled
///   HAKOBI_STORAGE_MODEL_STATE   optional: the file by which all processes share the servers
///   HAKOBI_STORAGE_MODEL_TRACE   optional: gets a line of JSON for each server's part of each request: when it
///                                came, when its turn did, when it was done (nanoseconds, monotonic clock)
///   HAKOBI_STORAGE_MODEL_REPORT  optional: gets one line of JSON from each process that used the storage
///
/// The state's default is a file in /dev/shm, named by user, model and folder. The last process removes it
/// (what a killed one leaves, the next run takes over).
///
/// Without HAKOBI_STORAGE_MODEL the library does nothing; with a value that it cannot read the program ends
/// with status 2, since a run that was to be modelled and was not would be a false figure.
///
/// With the word `stripes` files have layouts, and the files below the folder answer as Lustre's
/// (interpose_layout.cpp). With `nodes` the ranks are divided among so many nodes, as HAKOBI_RANKS_PER_NODE,
/// which is set, tells Hakobi; without, as that variable says, or all are on one.
///
/// Modelled: read and write with all their p, v and 2 forms; POSIX AIO and reads and writes by liburing,
/// which stay asynchronous. The real call is made first and its time counts within the modelled time. Not
/// seen: stdio, mmap, io_uring without the shared liburing, splice and sendfile.
namespace hakobi::storage_model {

/// A modelled transfer from its arrival to its completion. Keeps errno.
class Transfer {
  public:
    /// Before the real call. Not modelled (and free) where `fd` is no file below the path.
    Transfer(int fd, bool is_write);

    [[nodiscard]] bool is_modelled() const noexcept { return identity_ != 0; }
    /// Whether `pass` may sleep: then a call that is to stay asynchronous makes it on a thread of its own.
    [[nodiscard]] static bool has_stops();
    /// After the real call at `offset` that moved `length` bytes: takes it to the servers and returns the
    /// time of its completion.
    std::int64_t pass(std::int64_t offset, std::int64_t length) const;
    /// pass(), then sleep until then; a failed call (negative length) costs nothing.
    void wait(std::int64_t offset, std::int64_t length) const;

  private:
    std::uint64_t identity_ = 0;  // of the file; 0: not modelled
    int fd_;
    bool is_write_;
    std::int64_t arrival_ns_ = 0;
};

/// The identity of an open modelled file; 0 of any other. Keeps errno.
[[nodiscard]] std::uint64_t modelled(int fd);
/// Whether what is open, a folder too, is the model's folder or lies below it. Keeps errno.
[[nodiscard]] bool is_below_folder(int fd);
/// Whether what has this path lies below the folder. Keeps errno.
[[nodiscard]] bool is_modelled(const char* path);
/// Only in a process for which `modelled` or `is_modelled` has been true.
[[nodiscard]] const storage::ServiceModel& service_model();
[[nodiscard]] storage::ServiceState& service_state();
/// A file that waits for a layout gets the model's. Nothing without layouts.
void lay_out(std::uint64_t identity);

/// Ends the program with status 2 and a line: what was to be modelled cannot be, and would be a false figure.
[[noreturn]] void refuse(const std::string& why);

/// Forgets what is known of `fd`: it was opened or closed.
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
