#include "format/step.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>

#include "base/bytes.hpp"
#include "region/block.hpp"

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

/// What encode_step writes of an axis and of a field at least: the lengths of their texts and lists, and a type.
constexpr std::size_t least_axis_bytes = 4 * sizeof(std::int64_t);
constexpr std::size_t least_field_bytes = 6 * sizeof(std::int64_t) + sizeof(ValueType);

}  // namespace

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

namespace {

/// The file's dimensions while fields find theirs; the axes come first. Length 0: no field has reached it.
class Finder {
  public:
    explicit Finder(const StepDescription& step) : step_(step) {
        for (std::size_t a = 0; a < step.axes.size(); ++a) {
            const auto length = static_cast<std::int64_t>(step.axes[a].values.size());
            found_.all.push_back({step.axes[a].name, length, static_cast<int>(a)});
        }
    }

    Status add(const FieldDescription& field) {
        mine_.assign(field.global.size(), -1);
        Status status = !field.dims.empty()  ? take_named(field)
                        : step_.axes.empty() ? share_equal(field)
                                             : guess(field);
        if (!status.ok()) return status;
        for (std::size_t d = 0; d < mine_.size(); ++d) length_of(mine_[d]) = field.global[d];
        found_.of_field.push_back(mine_);
        return {};
    }

    /// An axis without values that no field reached has no length and is not in the file.
    Dimensions take() {
        std::vector<int> place(found_.all.size(), -1);
        std::vector<Dimension> kept;
        for (std::size_t i = 0; i < found_.all.size(); ++i) {
            if (found_.all[i].length == 0) continue;
            place[i] = static_cast<int>(kept.size());
            Dimension dimension = found_.all[i];
            if (dimension.axis >= 0 && step_.axes[static_cast<std::size_t>(dimension.axis)].values.empty())
                dimension.axis = -1;
            kept.push_back(std::move(dimension));
        }
        found_.all = std::move(kept);
        for (std::vector<int>& of_field : found_.of_field) {
            for (int& index : of_field) index = place[static_cast<std::size_t>(index)];
        }
        return std::move(found_);
    }

  private:
    std::int64_t& length_of(int i) { return found_.all[static_cast<std::size_t>(i)].length; }
    [[nodiscard]] std::string named(const std::vector<int>& dims) const {
        std::string text;
        for (const int d : dims)
            text += (text.empty() ? "(" : ", ") + found_.all[static_cast<std::size_t>(d)].name;
        return text + ")";
    }

    Status take_named(const FieldDescription& field) {
        if (field.dims.size() != field.global.size()) {
            return bad("field " + field.name + " names " + std::to_string(field.dims.size()) +
                       " dimensions and has " + std::to_string(field.global.size()));
        }
        for (std::size_t d = 0; d < field.dims.size(); ++d) {
            const std::string& name = field.dims[d];
            if (!is_name(name) || name == "time")
                return bad("field " + field.name + ": '" + name + "' is no name of a dimension");
            const auto at = std::ranges::find(found_.all, name, &Dimension::name);
            const int index = static_cast<int>(at - found_.all.begin());
            if (at == found_.all.end()) {
                found_.all.push_back({name, field.global[d], -1});
            } else if (std::ranges::find(mine_, index) != mine_.end()) {
                return bad("field " + field.name + " names its dimension " + name + " twice");
            } else if (at->length != 0 && at->length != field.global[d]) {
                return bad("field " + field.name + ": its dimension " + name + " has " +
                           std::to_string(field.global[d]) + " points, elsewhere " +
                           std::to_string(at->length));
            }
            mine_[d] = index;
        }
        return {};
    }

    /// Without axes: the n-th dimension of equal length within a field is the n-th such dimension of the file.
    Status share_equal(const FieldDescription& field) {
        for (std::size_t d = 0; d < field.global.size(); ++d) {
            std::size_t i = 0;
            const auto serves = [&](std::size_t index) {
                return std::ranges::find(unnamed_, static_cast<int>(index)) != unnamed_.end() &&
                       std::ranges::find(mine_, static_cast<int>(index)) == mine_.end() &&
                       found_.all[index].length == field.global[d];
            };
            while (i < found_.all.size() && !serves(i)) ++i;
            if (i == found_.all.size()) {
                const std::string name = "dim_" + std::to_string(i);
                if (std::ranges::find(found_.all, name, &Dimension::name) != found_.all.end())
                    return bad("field " + field.name + ": another field names its dimension " + name);
                found_.all.push_back({name, field.global[d], -1});
                unnamed_.push_back(static_cast<int>(i));
            }
            mine_[d] = static_cast<int>(i);
        }
        return {};
    }

