#include <algorithm>
#include <chrono>
#include <cstdio>
#include <hakobi/error.hpp>
#include <utility>

#include "base/classic_locale.hpp"
#include "collectives/plan_state.hpp"
#include "mpi/agree.hpp"
#include "mpi/messages.hpp"
#include "mpi/wait.hpp"

namespace hakobi {
namespace collectives {
namespace {

// How `auto` compares: each candidate once to warm up, then in turns for about this long together, at least
// and at most so often. The medians' maxima over the ranks are compared. The MPI library's own stays unless
// ours takes less than this part of its time, since medians of short timings differ by chance.
constexpr double timing_s = 0.03;
constexpr int fewest_rounds = 5, most_rounds = 41;
constexpr double part_to_win = 0.95;
// A candidate so much slower than the best at warming up is not timed again.
constexpr double hopeless = 4.0;
// Larger operations are not tried with memory of ours: the model decides between our forms, and the library's
// is taken.
constexpr std::int64_t most_trial_bytes = std::int64_t{1} << 30;

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string_view name_of(Operation operation) {
    switch (operation) {
        case Operation::allreduce:
            return "allreduce";
        case Operation::alltoall:
            return "alltoall";
        case Operation::allgather:
            return "allgather";
        case Operation::broadcast:
            return "broadcast";
    }
    return "";
}

std::string text_of(const Form& form) {
    std::string text = form.is_whole ? "whole vectors, " : "parts, ";
    text += std::to_string(form.routes.size());
    text += form.routes.size() == 1 ? " lane, " : " lanes, ";
    if (form.routes.front().empty()) text += "1";
    for (std::size_t i = 0; i < form.routes.front().size(); ++i) {
        const Stage& stage = form.routes.front()[i];
        if (i > 0) text += " x ";
        text += std::to_string(stage.radix);
        if (stage.exchange != Stage::Exchange::direct) text += " (ring)";
    }
    return text;
}

std::string text_of_seconds(double seconds) {
    const ClassicLocale classic;
    char text[32];
    std::snprintf(text, sizeof text, "%.4g us", seconds * 1e6);
    return text;
}

Schedule make_schedule(const Request& request, const Form& form, const Comm& comm) {
    const int rank = comm.rank();
    switch (request.operation) {
        case Operation::allreduce:
            return make_allreduce(form, rank, request.count, size_of(request.type));
        case Operation::alltoall:
            return make_alltoall(form, rank, comm.size(), request.count);
        case Operation::allgather:
            return make_allgather(form, rank, comm.size(), request.count);
        case Operation::broadcast:
            return make_broadcast(form, rank, request.root, request.count);
    }
    return {};
}

mpi::LibraryCollective::Arguments library_arguments(const Request& request) {
    using Kind = mpi::LibraryCollective::Kind;
    constexpr Kind kinds[] = {Kind::allreduce, Kind::alltoall, Kind::allgather, Kind::broadcast};
    return {kinds[static_cast<int>(request.operation)], request.type, request.reduction, request.count,
            request.root};
}

/// One way to carry the plan out, ready to run.
struct Candidate {
    std::optional<Executor> own;  ///< none: the MPI library's
    std::string text;
    double seconds = 0;
    bool is_out = false;
    std::vector<double> samples = {};
};

/// Makes ours ready. Collective: the ranks agree whether there is memory.
Candidate make_own(const CollectivePlan::State& plan, const Form& form) {
    Candidate candidate{.own = Executor(), .text = "ours, " + text_of(form)};
    const Lent lent = lent_bytes(plan.request, plan.comm.size());
    Status status;
    try {
        status = Executor::create(make_schedule(plan.request, form, plan.comm), plan.request.type,
                                  plan.request.reduction, lent.input_bytes, plan.context, plan.tag,
                                  *candidate.own);
    } catch (const std::bad_alloc&) {
        status = Status(ErrorCode::out_of_memory, "no memory for a plan's schedule");
    }
    mpi::agree_or_throw(plan.comm, status);
    return candidate;
}

/// Puts the candidate in force.
void take(CollectivePlan::State& plan, Candidate& candidate) {
    plan.delegated.reset();
    std::swap(plan.own, candidate.own);
    if (!plan.own) plan.delegated.emplace(plan.context, library_arguments(plan.request));
}

double time_once(CollectivePlan::State& plan, Candidate& candidate, const Memory& input,
                 const Memory& output) {
    take(plan, candidate);
    const double begin_s = now_s();
    plan.execute(input.data(), output.data());
    const double seconds = now_s() - begin_s;
    std::swap(plan.own, candidate.own);
    return seconds;
}

/// Collective: the maximum over the ranks of one figure for each candidate, put back.
template <class Figure>
void all_max_seconds(const Comm& comm, std::vector<Candidate>& candidates, Figure figure) {
    std::vector<std::int64_t> nanoseconds;
    for (Candidate& candidate : candidates)
        nanoseconds.push_back(static_cast<std::int64_t>(figure(candidate) * 1e9));
    mpi::all_max(comm, nanoseconds);
    for (std::size_t i = 0; i < candidates.size(); ++i)
        candidates[i].seconds = static_cast<double>(nanoseconds[i]) * 1e-9;
}

double median(std::vector<double> samples) {
    const auto middle = samples.begin() + std::ssize(samples) / 2;
    std::nth_element(samples.begin(), middle, samples.end());
    return *middle;
}

/// Collective: fills the candidates' seconds.
void time_all(CollectivePlan::State& plan, std::vector<Candidate>& candidates, const Memory& input,
              const Memory& output) {
    for (Candidate& candidate : candidates) time_once(plan, candidate, input, output);
    all_max_seconds(plan.comm, candidates,
                    [&](Candidate& each) { return time_once(plan, each, input, output); });
    double best_s = candidates.front().seconds, sum_s = 0;
    for (const Candidate& each : candidates) best_s = std::min(best_s, each.seconds);
    for (Candidate& each : candidates) {
        each.is_out = each.own && each.seconds > hopeless * best_s;
        sum_s += each.is_out ? 0 : each.seconds;
    }
    const int rounds =
        std::clamp(static_cast<int>(timing_s / std::max(sum_s, 1e-9)), fewest_rounds, most_rounds);
    for (int round = 0; round < rounds; ++round) {
        for (Candidate& each : candidates) {
            if (!each.is_out) each.samples.push_back(time_once(plan, each, input, output));
        }
    }
    all_max_seconds(plan.comm, candidates,
                    [](Candidate& each) { return each.is_out ? each.seconds : median(each.samples); });
}

}  // namespace

Lent lent_bytes(const Request& request, int num_ranks) {
    switch (request.operation) {
        case Operation::allreduce: {
            const std::int64_t bytes = request.count * size_of(request.type);
            return {bytes, bytes};
        }
        case Operation::alltoall:
            return {request.count * num_ranks, request.count * num_ranks};
        case Operation::allgather:
            return {request.count, request.count * num_ranks};
        case Operation::broadcast:
            return {0, request.count};
    }
    return {};
}

void choose(CollectivePlan::State& plan, const CollectivesOptions& options) {
    const Request& request = plan.request;
    const std::int64_t element = request.operation == Operation::allreduce ? size_of(request.type) : 1;
    const std::string what =
        std::string(name_of(request.operation)) + " of " + std::to_string(request.count * element) + " B: ";
    std::vector<Choice> forms =
        choices(options.shape, options.costs, {request.operation, request.count * element});
    const bool can_delegate =
        !options.is_reproducible && mpi::LibraryCollective::fits(library_arguments(request));
    if (options.method == "model" || options.is_reproducible || !can_delegate) {
        Candidate only = make_own(plan, forms.front().form);
        take(plan, only);
        plan.explanation = what + only.text + ": " + text_of_seconds(forms.front().model_s) + " by the model";
        return;
    }
    const Lent lent = lent_bytes(request, plan.comm.size());
    std::vector<Candidate> candidates(1);
    candidates.front().text = "the MPI library's own";
    const bool is_trial = options.method == "auto" && plan.comm.size() > 1 &&
                          lent.input_bytes + lent.output_bytes <= most_trial_bytes;
    if (is_trial) {
        Memory input, output;
        Status status = Memory::allocate(lent.input_bytes, input);
        status.keep_first(Memory::allocate(lent.output_bytes, output));
        mpi::agree_or_throw(plan.comm, status);
        std::fill_n(input.data(), lent.input_bytes, std::byte{0});
        std::fill_n(output.data(), lent.output_bytes, std::byte{0});
        for (const Choice& choice : forms) candidates.push_back(make_own(plan, choice.form));
        time_all(plan, candidates, input, output);
    }
    std::size_t best = 0;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
        const double limit_s = best == 0 ? part_to_win * candidates[0].seconds : candidates[best].seconds;
        if (candidates[i].seconds < limit_s) best = i;
    }
    plan.explanation = what + candidates[best].text;
    if (is_trial) {
        for (std::size_t i = 0; i < candidates.size(); ++i)
            plan.explanation += (i == best ? "; chosen: " : "; ") + candidates[i].text + " " +
                                text_of_seconds(candidates[i].seconds);
    }
    take(plan, candidates[best]);
}

}  // namespace collectives

