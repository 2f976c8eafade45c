#pragma once

#include <cassert>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "output/method.hpp"

namespace hakobi::output {

/// Adds the step's file to a list of names; of a file of several the step, too. Pure.
void add_name(std::string& names, const series::Step& step);

/// Hidden steps: end_step has accepted them, and their values may still be on their way to storage.
///
/// Invariant: the oldest first, as many as the method has (Method::num_hidden), equal on all ranks. A step
/// leaves when the values of all ranks are stored.
class HiddenSteps {
  public:
    /// The program calls end_step or close; end_step returns to it. Local.
    void begin_call();
    void end_call();

    /// The step that the method has accepted last. Local.
    void add(series::Step names);
    [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(steps_.size()); }
    [[nodiscard]] const series::Step& oldest() const {
        assert(!steps_.empty());
        return steps_.front().names;
    }
    [[nodiscard]] const series::Step& youngest() const {
        assert(!steps_.empty());
        return steps_.back().names;
    }
    /// How many of the oldest are to be waited for so that at most `most_left` stay, and those that all ranks
    /// have stored. Collective where there are any and some may stay.
    [[nodiscard]] int num_to_finish(const Comm& comm, const Method& method, int most_left) const;
    /// How much of storing the oldest, which this rank had done at `stored_s`, was hidden: while the program
    /// was in no call. In the steps' order. Local.
    double hidden_s(double stored_s);
    void pop_oldest() {
        assert(!steps_.empty());
        steps_.pop_front();
    }

    /// Names them all: "run_000003.nc, step 4 of run_000000.nc"; "" where there are none. Local.
    [[nodiscard]] std::string names() const;
    /// Has the method give all of them up. Local.
    void abandon(Method& method);

  private:
    struct Accepted {
        series::Step names;
        double returned_s = 0;  // when `write` returned
    };
    std::deque<Accepted> steps_;
    double last_stored_s_ = 0;
    double returned_s_ = 0;  // when the last end_step returned
    std::vector<std::pair<double, double>>
        gaps_;  // since there are hidden steps: when the program was in no call
};

}  // namespace hakobi::output
