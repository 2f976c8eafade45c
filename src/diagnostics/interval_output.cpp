#include "diagnostics/interval_output.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
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
    const double value = format::number_of(*fill);
    return type == ValueType::float32 ? FillValue(static_cast<float>(value)) : FillValue(value);
}

/// Whether CF's attribute already has a method along time.
bool speaks_of_time(std::string_view cell_methods) {
    constexpr std::string_view time = "time:";
    for (std::size_t at = 0; (at = cell_methods.find(time, at)) != std::string_view::npos; ++at)
        if (at == 0 || cell_methods[at - 1] == ' ') return true;
    return false;
}

void describe_method(const CellMethod& method, FieldDefinition& definition) {
    Attribute& attribute = definition.attributes["cell_methods"];
    const auto* const text = std::get_if<std::string>(&attribute);
    if (text == nullptr) throw wrong(definition.name, "its attribute cell_methods is no text");
    const std::string before = *text;
    if (speaks_of_time(before)) {
        if (method.is_point()) return;
        throw wrong(definition.name,
                    "its attribute cell_methods speaks of time, as the output's interval does: " + before);
    }
    attribute = (before.empty() ? "" : before + " ") + attribute_of(method);
}

/// A method whose results have the field's units and range.
bool keeps_range(const CellMethod& method) {
    return method.kind == Kind::mean || method.kind == Kind::minimum || method.kind == Kind::maximum;
}

/// Throws where values that were put are not what a method takes them for.
void check_values(const CellMethod& method, const FieldDefinition& definition) {
    const ValueType type = definition.type;
    const std::string method_name(name_of(method.kind));
    if (type == ValueType::int64 || type == ValueType::uint64) {
        throw Error(ErrorCode::unsupported,
                    "field " + definition.name +
                        ": it has integers of 64 bits, which double cannot hold: its " + method_name +
                        " cannot be had");
    }
    const auto has = [&](const char* name) { return definition.attributes.contains(name); };
    if (!keeps_range(method) && (has("scale_factor") || has("add_offset")))
        throw wrong(definition.name, "it is packed by its attributes scale_factor and add_offset: its " +
                                         method_name + " would be read by them");
    if (has("missing_value") && !definition.fill_value)
        throw wrong(definition.name, "it has the attribute missing_value: say so by fill_value, which its " +
                                         method_name + " leaves out");
}

/// Describes what the output has of a field by a method that is no point.
void derive(const CellMethod& method, FieldDefinition& definition) {
    const ValueType type = definition.type;
    const bool is_spread = method.kind == Kind::range || method.kind == Kind::standard_deviation;
    const bool stays_small = type == ValueType::float32 && (keeps_range(method) || is_spread);
    definition.type = stays_small ? ValueType::float32 : ValueType::float64;
    definition.fill_value = converted(definition.fill_value, definition.type);
    definition.units = units_of(method, definition.units);
    if (method.kind == Kind::count) {
        definition.standard_name.clear();
        definition.significant_bits = 0;
        const std::string of = definition.long_name.empty() ? definition.name : definition.long_name;
        const std::string text = attribute_of(method);
        const std::size_t begin = text.find('(') + 1;
        definition.long_name = text.substr(begin, text.size() - begin - 1) + " of " + of;
    }
    // A packed integer's range is that of the values.
    if (!keeps_range(method) && definition.store_as.find("int") != std::string::npos)
        definition.store_as.clear();
    if (type != definition.type) definition.attributes.erase("missing_value");
    for (const char* const name : of_values) {
        const bool stays = keeps_range(method) && std::string_view(name).starts_with("valid");
        if (!stays || type != definition.type) definition.attributes.erase(name);
    }
}

void take_options(const DerivedField& field, const CellMethod& method, FieldDefinition& definition) {
    const std::string suffix = method.is_point() ? "" : "_" + std::string(name_of(method.kind));
    definition.name = field.name.empty() ? field.of + suffix : field.name;
    if (!field.long_name.empty()) definition.long_name = field.long_name;
    for (const auto& [name, value] : field.attributes) definition.attributes[name] = value;
    if (!field.compression.empty()) definition.compression = field.compression;
    if (field.compression == "none") definition.significant_bits = 0;
    if (field.significant_bits != 0) definition.significant_bits = field.significant_bits;
    if (!field.store_as.empty()) definition.store_as = field.store_as;
}

}  // namespace

