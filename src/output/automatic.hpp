#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "output/method.hpp"

namespace hakobi::output {

// Finds the cheapest of several ways of writing for this run, here. A way is tried where a trial costs less
// than it can save, and kept if it is cheaper.
//
// 1. Step 0 warms up: buffers are touched for the first time, the storage is met. Step 1 measures the first
//    way.
// 2. The cost of a step to the run is known when it is stored: the time that the slowest rank was in the
//    calls for it, and the processor time of storing it, where ranks fill all cores of a node and it comes
//    out of theirs.
// 3. The ways in their order: pipelined hidden, root hidden, pipelined, root. Where the first costs less than
//    good_enough of the time between two steps the search is over: no other could gain more than that.
// 4. Another way is tried only where an estimate leaves doubt. One that is not hidden waits for as long as
//    the hidden one was being stored: it is out where that is longer than the best known way costs.
// 5. The cost of trials beyond the best known way stays below trial_share of the run so far, by estimates
//    before a trial and by its cost after it; and an estimate is below what the trial could have saved in as
//    many steps as were written. Until then the best known way goes on, unjudged.
// 6. Another way than the first is kept only where its dearest try cost less than the first way's cheapest,
//    of confirming_tries each. One that cost more in any try is not tried again.

/// The cost of one step by one way, agreed by all ranks.
struct Cost {
    double cost_s = 0;
    double stored_s = 0;    ///< from the call's begin to the last value stored
    double interval_s = 0;  ///< since the step before
    double elapsed_s = 0;   ///< since the first step
};

/// The search, without MPI: which way the next step takes.
class Search {
  public:
    struct Way {
        std::string name;  ///< of the method, then "+hidden" where it is
        bool is_hidden = false;
        int hidden_twin = -1;  ///< of a way that is not hidden: the same method hidden, or -1
        double factor = 1;     ///< of a way that was not tried: how many times the first way it may cost
        std::vector<Cost> tries = {};
        bool is_out = false;
    };
    explicit Search(std::vector<Way> ways);
    [[nodiscard]] const std::vector<Way>& ways() const noexcept { return ways_; }
    [[nodiscard]] int current() const noexcept { return current_; }
    [[nodiscard]] bool is_over() const noexcept { return is_over_; }
    /// Whether what the next step costs is asked for, by add(); else it is passed by pass().
    [[nodiscard]] bool is_judged() const noexcept { return !is_over_ && num_unjudged_ == 0; }
    /// The step by `current` cost that. The first is the warm-up.
    void add(const Cost& cost);
    /// A step was written that is not judged.
    void pass();
    /// "root is the cheapest of 3 tried: 0.8 ms a step, pipelined+hidden 2.1 ms, …"
    [[nodiscard]] std::string text() const;

  private:
    [[nodiscard]] double least_cost_s(int way) const;
    [[nodiscard]] double most_cost_s(int way) const;
    [[nodiscard]] std::vector<int> by_cost() const;  // of those tried
    [[nodiscard]] double expected_s(int way) const;
    [[nodiscard]] double at_least_s(int way) const;
    /// The cheapest by what is known: the first, or one that is cheaper outside the spread.
    [[nodiscard]] int best() const;
    /// The way to try next, or -1.
    [[nodiscard]] int candidate();
    void plan(const Cost& last);
    void keep(int way);

    std::vector<Way> ways_;
    int current_ = 0, next_ = 0;
    int num_steps_ = 0;
    int num_unjudged_ = 0;  // steps to write by current_ before next_ is tried
    double spent_s_ = 0;    // by trials, beyond the best way known before
    bool is_over_ = false;
    std::optional<double>
        good_share_;  // of the time between two steps that the first way cost, where it ended the search
};

/// The method `auto`; it is each of its methods in turn.
Result<std::unique_ptr<Method>> make_automatic(const MethodSettings& settings);

}  // namespace hakobi::output
