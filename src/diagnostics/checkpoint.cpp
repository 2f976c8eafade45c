#include "diagnostics/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/guard.hpp"
#include "mpi/agree.hpp"
#include "mpi/messages.hpp"

namespace hakobi::diagnostics {
namespace {

constexpr const char* of_numbers = "numbers";
constexpr const char* of_outputs = "outputs";
/// The numbers of the progress, and of each output.
constexpr std::size_t num_of_progress = 6, num_of_output = 4;

/// Whether the step has a field of that name.
bool has_field(const Input& input, const std::string& name) {
    return std::ranges::find(input.fields(), name, &InputField::name) != input.fields().end();
}

/// Null where there is none.
std::optional<Input> open_if_any(const Comm& comm, const std::string& prefix) {
    try {
        return Input::open(comm, prefix);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_found) throw;
        return {};
    }
}

template <class T>
std::vector<T> read_whole(Input& input, const char* name) {
    std::vector<T> values(static_cast<std::size_t>(input.field(name).shape.at(0)));
    input.read({.name = name, .data = std::span(values)});
    return values;
}

/// A small array that all ranks have alike, from rank 0.
template <class T>
void put_whole(Output& output, const Comm& comm, const char* name, const std::vector<T>& values) {
    const std::int64_t num = std::ssize(values), mine = comm.rank() == 0 ? num : 0;
    output.put({.name = name,
                .block = {{num}, {0}, {mine}},
                .data = std::span(values).first(static_cast<std::size_t>(mine))});
}

/// Calls `visit(accumulated, beginning of its parts' names)` for all that have accumulated something, in
/// order.
template <class Visit>
void for_each_accumulated(std::span<IntervalOutput> outputs, Visit visit) {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (outputs[o].place().num_puts == 0) continue;
        const std::span<IntervalOutput::Accumulated> all = outputs[o].accumulated();
        for (std::size_t a = 0; a < all.size(); ++a)
            visit(all[a], "part_" + std::to_string(o) + "_" + std::to_string(a) + "_");
    }
}

/// Calls `visit(part, its name)` for the parts of an accumulator; with `has_weights` the weights, too, which
/// it keeps from now on.
template <class Visit>
void for_each_part(Accumulator& accumulator, bool has_weights, const std::string& names, Visit visit) {
    if (has_weights) accumulator.keep_weights();
    const std::span<Accumulator::Part> parts = accumulator.parts();
    for (std::size_t p = 0; p < parts.size(); ++p) visit(parts[p], names + std::to_string(p));
    if (has_weights) visit(accumulator.weights(), names + std::to_string(parts.size()));
}

}  // namespace

Checkpoints::Checkpoints(const Comm& comm, std::string prefix, const OutputsOptions& options)
    : comm_(comm), prefix_(std::move(prefix)), options_(options) {}

std::optional<Checkpoints::Found> Checkpoints::find(int turn) const {
    try {
        std::optional<Input> input = open_if_any(comm_, prefix_of(turn));
        if (!input) return {};
        const bool is_other = !has_field(*input, of_outputs) || !has_field(*input, of_numbers);
        if (is_other || options_.if_exists == IfExists::fail)
            throw Error(ErrorCode::exists, "Outputs::create: " + prefix_of(turn) + " holds " +
                                               (is_other ? "steps that are no checkpoint" : "a checkpoint"));
        Found found;
        const auto text = read_whole<std::uint8_t>(*input, of_outputs);
        found.outputs.assign(text.begin(), text.end());
        found.numbers = read_whole<double>(*input, of_numbers);
        input->close();
        if (found.numbers.size() < num_of_progress)
            throw Error(ErrorCode::format, prefix_of(turn) + " is no checkpoint");
        const std::vector<double>& all = found.numbers;
        found.progress = {.time = all[0],
                          .length = all[1],
                          .longest = all[2],
                          .unit = all[3],
                          .unit_time = all[4],
                          .num_steps = static_cast<std::int64_t>(all[5])};
        return found;
    } catch (const Error& error) {
        // All ranks have it. That is what there are two for.
        if (error.code() != ErrorCode::format || options_.if_exists == IfExists::fail) throw;
        if (comm_.rank() == 0)
            std::fprintf(stderr, "hakobi: %s: the checkpoint cannot be used: %s\n", prefix_of(turn).c_str(),
                         error.what());
        return {};
    }
}

void Checkpoints::claim() {
    if (options_.if_exists == IfExists::replace) return;
    std::string times;
    for (int turn = 0; turn < 2; ++turn) {
        std::optional<Found> found = find(turn);
        if (!found) continue;
        const double time = found->progress.time;
        times += " " + std::to_string(time);
        const double rounding = 8 * std::numeric_limits<double>::epsilon() * std::fabs(time);
        if (options_.resume_at && std::fabs(time - *options_.resume_at) > rounding) continue;
        if (found_ && found_->progress.time >= time) continue;
        found_ = std::move(found);
        next_turn_ = 1 - turn;
    }
    if (options_.resume_at && !found_) {
        throw Error(ErrorCode::not_found, "Outputs::create: " + prefix_ + " has no checkpoint of time " +
                                              std::to_string(*options_.resume_at) +
                                              (times.empty() ? "" : ", but of" + times));
    }
}

