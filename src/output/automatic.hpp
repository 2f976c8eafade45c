#pragma once

#include <memory>
#include <string>
#include <vector>

#include "output/method.hpp"

namespace hakobi::output {

// Which of several ways of writing is the cheapest for this run, here: tried on the run's first steps, kept from then on.
//
// 1. Step 0 warms up: buffers are touched for the first time, the storage is met.
// 2. Each step after it is written by one way. What that cost the run is known when the step is stored: the time that the
//    slowest rank was in the calls for it, and the processor time of storing it, where ranks fill all cores of a node and
//    it comes out of theirs.
// 3. The ways in their order: pipelined hidden, root hidden, pipelined, root. One that is not hidden is left out where the
//    hidden one has been stored for longer than its step cost: waiting for that cannot be cheaper. The first that costs less
//    than good_enough of the time between two steps ends the search: no other could gain more than that.
// 4. The cheapest two are tried once more, and the one with the least cost of any try is kept.

/// What one step by one way cost, agreed by all ranks.
struct Cost {
    double cost_s = 0;
    double stored_s = 0;    ///< from the call's begin to the last value stored
    double interval_s = 0;  ///< since the step before
};

/// The search, without MPI: which way the next step takes.
class Search {
  public:
    struct Way {
        std::string name;  ///< of the method, then "+hidden" where it is
        bool is_hidden = false;
        int hidden_twin = -1;  ///< of a way that is not hidden: the same method hidden, or -1
        std::vector<Cost> tries = {};
    };
    explicit Search(std::vector<Way> ways);
    [[nodiscard]] const std::vector<Way>& ways() const noexcept { return ways_; }
    [[nodiscard]] int current() const noexcept { return current_; }
    [[nodiscard]] bool is_over() const noexcept { return is_over_; }
    /// The step by `current` cost that. The first is the warm-up.
    void add(const Cost& cost);
    /// "root is the cheapest of 3 tried: 0.8 ms a step, pipelined+hidden 2.1 ms, …"
    [[nodiscard]] std::string text() const;

  private:
    void choose_next();
    [[nodiscard]] double least_cost_s(int way) const;
    [[nodiscard]] std::vector<int> by_cost() const;  // of those tried
    void keep(int way);

    std::vector<Way> ways_;
    int current_ = 0;
    int num_steps_ = 0;
    bool is_over_ = false, is_good_enough_ = false;
    std::vector<int> again_;  // still to be tried a second time
};

/// The method `auto`; it is each of its methods in turn.
Result<std::unique_ptr<Method>> make_automatic(const MethodSettings& settings);

}  // namespace hakobi::output
