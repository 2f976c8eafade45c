#include <hakobi/outputs.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/forked.hpp"
#include "base/guard.hpp"
#include "diagnostics/checkpoint.hpp"
#include "diagnostics/interval.hpp"
#include "diagnostics/interval_output.hpp"
#include "diagnostics/source.hpp"
#include "format/format.hpp"
#include "format/registry.hpp"
#include "io/device_memory.hpp"
#include "mpi/agree.hpp"
#include "mpi/messages.hpp"
#include "output/definitions.hpp"

namespace hakobi {

using diagnostics::Checkpoints;
using diagnostics::Interval;
using diagnostics::IntervalOutput;
using diagnostics::ProgramStep;
using diagnostics::Progress;
using diagnostics::Source;

namespace {

Error wrong(const std::string& why) {
    return Error(ErrorCode::invalid_argument, why);
}

/// Encodes what decides the steps and fields of an output.
std::vector<std::byte> encoded(std::string_view prefix, std::string_view every,
                               const std::vector<DerivedField>& fields) {
    ByteWriter writer;
    for (const std::string_view text : {prefix, every}) writer.put_text(std::string(text));
    for (const DerivedField& field : fields) {
        for (const std::string& text :
             {field.of, field.cell_method, field.name, field.long_name, field.compression, field.store_as})
            writer.put_text(text);
        writer.put(field.significant_bits);
    }
    return writer.take();
}

}  // namespace

struct HAKOBI_HIDDEN Outputs::Impl {
    Comm comm;
    OutputsOptions options;
    Checkpoints checkpoints;
    std::vector<Source> sources;
    std::vector<IntervalOutput> outputs;
    io::DeviceMemory device;
    Progress progress;
    std::optional<ProgramStep> open;  // the open step
    enum class State { running, restoring, failed, closed } state = State::running;
    std::string failure;  // why
    std::int64_t first_id = output::next_first_field_id();
    Maker maker;

    Impl(const Comm& given, std::string_view prefix, OutputsOptions asked)
        : comm(given), options(std::move(asked)), checkpoints(given, std::string(prefix), options) {}

