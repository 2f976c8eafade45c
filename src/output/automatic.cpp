#include "output/automatic.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <ranges>

#include "base/classic_locale.hpp"
#include "base/clock.hpp"
#include "mpi/messages.hpp"
#include "output/registry.hpp"

namespace hakobi::output {
namespace {

constexpr double good_enough = 0.005;
constexpr double trial_share = 0.02;
// The tries of each of two ways. Where they cost the same, chance alone makes every try of one cheaper than
// those of the other in one run of 20.
constexpr std::size_t confirming_tries = 3;
constexpr double most_unjudged = 1e6;

}  // namespace

Search::Search(std::vector<Way> ways) : ways_(std::move(ways)) {
    assert(!ways_.empty());
    if (ways_.size() == 1) is_over_ = true;
}

double Search::least_cost_s(int way) const {
    double least_s = 1e300;
    for (const Cost& cost : ways_[static_cast<std::size_t>(way)].tries)
        least_s = std::min(least_s, cost.cost_s);
    return least_s;
}

double Search::most_cost_s(int way) const {
    double most_s = 0;
    for (const Cost& cost : ways_[static_cast<std::size_t>(way)].tries)
        most_s = std::max(most_s, cost.cost_s);
    return most_s;
}

int Search::best() const {
    for (const int way : by_cost())
        if (way == 0 || most_cost_s(way) < least_cost_s(0)) return way;
    return 0;
}

std::vector<int> Search::by_cost() const {
    std::vector<int> order;
    for (int way = 0; way < std::ssize(ways_); ++way) {
        if (!ways_[static_cast<std::size_t>(way)].tries.empty()) order.push_back(way);
    }
    std::ranges::stable_sort(order, {}, [this](int way) { return least_cost_s(way); });
    return order;
}

double Search::at_least_s(int way) const {
    const Way& it = ways_[static_cast<std::size_t>(way)];
    if (!it.tries.empty()) return least_cost_s(way);
    if (it.is_hidden || it.hidden_twin < 0) return 0;
    const Way& twin = ways_[static_cast<std::size_t>(it.hidden_twin)];
    const Way& hidden = twin.tries.empty() ? ways_.front() : twin;
    return hidden.tries.front().stored_s / 1.5;  // stored beside a computation, which slows it down
}

double Search::expected_s(int way) const {
    const Way& it = ways_[static_cast<std::size_t>(way)];
    if (!it.tries.empty()) return least_cost_s(way);
    return std::max(it.factor * least_cost_s(0), 1.5 * at_least_s(way));
}

void Search::keep(int way) {
    current_ = way;
    is_over_ = true;
}

void Search::add(const Cost& cost) {
    if (is_over_ || num_steps_++ == 0) return;
    if (!ways_.front().tries.empty()) spent_s_ += std::max(0.0, cost.cost_s - least_cost_s(best()));
    ways_[static_cast<std::size_t>(current_)].tries.push_back(cost);
    if (current_ == 0 && cost.cost_s < good_enough * cost.interval_s) {
        good_share_ = cost.cost_s / cost.interval_s;
        keep(current_);
    } else {
        plan(cost);
    }
}

void Search::pass() {
    ++num_steps_;
    if (num_unjudged_ > 0 && --num_unjudged_ == 0) current_ = next_;
}

int Search::candidate() {
    const double best_s = least_cost_s(best());
    const auto num_tries = [this](int way) { return ways_[static_cast<std::size_t>(way)].tries.size(); };
    const bool is_second_round =
        std::ranges::any_of(ways_, [](const Way& way) { return way.tries.size() > 1; });
    for (int way = 0; !is_second_round && way < std::ssize(ways_); ++way) {
        Way& it = ways_[static_cast<std::size_t>(way)];
        if (!it.tries.empty() || it.is_out) continue;
        it.is_out = at_least_s(way) > best_s;
        if (!it.is_out) return way;
    }
    const int rival = best();
    if (rival == 0) return -1;
    if (num_tries(rival) < confirming_tries) return rival;
    return num_tries(0) < confirming_tries ? 0 : -1;
}

void Search::plan(const Cost& last) {
    next_ = candidate();
    if (next_ < 0) return keep(best());
    const double best_s = least_cost_s(best());
    const double extra_s = std::max(0.0, expected_s(next_) - best_s);
    const bool is_new = ways_[static_cast<std::size_t>(next_)].tries.empty();
    const double saved_s = is_new ? std::max(0.0, best_s - at_least_s(next_)) : best_s;
    // Steps until the run is long enough to pay for the trial, and to have gained by it.
    const double to_pay_s = (spent_s_ + extra_s) / trial_share - last.elapsed_s;
    const double to_pay = extra_s > 0 ? to_pay_s / std::max(last.interval_s, 1e-9) : 0;
    const double to_gain = extra_s > 0 ? extra_s / std::max(saved_s, 1e-9) - num_steps_ : 0;
    num_unjudged_ = static_cast<int>(std::ceil(std::clamp(std::max(to_pay, to_gain), 0.0, most_unjudged)));
    current_ = num_unjudged_ > 0 ? best() : next_;
}

std::string Search::text() const {
    const std::vector<int> order = by_cost();
    if (order.empty()) return is_over_ ? "the only way that is allowed" : "being chosen in the first steps";
    const ClassicLocale classic;
    std::array<char, 128> good{};
    if (good_share_)
        std::snprintf(
            good.data(), good.size(),
            "its second step cost %.2f %% of the time between two, too little to gain by another way",
            100 * *good_share_);
    std::string text = good_share_ ? good.data()
                       : is_over_ && order.front() != current_
                           ? "none of those tried is cheaper outside the spread"
                       : is_over_ ? "the cheapest of those tried"
                                  : "the cheapest so far, another is tried once the run has paid for it";
    for (const int way : order) {
        std::array<char, 96> cost{};
        std::snprintf(cost.data(), cost.size(), "%s %s %.1f ms", way == order.front() ? ":" : ",",
                      ways_[static_cast<std::size_t>(way)].name.c_str(), 1e3 * least_cost_s(way));
        text += cost.data();
    }
    return text + " a step";
}

namespace {

/// Measures the cost of steps to the run; which of them, the search says.
class CostWatch {
  public:
    explicit CostWatch(const MethodSettings& settings) : comm_(settings.comm) {
        const auto& cores = settings.hidden.cores;
        const int num_cores = std::max(1, CPU_COUNT(&cores));
        if (comm_.node_size() >= num_cores) core_share_ = 1.0 / num_cores;
    }

