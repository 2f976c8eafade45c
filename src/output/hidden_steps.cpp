#include "output/hidden_steps.hpp"

#include <algorithm>
#include <cassert>

#include "base/clock.hpp"
#include "mpi/messages.hpp"

namespace hakobi::output {

void add_name(std::string& names, const series::Step& step) {
    if (!names.empty()) names += ", ";
    if (step.step_in_file >= 0) names += "step " + std::to_string(step.number) + " of ";
    names += series::file_name(step.path);
}

void HiddenSteps::begin_call() {
    if (steps_.empty()) gaps_.clear();
    gaps_.emplace_back(returned_s_, now_s());
}

void HiddenSteps::end_call() {
    returned_s_ = now_s();
}

void HiddenSteps::add(series::Step names) {
    assert(steps_.empty() || youngest().number <= names.number);  // equal: a mesh, and its step
    steps_.push_back({std::move(names), now_s()});
}

int HiddenSteps::num_to_finish(const Comm& comm, const Method& method, int most_left) const {
    assert(most_left >= 0 && method.num_hidden() >= size());
    if (steps_.empty()) return 0;
    const int num = std::max(0, size() - most_left);
    if (most_left == 0) return num;
    std::int64_t least_stored[] = {-method.num_stored()};  // of the ranks: the maximum of the negative
    mpi::all_max(comm, least_stored);
    return std::max(num, static_cast<int>(-least_stored[0]));
}

double HiddenSteps::hidden_s(double stored_s) {
    assert(!steps_.empty());
    // Steps are stored one after the other, and what happens during a call is not hidden.
    const double from_s = std::max(steps_.front().returned_s, last_stored_s_);
    double sum_s = 0;
    for (const auto& [begin_s, end_s] : gaps_)
        sum_s += std::max(0.0, std::min(stored_s, end_s) - std::max(from_s, begin_s));
    last_stored_s_ = std::max(last_stored_s_, stored_s);
    return sum_s;
}

std::string HiddenSteps::names() const {
    std::string names;
    for (const Accepted& step : steps_) add_name(names, step.names);
    return names;
}

void HiddenSteps::abandon(Method& method) {
    // The youngest first: a kill on the way leaves none behind one that is gone.
    for (; !steps_.empty(); steps_.pop_back()) method.abandon(steps_.back().names);
}

}  // namespace hakobi::output