void CollectivePlan::State::start(const collectives::Ends& with, DeviceStream stream) {
    if (!with.are_on_host()) {
        device::Device& device = *with.device();
        if (!on_device || &on_device->device() != &device)
            on_device = std::make_unique<collectives::DeviceEnds>(
                device, collectives::lent_bytes(request, comm.size()));
        on_device->begin(with, stream);
    }
    ends = with;
    const bool begins_now = [&] {
        const auto locked = lock();
        if (ends.are_on_host() && !turn.is_any()) return true;
        turn.take();
        return false;
    }();
    has_begun = begins_now;
    if (begins_now) begin(ends.input, ends.output);
    enter();
}

void CollectivePlan::State::begin(const void* input, void* output) {
    if (own) {
        own->start(static_cast<const std::byte*>(input), static_cast<std::byte*>(output));
    } else {
        delegated->start(input, output);
    }
}

mpi::UnderWay::Look CollectivePlan::State::look() {
    const bool is_on_host = ends.are_on_host();
    if (!has_begun) {
        if (!turn.is_next() || (!is_on_host && !on_device->has_input())) return Look::nothing;
        turn.end();
        has_begun = true;
        begin(is_on_host ? ends.input : on_device->input(), is_on_host ? ends.output : on_device->output());
        return Look::moved;
    }
    if (!(own ? own->test() : delegated->test())) return Look::nothing;
    if (!is_on_host) on_device->take_output();
    return Look::over;
}

