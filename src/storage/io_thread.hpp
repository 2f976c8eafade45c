#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace hakobi::storage {

/// A thread for I/O: named (at most 15 characters), with every signal blocked that is not raised by its own
/// faults, so that the program's handlers run on the program's threads. Nothing when the process can have no
/// further thread.
std::optional<std::thread> start_io_thread(const std::string& name, std::function<void()> work);

}  // namespace hakobi::storage