    void check(const char* call, bool needs_step, bool needs_none) const {
        const auto bad = [&](const char* why) { return wrong(std::string(call) + why); };
        if (state == State::closed) throw bad(": the outputs are closed");
        if (!maker.is_this_process())
            throw bad(": this process was forked, and the outputs are its parent's");
        if (state == State::failed)
            throw Error(ErrorCode::failed, "the outputs have failed before: " + failure);
        if (needs_step && !open) throw bad(": no step is open (begin_step)");
        if (needs_none && open) throw bad(": the step has not been ended (end_step)");
    }
    [[nodiscard]] bool has_begun() const {
        return state != State::restoring && (progress.num_steps > 0 || open.has_value());
    }
    [[nodiscard]] ProgramStep next_step(double time) const;
    [[nodiscard]] OutputOptions options_of(std::string_view prefix, OutputOptions given,
                                           const Interval& interval,
                                           const std::vector<DerivedField>& fields) const;
    void add(std::string_view prefix, OutputOptions given, std::string_view every,
             const std::vector<DerivedField>& fields);
    [[nodiscard]] std::size_t index_of(const std::string& name) const;
    /// Throws where any rank has made a mistake since the last step of an output. Collective.
    void agree_on_mistakes() const;
    void keep_mistake(const std::string& text);
    /// Collective, in the first step behind a checkpoint.
    void restore();
    /// Not so in a run that measures what output costs.
    [[nodiscard]] bool writes() const { return std::ranges::any_of(outputs, &IntervalOutput::writes); }
    void accumulate();
    /// The outputs that have accumulated something.
    [[nodiscard]] std::string inside() const;
    /// Writes what the end of the run ends, and a checkpoint. Collective.
    void end_run();
    /// Calls what is collective; an error of it is the end of all outputs.
    template <class Call>
    void run(Call call) {
        try {
            call();
        } catch (const std::exception& error) {
            state = State::failed;
            failure = error.what();
            throw;
        }
    }
};

Outputs Outputs::create(const Comm& comm, std::string_view prefix, OutputsOptions options) {
    if (!comm) throw wrong("Outputs::create: the communicator is empty");
    if (options.if_exists != IfExists::resume && options.resume_at)
        throw wrong("Outputs::create: resume_at is given, and if_exists is not resume");
    auto impl = std::make_unique<Impl>(comm, prefix, std::move(options));
    impl->checkpoints.claim();
    if (const Progress* found = impl->checkpoints.found()) {
        impl->progress = *found;
        impl->state = Impl::State::restoring;
    }
    return Outputs(std::move(impl));
}

Outputs::Outputs(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Outputs::Outputs(Outputs&&) noexcept = default;
Outputs& Outputs::operator=(Outputs&& other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
}

Outputs::~Outputs() {
    if (!impl_ || impl_->state == Impl::State::closed || impl_->comm.rank() != 0 ||
        !impl_->maker.is_this_process())
        return;
    const std::string inside = impl_->inside();
    if (!inside.empty())
        std::fprintf(
            stderr,
            "hakobi: %s: Outputs::close was not called: what has accumulated since the last checkpoint is "
            "lost\n",
            inside.c_str());
}

std::optional<double> Outputs::resume_time() const {
    const Progress* const found = impl_->checkpoints.found();
    return found != nullptr ? std::optional(found->time) : std::nullopt;
}

FieldId Outputs::define(const FieldDefinition& definition) {
    impl_->check("define", false, true);
    std::vector<Source>& sources = impl_->sources;
    const auto name_of = [](const Source& source) -> const std::string& { return source.definition().name; };
    if (std::ranges::find(sources, definition.name, name_of) != sources.end())
        throw wrong("define: field " + definition.name + " is defined already");
    if (definition.fill_value && definition.fill_value->index() != static_cast<std::size_t>(definition.type))
        throw wrong("define: field " + definition.name + ": its fill value has another type than its values");
    sources.emplace_back(definition);
    return static_cast<FieldId>(impl_->first_id + std::ssize(sources) - 1);
}

void Outputs::add(std::string_view prefix, OutputOptions options, std::string_view every,
                  const std::vector<DerivedField>& fields) {
    impl_->check("add", false, true);
    if (impl_->has_begun()) throw wrong("add: output " + std::string(prefix) + ": the first step has begun");
    impl_->add(prefix, std::move(options), every, fields);
}

OutputOptions Outputs::Impl::options_of(std::string_view prefix, OutputOptions given,
                                        const Interval& interval,
                                        const std::vector<DerivedField>& fields) const {
    const std::string whose = "add: output " + std::string(prefix) + ": ";
    const OutputOptions usual;
    if ((given.time_units != usual.time_units && given.time_units != options.time_units) ||
        (!given.calendar.empty() && given.calendar != options.calendar) ||
        (given.if_exists != usual.if_exists && given.if_exists != options.if_exists))
        throw wrong(whose +
                    "it has its own time_units, calendar or if_exists: Outputs::create's hold for all");
    given.time_units = options.time_units;
    given.calendar = options.calendar;
    given.if_exists = options.if_exists;
    const Result<const format::Format*> format = format::find_format(given.format);
    if (format.ok() && format.value()->holds_meshes())
        throw Error(ErrorCode::unsupported,
                    whose + "format " + given.format + " is of meshes, which an Output alone writes");
    const auto is_point = [](const DerivedField& field) {
        const auto method = diagnostics::parse_cell_method(field.cell_method);
        return method.ok() && method.value().is_point();
    };
    const bool has_points_alone = std::ranges::all_of(fields, is_point);
    if (fields.empty()) throw wrong(whose + "it has no fields");
    if (interval.is_run() && has_points_alone) throw wrong(whose + "every 'run': no field has a cell_method");
    if (interval.is_each_step() || has_points_alone) return given;
    auto time = std::ranges::find(given.axes, "time", &Axis::name);
    if (time == given.axes.end()) {
        given.axes.push_back({.name = "time", .units = {}, .values = {}});
        time = given.axes.end() - 1;
    }
    if (!time->attributes.emplace("bounds", "time_bnds").second)
        throw wrong(whose + "its axis time has bounds of its own");
    return given;
}

void Outputs::Impl::add(std::string_view prefix, OutputOptions given, std::string_view every,
                        const std::vector<DerivedField>& fields) {
    Interval interval;
    std::vector<IntervalOutput::Described> described;
    const Status local = guarded("add", [&]() -> Status {
        const auto has_name = [&](const IntervalOutput& output) { return output.name() == prefix; };
        if (checkpoints.has(prefix) || std::ranges::any_of(outputs, has_name))
            throw wrong("add: output " + std::string(prefix) +
                        ": the prefix is another output's, or the checkpoints'");
        const Result<Interval> parsed = Interval::parse(every, options.time_units, options.calendar);
        if (!parsed.ok()) throw wrong("add: output " + std::string(prefix) + ": " + parsed.status().text());
        interval = parsed.value();
        given = options_of(prefix, std::move(given), interval, fields);
        for (const DerivedField& field : fields)
            described.push_back(
                IntervalOutput::described(field, sources[index_of(field.of)], interval, std::string(prefix)));
        return {};
    });
    mpi::agree_or_throw(comm, local);
    const std::vector<std::byte> mine = encoded(prefix, every, fields);
    std::vector<std::byte> first = mine;
    mpi::broadcast(comm, first, 0);
    mpi::agree_or_throw(
        comm, mine == first
                  ? Status()
                  : Status(ErrorCode::invalid_argument,
                           "add: output " + std::string(prefix) + ": its fields or its interval on rank " +
                               std::to_string(comm.rank()) + " differ from rank 0's"));
    run([&] {
        double written_to = -std::numeric_limits<double>::infinity();
        if (options.if_exists == IfExists::resume)
            written_to = diagnostics::last_time_of(comm, std::string(prefix));
        Output output = Output::create(comm, prefix, given);
        IntervalOutput::Given name{.name = std::string(prefix),
                                   .every = std::string(every),
                                   .syncs = given.sync,
                                   .is_rank_0 = comm.rank() == 0};
        for (const Axis& axis : given.axes) name.axes.push_back(axis.name);
        IntervalOutput& added = outputs.emplace_back(std::move(output), interval, std::move(name));
        added.skip_to(written_to);
        if (added.writes()) checkpoints.prepare();
        if (checkpoints.found() == nullptr && comm.rank() == 0) added.warn_of_steps();
        for (std::size_t f = 0; f < fields.size(); ++f) {
            const std::size_t source = index_of(fields[f].of);
            added.write(std::move(described[f]), sources[source], source);
        }
        added.check_coordinates();
    });
}

std::size_t Outputs::Impl::index_of(const std::string& name) const {
    for (std::size_t s = 0; s < sources.size(); ++s)
        if (sources[s].definition().name == name) return s;
    throw Error(ErrorCode::not_found, "add: no field " + name + " is defined");
}

ProgramStep Outputs::Impl::next_step(double time) const {
    ProgramStep step{.time = time, .index = progress.num_steps};
    if (!step.is_first()) step.length = time - progress.time;
    if (step.is_first() && options.begin_time) step.length = time - *options.begin_time;
    const bool is_later = step.is_first() ? step.length >= 0 : step.length > 0;
    if (!std::isfinite(time) || !is_later)
        throw wrong(
            "begin_step: time " + std::to_string(time) + " is not later than " +
            std::to_string(step.is_first() ? options.begin_time.value_or(time) : progress.time) +
            (state == State::restoring ? ", the time of the checkpoint that the run goes on from" : ""));
    const double unit = progress.unit > 0 ? progress.unit : step.length;
    // Lengths that differ by the times' rounding alone are equal.
    const double largest =
        std::max(std::fabs(time), std::fabs(progress.unit > 0 ? progress.unit_time : time));
    const bool is_equal =
        std::fabs(step.length - unit) <= 8 * std::numeric_limits<double>::epsilon() * largest;
    if (unit > 0) step.weight = is_equal ? 1 : step.length / unit;
    return step;
}

void Outputs::begin_step(double time) {
    impl_->check("begin_step", false, true);
    const ProgramStep step = impl_->next_step(time);
    if (step.is_first())
        for (IntervalOutput& output : impl_->outputs) output.begin(impl_->options.begin_time.value_or(time));
    std::vector<bool> are_due;
    const bool resumes = impl_->state == Impl::State::restoring;
    if (resumes) impl_->checkpoints.restore_places(impl_->outputs, impl_->sources);
    for (const IntervalOutput& output : impl_->outputs) {
        const Result<bool> due = output.is_due(step);
        if (!due.ok()) throw Error(due.status().code(), due.status().text());
        are_due.push_back(due.value());
    }
    if (resumes) {
        impl_->checkpoints.warn_of_gaps(impl_->outputs);
        const Progress& progress = impl_->progress;
        if (impl_->comm.rank() == 0 && progress.longest > 0 && step.length > 1.5 * progress.longest)
            std::fprintf(
                stderr,
                "hakobi: the first step behind the checkpoint of time %g has time %g, and is longer than any "
                "before: what lies between counts as it does\n",
                progress.time, time);
    }
    for (std::size_t o = 0; o < are_due.size(); ++o) impl_->outputs[o].set_due(are_due[o]);
    impl_->open = step;
    for (Source& source : impl_->sources) source.begin_step();
}

void Outputs::put(FieldId field, const Block& block, Field::Data data, const MemoryLayout& layout) {
    impl_->check("put", true, false);
    const std::int64_t index = static_cast<std::int64_t>(field) - impl_->first_id;
    if (index < 0 || index >= std::ssize(impl_->sources))
        return impl_->keep_mistake("put: the FieldId is none that define has returned");
    impl_->sources[static_cast<std::size_t>(index)].put(block, data, layout);
}

void Outputs::refuse(std::string_view reason) {
    impl_->check("put", true, false);
    impl_->keep_mistake(std::string(reason));
}

void Outputs::Impl::keep_mistake(const std::string& text) {
    for (IntervalOutput& output : outputs) output.keep_mistake({ErrorCode::invalid_argument, text});
}

void Outputs::Impl::agree_on_mistakes() const {
    Status first;
    for (const Source& source : sources) first.keep_first(source.mistake());
    for (const IntervalOutput& output : outputs) first.keep_first(output.mistake());
    mpi::agree_or_throw(comm, first);
}

void Outputs::end_step() {
    impl_->check("end_step", true, false);
    const ProgramStep step = *impl_->open;
    impl_->run([&] {
        impl_->restore();
        impl_->accumulate();
        for (IntervalOutput& output : impl_->outputs)
            if (output.has_step()) output.end_interval(step, impl_->sources);
    });
    impl_->open.reset();
    Progress& progress = impl_->progress;
    progress.time = step.time;
    if (progress.unit == 0) {
        progress.unit = step.length;
        progress.unit_time = step.time;
    }
    progress.length = step.length;
    progress.longest = std::max(progress.longest, step.length);
    ++progress.num_steps;
}

void Outputs::Impl::restore() {
    if (state != State::restoring) return;
    mpi::agree_or_throw(comm, guarded("resume", [&] {
                            for (IntervalOutput& output : outputs) output.begin_blocks(sources, comm, device);
                        }));
    checkpoints.restore(outputs);
    state = State::running;
}

void Outputs::Impl::accumulate() {
    for (Source& source : sources) {
        if (!source.is_static()) continue;
        if (const auto kept = source.on_host(comm, device); !kept.ok()) source.keep_mistake(kept.status());
    }
    for (IntervalOutput& output : outputs) output.add(*open, sources, comm, device);
}

void Outputs::checkpoint() {
    impl_->check("checkpoint", false, true);
    if (impl_->progress.num_steps == 0) throw wrong("checkpoint: no step has ended");
    if (impl_->state == Impl::State::restoring || !impl_->writes()) return;  // nothing is new
    impl_->run([&] {
        impl_->agree_on_mistakes();
        for (IntervalOutput& output : impl_->outputs) output.flush();
        impl_->checkpoints.write(impl_->progress, impl_->outputs, impl_->sources);
    });
}

void Outputs::close() {
    if (!impl_ || impl_->state == Impl::State::closed || !impl_->maker.is_this_process()) return;
    const bool has_failed = impl_->state == Impl::State::failed;
    std::optional<Error> first;
    const auto keep = [&](auto call) {
        try {
            call();
        } catch (const Error& error) {
            if (!first) first = error;
        }
    };
    if (impl_->open)
        for (Source& source : impl_->sources) source.drop_step();
    if (impl_->open && !has_failed)
        first = wrong("close: the step of time " + std::to_string(impl_->open->time) +
                      " was not ended (end_step): its fields are in no output");
    if (!has_failed) keep([&] { impl_->end_run(); });
    for (IntervalOutput& output : impl_->outputs) keep([&] { output.close(); });
    impl_->state = Impl::State::closed;
    if (first) throw Error(*first);
}

std::string Outputs::Impl::inside() const {
    std::string names;
    for (const IntervalOutput& output : outputs)
        if (output.is_inside()) names += (names.empty() ? "" : ", ") + output.name();
    return names;
}

void Outputs::Impl::end_run() {
    if (progress.num_steps == 0 || state == State::restoring || !writes()) return;
    agree_on_mistakes();
    const ProgramStep last{.time = progress.time, .length = progress.length};
    for (IntervalOutput& output : outputs)
        if (output.is_inside() && output.is_of_run()) output.end_interval(last, sources);
    for (IntervalOutput& output : outputs) output.flush();
    checkpoints.write(progress, outputs, sources);
    const std::string inside = this->inside();
    if (inside.empty() || comm.rank() != 0) return;
    std::fprintf(
        stderr,
        "hakobi: %s: the run ends inside an interval: what has accumulated in it is in no step, and in %s "
        "for a run that resumes\n",
        inside.c_str(), checkpoints.newest().c_str());
}

std::string Outputs::explain() const {
    std::string text;
    for (const IntervalOutput& output : impl_->outputs) text += (text.empty() ? "" : "\n") + output.explain();
    return text;
}

}  // namespace hakobi
