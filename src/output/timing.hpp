#pragma once

#include <hakobi/comm.hpp>
#include <hakobi/output.hpp>
#include <string>

namespace hakobi::output {

/// Adds the time from its making to its end to a phase.
class Stopwatch {
  public:
    explicit Stopwatch(double& seconds);
    ~Stopwatch();
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    double& seconds_;
    double start_s_;
};

/// The costs of an Output on this rank, from create to close.
///
/// Invariant: no moment counts in two of the phases that are parts of calls; run_s and cpu_s are counted from
/// `start` on and stand still after `stop`.
class Timing {
  public:
    /// Local.
    void start();
    /// The phases, to be added to.
    [[nodiscard]] OutputTimes& phases() noexcept { return phases_; }
    /// All of it up to this moment. Local.
    [[nodiscard]] OutputTimes now() const;
    /// The slowest rank's times become part of `waited`. Collective over `comm`; the arguments equal on all
    /// ranks.
    void stop(const Comm& comm, bool is_hidden, bool writes);
    /// "; the run waited …", what the run has waited for output; "" until `stop`.
    [[nodiscard]] const std::string& waited() const noexcept { return waited_; }

  private:
    OutputTimes phases_;
    double start_s_ = 0, start_cpu_s_ = 0;
    bool is_stopped_ = false;
    std::string waited_;
};

}  // namespace hakobi::output
