#include "diagnostics/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <hakobi/input.hpp>
#include <limits>
#include <utility>
#include <variant>

#include "mpi/agree.hpp"
#include "mpi/messages.hpp"
#include "output/held_field.hpp"

namespace hakobi::diagnostics {
namespace {

// The global attributes of a checkpoint's step.
constexpr const char* of_outputs = "hakobi_outputs";  // their descriptions, a line each
constexpr const char* of_progress =
    "hakobi_progress";  // time, lengths of the last and the first step, number of steps
constexpr const char* of_places = "hakobi_places";    // begin, end, number of puts: of each output
constexpr const char* of_weights = "hakobi_weights";  // of each accumulator, in order

using Role = Accumulator::Part::Role;

/// "o0_t_2_least": of the third part that output 0 has of t.
std::string field_name(std::size_t output, const Source& source, std::size_t part, const std::string& role) {
    return "o" + std::to_string(output) + "_" + source.definition().name + "_" + std::to_string(part) + "_" +
           role;
}

std::string descriptions(std::span<const IntervalOutput> outputs) {
    std::string text;
    for (const IntervalOutput& output : outputs) text += output.description() + "\n";
    return text;
}

const std::vector<double>& numbers(const Input& input, const char* name, std::size_t num) {
    const auto found = input.attributes().find(name);
    const auto* const values =
        found == input.attributes().end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
    if (values == nullptr || values->size() < num)
        throw Error(ErrorCode::format, std::string("the checkpoint has no attribute ") + name +
                                           ", as Outputs::checkpoint writes it");
    return *values;
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

}  // namespace

Checkpoints::Checkpoints(const Comm& comm, std::string prefix, const OutputsOptions& options)
    : comm_(comm), prefix_(std::move(prefix)), options_(options) {}

void Checkpoints::claim() {
    if (options_.if_exists == IfExists::replace) {
        for (int turn = 0; turn < 2; ++turn)
            Output::create(comm_, prefix_of(turn), {.if_exists = IfExists::replace}).close();
        return;
    }
    std::string times;
    for (int turn = 0; turn < 2; ++turn) {
        std::optional<Input> input = open_if_any(comm_, prefix_of(turn));
        if (!input) continue;
        if (options_.if_exists == IfExists::fail)
            throw Error(ErrorCode::exists, "Outputs::create: " + prefix_of(turn) + " holds a checkpoint");
        const std::vector<double>& all = numbers(*input, of_progress, 4);
        const Progress progress{
            .time = all[0], .length = all[1], .unit = all[2], .num_steps = static_cast<std::int64_t>(all[3])};
        const std::vector<double> places = numbers(*input, of_places, 0);
        const auto text = input->attributes().find(of_outputs);
        const auto* const outputs =
            text == input->attributes().end() ? nullptr : std::get_if<std::string>(&text->second);
        Found found{progress, outputs == nullptr ? "" : *outputs, places};
        input->close();
        times += " " + std::to_string(progress.time);
        if (options_.resume_at &&
            std::fabs(progress.time - *options_.resume_at) > 1e-9 * std::fabs(progress.time))
            continue;
        if (found_ && found_->progress.time >= progress.time) continue;
        found_ = std::move(found);
        next_turn_ = 1 - turn;
    }
    if (options_.resume_at && !found_) {
        throw Error(ErrorCode::not_found, "Outputs::create: " + prefix_ + " has no checkpoint of time " +
                                              std::to_string(*options_.resume_at) +
                                              (times.empty() ? "" : ", but of" + times));
    }
}

void Checkpoints::restore_places(std::span<IntervalOutput> outputs) const {
    const std::string mine = descriptions(outputs);
    if (found_->outputs != mine || found_->places.size() < 3 * outputs.size()) {
        throw Error(ErrorCode::invalid_argument, "begin_step: checkpoint " + prefix_of(newest()) +
                                                     " is of other outputs: of\n" + found_->outputs +
                                                     "and not of\n" + mine);
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        const double* const place = found_->places.data() + 3 * o;
        outputs[o].set_place(
            {.begin = place[0], .end = place[1], .num_puts = static_cast<std::int64_t>(place[2])});
    }
}

void Checkpoints::restore(std::span<IntervalOutput> outputs, std::span<const Source> sources) const {
    Input input = Input::open(comm_, prefix_of(newest()));
    std::size_t num_weights = 0;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (outputs[o].place().num_puts == 0) continue;
        for (IntervalOutput::Accumulated& one : outputs[o].accumulated()) {
            const Source& source = sources[one.source];
            one.accumulator.set_weight(numbers(input, of_weights, num_weights + 1)[num_weights]);
            ++num_weights;
            const auto read = [&](std::size_t part, Accumulator::Part& into) {
                const std::string name = field_name(o, source, part, name_of(into));
                std::int64_t first = 0;
                for (const Block& block : one.blocks) {
                    const std::int64_t num = output::num_values_of(block);
                    input.read_independent({.name = name,
                                            .block = block,
                                            .data = std::span(into.values)
                                                        .subspan(static_cast<std::size_t>(first),
                                                                 static_cast<std::size_t>(num))});
                    first += num;
                }
            };
            const std::span<Accumulator::Part> parts = one.accumulator.parts();
            for (std::size_t p = 0; p < parts.size(); ++p) read(p, parts[p]);
            const std::vector<InputField>& fields = input.fields();
            const std::string weights =
                field_name(o, source, parts.size(), name_of(one.accumulator.weights()));
            if (std::ranges::find(fields, weights, &InputField::name) == fields.end()) continue;
            one.accumulator.keep_weights();
            read(parts.size(), one.accumulator.weights());
        }
    }
    input.close();
}

void Checkpoints::write(const Progress& progress, std::span<IntervalOutput> outputs,
                        std::span<const Source> sources) {
    std::vector<double> places, weights;
    std::vector<std::int64_t> have_weights;
    for (IntervalOutput& output : outputs) {
        const IntervalOutput::Place& place = output.place();
        places.insert(places.end(), {place.begin, place.end, static_cast<double>(place.num_puts)});
        if (place.num_puts == 0) continue;
        for (const IntervalOutput::Accumulated& one : output.accumulated()) {
            weights.push_back(one.accumulator.weight());
            have_weights.push_back(static_cast<std::int64_t>(one.accumulator.has_weights()));
        }
    }
    mpi::all_max(comm_, have_weights);
    OutputOptions options{.method = "pipelined",
                          .title = "what Hakobi's outputs have accumulated",
                          .attributes = {{of_outputs, descriptions(outputs)},
                                         {of_progress,
                                          {progress.time, progress.length, progress.unit,
                                           static_cast<double>(progress.num_steps)}},
                                         {of_places, places}},
                          .time_units = options_.time_units,
                          .calendar = options_.calendar,
                          .store_as = "float64",
                          .if_exists = IfExists::replace,
                          .steps_per_file = 1};
    if (!weights.empty()) options.attributes[of_weights] = weights;
    options.hidden.on = false;
    Output output = Output::create(comm_, prefix_of(next_turn_), options);
    output.begin_step(progress.time);
    std::size_t num = 0;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (outputs[o].place().num_puts == 0) continue;
        for (IntervalOutput::Accumulated& one : outputs[o].accumulated()) {
            const Source& source = sources[one.source];
            const auto put = [&](std::size_t part, const Accumulator::Part& from) {
                std::size_t first = 0;
                for (const Block& block : one.blocks) {
                    const auto count = static_cast<std::size_t>(output::num_values_of(block));
                    output.put({.name = field_name(o, source, part, name_of(from)),
                                .dims = source.definition().dims,
                                .block = block,
                                .data = std::span(from.values).subspan(first, count)});
                    first += count;
                }
            };
            const std::span<Accumulator::Part> parts = one.accumulator.parts();
            for (std::size_t p = 0; p < parts.size(); ++p) put(p, parts[p]);
            if (have_weights[num++] == 0) continue;
            one.accumulator.keep_weights();
            put(parts.size(), one.accumulator.weights());
        }
    }
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
