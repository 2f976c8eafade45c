#include "output/definitions.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <utility>

#include "base/guard.hpp"
#include "format/names.hpp"
#include "output/agreement.hpp"
#include "output/combination.hpp"
#include "output/mesh_piece.hpp"

namespace hakobi::output {
namespace {

/// No values of a type.
Field::Data none_of(ValueType type) {
    Field::Data data;
    std::visit([&]<class Value>(Value) { data = std::span<const Value>(); }, *format::zero_of(type));
    return data;
}

bool is_empty(const Field::Data& data) {
    return std::visit([](auto values) { return values.empty(); }, data);
}

Status bad(const std::string& name, std::string why) {
    return {ErrorCode::invalid_argument, "field " + name + ": " + std::move(why)};
}

/// How files have the field's values where that is in another type than memory's.
Result<std::optional<format::Packing>> packing_of(const Setup& setup, const Field& field) {
    const auto type = static_cast<ValueType>(field.data.index());
    const bool is_real = type == ValueType::float64 || type == ValueType::float32;
    if (field.store_as.empty()) return type == ValueType::float64 ? setup.packing : std::nullopt;
    Result<std::optional<format::Packing>> parsed = format::parse_packing(field.store_as);
    if (!parsed.ok()) return parsed;
    const auto bad = [&](const std::string& why) {
        return Status(ErrorCode::invalid_argument, "store_as '" + field.store_as + "': " + why);
    };
    if (!is_real)
        return bad("it is for values of float64 and float32, and these are " +
                   std::string(format::name_of(type)));
    std::optional<format::Packing>& packing = parsed.value();
    if (!packing && type == ValueType::float32) return bad("the values are float32 in memory");
    if (!packing || (!packing->is_scaled() && type == ValueType::float32))
        return std::optional<format::Packing>();
    if (packing->is_scaled() && setup.format->holds_meshes())
        return Status(ErrorCode::unsupported, "store_as '" + field.store_as + "': readers of the format " +
                                                  std::string(setup.format->name()) +
                                                  " know no scale_factor");
    if (packing->is_scaled() &&
        (field.attributes.contains("scale_factor") || field.attributes.contains("add_offset")))
        return bad("scale_factor and add_offset are among its attributes, too");
    return parsed;
}

/// CF's boundary variables have no `_FillValue`. Arrays of a store keep the one that they have had.
bool is_bounds_of_time(const Setup& setup, const std::string& name) {
    if (setup.format->store() != nullptr) return false;
    for (const Axis& axis : setup.options.axes) {
        if (axis.name != "time") continue;
        const auto found = axis.attributes.find("bounds");
        if (found == axis.attributes.end()) continue;
        const auto* const bounds = std::get_if<std::string>(&found->second);
        if (bounds != nullptr && *bounds == name) return true;
    }
    return false;
}

/// Changes what a description of values in memory says to what files have of them.
Status describe_packed(format::Packing& packing, format::FieldDescription& description) {
    const std::optional<FillValue> fill = std::exchange(description.fill_value, std::nullopt);
    const ValueType type = std::exchange(description.type, packing.type);
    if (fill && fill->index() != static_cast<std::size_t>(type)) {
        return {ErrorCode::invalid_argument,
                "its fill value is " + std::string(format::name_of(static_cast<ValueType>(fill->index()))) +
                    ", its values are " + std::string(format::name_of(type))};
    }
    if (packing.is_scaled()) {
        description.fill_value = format::missing_of(packing.type);
        if (fill) packing.missing = format::number_of(*fill);
        description.attributes["scale_factor"] = packing.scale_factor;
        description.attributes["add_offset"] = packing.add_offset;
        return {};
    }
    if (!fill) return {};
    const double value = std::get<double>(*fill);
    description.fill_value = static_cast<float>(value);
    if (std::isinf(static_cast<float>(value)) && !std::isinf(value))
        return {ErrorCode::invalid_argument,
                "its fill value does not fit in float32, which store_as asks for"};
    return {};
}

}  // namespace

Status describe_field(const Setup& setup, const Field& field, format::FieldDescription& description,
                      std::optional<format::Packing>& packing) {
    Result<filter::Filters> filters =
        filter::parse_filters(field.compression, field.significant_bits, setup.filters);
    Status status = filters.ok() ? check_codec(*setup.format, filters.value().codec) : filters.status();
    if (!status.ok()) filters = filter::Filters();
    filters.value().frame = setup.format->frame();
    const auto type = static_cast<ValueType>(field.data.index());
    const bool has_default_fill =
        !field.fill_value && field.on == On::grid && !is_bounds_of_time(setup, field.name);
    description = {.name = field.name,
                   .units = field.units,
                   .long_name = field.long_name,
                   .standard_name = field.standard_name,
                   .type = type,
                   .global = {},
                   .dims = field.dims,
                   .filters = filters.value(),
                   .attributes = field.attributes,
                   .fill_value = has_default_fill ? format::default_fill(type) : field.fill_value,
                   .coordinates = field.coordinates,
                   .is_static = field.is_static,
                   .place = static_cast<format::Place>(field.on)};
    const Result<std::optional<format::Packing>> asked = packing_of(setup, field);
    packing = asked.ok() ? asked.value() : std::nullopt;
    status.keep_first(asked.status());
    if (packing) status.keep_first(describe_packed(*packing, description));
    return status;
}

Status check_place(const format::Format& format, const Field& field) {
    if (field.on == On::grid) return {};
    if (format.holds_meshes() || field.on > On::cells) return check_on_mesh(field);
    return {ErrorCode::unsupported, std::string("it is on ") + (field.on == On::points ? "points" : "cells") +
                                        ", and files of the format " + std::string(format.name()) +
                                        " hold no meshes"};
}

std::int64_t next_first_field_id() {
    static std::atomic<std::int64_t> num_made = 0;
    constexpr int bits_of_field = 24;
    return (++num_made << bits_of_field) + 1;
}

Definitions::Definitions(const Setup& setup) : setup_(setup), first_id_(next_first_field_id()) {}

Status Definitions::check(const Defined& defined, format::StepDescription& step) const {
    const Field& field = defined.field;
    step = setup_.description();
    format::FieldDescription& description = step.fields.emplace_back();
    const auto named = [&](const Status& status) {
        return Status(status.code(), "field " + field.name + ": " + status.text());
    };
    std::optional<format::Packing> packing;
    if (Status status = describe_field(setup_, field, description, packing); !status.ok())
        return named(status);
    const auto name_of = [](const Defined& one) -> const std::string& { return one.field.name; };
    if (std::ranges::find(defined_, field.name, name_of) != defined_.end())
        return bad(field.name, "it is defined already");
    if (Status status = check_place(*setup_.format, field); !status.ok()) return named(status);
    if (field.on != On::grid && !defined.global.empty())
        return bad(field.name, "it is on a mesh, which has its extents");
    format::StepDescription alone = step;
    alone.fields[0].global = description.global = defined.global;
    if (defined.global.empty()) alone.fields[0].dims.clear();  // blocks say how many it has
    format::Rules rules = setup_.format->rules();
    rules.is_of_series = true;  // its coordinates may be defined, or put, later
    if (Status status = format::check_description(alone, rules); !status.ok()) return status;
    return setup_.format->check(alone);
}

mpi::Agreed Definitions::define(const FieldDefinition& definition, FieldId& id) noexcept {
    Defined defined;
    format::StepDescription step;
    const Status local = guarded("define", [&]() -> Status {
        if (definition.type > format::last_value_type)
            return bad(definition.name, "its type is " + std::to_string(static_cast<int>(definition.type)));
        defined = {.field = {.name = definition.name,
                             .units = definition.units,
                             .long_name = definition.long_name,
                             .standard_name = definition.standard_name,
                             .dims = definition.dims,
                             .compression = definition.compression,
                             .significant_bits = definition.significant_bits,
                             .block = {},
                             .data = none_of(definition.type),
                             .attributes = definition.attributes,
                             .fill_value = definition.fill_value,
                             .coordinates = definition.coordinates,
                             .is_static = definition.is_static,
                             .on = definition.on,
                             .components = definition.components,
                             .store_as = definition.store_as},
                   .global = definition.global};
        defined_.reserve(defined_.size() + 1);  // once the ranks have agreed nothing may fail on one of them
        return check(defined, step);
    });
    mpi::Agreed agreed = agree_on_step(setup_.comm, local, step, false, false).error;
    if (!agreed.status.ok()) return agreed;
    defined_.push_back(std::move(defined));
    id = static_cast<FieldId>(first_id_ + std::ssize(defined_) - 1);
    return agreed;
}

Result<const Field*> Definitions::field(FieldId id, const Block& block, Field::Data data,
                                        const MemoryLayout& layout) {
    const std::int64_t index = static_cast<std::int64_t>(id) - first_id_;
    if (index < 0 || index >= std::ssize(defined_))
        return Status(ErrorCode::invalid_argument,
                      "put: the FieldId is none that this output's define has returned");
    Defined& defined = defined_[static_cast<std::size_t>(index)];
    Field& field = defined.field;
    const bool is_nothing = is_empty(data);
    if (!is_nothing && data.index() != field.data.index()) {
        const auto name = [](const Field::Data& of) {
            return std::string(format::name_of(static_cast<ValueType>(of.index())));
        };
        return bad(field.name, "its values are " + name(data) + ", and it is defined as " + name(field.data));
    }
    field.block = block;
    if (!defined.global.empty()) {
        const std::vector<std::int64_t> zeros(defined.global.size(), 0);
        if (is_nothing && block.global.empty()) field.block = {defined.global, zeros, zeros};
        if (field.block.global != defined.global)
            return bad(field.name, "its block is of an array of " + format::extents_text(block.global) +
                                       ", and it is defined with " + format::extents_text(defined.global));
    }
    field.data = is_nothing ? none_of(static_cast<ValueType>(field.data.index())) : data;
    field.ghosts = layout.ghosts;
    field.strides = layout.strides;
    field.memory = layout.memory;
    field.stream = layout.stream;
    return &field;
}

}  // namespace hakobi::output