void Checkpoints::prepare() {
    if (std::exchange(is_prepared_, true) || found_) return;
    const bool replaces = options_.if_exists == IfExists::replace;
    for (int turn = 0; turn < (replaces ? 2 : 1); ++turn) {
        // A resumed run replaces what it cannot use.
        const IfExists if_exists = options_.if_exists == IfExists::fail ? IfExists::fail : IfExists::replace;
        Output::create(comm_, prefix_of(turn), {.if_exists = if_exists}).close();
    }
}

std::string Checkpoints::description(std::span<const IntervalOutput> outputs,
                                     std::span<const Source> sources) const {
    std::string text = options_.time_units + ", calendar '" + options_.calendar + "'\n";
    for (const IntervalOutput& output : outputs) text += output.description(sources) + "\n";
    return text;
}

void Checkpoints::restore_places(std::span<IntervalOutput> outputs, std::span<const Source> sources) const {
    const std::string mine = description(outputs, sources);
    if (found_->outputs != mine ||
        found_->numbers.size() < num_of_progress + num_of_output * outputs.size()) {
        throw Error(ErrorCode::invalid_argument, "begin_step: checkpoint " + newest() +
                                                     " is of other outputs: of\n" + found_->outputs +
                                                     "and not of\n" + mine);
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        const double* const numbers = found_->numbers.data() + num_of_progress + num_of_output * o;
        outputs[o].set_place(
            {.begin = numbers[0], .end = numbers[1], .num_puts = static_cast<std::int64_t>(numbers[2])});
    }
}

void Checkpoints::warn_of_gaps(std::span<const IntervalOutput> outputs) const {
    if (comm_.rank() != 0) return;
    for (std::size_t o = 0; o < outputs.size(); ++o)
        outputs[o].warn_of_gap(found_->progress.time,
                               found_->numbers[num_of_progress + num_of_output * o + 3]);
}

void Checkpoints::restore(std::span<IntervalOutput> outputs) const {
    Input input = Input::open(comm_, newest());
    std::size_t weight = num_of_progress + num_of_output * outputs.size();
    const Status status = guarded("resume", [&] {
        for_each_accumulated(outputs, [&](IntervalOutput::Accumulated& one, const std::string& names) {
            if (weight >= found_->numbers.size())
                throw Error(ErrorCode::format, newest() + " is no whole checkpoint");
            one.accumulator.set_weight(found_->numbers[weight++]);
            const bool has_weights = has_field(input, names + std::to_string(one.accumulator.parts().size()));
            for_each_part(
                one.accumulator, has_weights, names, [&](Accumulator::Part& part, const std::string& name) {
                    one.for_each_block([&](const Block& block, std::size_t first, std::size_t num) {
                        input.read_independent({.name = name,
                                                .block = block,
                                                .data = std::span(part.values).subspan(first, num)});
                    });
                });
        });
    });
    mpi::agree_or_throw(comm_, status);
    input.close();
}

void Checkpoints::write(const Progress& progress, std::span<IntervalOutput> outputs,
                        std::span<const Source> sources) {
    std::vector<double> numbers = {progress.time,      progress.length,
                                   progress.longest,   progress.unit,
                                   progress.unit_time, static_cast<double>(progress.num_steps)};
    std::vector<std::int64_t> have_weights;
    OutputOptions options{.method = "pipelined",
                          .title = "what outputs have accumulated",
                          .time_units = options_.time_units,
                          .calendar = options_.calendar,
                          .store_as = "float64",
                          .if_exists = IfExists::replace,
                          .steps_per_file = 1};
    options.hidden.on = false;
    for (const IntervalOutput& output : outputs) {
        const IntervalOutput::Place& place = output.place();
        numbers.insert(numbers.end(),
                       {place.begin, place.end, static_cast<double>(place.num_puts), output.written_to()});
        options.sync = options.sync || output.syncs();
    }
    for_each_accumulated(outputs, [&](const IntervalOutput::Accumulated& one, const std::string&) {
        numbers.push_back(one.accumulator.weight());
        have_weights.push_back(static_cast<std::int64_t>(one.accumulator.has_weights()));
    });
    if (!have_weights.empty()) mpi::all_max(comm_, have_weights);
    const std::string text = description(outputs, sources);
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    Output output = Output::create(comm_, prefix_of(next_turn_), options);
    output.begin_step(progress.time);
    const Status status = guarded("checkpoint", [&] {
        put_whole(output, comm_, of_outputs, bytes);
        put_whole(output, comm_, of_numbers, numbers);
        auto has_weights = have_weights.begin();
        for_each_accumulated(outputs, [&](IntervalOutput::Accumulated& one, const std::string& names) {
            for_each_part(one.accumulator, *has_weights++ > 0, names,
                          [&](const Accumulator::Part& part, const std::string& name) {
                              one.for_each_block([&](const Block& block, std::size_t first, std::size_t num) {
                                  output.put({.name = name,
                                              .block = block,
                                              .data = std::span(part.values).subspan(first, num)});
                              });
                          });
        });
    });
    if (!status.ok()) output.refuse(status.text());
    output.end_step();
    output.close();
    next_turn_ = 1 - next_turn_;
}

double last_time_of(const Comm& comm, const std::string& prefix) {
    std::optional<Input> input = open_if_any(comm, prefix);
    double time = -std::numeric_limits<double>::infinity();
    if (!input) return time;
    for (const double one : input->times()) time = one > time ? one : time;
    input->close();
    return time;
}

}  // namespace hakobi::diagnostics
