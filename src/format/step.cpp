#include "format/step.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>

#include "base/bytes.hpp"
#include "format/names.hpp"
#include "region/block.hpp"

namespace hakobi::format {
namespace {

Status bad(std::string text) {
    return {ErrorCode::invalid_argument, std::move(text)};
}

/// What encode_step writes of an axis and of a field at least: the lengths of their texts and lists, and a type.
constexpr std::size_t least_axis_bytes = 4 * sizeof(std::int64_t);
constexpr std::size_t least_field_bytes = 6 * sizeof(std::int64_t) + sizeof(ValueType);

}  // namespace

bool is_name(std::string_view name) {
    const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    return !name.empty() && name.size() <= 256 && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
           std::all_of(name.begin(), name.end(), good);
}

std::string extents_text(std::span<const std::int64_t> extents) {
    std::string text;
    for (const std::int64_t extent : extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text;
}

std::int64_t bytes_of(ValueType type) {
    constexpr std::int64_t bytes[] = {8, 4, 4, 8, 1, 1, 2, 2, 4, 8};
    return bytes[static_cast<std::size_t>(type)];
}

std::string_view name_of(ValueType type) {
    constexpr std::string_view names[] = {"double", "float", "int",    "int64", "byte",
                                          "ubyte",  "short", "ushort", "uint",  "uint64"};
    return names[static_cast<std::size_t>(type)];
}

std::int64_t FieldDescription::num_elements() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : global) product *= extent;
    return product;
}

Status check_description(const StepDescription& step) {
    std::set<std::string> taken = {"time"};
    for (const Axis& axis : step.axes) {
        if (!is_name(axis.name))
            return bad("axis '" + axis.name + "': a name is letters, digits and underscores");
        if (!taken.insert(axis.name).second) return bad("axis " + axis.name + ": the name is taken");
    }
    std::int64_t values_bytes = 0;
    for (const FieldDescription& field : step.fields) {
        if (!is_name(field.name))
            return bad("field '" + field.name + "': a name is letters, digits and underscores");
        if (!taken.insert(field.name).second) return bad("field " + field.name + ": the name is taken");
        if (field.global.empty() || field.global.size() > 30) {
            return bad("field " + field.name + " has " + std::to_string(field.global.size()) + " dimensions");
        }
        if (!num_elements_of(field.global, bytes_of(field.type))) {
            return bad("field " + field.name + ": an array of " + extents_text(field.global) +
                       " cannot be stored");
        }
        values_bytes += field.size_bytes();
        if (values_bytes > max_values_bytes)
            return bad("field " + field.name + ": with it the step is too large for a file");
    }
    if (step.time_units.empty()) return bad("time_units is empty");
    Result<Dimensions> dimensions = dimensions_of(step);
    if (!dimensions.ok()) return dimensions.status();
    for (const Dimension& dimension : dimensions.value().all) {
        // An axis without values has its name for itself already.
        if (std::ranges::find(step.fields, dimension.name, &FieldDescription::name) != step.fields.end())
            return bad("field " + dimension.name + ": the name is that of a dimension without an axis");
    }
    return {};
}

std::vector<std::byte> encode_step(const StepDescription& step) {
    ByteWriter writer;
    writer.put_text(step.title);
    writer.put_text(step.time_units);
    writer.put(step.time);
    writer.put(static_cast<std::int64_t>(step.axes.size()));
    for (const Axis& axis : step.axes) {
        writer.put_text(axis.name);
        writer.put_text(axis.units);
        writer.put_text(axis.standard_name);
        writer.put_all(axis.values);
    }
    writer.put(static_cast<std::int64_t>(step.fields.size()));
    for (const FieldDescription& field : step.fields) {
        writer.put_text(field.name);
        writer.put_text(field.units);
        writer.put_text(field.long_name);
        writer.put_text(field.standard_name);
        writer.put(field.type);
        writer.put_all(field.global);
        writer.put(static_cast<std::int64_t>(field.dims.size()));
        for (const std::string& name : field.dims) writer.put_text(name);
        writer.put(field.filters);
    }
    return writer.take();
}