void CollectivePlan::State::wait() {
    if (!ends.are_on_host() || !may_block())
        return wait_until_over(comm, {}, ends.are_on_host() && has_begun);
    if (own) {
        own->wait();
    } else {
        delegated->wait();
    }
    leave();
}

void CollectivePlan::State::execute(const void* input, void* output) {
    if (!own && !is_any()) return delegated->execute(input, output);
    start({.input = input, .output = output}, nullptr);
    wait();
}

namespace {

/// The ends of a plan that may be started.
collectives::Ends ends_of(const std::shared_ptr<CollectivePlan::State>& state, const void* input,
                          void* output) {
    const auto refuse = [](const char* text) { throw Error(ErrorCode::invalid_argument, text); };
    if (!state) refuse("CollectivePlan: an empty plan is started");
    if (state->is_started) refuse("CollectivePlan: started again before it is complete");
    const collectives::Request& request = state->request;
    const collectives::Lent lent = collectives::lent_bytes(request, state->comm.size());
    if ((input == nullptr && lent.input_bytes > 0) || (output == nullptr && lent.output_bytes > 0))
        refuse("CollectivePlan: a null pointer where there is data");
    collectives::Ends ends = collectives::Ends::of(input, output, lent);
    ends.is_output_read =
        request.operation == collectives::Operation::broadcast && request.root == state->comm.rank();
    return ends;
}

}  // namespace

void CollectivePlan::execute(const void* input, void* output) {
    const collectives::Ends ends = ends_of(state_, input, output);
    if (ends.are_on_host()) return state_->execute(input, output);
    start(input, output, nullptr);
    wait();
}

void CollectivePlan::start(const void* input, void* output) {
    start(input, output, nullptr);
}

void CollectivePlan::start(const void* input, void* output, DeviceStream stream) {
    const collectives::Ends ends = ends_of(state_, input, output);
    state_->start(ends, stream);
    state_->is_started = true;
}

bool CollectivePlan::test() {
    if (!state_ || !state_->is_started) return true;
    mpi::UnderWay::look_at_all();
    state_->is_started =
        state_->is_under_way() || (!state_->ends.are_on_host() && !state_->on_device->has_output());
    return !state_->is_started;
}

void CollectivePlan::wait() {
    if (!state_ || !state_->is_started) return;
    state_->wait();
    if (!state_->ends.are_on_host()) state_->on_device->wait_for_output(state_->comm);
    state_->is_started = false;
}

void CollectivePlan::wait(DeviceStream stream) {
    if (!state_ || !state_->is_started) return;
    state_->wait();
    if (!state_->ends.are_on_host()) state_->on_device->hold_back(stream).throw_if_error();
    state_->is_started = false;
}

std::int64_t CollectivePlan::scratch_bytes() const noexcept {
    if (!state_) return 0;
    return (state_->own ? state_->own->scratch_bytes() : 0) +
           (state_->on_device ? state_->on_device->size_bytes() : 0);
}

std::string CollectivePlan::explain() const {
    return state_ ? state_->explanation : "";
}

}  // namespace hakobi
