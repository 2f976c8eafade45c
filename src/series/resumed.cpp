#include "series/resumed.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "format/calendar.hpp"
#include "format/dimensions.hpp"
#include "format/mesh_arrays.hpp"
#include "format/names.hpp"
#include "series/step_file.hpp"

namespace hakobi::series {
namespace {

std::string text_of(std::span<const std::string> names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "(" : ", ") + name;
    return text + ")";
}

std::string units_of(const format::FoundField& field) {
    const auto at = field.shown.attributes.find("units");
    const auto* units = at == field.shown.attributes.end() ? nullptr : std::get_if<std::string>(&at->second);
    return units == nullptr ? "" : *units;
}

std::string difference(const format::FieldDescription& put, std::span<const std::string> dims,
                       const format::FoundField& found) {
    if (found.type != put.type)
        return "is " + std::string(format::name_of(put.type)) + ", not " + found.shown.type;
    const auto place = found.is_of_mesh ? format::Place::mesh : static_cast<format::Place>(found.shown.on);
    if (place != put.place)
        return "is " + std::string(format::text_of(put.place)) + ", not " +
               std::string(format::text_of(place));
    if (put.place != format::Place::grid) {
        // How many elements there are changes with the ranks that have copies of them.
        if (found.shown.shape.size() != put.global.size() ||
            !std::equal(put.global.begin() + 1, put.global.end(), found.shown.shape.begin() + 1))
            return "has other components";
        return units_of(found) != put.units ? "is in '" + put.units + "', not in '" + units_of(found) + "'"
                                            : "";
    }
    if (found.shown.shape != put.global)
        return "has " + format::extents_text(put.global) + " points, not " +
               format::extents_text(found.shown.shape);
    if (!std::ranges::equal(dims, found.shown.dims))
        return "has the dimensions " + text_of(dims) + ", not " + text_of(found.shown.dims);
    if (found.shown.is_static != put.is_static)
        return put.is_static ? "is static, but was not" : "is not static, but was";
    if (units_of(found) != put.units) return "is in '" + put.units + "', not in '" + units_of(found) + "'";
    return {};
}

std::string difference(const Axis& put, const Axis& found) {
    if (put.units != found.units) return "is in '" + put.units + "', not in '" + found.units + "'";
    if (put.values.size() != found.values.size()) {
        return "has " + std::to_string(put.values.size()) + " points, not " +
               std::to_string(found.values.size());
    }
    return put.values == found.values ? "" : "has other coordinates";
}

}  // namespace

std::string difference(const format::StepDescription& put, const format::FoundStep& found) {
    if (put.time_units != found.time_units)
        return "its times are in '" + put.time_units + "', not in '" + found.time_units + "'";
    const std::string calendar = format::calendar_of(put.time_units, put.calendar);
    if (!format::is_same_calendar(calendar, found.calendar))
        return "its times are in the calendar '" + calendar + "', not in '" + found.calendar + "'";
    const Result<format::Dimensions> dimensions = format::dimensions_of(put);
    if (!dimensions.ok()) return dimensions.status().text();
    const auto is_of_mesh = [](const std::string& name) { return name == format::ghosts_array; };
    for (std::size_t f = 0; f < put.fields.size(); ++f) {
        const format::FieldDescription& field = put.fields[f];
        if (field.place == format::Place::mesh || is_of_mesh(field.name)) continue;
        const auto before = std::ranges::find(found.fields, field.name,
                                              [](const format::FoundField& one) { return one.shown.name; });
        if (before == found.fields.end()) return "there is no field " + field.name + " in it";
        std::vector<std::string> dims;
        for (const int d : dimensions.value().of_field[f])
            dims.push_back(dimensions.value().all[static_cast<std::size_t>(d)].name);
        if (const std::string text = difference(field, dims, *before); !text.empty())
            return "field " + field.name + " " + text;
    }
    for (const format::FoundField& field : found.fields) {
        if (field.is_of_mesh || is_of_mesh(field.shown.name)) continue;
        if (std::ranges::find(put.fields, field.shown.name, &format::FieldDescription::name) ==
            put.fields.end()) {
            return "field " + field.shown.name + " is not put";
        }
    }
    for (const Axis& axis : put.axes) {
        const auto before = std::ranges::find(found.axes, axis.name, &Axis::name);
        if (axis.values.empty() || before == found.axes.end()) continue;
        if (const std::string text = difference(axis, *before); !text.empty())
            return "axis " + axis.name + " " + text;
    }
    return {};
}

Result<Resumed> Resumed::read(const format::Format& format, std::vector<Series::Entry> files) {
    Resumed resumed;
    if (files.empty()) return resumed;
    const Series::Entry& last = files.back();
    if (last.extension != format.extension()) {
        return Status(
            ErrorCode::invalid_argument,
            "cannot resume after " + last.path + ": the format of this run is " + std::string(format.name()));
    }
    Result<format::FoundStep> found = read_step(last.path);
    if (found.status().code() == ErrorCode::unsupported) return resumed;
    if (!found.ok())
        return Status(found.status().code(), "cannot resume after the last step: " + found.status().text());
    resumed.has_store_ = format.store() != nullptr;
    resumed.files_ = std::move(files);
    resumed.last_ = std::move(found).value();
    return resumed;
}

double Resumed::last_time() const {
    if (files_.empty()) return -std::numeric_limits<double>::infinity();
    return format::time_of(last_, format::num_steps_of(last_) - 1);
}

std::string Resumed::difference_from(const format::StepDescription& first,
                                     const format::FoundStep& earlier) const {
    if (!has_store_) return difference(first, earlier);
    format::FoundStep found = earlier;
    std::erase_if(found.fields, [&](const format::FoundField& field) {
        const auto put = std::ranges::find(first.fields, field.shown.name, &format::FieldDescription::name);
        return field.shown.is_static && put == first.fields.end();
    });
    return difference(first, found);
}

Status Resumed::check_statics(const format::StepDescription& first) const {
    if (has_store_) return {};
    for (const format::FoundField& field : last_.fields) {
        if (!field.shown.is_static || field.is_of_mesh) continue;
        const auto put = std::ranges::find(first.fields, field.shown.name, &format::FieldDescription::name);
        if (put != first.fields.end() && put->is_static) continue;
        return {ErrorCode::invalid_argument,
                "the static field " + field.shown.name +
                    " is not put, but each step from the one that brought "
                    "it on has it, up to " +
                    file_name(files_.back().path) +
                    ", after which the run resumes: put it again in the run's first step"};
    }
    return {};
}

Status Resumed::check(const format::StepDescription& first) const {
    if (files_.empty()) return {};
    const std::string text = difference_from(first, last_);
    if (text.empty()) return {};
    if (Status left_out = check_statics(first); !left_out.ok()) return left_out;
    // Nobody pays for reading the others but who is refused otherwise.
    for (std::size_t i = files_.size() - 1; i-- > 0;) {
        const Result<format::FoundStep> found = read_step(files_[i].path);
        if (found.ok() && difference_from(first, found.value()).empty()) return {};
    }
    return {ErrorCode::invalid_argument, "the step matches neither " + file_name(files_.back().path) +
                                             ", after which the run resumes, nor an earlier one: " + text};
}

}  // namespace hakobi::series