Result<StepDescription> decode_step(std::span<const std::byte> bytes) {
    ByteReader reader(bytes);
    StepDescription step;
    step.title = reader.get_text();
    step.time_units = reader.get_text();
    step.time = reader.get<double>();
    step.axes.resize(static_cast<std::size_t>(reader.get_count(least_axis_bytes)));
    for (Axis& axis : step.axes) {
        axis.name = reader.get_text();
        axis.units = reader.get_text();
        axis.standard_name = reader.get_text();
        axis.values = reader.get_all<double>();
    }
    step.fields.resize(static_cast<std::size_t>(reader.get_count(least_field_bytes)));
    for (FieldDescription& field : step.fields) {
        field.name = reader.get_text();
        field.units = reader.get_text();
        field.long_name = reader.get_text();
        field.standard_name = reader.get_text();
        field.type = reader.get<ValueType>();
        field.global = reader.get_all<std::int64_t>();
        field.dims.resize(static_cast<std::size_t>(reader.get_count(sizeof(std::int64_t))));
        for (std::string& name : field.dims) name = reader.get_text();
        field.filters = reader.get<filter::Filters>();
        if (!filter::is_valid(field.filters)) return Status(ErrorCode::format, "a field with unknown filters");
        if (field.type > last_value_type) return Status(ErrorCode::format, "a field of an unknown type");
    }
    if (!reader.ok() || !reader.at_end())
        return Status(ErrorCode::format, "the description of the step is damaged");
    return step;
}

std::string difference(const StepDescription& mine, const StepDescription& other) {
    const auto quoted = [](const std::string& text) { return "'" + text + "'"; };
    if (mine.title != other.title) return "title is " + quoted(mine.title) + ", not " + quoted(other.title);
    if (mine.time_units != other.time_units)
        return "time_units is " + quoted(mine.time_units) + ", not " + quoted(other.time_units);
    if (encode_step({.title = {}, .time_units = {}, .time = mine.time, .axes = {}, .fields = {}}) !=
        encode_step({.title = {}, .time_units = {}, .time = other.time, .axes = {}, .fields = {}})) {
        return "the time is " + std::to_string(mine.time) + ", not " + std::to_string(other.time);
    }
    if (mine.axes.size() != other.axes.size()) {
        return std::to_string(mine.axes.size()) + " axes, not " + std::to_string(other.axes.size());
    }
    for (std::size_t a = 0; a < mine.axes.size(); ++a) {
        const StepDescription left{
            .title = {}, .time_units = {}, .time = 0, .axes = {mine.axes[a]}, .fields = {}};
        const StepDescription right{
            .title = {}, .time_units = {}, .time = 0, .axes = {other.axes[a]}, .fields = {}};
        if (encode_step(left) != encode_step(right))
            return "axis " + mine.axes[a].name + " differs from " + other.axes[a].name;
    }
    for (std::size_t f = 0; f < std::min(mine.fields.size(), other.fields.size()); ++f) {
        const FieldDescription& left = mine.fields[f];
        const FieldDescription& right = other.fields[f];
        const std::string which = "field " + std::to_string(f + 1) + " ";
        if (left.name != right.name)
            return which + "is called " + quoted(left.name) + ", not " + quoted(right.name);
        if (left.type != right.type) {
            return which + left.name + " is " + std::string(name_of(left.type)) + ", not " +
                   std::string(name_of(right.type));
        }
        if (left.global != right.global) {
            return which + left.name + " has a global array of " + extents_text(left.global) + ", not " +
                   extents_text(right.global);
        }
        if (left.dims != right.dims) return which + left.name + " names other dimensions";
        if (left.filters != right.filters) return which + left.name + " is compressed otherwise";
        if (left != right) return which + left.name + " has other units or names";
    }
    if (mine.fields.size() != other.fields.size()) {
        return std::to_string(mine.fields.size()) + " fields were put, not " +
               std::to_string(other.fields.size());
    }
    return {};
}

}  // namespace hakobi::format
