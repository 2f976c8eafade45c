#pragma once

#include <sched.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace hakobi {

/// Cores of this node that are online, also those that this process may not use.
[[nodiscard]] int num_cores();

/// A set of cores; an empty one says nothing.
using CoreSet = cpu_set_t;
/// Where the calling thread may run; empty when the kernel cannot say it (more than 1,024 cores).
[[nodiscard]] CoreSet own_cores();
[[nodiscard]] CoreSet united(const CoreSet& a, const CoreSet& b);

/// A thread for I/O: named (at most 15 characters), with every signal blocked that is not raised by its own
/// faults, so that the program's handlers run on the program's threads. It may run on `cores`, or where the
/// caller may when that is empty: a rank that its launcher has bound to one core must not bind its I/O
/// threads to that core too. Nothing when the process can have no further thread.
std::optional<std::thread> start_thread(const std::string& name, const CoreSet& cores,
                                        std::function<void()> work);

/// Processor seconds that the threads of start_thread have used in this process so far, also those that have
/// ended.
[[nodiscard]] double io_threads_cpu_s();

}  // namespace hakobi
