#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/mesh_arrays.hpp"
#include "format/step.hpp"

// Steps whose files are seeds, and which targets that compare files with a step know.

namespace hakobi::fuzz {

inline format::FieldDescription field(std::string name, format::ValueType type,
                                      std::vector<std::int64_t> global) {
    return {.name = std::move(name),
            .units = "m",
            .long_name = "a field",
            .standard_name = {},
            .type = type,
            .global = std::move(global)};
}

inline std::vector<format::StepDescription> descriptions() {
    const Axis lat{.name = "lat", .units = "degrees_north", .standard_name = "latitude", .values = {1, 2, 3}};
    const Axis lon{
        .name = "lon", .units = "degrees_east", .standard_name = "longitude", .values = {5, 6, 7, 8}};
    const Axis level{.name = "level", .units = {}, .standard_name = {}, .values = {}};
    return {{.title = "a run",
             .time_units = "seconds since 2011-03-11",
             .time = 7,
             .axes = {level, lat, lon},
             .fields = {field("eta", format::ValueType::float64, {3, 4}),
                        field("u", format::ValueType::float32, {2, 3, 4})}},
            {.title = {},
             .time_units = "s",
             .time = 0,
             .axes = {},
             .fields = {field("n", format::ValueType::int32, {6, 6, 2}),
                        field("m", format::ValueType::int64, {9})}}};
}

/// One triangle and a field on its points.
inline format::StepDescription mesh_step() {
    using format::ValueType;
    format::StepDescription step{.title = {}, .time_units = "s", .time = 0, .axes = {}, .fields = {}};
    const auto add = [&](std::string_view name, ValueType type, std::vector<std::int64_t> global) {
        step.fields.push_back(field(std::string(name), type, std::move(global)));
        step.fields.back().place = format::Place::mesh;
    };
    add(format::number_of_points, ValueType::int64, {1});
    add(format::number_of_cells, ValueType::int64, {1});
    add(format::number_of_connectivity_ids, ValueType::int64, {1});
    add(format::points_array, ValueType::float64, {3, 3});
    add(format::connectivity_array, ValueType::int64, {3});
    add(format::offsets_array, ValueType::int64, {2});
    add(format::types_array, ValueType::uint8, {1});
    step.fields.push_back(field("eta", ValueType::float64, {3}));
    step.fields.back().place = format::Place::points;
    return step;
}

template <class T>
std::vector<std::byte> bytes_of(std::initializer_list<T> values) {
    const auto bytes = std::as_bytes(std::span(values.begin(), values.size()));
    return {bytes.begin(), bytes.end()};
}

/// The values of its mesh by name.
inline std::map<std::string, std::vector<std::byte>> mesh_values() {
    return {{std::string(format::number_of_points), bytes_of<std::int64_t>({3})},
            {std::string(format::number_of_cells), bytes_of<std::int64_t>({1})},
            {std::string(format::number_of_connectivity_ids), bytes_of<std::int64_t>({3})},
            {std::string(format::points_array), bytes_of<double>({0, 0, 0, 1, 0, 0, 0, 1, 0})},
            {std::string(format::connectivity_array), bytes_of<std::int64_t>({0, 1, 2})},
            {std::string(format::offsets_array), bytes_of<std::int64_t>({0, 3})},
            {std::string(format::types_array), bytes_of<std::uint8_t>({5})}};
}

}  // namespace hakobi::fuzz