    /// A step's `write` begins.
    void begin_step() {
        assert(!is_on_);
        const double before_s = std::exchange(begin_s_, now_s());
        if (before_s == 0) first_s_ = begin_s_;
        interval_s_ = before_s == 0 ? 0 : begin_s_ - before_s;
    }
    /// It has returned, and the step's cost is asked for. `brought_s`: this took before.
    void judge(double brought_s) {
        is_on_ = true;
        called_s_ = now_s() - begin_s_ + brought_s;
        returned_cpu_s_ = io_threads_cpu_s();
    }
    /// A step that is judged is not stored yet.
    [[nodiscard]] bool is_on() const noexcept { return is_on_; }
    /// The processor time of storing it so far.
    [[nodiscard]] double hidden_cpu_s() const { return io_threads_cpu_s() - returned_cpu_s_; }
    /// It is stored, since `stored_s`. `waited_s`: in calls since `judge`. Collective.
    Cost end(double stored_s, double waited_s = 0, double hidden_cpu_s = 0) {
        assert(is_on_);
        is_on_ = false;
        const auto in_ns = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e9); };
        std::int64_t most_ns[] = {in_ns(called_s_ + waited_s), in_ns(core_share_ * hidden_cpu_s),
                                  in_ns(std::max(0.0, stored_s - begin_s_)), in_ns(interval_s_),
                                  in_ns(now_s() - first_s_)};
        mpi::all_max(comm_, most_ns);
        const auto in_s = [&](int i) { return 1e-9 * static_cast<double>(most_ns[i]); };
        return {
            .cost_s = in_s(0) + in_s(1), .stored_s = in_s(2), .interval_s = in_s(3), .elapsed_s = in_s(4)};
    }

  private:
    Comm comm_;
    double core_share_ = 0;  // of a second of an I/O thread, that the ranks lose: they fill all cores
    double first_s_ = 0, begin_s_ = 0, interval_s_ = 0;  // begins of steps
    bool is_on_ = false;
    double called_s_ = 0, returned_cpu_s_ = 0;
};

/// A method that the search may choose.
struct Candidate {
    std::unique_ptr<Method> method;
    std::string_view name;
    bool knows_regions = false;  ///< has seen those of the last step
};

class Automatic final : public Method {
  public:
    /// One candidate a way.
    Automatic(const MethodSettings& settings, std::vector<Search::Way> ways,
              std::vector<Candidate> candidates)
        : search_(std::move(ways)), candidates_(std::move(candidates)), watch_(settings) {
        assert(search_.ways().size() == candidates_.size());
    }

    Status prepare(const Step& step) override {
        if (step.are_regions_new)
            for (Candidate& each : candidates_) each.knows_regions = false;
        return current().prepare(seen(step));
    }

