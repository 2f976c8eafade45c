#include "format/found_step.hpp"

#include <cassert>

#include "base/bytes.hpp"

namespace hakobi {
inline namespace v0 {

bool operator==(const InputField& a, const InputField& b) {
    const auto bytes_of = [](const InputField& field) {
        ByteWriter writer;
        format::put_attributes(writer, field.attributes);
        return writer.take();
    };
    return a.name == b.name && a.type == b.type && a.dims == b.dims && a.shape == b.shape &&
           a.is_static == b.is_static && a.on == b.on && bytes_of(a) == bytes_of(b);
}

}  // namespace v0
}  // namespace hakobi

namespace hakobi::format {

std::optional<ValueType> value_type_of(const std::string& name) {
    for (int i = 0; i <= static_cast<int>(last_value_type); ++i) {
        if (name_of(static_cast<ValueType>(i)) == name) return static_cast<ValueType>(i);
    }
    return std::nullopt;
}

std::string file_of(const FoundField& field, std::int64_t step) {
    const std::size_t at = field.file.rfind(in_place_of_step);
    if (at == std::string::npos) return field.file;
    std::string file = field.file;
    return file.replace(at, in_place_of_step.size(), std::to_string(step));
}

std::vector<std::byte> encode_found(const FoundStep& step) {
    ByteWriter writer;
    writer.put_text(step.title);
    writer.put_text(step.time_units);
    writer.put_text(step.calendar);
    put_attributes(writer, step.attributes);
    writer.put(std::ssize(step.axes));
    for (const Axis& axis : step.axes) {
        writer.put_text(axis.name);
        writer.put_text(axis.units);
        writer.put_text(axis.standard_name);
        writer.put_all(axis.values);
        put_attributes(writer, axis.attributes);
    }
    writer.put(std::ssize(step.fields));
    for (const FoundField& field : step.fields) {
        assert(field.shown.dims.size() == field.shown.shape.size());
        writer.put_text(field.shown.name);
        writer.put_text(field.shown.type);
        writer.put_text(field.link);
        writer.put_text(field.why_library);
        writer.put(field.shown.on);
        writer.put(field.is_of_mesh);
        writer.put_text(field.file);
        writer.put(field.has_record);
        writer.put(field.shown.is_static);
        writer.put(field.offset_bytes);
        writer.put_all(field.offsets_of_steps);
        writer.put_all(field.shown.shape);
        for (const std::string& dim : field.shown.dims) writer.put_text(dim);
        put_attributes(writer, field.shown.attributes);
    }
    return writer.take();
}

Result<FoundStep> decode_found(std::span<const std::byte> bytes) {
    ByteReader reader(bytes);
    FoundStep step;
    step.title = reader.get_text();
    step.time_units = reader.get_text();
    step.calendar = reader.get_text();
    step.attributes = get_attributes(reader);
    for (auto n = reader.get_count(40); n > 0; --n) {
        Axis axis;
        axis.name = reader.get_text();
        axis.units = reader.get_text();
        axis.standard_name = reader.get_text();
        axis.values = reader.get_all<double>();
        axis.attributes = get_attributes(reader);
        step.axes.push_back(std::move(axis));
    }
    for (auto n = reader.get_count(76); n > 0; --n) {
        FoundField field;
        field.shown.name = reader.get_text();
        field.shown.type = reader.get_text();
        field.type = value_type_of(field.shown.type);
        field.link = reader.get_text();
        field.why_library = reader.get_text();
        field.shown.on = reader.get<On>();
        field.is_of_mesh = reader.get<bool>();
        field.file = reader.get_text();
        field.has_record = reader.get<bool>();
        field.shown.is_static = reader.get<bool>();
        field.offset_bytes = reader.get<std::int64_t>();
        field.offsets_of_steps = reader.get_all<std::int64_t>();
        field.shown.shape = reader.get_all<std::int64_t>();
        for (std::size_t d = 0; d < field.shown.shape.size() && reader.ok(); ++d)
            field.shown.dims.push_back(reader.get_text());
        field.shown.attributes = get_attributes(reader);
        step.fields.push_back(std::move(field));
    }
    if (!reader.ok() || !reader.at_end())
        return Status(ErrorCode::internal, "a step's description is damaged");
    return step;
}

}  // namespace hakobi::format