IntervalOutput::IntervalOutput(Output output, const Interval& interval, Given given)
    : output_(std::move(output)), interval_(interval), given_(std::move(given)) {}

IntervalOutput::Described IntervalOutput::described(const DerivedField& field, const Source& from,
                                                    const Interval& interval, const std::string& name) {
    const Result<CellMethod> parsed = parse_cell_method(field.cell_method);
    if (!parsed.ok()) throw wrong(field.of, parsed.status().text());
    const CellMethod method = parsed.value();
    FieldDefinition definition = from.definition();
    const bool has_intervals = !interval.is_each_step();
    if (definition.on != On::grid)
        throw Error(ErrorCode::unsupported, "field " + field.of + ": it is on a mesh: give it to an Output");
    if (!method.is_point() && (from.is_static() || !has_intervals))
        throw wrong(field.of, from.is_static() ? "it is static: it has no " + field.cell_method
                                               : "output " + name + " has each step: no interval has a " +
                                                     field.cell_method);
    if (method.is_point() && interval.is_run() && !from.is_static())
        throw wrong(field.of, "output " + name + " has one step, for all of the run: give a cell_method");
    if (!method.is_point()) {
        check_values(method, definition);
        derive(method, definition);
    }
    take_options(field, method, definition);
    if (has_intervals && !from.is_static()) describe_method(method, definition);
    return {method, std::move(definition)};
}

void IntervalOutput::write(Described field, const Source& from, std::size_t source) {
    if (!field.method.is_point() && !bounds_.id) {
        bounds_.id = output_.define({.name = "time_bnds",
                                     .units = "",
                                     .global = {2},
                                     .dims = {"bnds"},
                                     .compression = "none",
                                     .store_as = "float64"});
    }
    const FieldId id = output_.define(field.definition);
    fields_.push_back(
        {.source = source, .method = field.method, .id = id, .definition = std::move(field.definition)});
    if (field.method.is_point()) return;
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

void IntervalOutput::check_coordinates() const {
    for (const Written& field : fields_) {
        for (const std::string& name : field.definition.coordinates) {
            const auto is_it = [&](const Written& other) { return other.definition.name == name; };
            if (std::ranges::find(given_.axes, name) != given_.axes.end() ||
                std::ranges::any_of(fields_, is_it))
                continue;
            throw wrong(field.definition.name, "its coordinates name " + name + ", which output " +
                                                   given_.name +
                                                   " does not have: add it as a field of the output");
        }
    }
}

void IntervalOutput::warn_of_gap(double time, double written_to) const {
    const auto say = [&](const std::string& text) {
        std::fprintf(stderr, "hakobi: %s: %s\n", given_.name.c_str(), text.c_str());
    };
    if (written_to_ < written_to)
        say("its steps up to time " + std::to_string(written_to) +
            " were there when the checkpoint was made, and are not: they are not made again");
    if (written_to_ > time)
        say("its steps of times " + std::to_string(time) + " to " + std::to_string(written_to_) +
            ", from behind the checkpoint, are there already, and stay as they are");
}

void IntervalOutput::warn_of_steps() const {
    if (std::isfinite(written_to_))
        std::fprintf(
            stderr,
            "hakobi: %s: there is no checkpoint: its steps up to time %g are there already, and stay as they "
            "are\n",
            given_.name.c_str(), written_to_);
}

Result<bool> IntervalOutput::is_due(const ProgramStep& step) const {
    if (interval_.is_run()) return false;
    if (const auto num_steps = interval_.steps()) {
        const std::int64_t nth = accumulated_.empty() ? step.index : place_.num_puts + 1;
        return nth % *num_steps == 0;
    }
    if (interval_.is_end(step.time, place_.end, step.length)) return true;
    if (step.time > place_.end) {
        return Status(ErrorCode::invalid_argument,
                      "begin_step: time " + std::to_string(step.time) + " lies behind " +
                          std::to_string(place_.end) + ", where an interval of output " + given_.name +
                          " ('" + given_.every + "') ends: no step was at its end");
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
                                                       given_.name + ")");
    };
    if (!source.mistake().ok()) return source.mistake();
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
    if (mistake_.ok()) {
        mistake_.keep_first(guarded("end_step", [&]() -> Status {
            if (place_.num_puts == 0) begin_blocks(sources, comm, device);
            Status status = mistake_;
            for (Accumulated& one : accumulated_)
                if (status.ok()) status = add_source(step, one, sources[one.source], comm, device);
            return status;
        }));
    }
    ++place_.num_puts;
}

