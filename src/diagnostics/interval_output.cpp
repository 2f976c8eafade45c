#include "diagnostics/interval_output.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <variant>

#include "base/guard.hpp"
#include "format/step.hpp"

namespace hakobi::diagnostics {
namespace {

using Kind = CellMethod::Kind;

Error wrong(const std::string& name, const std::string& why) {
    return Error(ErrorCode::invalid_argument, "field " + name + ": " + why);
}

/// Attributes that say of a field's own values what is not true of those that a method makes.
constexpr std::array of_values = {"valid_min",   "valid_max",  "valid_range",  "actual_range",
                                  "flag_values", "flag_masks", "flag_meanings"};

std::optional<FillValue> converted(const std::optional<FillValue>& fill, ValueType type) {
    if (!fill) return {};
    const double value = std::visit([](auto number) { return static_cast<double>(number); }, *fill);
    return type == ValueType::float32 ? FillValue(static_cast<float>(value)) : FillValue(value);
}

void describe_method(const CellMethod& method, FieldDefinition& definition) {
    Attribute& attribute = definition.attributes["cell_methods"];
    const auto* const text = std::get_if<std::string>(&attribute);
    const std::string before = text == nullptr ? "" : *text;
    if (before.find("time:") != std::string::npos)
        throw wrong(definition.name,
                    "its attribute cell_methods speaks of time, which an output's interval does");
    attribute = (before.empty() ? "" : before + " ") + attribute_of(method);
}

/// Describes what the output has of a field by a method that is no point.
void derive(const CellMethod& method, FieldDefinition& definition) {
    const ValueType type = definition.type;
    if (type == ValueType::int64 || type == ValueType::uint64) {
        throw Error(ErrorCode::unsupported,
                    "field " + definition.name +
                        ": it has integers of 64 bits, which double cannot hold: its " +
                        std::string(name_of(method.kind)) + " cannot be had");
    }
    const bool keeps_values = method.kind == Kind::minimum || method.kind == Kind::maximum;
    definition.type = keeps_values && type == ValueType::float32 ? ValueType::float32 : ValueType::float64;
    definition.fill_value = converted(definition.fill_value, definition.type);
    definition.units = units_of(method, definition.units);
    if (method.kind == Kind::count) definition.standard_name.clear();
    for (const char* const name : of_values) {
        const bool stays =
            (keeps_values || method.kind == Kind::mean) && std::string_view(name).starts_with("valid");
        if (!stays || type != definition.type) definition.attributes.erase(name);
    }
}

void take_options(const DerivedField& field, const CellMethod& method, FieldDefinition& definition) {
    const std::string suffix = method.is_point() ? "" : "_" + std::string(name_of(method.kind));
    definition.name = field.name.empty() ? field.of + suffix : field.name;
    if (!field.long_name.empty()) definition.long_name = field.long_name;
    for (const auto& [name, value] : field.attributes) definition.attributes[name] = value;
    if (!field.compression.empty()) definition.compression = field.compression;
    if (field.significant_bits != 0) definition.significant_bits = field.significant_bits;
    if (!field.store_as.empty()) definition.store_as = field.store_as;
}

}  // namespace

IntervalOutput::IntervalOutput(Output output, const Interval& interval, std::string name, std::string every,
                               bool is_rank_0)
    : output_(std::move(output)),
      interval_(interval),
      name_(std::move(name)),
      every_(std::move(every)),
      is_rank_0_(is_rank_0) {}

void IntervalOutput::write(const DerivedField& field, const Source& from, std::size_t source) {
    const Result<CellMethod> parsed = parse_cell_method(field.cell_method);
    if (!parsed.ok()) throw wrong(field.of, parsed.status().text());
    const CellMethod method = parsed.value();
    FieldDefinition definition = from.definition();
    if (definition.on != On::grid)
        throw Error(ErrorCode::unsupported, "field " + field.of + ": it is on a mesh: give it to an Output");
    if (!method.is_point() && (from.is_static() || !has_intervals()))
        throw wrong(field.of, from.is_static() ? "it is static: it has no " + field.cell_method
                                               : "output " + name_ + " has each step: no interval has a " +
                                                     field.cell_method);
    if (method.is_point() && interval_.is_run() && !from.is_static())
        throw wrong(field.of, "output " + name_ + " has one step, for all of the run: give a cell_method");
    if (!method.is_point()) derive(method, definition);
    take_options(field, method, definition);
    if (has_intervals() && !from.is_static()) describe_method(method, definition);
    if (!method.is_point() && !bounds_.id) {
        bounds_.id = output_.define({.name = "time_bnds",
                                     .units = "",
                                     .global = {2},
                                     .dims = {"bnds"},
                                     .compression = "none",
                                     .store_as = "float64"});
    }
    const FieldId id = output_.define(definition);
    fields_.push_back({.source = source, .method = method, .id = id, .definition = std::move(definition)});
    if (method.is_point()) return;
    std::vector<CellMethod> methods;
    for (const Written& one : fields_)
        if (one.source == source && !one.method.is_point()) methods.push_back(one.method);
    const FieldDefinition& put = from.definition();
    Accumulated accumulated{
        source, Accumulator(methods, put.fill_value ? put.fill_value : format::default_fill(put.type))};
    const auto before = std::ranges::find(accumulated_, source, &Accumulated::source);
    if (before == accumulated_.end())
        accumulated_.push_back(std::move(accumulated));
    else
        *before = std::move(accumulated);
}

void IntervalOutput::begin(double time) {
    place_ = {.begin = time, .end = interval_.end_after(time), .num_puts = 0};
}

Result<bool> IntervalOutput::is_due(const ProgramStep& step) const {
    if (interval_.is_run()) return false;
    if (const auto num_steps = interval_.steps()) {
        const std::int64_t nth = accumulated_.empty() ? step.index : place_.num_puts + 1;
        return nth % *num_steps == 0;
    }
    if (interval_.is_end(step.time, place_.end, step.length)) return true;
    if (step.time > place_.end) {
        return Status(ErrorCode::invalid_argument, "begin_step: time " + std::to_string(step.time) +
                                                       " lies behind " + std::to_string(place_.end) +
                                                       ", where an interval of output " + name_ + " ('" +
                                                       every_ + "') ends: no step was at its end");
    }
    return step.is_first() && accumulated_.empty() && interval_.is_on_end(step.time);
}

void IntervalOutput::begin_blocks(std::span<Source> sources, const Comm& comm, io::DeviceMemory& device) {
    for (Accumulated& one : accumulated_) {
        Source& source = sources[one.source];
        const auto held = source.on_host(comm, device);
        if (!held.ok()) {
            mistake_.keep_first(held.status());
            continue;
        }
        one.blocks.clear();
        std::int64_t num = 0;
        for (const output::HeldBlock& block : held.value()) {
            one.blocks.push_back(block.block);
            num += output::num_values_of(block.block);
        }
        one.accumulator.begin(num);
    }
}

Status IntervalOutput::add_source(const ProgramStep& step, Accumulated& one, Source& source, const Comm& comm,
                                  io::DeviceMemory& device) const {
    const auto bad = [&](const std::string& why) {
        return Status(ErrorCode::invalid_argument, "field " + source.definition().name + ": " + why +
                                                       " (time " + std::to_string(step.time) + ", output " +
                                                       name_ + ")");
    };
    if (!source.was_put()) return bad("it was not put in a step of an interval");
    const auto held = source.on_host(comm, device);
    if (!held.ok()) return held.status();
    if (!std::ranges::equal(held.value(), one.blocks, {}, &output::HeldBlock::block))
        return bad("its blocks are others than in the interval's first step");
    const ValueType type = source.definition().type;
    const double weight = interval_.steps() ? 1 : step.weight;
    std::int64_t first = 0;
    for (const output::HeldBlock& block : held.value()) {
        output::for_each_row(block, format::bytes_of(type),
                             [&](const std::byte* values, std::int64_t stride, std::int64_t num) {
                                 one.accumulator.add(type, values, stride, num, first, weight);
                                 first += num;
                                 return true;
                             });
    }
    one.accumulator.end_put(weight);
    return {};
}

void IntervalOutput::add(const ProgramStep& step, std::span<Source> sources, const Comm& comm,
                         io::DeviceMemory& device) {
    mistake_.keep_first(guarded("end_step", [&]() -> Status {
        if (place_.num_puts == 0) begin_blocks(sources, comm, device);
        Status status;
        for (Accumulated& one : accumulated_)
            status.keep_first(add_source(step, one, sources[one.source], comm, device));
        return status;
    }));
    ++place_.num_puts;
}

void IntervalOutput::put_results(Written& field) {
    const auto one = std::ranges::find(accumulated_, field.source, &Accumulated::source);
    assert(one != accumulated_.end());
    const auto num = static_cast<std::size_t>(one->accumulator.num_elements());
    double fill = std::numeric_limits<double>::quiet_NaN();
    if (field.definition.fill_value)
        fill =
            std::visit([](auto value) { return static_cast<double>(value); }, *field.definition.fill_value);
    field.results.resize(num);
    one->accumulator.write(field.method, fill, field.results);
    const bool is_small = field.definition.type == ValueType::float32;
    if (is_small) field.small.assign(field.results.begin(), field.results.end());
    if (one->blocks.empty()) return output_.put(field.id, {}, std::span<const double>());  // a mistake
    std::size_t first = 0;
    for (const Block& block : one->blocks) {
        const auto count = static_cast<std::size_t>(output::num_values_of(block));
        if (is_small)
            output_.put(field.id, block, std::span<const float>(field.small).subspan(first, count));
        else
            output_.put(field.id, block, std::span<const double>(field.results).subspan(first, count));
        first += count;
    }
}

void IntervalOutput::put_bounds(double time) {
    bounds_.values = {place_.begin, time};
    if (is_rank_0_)
        output_.put(*bounds_.id, {{2}, {0}, {2}}, std::span<const double>(bounds_.values));
    else
        output_.put(*bounds_.id, {}, std::span<const double>());
}

void IntervalOutput::put_static(Written& field, const Source& source) {
    if (field.version < source.version()) source.forward(output_, field.id);
    field.version = source.version();
}

void IntervalOutput::put_point(const Written& field, const Source& source, double time) {
    source.forward(output_, field.id);
    if (!source.was_put() && has_intervals())
        output_.refuse("field " + source.definition().name + ": it was not put in a step that output " +
                       name_ + " has (time " + std::to_string(time) + ")");
}

void IntervalOutput::end_interval(const ProgramStep& step, std::span<Source> sources) {
    // A run that goes on may add its times up otherwise.
    if (step.time > written_to_ + step.length / 100) {
        output_.begin_step(step.time);
        for (Written& field : fields_) {
            const Source& source = sources[field.source];
            if (!source.mistake().ok()) output_.refuse(source.mistake().text());
            if (source.is_static()) continue;
            field.method.is_point() ? put_point(field, source, step.time) : put_results(field);
        }
        if (bounds_.id) put_bounds(step.time);
        // Behind the others, where steps have them in which they are not put: files are the same then.
        for (Written& field : fields_)
            if (sources[field.source].is_static()) put_static(field, sources[field.source]);
        if (!mistake_.ok()) output_.refuse(mistake_.text());
        output_.end_step();
    }
    const double end = place_.end;
    place_ = {.begin = step.time, .end = end, .num_puts = 0};
    if (std::isfinite(end) && interval_.is_end(step.time, end, step.length))
        place_.end = interval_.end_after(end);
}

std::string IntervalOutput::description() const {
    std::string text = "every '" + every_ + "':";
    for (const Written& field : fields_)
        text += " " + field.definition.name + " (" + attribute_of(field.method) + ")";
    return text;
}

std::string IntervalOutput::explain() const {
    std::int64_t bytes = 0, num_missing = 0;
    for (const Accumulated& one : accumulated_) {
        bytes += one.accumulator.memory_bytes();
        num_missing += one.accumulator.num_missing();
    }
    std::string text =
        name_ + " (" + (every_.empty() ? "each step" : "every " + every_) + "): " + output_.explain();
    if (!accumulated_.empty()) {
        text += "; " + std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB accumulate on this rank";
        if (num_missing > 0) text += ", and " + std::to_string(num_missing) + " missing values were left out";
    }
    return text;
}

}  // namespace hakobi::diagnostics
