#include "format/step.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>

#include "base/bytes.hpp"

namespace hakobi::format {
namespace {

bool is_name(const std::string& name) {
    const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    return !name.empty() && name.size() <= 256 && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
           std::all_of(name.begin(), name.end(), good);
}

Status bad(std::string text) {
    return {ErrorCode::invalid_argument, std::move(text)};
}

std::string extents_text(const std::vector<std::int64_t>& extents) {
    std::string text;
    for (const std::int64_t extent : extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text;
}

/// Product of the extents, or -1 where `bytes_each` times it leaves 63 bits.
std::int64_t checked_elements(const std::vector<std::int64_t>& global, std::int64_t bytes_each) {
    std::int64_t product = 1;
    for (const std::int64_t extent : global) {
        if (extent < 1 || product > std::numeric_limits<std::int64_t>::max() / 16 / bytes_each / extent)
            return -1;
        product *= extent;
    }
    return product;
}

}  // namespace

std::int64_t bytes_of(ValueType type) {
    return type == ValueType::float64 || type == ValueType::int64 ? 8 : 4;
}

std::string_view name_of(ValueType type) {
    constexpr std::string_view names[] = {"double", "float", "int", "int64"};
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
    for (const FieldDescription& field : step.fields) {
        if (!is_name(field.name))
            return bad("field '" + field.name + "': a name is letters, digits and underscores");
        if (!taken.insert(field.name).second) return bad("field " + field.name + ": the name is taken");
        if (field.global.empty() || field.global.size() > 30) {
            return bad("field " + field.name + " has " + std::to_string(field.global.size()) + " dimensions");
        }
        if (checked_elements(field.global, bytes_of(field.type)) < 0) {
            return bad("field " + field.name + ": an array of " + extents_text(field.global) +
                       " cannot be stored");
        }
    }
    if (step.time_units.empty()) return bad("time_units is empty");
    Result<Dimensions> dimensions = dimensions_of(step);
    if (!dimensions.ok()) return dimensions.status();
    for (const Dimension& dimension : dimensions.value().all) {
        if (dimension.axis < 0 && taken.contains(dimension.name)) {
            return bad("field " + dimension.name + ": the name is that of a dimension without an axis");
        }
    }
    return {};
}

Result<Dimensions> dimensions_of(const StepDescription& step) {
    Dimensions result;
    result.of_field.resize(step.fields.size());
    for (std::size_t a = 0; a < step.axes.size(); ++a) {
        const Axis& axis = step.axes[a];
        result.all.push_back({axis.name, static_cast<std::int64_t>(axis.values.size()), static_cast<int>(a)});
    }
    for (std::size_t f = 0; f < step.fields.size(); ++f) {
        const FieldDescription& field = step.fields[f];
        std::vector<int>& mine = result.of_field[f];
        mine.resize(field.global.size());
        if (step.axes.empty()) {
            // The n-th dimension of equal length within a field is the n-th such dimension of the file.
            std::vector<bool> used(result.all.size(), false);
            for (std::size_t d = 0; d < field.global.size(); ++d) {
                std::size_t i = 0;
                while (i < result.all.size() && (used[i] || result.all[i].length != field.global[d])) ++i;
                if (i == result.all.size()) {
                    result.all.push_back({"dim_" + std::to_string(i), field.global[d], -1});
                    used.push_back(false);
                }
                used[i] = true;
                mine[d] = static_cast<int>(i);
            }
            continue;
        }
        int next = static_cast<int>(result.all.size()) - 1;
        for (std::size_t d = field.global.size(); d-- > 0;) {
            const auto length_of = [&](int i) -> std::int64_t& {
                return result.all[static_cast<std::size_t>(i)].length;
            };
            while (next >= 0 && length_of(next) != field.global[d] && length_of(next) != 0) --next;
            if (next < 0) {
                std::string axes;
                for (const Dimension& axis : result.all) {
                    axes += (axes.empty() ? "" : ", ") + axis.name + " " + std::to_string(axis.length);
                }
                return bad("field " + field.name + " of " + extents_text(field.global) +
                           ": no axis for its extent " + std::to_string(field.global[d]) + " (axes: " + axes +
                           ")");
            }
            length_of(next) = field.global[d];
            mine[d] = next--;
        }
    }
    // An axis without values that no field reached has no length and is not in the file.
    std::vector<int> place(result.all.size(), -1);
    std::vector<Dimension> kept;
    for (std::size_t i = 0; i < result.all.size(); ++i) {
        if (result.all[i].length == 0) continue;
        place[i] = static_cast<int>(kept.size());
        Dimension dimension = result.all[i];
        if (dimension.axis >= 0 && step.axes[static_cast<std::size_t>(dimension.axis)].values.empty())
            dimension.axis = -1;
        kept.push_back(std::move(dimension));
    }
    result.all = std::move(kept);
    for (std::vector<int>& mine : result.of_field) {
        for (int& index : mine) index = place[static_cast<std::size_t>(index)];
    }
    return result;
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
    }
    return writer.take();
}

Result<StepDescription> decode_step(std::span<const std::byte> bytes) {
    ByteReader reader(bytes);
    StepDescription step;
    step.title = reader.get_text();
    step.time_units = reader.get_text();
    step.time = reader.get<double>();
    step.axes.resize(static_cast<std::size_t>(reader.get_count()));
    for (Axis& axis : step.axes) {
        axis.name = reader.get_text();
        axis.units = reader.get_text();
        axis.standard_name = reader.get_text();
        axis.values = reader.get_all<double>();
    }
    step.fields.resize(static_cast<std::size_t>(reader.get_count()));
    for (FieldDescription& field : step.fields) {
        field.name = reader.get_text();
        field.units = reader.get_text();
        field.long_name = reader.get_text();
        field.standard_name = reader.get_text();
        field.type = reader.get<ValueType>();
        field.global = reader.get_all<std::int64_t>();
        if (field.type > ValueType::int64) return Status(ErrorCode::format, "a field of an unknown type");
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
        if (left != right) return which + left.name + " has other units or names";
    }
    if (mine.fields.size() != other.fields.size()) {
        return std::to_string(mine.fields.size()) + " fields were put, not " +
               std::to_string(other.fields.size());
    }
    return {};
}

}  // namespace hakobi::format