    mpi::Agreed write(const Step& step) override {
        watch_.begin_step();
        assert(last_ == search_.current() || last().num_hidden() == 0);
        last_ = search_.current();
        mpi::Agreed agreed = current().write(seen(step));
        candidate().knows_regions = true;
        if (search_.is_over() || !agreed.status.ok()) return agreed;
        if (!search_.is_judged()) {
            search_.pass();
            return agreed;
        }
        watch_.judge(step.device.brought_s);
        if (current().num_hidden() == 0) search_.add(watch_.end(now_s()));
        return agreed;
    }

    [[nodiscard]] bool writes_metadata() const override { return current().writes_metadata(); }
    [[nodiscard]] bool takes_device_memory() const override { return current().takes_device_memory(); }
    [[nodiscard]] int num_hidden() const override { return last().num_hidden(); }
    [[nodiscard]] int num_stored() const override { return last().num_stored(); }
    [[nodiscard]] int most_hidden() const override {
        // Before another method writes, and beside a step that is judged, no other is under way.
        const bool is_alone = watch_.is_on() || search_.is_judged();
        return is_alone ? 1 : last().most_hidden();
    }
    mpi::Agreed wait(double& stored_s) override {
        const double waited_from_s = now_s();
        const double hidden_cpu_s = watch_.hidden_cpu_s();
        mpi::Agreed agreed = last().wait(stored_s);
        if (watch_.is_on() && agreed.status.ok())
            search_.add(watch_.end(stored_s, now_s() - waited_from_s, hidden_cpu_s));
        return agreed;
    }
    void abandon(const Step& step) override {
        for (const Candidate& each : candidates_) each.method->abandon(step);
    }
    mpi::Agreed close(OutputTimes& times) override {
        mpi::Agreed agreed;
        for (const Candidate& each : candidates_) {
            mpi::Agreed closed = each.method->close(times);
            if (agreed.status.ok()) agreed = std::move(closed);
        }
        return agreed;
    }
    [[nodiscard]] std::string_view name() const override { return candidate().name; }
    [[nodiscard]] bool is_hidden() const override {
        return search_.ways()[static_cast<std::size_t>(search_.current())].is_hidden;
    }
    [[nodiscard]] std::string why() const override { return search_.text(); }

  private:
    [[nodiscard]] const Candidate& candidate() const {
        return candidates_[static_cast<std::size_t>(search_.current())];
    }
    [[nodiscard]] Candidate& candidate() { return candidates_[static_cast<std::size_t>(search_.current())]; }
    [[nodiscard]] Method& current() const { return *candidate().method; }
    /// That wrote the last step: what is hidden is its.
    [[nodiscard]] Method& last() const { return *candidates_[static_cast<std::size_t>(last_)].method; }

    /// The step as the current method has to see it: regions that the others know are new to it.
    const Step& seen(const Step& step) {
        if (step.are_regions_new || candidate().knows_regions) return step;
        retold_ = step;
        retold_.are_regions_new = true;
        return retold_;
    }

    Search search_;
    std::vector<Candidate> candidates_;
    CostWatch watch_;
    Step retold_;
    int last_ = 0;
};

}  // namespace

Result<std::unique_ptr<Method>> make_automatic(const MethodSettings& settings) {
    std::vector<Search::Way> ways;
    std::vector<Candidate> candidates;
    const bool may_hide = settings.hidden.is_on;
    const bool may_wait = !settings.options.hidden.on.value_or(false);
    for (const bool is_hidden : {true, false}) {
        if (is_hidden ? !may_hide : !may_wait) continue;
        for (const std::string_view name : {"pipelined", "root"}) {
            const MethodEntry& entry = *find_method(name).value();
            MethodSettings own = settings;
            own.hidden.is_on = is_hidden;
            Result<std::unique_ptr<Method>> made = entry.make(own);
            if (!made.ok()) return made.status();
            const auto twin = std::ranges::find(candidates, entry.name, &Candidate::name);
            ways.push_back(
                {.name = std::string(name) + (is_hidden ? "+hidden" : ""),
                 .is_hidden = is_hidden,
                 .hidden_twin = twin == candidates.end() ? -1 : static_cast<int>(twin - candidates.begin()),
                 .factor = name == "root" ? std::min(8.0, static_cast<double>(settings.comm.size())) : 1});
            candidates.push_back({.method = std::move(made).value(), .name = entry.name});
        }
    }
    return std::unique_ptr<Method>(new Automatic(settings, std::move(ways), std::move(candidates)));
}

}  // namespace hakobi::output
