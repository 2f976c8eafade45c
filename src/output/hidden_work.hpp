#pragma once

#include <functional>
#include <optional>
#include <thread>

#include "base/status.hpp"

namespace hakobi::output {

/// Work without MPI that is done while the program goes on, one at a time. All local, for one thread.
class HiddenWork {
  public:
    HiddenWork() = default;
    ~HiddenWork() { (void)wait(); }
    HiddenWork(const HiddenWork&) = delete;
    HiddenWork& operator=(const HiddenWork&) = delete;

    /// Starts `work` in a thread, or does it at once where the process can have none. Nothing must be under
    /// way.
    void start(std::function<Status()> work);
    /// Waits for it, and returns what it returned; ok when nothing was under way.
    Status wait();

  private:
    std::optional<std::thread> thread_;
    Status status_;
};

}  // namespace hakobi::output
