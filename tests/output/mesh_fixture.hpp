#pragma once

#include <cmath>
#include <cstring>
#include <map>

#include "fixture.hpp"
#include "format/mesh_arrays.hpp"
#include "format/registry.hpp"
#include "series/series.hpp"

namespace hakobi::test {

/// A rank's part of a test's mesh, made without the others: a column of hexahedra with a wedge on top, a
/// tetrahedron and a polygon beside it; the last of several ranks has no cells, and of three or more the
/// second has points alone.
struct RankMesh {
    std::vector<double> points;
    std::vector<std::int64_t> connectivity, offsets = {0};
    std::vector<std::uint8_t> types, ghosts;

    RankMesh(int rank, int num_ranks, std::int64_t step) {
        if (num_ranks > 1 && rank == num_ranks - 1) return;
        const int height = 2 + 3 * rank;
        const double shift = 0.125 * static_cast<double>(step);
        for (int level = 0; level <= height; ++level) {
            for (const auto& [x, y] : {std::pair(0, 0), {1, 0}, {1, 1}, {0, 1}})
                add_point(rank + 0.9 * x + shift, y, level);
        }
        add_point(rank + 0.25, 0.5, height + 1);
        add_point(rank + 0.75, 0.5, height + 1);
        if (num_ranks > 2 && rank == 1) return;
        for (std::int64_t level = 0; level < height; ++level) {
            const std::int64_t b = 4 * level, t = b + 4;
            add_cell(12, {b, b + 1, b + 2, b + 3, t, t + 1, t + 2, t + 3});
        }
        const std::int64_t top = 4 * height, ridge = top + 4;
        add_cell(13, {top, top + 3, ridge, top + 1, top + 2, ridge + 1});
        add_cell(10, {0, 1, 2, top});
        add_cell(7, {0, 1, 2, 3, 4});
        ghosts.assign(types.size(), 0);
        ghosts.back() = 1;
    }
    [[nodiscard]] std::int64_t num(On on) const {
        return on == On::points ? std::ssize(points) / 3 : std::ssize(types);
    }
    [[nodiscard]] Mesh mesh(Motion motion) const {
        return {.points = placed.points(std::span<const double>(points)),
                .connectivity = std::span<const std::int64_t>(connectivity),
                .offsets = std::span<const std::int64_t>(offsets),
                .types = types,
                .ghosts = ghosts,
                .motion = motion};
    }

  private:
    void add_point(double x, double y, double z) { points.insert(points.end(), {x, y, z}); }
    void add_cell(std::uint8_t type, const std::vector<std::int64_t>& ids) {
        connectivity.insert(connectivity.end(), ids.begin(), ids.end());
        offsets.push_back(std::ssize(connectivity));
        types.push_back(type);
    }
};

struct MeshField {
    std::string name;
    format::ValueType type;
    On on = On::cells;
    std::int64_t components = 1;
};

inline const std::vector<MeshField> mesh_fields = {
    {"p", format::ValueType::float64, On::cells},        {"U", format::ValueType::float32, On::cells, 3},
    {"gradU", format::ValueType::float64, On::cells, 9}, {"T", format::ValueType::float64, On::points},
    {"d", format::ValueType::float64, On::points, 3},    {"zone", format::ValueType::int32, On::cells},
};

/// A rank's values of a field on its part; the elements count from 0 on every rank.
inline Values values_on_mesh(std::size_t f, const MeshField& field, std::int64_t step, const RankMesh& mine) {
    const std::int64_t num = mine.num(field.on) * field.components;
    return {f, {field.name, field.type, {num}, nullptr}, step, Block{{num}, {0}, {num}}};
}

inline void put_mesh_fields(Output& out, const RankMesh& mine, std::int64_t step, std::vector<Values>& kept) {
    kept.reserve(kept.size() + mesh_fields.size());
    for (std::size_t f = 0; f < mesh_fields.size(); ++f) {
        const MeshField& field = mesh_fields[f];
        kept.push_back(values_on_mesh(f, field, step, mine));
        out.put(placed.field({.name = field.name,
                              .units = "m",
                              .data = kept.back().data(),
                              .on = field.on,
                              .components = field.components}));
    }
}

/// The contents that a test expects of a file: arrays and all ranks' bytes of each, put together one rank
/// after the other.
class ReferenceMesh {
  public:
    ReferenceMesh(int num_ranks, std::int64_t mesh_step) : num_ranks_(num_ranks) {
        for (int rank = 0; rank < num_ranks; ++rank) parts_.emplace_back(rank, num_ranks, mesh_step);
    }
    void add_counts(const std::string& file) {
        add_all(format::number_of_points, file, {num_ranks_},
                [](const RankMesh& part) { return std::vector{part.num(On::points)}; });
        add_all(format::number_of_cells, file, {num_ranks_},
                [](const RankMesh& part) { return std::vector{part.num(On::cells)}; });
        add_all(format::number_of_connectivity_ids, file, {num_ranks_},
                [](const RankMesh& part) { return std::vector{std::ssize(part.connectivity)}; });
    }
    void add_points(const std::string& file) {
        add_all(format::points_array, file, {total(On::points), 3},
                [](const RankMesh& part) { return part.points; });
    }
    void add_cells(const std::string& file) {
        std::int64_t num_ids = 0;
        for (const RankMesh& part : parts_) num_ids += std::ssize(part.connectivity);
        add_all(format::connectivity_array, file, {num_ids},
                [](const RankMesh& part) { return part.connectivity; });
        add_all(format::offsets_array, file, {total(On::cells) + num_ranks_},
                [](const RankMesh& part) { return part.offsets; });
        add_all(format::types_array, file, {total(On::cells)},
                [](const RankMesh& part) { return part.types; });
        add_all(
            format::ghosts_array, file, {total(On::cells)}, [](const RankMesh& part) { return part.ghosts; },
            format::Place::cells);
    }
    void add_fields(std::int64_t step) {
        for (std::size_t f = 0; f < mesh_fields.size(); ++f) {
            const MeshField& field = mesh_fields[f];
            std::vector<std::byte> bytes;
            for (const RankMesh& part : parts_) {
                const Values values = values_on_mesh(f, field, step, part);
                bytes.insert(bytes.end(), values.bytes().begin(), values.bytes().end());
            }
            std::vector<std::int64_t> global = {total(field.on)};
            if (field.components > 1) global.push_back(field.components);
            add(field.name, "m", field.type, std::move(global), static_cast<format::Place>(field.on), "",
                std::move(bytes));
        }
    }
    [[nodiscard]] std::vector<char> file(const OutputOptions& options, double time) const {
        const format::StepDescription description{.title = options.title,
                                                  .time_units = options.time_units,
                                                  .time = time,
                                                  .axes = {},
                                                  .fields = fields_,
                                                  .attributes = {},
                                                  .calendar = options.calendar};
        const format::Layout layout =
            format::find_format(options.format).value()->lay_out(description).value();
        std::vector<char> bytes(static_cast<std::size_t>(layout.file_bytes), 0);
        for (const auto& extent : layout.metadata)
            std::memcpy(bytes.data() + extent.offset_bytes, extent.bytes.data(), extent.bytes.size());
        for (std::size_t f = 0; f < fields_.size(); ++f) {
            if (fields_[f].file.empty())
                std::memcpy(bytes.data() + layout.offsets_bytes[f], values_[f].data(), values_[f].size());
        }
        return bytes;
    }