void IntervalOutput::compute(Written& field) const {
    const auto one = std::ranges::find(accumulated_, field.source, &Accumulated::source);
    assert(one != accumulated_.end());
    double fill = std::numeric_limits<double>::quiet_NaN();
    if (field.definition.fill_value) fill = format::number_of(*field.definition.fill_value);
    field.results.resize(static_cast<std::size_t>(one->accumulator.num_elements()));
    one->accumulator.write(field.method, fill, field.results);
    if (field.definition.type == ValueType::float32)
        field.small.assign(field.results.begin(), field.results.end());
}

void IntervalOutput::put_results(const Written& field) {
    const auto one = std::ranges::find(accumulated_, field.source, &Accumulated::source);
    one->for_each_block([&](const Block& block, std::size_t first, std::size_t num) {
        if (field.definition.type == ValueType::float32)
            output_.put(field.id, block, std::span(field.small).subspan(first, num));
        else
            output_.put(field.id, block, std::span(field.results).subspan(first, num));
    });
}

void IntervalOutput::put_bounds(double time) {
    bounds_.values = {place_.begin, time};
    if (given_.is_rank_0)
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
                       given_.name + " has (time " + std::to_string(time) + ")");
}

void IntervalOutput::put_all(const ProgramStep& step, std::span<Source> sources) {
    for (const Written& field : fields_) {
        const Source& source = sources[field.source];
        if (!source.mistake().ok()) return mistake_.keep_first(source.mistake());
        if (source.is_static()) continue;
        field.method.is_point() ? put_point(field, source, step.time) : put_results(field);
    }
    if (bounds_.id) put_bounds(step.time);
    // Behind the others, where steps have them in which they are not put: files are the same then.
    for (Written& field : fields_)
        if (sources[field.source].is_static()) put_static(field, sources[field.source]);
}

void IntervalOutput::end_interval(const ProgramStep& step, std::span<Source> sources) {
    // A run that goes on may add its times up otherwise.
    if (step.time > written_to_ + step.length / 100) {
        mistake_.keep_first(guarded("end_step", [&] {
            for (Written& field : fields_)
                if (mistake_.ok() && !field.method.is_point()) compute(field);
        }));
        output_.begin_step(step.time);
        if (mistake_.ok()) mistake_.keep_first(guarded("end_step", [&] { put_all(step, sources); }));
        if (!mistake_.ok()) output_.refuse(mistake_.text());
        output_.end_step();
        written_to_ = step.time;
        for (Written& field : fields_) {
            field.results = {};
            field.small = {};
        }
    }
    const double end = place_.end;
    place_ = {.begin = step.time, .end = end, .num_puts = 0};
    if (std::isfinite(end) && interval_.is_end(step.time, end, step.length))
        place_.end = interval_.end_after(end);
}

std::string IntervalOutput::description(std::span<const Source> sources) const {
    std::string text = "every '" + given_.every + "':";
    for (const Written& field : fields_)
        text += " " + field.definition.name + " of " + sources[field.source].definition().name + " (" +
                attribute_of(field.method) + ")";
    return text;
}

std::string IntervalOutput::explain() const {
    std::int64_t bytes = 0, num_missing = 0;
    for (const Accumulated& one : accumulated_) {
        bytes += one.accumulator.memory_bytes();
        num_missing += one.accumulator.num_missing();
    }
    std::string text = given_.name + " (" + (given_.every.empty() ? "each step" : "every " + given_.every) +
                       "): " + output_.explain();
    if (!accumulated_.empty()) {
        text += "; " + std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB accumulate on this rank";
        if (num_missing > 0) text += ", and " + std::to_string(num_missing) + " missing values were left out";
    }
    return text;
}

}  // namespace hakobi::diagnostics
