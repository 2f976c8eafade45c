#include "capi/options.hpp"

#include <string>
#include <utility>
#include <vector>

#include "capi/guard.hpp"
#include "capi/sized.hpp"

namespace hakobi::capi {
namespace {

[[noreturn]] void refuse_option(const std::string& text) {
    throw Error(ErrorCode::invalid_argument, text);
}

Attribute value_of(const hakobi_attribute& attribute, const std::string& name) {
    if (attribute.text != nullptr) return attribute.text;
    if (attribute.num_values < 0 || (attribute.doubles == nullptr) == (attribute.integers == nullptr))
        refuse_option("attribute '" + name + "': it has no text and no numbers");
    if (attribute.doubles != nullptr)
        return std::vector<double>(attribute.doubles, attribute.doubles + attribute.num_values);
    return std::vector<std::int64_t>(attribute.integers, attribute.integers + attribute.num_values);
}

Axis axis_of(const hakobi_axis& axis) {
    const std::string name = text_or(axis.name);
    if (name.empty()) refuse_option("an axis has no name");
    if (axis.num_values < 0 || (axis.values == nullptr && axis.num_values > 0))
        refuse_option("axis " + name + ": no values");
    return {.name = name,
            .units = text_or(axis.units, "1"),
            .standard_name = text_or(axis.standard_name),
            .values = std::vector<double>(axis.values, axis.values + axis.num_values),
            .attributes = attributes_of(axis.attributes, axis.num_attributes)};
}

Hints hints_of(const hakobi_hint* first, std::int64_t num) {
    if (num < 0 || (first == nullptr && num > 0))
        refuse_option("num_hints is " + std::to_string(num) + ", but there are none");
    Hints hints;
    for (std::int64_t i = 0; i < num; ++i) {
        if (first[i].name == nullptr || first[i].value == nullptr)
            refuse_option("hint " + text_or(first[i].name, std::to_string(i).c_str()) +
                          ": its name or value is NULL");
        hints[first[i].name] = first[i].value;
    }
    return hints;
}

IfExists if_exists_called(int value) {
    if (value < HAKOBI_IF_EXISTS_FAIL || value > HAKOBI_IF_EXISTS_RESUME)
        refuse_option("if_exists is " + std::to_string(value) + ", no value of HAKOBI_IF_EXISTS_...");
    return static_cast<IfExists>(value);
}

template <class Number>
void take(Number given, Number& into) {
    if (given != 0) into = given;
}

void take(const char* given, std::string& into) {
    if (given != nullptr) into = given;
}

}  // namespace

Attributes attributes_of(const hakobi_attribute* first, std::int64_t num) {
    Attributes attributes;
    for (const hakobi_attribute& attribute : all_taken(first, num, "hakobi_attribute", "attributes")) {
        const std::string name = text_or(attribute.name);
        if (!attributes.emplace(name, value_of(attribute, name)).second)
            refuse_option("attribute '" + name + "': it is given twice");
    }
    return attributes;
}

Memory memory_called(std::int64_t value) {
    if (value < HAKOBI_MEMORY_AUTOMATIC || value > HAKOBI_MEMORY_DEVICE)
        refuse_option("memory is " + std::to_string(value) + ", no value of HAKOBI_MEMORY_...");
    return static_cast<Memory>(value);
}

OutputOptions output_options_of(const hakobi_output_options* given) {
    const hakobi_output_options from = taken(given, "hakobi_output_options");
    OutputOptions options;
    take(from.method, options.method);
    take(from.format, options.format);
    take(from.title, options.title);
    for (const hakobi_axis& axis : all_taken(from.axes, from.num_axes, "hakobi_axis", "axes"))
        options.axes.push_back(axis_of(axis));
    options.attributes = attributes_of(from.attributes, from.num_attributes);
    take(from.time_units, options.time_units);
    take(from.calendar, options.calendar);
    take(from.compression, options.compression);
    take(from.asynchronous_bytes, options.hidden.bytes);
    take(from.buffer_bytes, options.buffer_bytes);
    options.hints = hints_of(from.hints, from.num_hints);
    options.significant_bits = from.significant_bits;
    take(from.store_as, options.store_as);
    options.writer_stride = from.writer_stride;
    options.if_exists = if_exists_called(from.if_exists);
    if (from.asynchronous != 0) options.hidden.on = yes(from.asynchronous, false, "asynchronous");
    options.sync = yes(from.sync, false, "sync");
    options.overview = yes(from.overview, false, "overview");
    options.per_process.keep_pieces = yes(from.keep_pieces, false, "keep_pieces");
    options.steps_per_file = from.steps_per_file;
    take(from.stage, options.stage.folder);
    options.stage.bytes = from.stage_bytes;
    options.stage.bytes_s = from.stage_bytes_s;
    if (from.stage_patience_s != 0)
        options.stage.patience_s = from.stage_patience_s == HAKOBI_NO ? 0 : from.stage_patience_s;
    return options;
}

OutputsOptions outputs_options_of(const hakobi_outputs_options* given) {
    const hakobi_outputs_options from = taken(given, "hakobi_outputs_options");
    OutputsOptions options;
    take(from.time_units, options.time_units);
    take(from.calendar, options.calendar);
    options.if_exists = if_exists_called(from.if_exists);
    if (yes(from.has_begin_time, false, "has_begin_time")) options.begin_time = from.begin_time;
    if (yes(from.has_resume_at, false, "has_resume_at")) options.resume_at = from.resume_at;
    return options;
}

std::vector<DerivedField> derived_fields_of(const hakobi_derived_field* first, std::int64_t num) {
    std::vector<DerivedField> fields;
    for (const hakobi_derived_field& from : all_taken(first, num, "hakobi_derived_field", "fields")) {
        fields.push_back({.of = text_or(from.of),
                          .cell_method = text_or(from.cell_method),
                          .name = text_or(from.name),
                          .long_name = text_or(from.long_name),
                          .attributes = attributes_of(from.attributes, from.num_attributes),
                          .compression = text_or(from.compression),
                          .significant_bits = from.significant_bits,
                          .store_as = text_or(from.store_as)});
    }
    return fields;
}

InputOptions input_options_of(const hakobi_input_options* given) {
    const hakobi_input_options from = taken(given, "hakobi_input_options");
    return {.hints = hints_of(from.hints, from.num_hints)};
}

static_assert(HAKOBI_MEMORY_AUTOMATIC == static_cast<int>(Memory::automatic));
static_assert(HAKOBI_MEMORY_HOST == static_cast<int>(Memory::host));
static_assert(HAKOBI_MEMORY_DEVICE == static_cast<int>(Memory::device));

static_assert(HAKOBI_ALL_STEPS == all_steps);

static_assert(HAKOBI_IF_EXISTS_FAIL == static_cast<int>(IfExists::fail));
static_assert(HAKOBI_IF_EXISTS_REPLACE == static_cast<int>(IfExists::replace));
static_assert(HAKOBI_IF_EXISTS_RESUME == static_cast<int>(IfExists::resume));

}  // namespace hakobi::capi