  private:
    [[nodiscard]] std::int64_t total(On on) const {
        std::int64_t sum = 0;
        for (const RankMesh& part : parts_) sum += part.num(on);
        return sum;
    }
    template <class Of>
    void add_all(std::string_view name, const std::string& file, std::vector<std::int64_t> global, Of of,
                 format::Place place = format::Place::mesh) {
        std::vector<std::byte> bytes;
        using Value = typename decltype(of(parts_[0]))::value_type;
        for (const RankMesh& part : parts_) {
            const auto values = of(part);
            const auto raw = std::as_bytes(std::span(values));
            bytes.insert(bytes.end(), raw.begin(), raw.end());
        }
        const format::ValueType type = std::is_same_v<Value, double>         ? format::ValueType::float64
                                       : std::is_same_v<Value, std::uint8_t> ? format::ValueType::uint8
                                                                             : format::ValueType::int64;
        add(std::string(name), "", type, std::move(global), place, file, std::move(bytes));
    }
    void add(std::string name, std::string units, format::ValueType type, std::vector<std::int64_t> global,
             format::Place place, std::string file, std::vector<std::byte> bytes) {
        fields_.push_back({.name = std::move(name),
                           .units = std::move(units),
                           .long_name = {},
                           .standard_name = {},
                           .type = type,
                           .global = std::move(global),
                           .place = place,
                           .file = std::move(file)});
        values_.push_back(std::move(bytes));
    }

    std::int64_t num_ranks_;
    std::vector<RankMesh> parts_;
    std::vector<format::FieldDescription> fields_;
    std::vector<std::vector<std::byte>> values_;
};

/// Steps of a mesh whose points move, at the times 0, 1, …
inline void write_moving_steps(Output& out, const Comm& comm, std::int64_t num_steps) {
    for (std::int64_t step = 0; step < num_steps; ++step) {
        const RankMesh mine(comm.rank(), comm.size(), step);
        std::vector<Values> kept;
        out.begin_step(static_cast<double>(step));
        if (step == 0) {
            out.put_mesh(mine.mesh(Motion::moves));
        } else {
            out.put_points(placed.points(std::span<const double>(mine.points)));
        }
        put_mesh_fields(out, mine, step, kept);
        out.end_step();
        placed.end_step();
    }
}

/// The files that they make, by name.
inline std::map<std::string, std::vector<char>> files_of_moving_steps(const OutputOptions& options,
                                                                      int num_ranks, int num_steps) {
    std::map<std::string, std::vector<char>> files;
    const std::string mesh_name = file_name(options.format, 0) + ".mesh";
    ReferenceMesh mesh(num_ranks, 0);
    mesh.add_counts("");
    mesh.add_cells("");
    files[mesh_name] = mesh.file(options, 0);
    for (int step = 0; step < num_steps; ++step) {
        ReferenceMesh reference(num_ranks, step);
        reference.add_counts(mesh_name);
        reference.add_cells(mesh_name);
        reference.add_points("");
        reference.add_fields(step);
        files[file_name(options.format, step)] = reference.file(options, step);
    }
    return files;
}

inline std::vector<Way> every_way_of_meshes() {
    std::vector<Way> ways;
    for (const Way& way : all_ways()) {
        if (format::find_format(way.format).value()->holds_meshes()) ways.push_back(way);
    }
    return ways;
}

}  // namespace hakobi::test
