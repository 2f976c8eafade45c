#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/status.hpp"
#include "output/method.hpp"

namespace hakobi::output {

/// Writes the overview (src/overview/overview.hpp) of a step whose values are all in its temporary file, and gives it its
/// final name, which the step itself does not have yet: who sees the step sees its overview. Fields in other than 2 or 3
/// dimensions and compressed ones are left out; without any there is no overview. Local.
Status write_overview(const Step& step, bool sync);

/// Something that ends a step behind the program's back: one at a time, without MPI.
class Behind {
  public:
    Behind() = default;
    ~Behind() { (void)wait(); }
    Behind(const Behind&) = delete;
    Behind& operator=(const Behind&) = delete;

    /// Runs `work` in a thread, or at once where there can be none. Nothing is under way.
    void start(std::function<Status()> work);
    /// What it returned; ok when nothing was under way.
    Status wait();

  private:
    std::optional<std::thread> thread_;
    Status status_;
};

}  // namespace hakobi::output