    /// All ways to give the field axes in their order, counted up to two: those whose lengths are known, or all.
    class Ways {
      public:
        Ways(const FieldDescription& field, const std::vector<Dimension>& all, std::size_t num_axes,
             bool takes_unknown)
            : num_dims_(field.global.size()), num_axes_(num_axes) {
            for (std::size_t d = 0; d < num_dims_; ++d) {
                for (std::size_t a = 0; a < num_axes_; ++a) {
                    fits_.push_back(all[a].length == field.global[d] ||
                                    (takes_unknown && all[a].length == 0));
                }
            }
            counts_.assign((num_dims_ + 1) * (num_axes_ + 1), 0);
            for (std::size_t a = 0; a <= num_axes_; ++a) count(num_dims_, a) = 1;
            for (std::size_t d = num_dims_; d-- > 0;) {
                for (std::size_t a = num_axes_; a-- > 0;)
                    count(d, a) = std::min(2, count(d, a + 1) + taken(d, a));
            }
        }
        [[nodiscard]] int number() { return count(0, 0); }
        [[nodiscard]] std::vector<int> way(int number) {
            std::vector<int> axes;
            for (std::size_t d = 0, a = 0; d < num_dims_; ++a) {
                if (number >= taken(d, a)) {
                    number -= taken(d, a);
                } else {
                    axes.push_back(static_cast<int>(a));
                    ++d;
                }
            }
            return axes;
        }

      private:
        int& count(std::size_t d, std::size_t a) { return counts_[d * (num_axes_ + 1) + a]; }
        int taken(std::size_t d, std::size_t a) { return fits_[d * num_axes_ + a] ? count(d + 1, a + 1) : 0; }
        std::size_t num_dims_, num_axes_;
        std::vector<bool> fits_;
        std::vector<int> counts_;  // from dimension d on, with the axes from a on
    };

    Status guess(const FieldDescription& field) {
        for (const bool takes_unknown : {false, true}) {
            Ways ways(field, found_.all, step_.axes.size(), takes_unknown);
            if (ways.number() == 0) continue;
            mine_ = ways.way(0);
            if (ways.number() == 1) return {};
            return bad("field " + field.name + " of " + extents_text(field.global) +
                       " could have the dimensions " + named(mine_) + " or " + named(ways.way(1)) +
                       ": it must name them (dims)");
        }
        std::string axes;
        for (const Axis& axis : step_.axes) {
            axes += (axes.empty() ? "" : ", ") + axis.name + " " + std::to_string(axis.values.size());
        }
        for (const std::int64_t extent : field.global) {
            const auto is_of = [&](const Dimension& dimension) {
                return dimension.axis >= 0 && (dimension.length == extent || dimension.length == 0);
            };
            if (std::ranges::none_of(found_.all, is_of)) {
                return bad("field " + field.name + " of " + extents_text(field.global) +
                           ": no axis for its extent " + std::to_string(extent) + " (axes: " + axes + ")");
            }
        }
        return bad("field " + field.name + " of " + extents_text(field.global) +
                   ": no axes in this order (axes: " + axes + ")");
    }

    const StepDescription& step_;
    Dimensions found_;
    std::vector<int> mine_;     // of the present field
    std::vector<int> unnamed_;  // dim_0, dim_1, …
};

}  // namespace

Result<Dimensions> dimensions_of(const StepDescription& step) {
    Finder finder(step);
    for (const FieldDescription& field : step.fields) {
        if (Status status = finder.add(field); !status.ok()) return status;
    }
    return finder.take();
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
        if (left != right) return which + left.name + " has other units or names";
    }
    if (mine.fields.size() != other.fields.size()) {
        return std::to_string(mine.fields.size()) + " fields were put, not " +
               std::to_string(other.fields.size());
    }
    return {};
}

}  // namespace hakobi::format
