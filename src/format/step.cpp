#include "format/step.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <limits>
#include <set>

#include "base/bytes.hpp"
#include "format/calendar.hpp"
#include "format/dimensions.hpp"
#include "format/names.hpp"
#include "format/time_units.hpp"
#include "region/block.hpp"

namespace hakobi::format {
namespace {

Status bad_step(std::string text) {
    return {ErrorCode::invalid_argument, std::move(text)};
}

/// The least bytes that encode_step writes of an axis and of a field: the lengths of their texts and lists,
/// and single bytes.
constexpr std::size_t least_axis_bytes = 5 * sizeof(std::int64_t);
constexpr std::size_t least_field_bytes = 9 * sizeof(std::int64_t) + 4;

/// Those that come from what time is.
constexpr std::array<std::string_view, 5> attributes_of_time = {"units", "calendar", "standard_name", "axis",
                                                                "_FillValue"};

/// Readers that see "since" in any variable's units take its values for times.
Status check_units(const std::string& whose, const std::string& units, const Attributes& attributes) {
    if (units.find("since") == std::string::npos) return {};
    const auto found = attributes.find("calendar");
    const auto* const calendar =
        found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
    return check_time_units(whose + ": units", units, calendar == nullptr ? "" : *calendar);
}

Status check_axis(const Axis& axis, const Rules& rules) {
    constexpr std::array<std::string_view, 3> taken = {"units", "standard_name", "_FillValue"};
    const std::string whose = "axis " + axis.name;
    if (Status status = check_units(whose, axis.units, axis.attributes); !status.ok()) return status;
    if (Status status =
            check_attributes(whose, axis.attributes, taken, ValueType::float64, rules.most_attribute_bytes);
        !status.ok())
        return status;
    const auto is_one_of = [&](const char* name, std::initializer_list<std::string_view> values) {
        const auto found = axis.attributes.find(name);
        if (found == axis.attributes.end()) return true;
        const auto* text = std::get_if<std::string>(&found->second);
        return text != nullptr && std::ranges::find(values, *text) != values.end();
    };
    if (!is_one_of("positive", {"up", "down"})) return bad_step(whose + ": positive is up or down");
    if (!is_one_of("axis", {"X", "Y", "Z", "T"})) return bad_step(whose + ": axis is X, Y, Z or T");
    return {};
}

Status check_field(const FieldDescription& field, const Rules& rules) {
    constexpr std::array<std::string_view, 5> taken = {"units", "long_name", "standard_name", "coordinates",
                                                       "_FillValue"};
    const std::string whose = "field " + field.name;
    if (Status status = check_units(whose, field.units, field.attributes); !status.ok()) return status;
    if (field.global.size() > 30)
        return bad_step(whose + " has " + std::to_string(field.global.size()) + " dimensions");
    std::vector<std::int64_t> extents = field.global;
    // A mesh may have no cells, nor a rank.
    if (field.place != Place::grid && !extents.empty()) extents[0] = std::max<std::int64_t>(1, extents[0]);
    if (!num_elements_of(extents, bytes_of(field.type)))
        return bad_step(whose + ": an array of " + extents_text(field.global) + " cannot be stored");
    if (field.fill_value && field.fill_value->index() != static_cast<std::size_t>(field.type)) {
        return bad_step(whose + ": its fill value is " +
                        std::string(name_of(static_cast<ValueType>(field.fill_value->index()))) +
                        ", its values are " + std::string(name_of(field.type)));
    }
    if (field.file.find('/') != std::string::npos || field.file == "..")
        return bad_step(whose + ": its values are in a file of another folder");
    return check_attributes(whose, field.attributes, taken, field.type, rules.most_attribute_bytes);
}

Status check_coordinates(const StepDescription& step, const FieldDescription& field, const Rules& rules) {
    std::set<std::string> named;
    for (const std::string& name : field.coordinates) {
        const auto of = [&](const std::string& text) {
            return bad_step("field " + field.name + ": its coordinates name " + text);
        };
        if (name == field.name) return of("itself");
        if (!named.insert(name).second) return of(name + " twice");
        if (!rules.is_of_series &&
            std::ranges::find(step.fields, name, &FieldDescription::name) == step.fields.end() &&
            std::ranges::find(step.axes, name, &Axis::name) == step.axes.end())
            return of(name + ", but the step has no such field");
    }
    return {};
}

}  // namespace

std::string coordinates_text(const FieldDescription& field) {
    std::string text;
    for (const std::string& name : field.coordinates) text += (text.empty() ? "" : " ") + name;
    return text;
}

std::optional<FillValue> zero_of(ValueType type) {
    constexpr std::array<FillValue, 10> zeros = {0.0,
                                                 0.0F,
                                                 std::int32_t{},
                                                 std::int64_t{},
                                                 std::int8_t{},
                                                 std::uint8_t{},
                                                 std::int16_t{},
                                                 std::uint16_t{},
                                                 std::uint32_t{},
                                                 std::uint64_t{}};
    if (type > last_value_type) return std::nullopt;
    return zeros[static_cast<std::size_t>(type)];
}

std::optional<FillValue> default_fill(ValueType type) {
    if (type == ValueType::float64) return std::numeric_limits<double>::quiet_NaN();
    if (type == ValueType::float32) return std::numeric_limits<float>::quiet_NaN();
    return std::nullopt;
}

std::int64_t bytes_of(ValueType type) {
    assert(type <= last_value_type);
    constexpr std::int64_t bytes[] = {8, 4, 4, 8, 1, 1, 2, 2, 4, 8};
    return bytes[static_cast<std::size_t>(type)];
}

std::string_view text_of(Place place) {
    assert(place <= Place::mesh);
    constexpr std::string_view texts[] = {"on a grid", "on points", "on cells", "of the mesh"};
    return texts[static_cast<std::size_t>(place)];
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

Status check_description(const StepDescription& step, const Rules& rules) {
    std::set<std::string> taken = {"time"};
    for (const Axis& axis : step.axes) {
        if (axis.name == "time")
            return bad_step(
                "axis time: its values are those of begin_step, its units time_units; it takes attributes "
                "alone");
        if (!is_name(axis.name))
            return bad_step("axis '" + axis.name +
                            "': a name is at most 255 letters, digits and underscores");
        if (!taken.insert(axis.name).second) return bad_step("axis " + axis.name + ": the name is taken");
        if (Status status = check_axis(axis, rules); !status.ok()) return status;
    }
    std::int64_t values_bytes = 0;
    for (const FieldDescription& field : step.fields) {
        if (!is_name(field.name))
            return bad_step("field '" + field.name +
                            "': a name is at most 255 letters, digits and underscores");
        if (!taken.insert(field.name).second) return bad_step("field " + field.name + ": the name is taken");
        if (Status status = check_field(field, rules); !status.ok()) return status;
        if (Status status = check_coordinates(step, field, rules); !status.ok()) return status;
        values_bytes += field.size_bytes();
        if (values_bytes > max_values_bytes)
            return bad_step("field " + field.name + ": with it the step is too large for a file");
    }
    if (step.time_units.empty()) return bad_step("time_units is empty");
    if (Status status = check_calendar(step.calendar, step.time_units); !status.ok()) return status;
    if (Status status = check_time_units("time_units", step.time_units, step.calendar); !status.ok())
        return status;
    if (Status status = check_attributes("axis time", step.time_attributes, attributes_of_time,
                                         ValueType::float64, rules.most_attribute_bytes);
        !status.ok())
        return status;
    constexpr std::array<std::string_view, 2> globals = {"Conventions", "title"};
    if (Status status = check_attributes("the output", step.attributes, globals, std::nullopt,
                                         rules.most_attribute_bytes);
        !status.ok())
        return status;
    Result<Dimensions> dimensions = dimensions_of(step);
    if (!dimensions.ok()) return dimensions.status();
    for (const Dimension& dimension : dimensions.value().all) {
        // An axis without values has its name for itself already.
        if (std::ranges::find(step.fields, dimension.name, &FieldDescription::name) != step.fields.end())
            return bad_step("field " + dimension.name + ": the name is that of a dimension without an axis");
    }
    return {};
}

namespace {

void put_axis(ByteWriter& writer, const Axis& axis) {
    writer.put_text(axis.name);
    writer.put_text(axis.units);
    writer.put_text(axis.standard_name);
    writer.put_all(axis.values);
    put_attributes(writer, axis.attributes);
}

void put_texts(ByteWriter& writer, const std::vector<std::string>& texts) {
    writer.put(std::ssize(texts));
    for (const std::string& text : texts) writer.put_text(text);
}

std::vector<std::string> get_texts(ByteReader& reader) {
    std::vector<std::string> texts(static_cast<std::size_t>(reader.get_count(sizeof(std::int64_t))));
    for (std::string& text : texts) text = reader.get_text();
    return texts;
}

bool get_bool(ByteReader& reader) {
    const auto byte = reader.get<std::uint8_t>();
    if (byte > 1) reader.fail();
    return byte == 1;
}

void put_field(ByteWriter& writer, const FieldDescription& field) {
    writer.put_text(field.name);
    writer.put_text(field.units);
    writer.put_text(field.long_name);
    writer.put_text(field.standard_name);
    writer.put(field.type);
    writer.put_all(field.global);
    put_texts(writer, field.dims);
    writer.put(field.filters);
    put_attributes(writer, field.attributes);
    writer.put(field.fill_value.has_value());
    if (field.fill_value) {
        writer.put(static_cast<std::uint8_t>(field.fill_value->index()));
        std::visit([&](auto value) { writer.put(value); }, *field.fill_value);
    }
    put_texts(writer, field.coordinates);
    writer.put(field.is_static);
    writer.put(field.place);
    writer.put_text(field.file);
}

FieldDescription get_field(ByteReader& reader) {
    FieldDescription field;
    field.name = reader.get_text();
    field.units = reader.get_text();
    field.long_name = reader.get_text();
    field.standard_name = reader.get_text();
    field.type = reader.get<ValueType>();
    field.global = reader.get_all<std::int64_t>();
    field.dims = get_texts(reader);
    field.filters = reader.get<filter::Filters>();
    if (!filter::is_valid(field.filters)) reader.fail();
    field.attributes = get_attributes(reader);
    if (field.type > last_value_type) reader.fail();
    if (get_bool(reader)) {
        field.fill_value = zero_of(static_cast<ValueType>(reader.get<std::uint8_t>()));
        if (!field.fill_value) reader.fail();
        if (field.fill_value)
            std::visit([&]<class T>(T& value) { value = reader.get<T>(); }, *field.fill_value);
    }
    field.coordinates = get_texts(reader);
    field.is_static = get_bool(reader);
    field.place = reader.get<Place>();
    if (field.place > Place::mesh) reader.fail();
    field.file = reader.get_text();
    return field;
}

std::vector<std::byte> encoded(const FieldDescription& field) {
    ByteWriter writer;
    put_field(writer, field);
    return writer.take();
}

}  // namespace

bool operator==(const FieldDescription& a, const FieldDescription& b) {
    return encoded(a) == encoded(b);  // a NaN is equal to itself here
}

std::vector<std::byte> encode_step(const StepDescription& step) {
    ByteWriter writer;
    writer.put_text(step.title);
    writer.put_text(step.time_units);
    writer.put(step.time);
    writer.put(static_cast<std::int64_t>(step.axes.size()));
    for (const Axis& axis : step.axes) put_axis(writer, axis);
    writer.put(static_cast<std::int64_t>(step.fields.size()));
    for (const FieldDescription& field : step.fields) put_field(writer, field);
    put_attributes(writer, step.attributes);
    writer.put_text(step.calendar);
    // Pieces of earlier versions end here, or behind the next.
    if (!step.time_attributes.empty() || !step.read_with.empty())
        put_attributes(writer, step.time_attributes);
    if (!step.read_with.empty()) put_texts(writer, step.read_with);
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
        axis.attributes = get_attributes(reader);
    }
    step.fields.resize(static_cast<std::size_t>(reader.get_count(least_field_bytes)));
    for (FieldDescription& field : step.fields) field = get_field(reader);
    step.attributes = get_attributes(reader);
    step.calendar = reader.get_text();
    if (reader.ok() && !reader.at_end()) {
        step.time_attributes = get_attributes(reader);
        if (reader.ok() && !reader.at_end()) step.read_with = get_texts(reader);
        if (step.time_attributes.empty() && step.read_with.empty()) reader.fail();
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
    if (mine.calendar != other.calendar)
        return "calendar is " + quoted(mine.calendar) + ", not " + quoted(other.calendar);
    if (encode_step({.title = {}, .time_units = {}, .time = mine.time, .axes = {}, .fields = {}}) !=
        encode_step({.title = {}, .time_units = {}, .time = other.time, .axes = {}, .fields = {}})) {
        return "the time is " + std::to_string(mine.time) + ", not " + std::to_string(other.time);
    }
    if (mine.attributes != other.attributes) return "the global attributes differ";
    if (mine.time_attributes != other.time_attributes) return "the attributes of time differ";
    if (mine.read_with != other.read_with) return "the static fields of earlier steps differ";
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
        if (left.attributes != right.attributes) return which + left.name + " has other attributes";
        if (left.place != right.place)
            return which + left.name + " is " + std::string(text_of(left.place)) + ", not " +
                   std::string(text_of(right.place));
        if (left != right)
            return which + left.name + " has other units, names, coordinates or fill value, or is static";
    }
    if (mine.fields.size() != other.fields.size()) {
        return std::to_string(mine.fields.size()) + " fields were put, not " +
               std::to_string(other.fields.size());
    }
    return {};
}

}  // namespace hakobi::format
