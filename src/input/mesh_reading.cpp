#include "input/mesh_reading.hpp"

#include <algorithm>
#include <limits>

#include "format/mesh_arrays.hpp"

namespace hakobi::input {
namespace {

/// More points or cells than any file holds: sums and sizes in bytes of fewer do not overflow.
constexpr std::int64_t most = std::int64_t{1} << 48;

using Shape = std::vector<std::int64_t>;

const format::FoundField* array_of(const format::FoundStep& step, std::string_view name) {
    for (const format::FoundField& field : step.fields) {
        if (field.is_of_mesh && field.shown.name == name) return &field;
    }
    return nullptr;
}

/// The sum of sizes, none of which is negative; -1 where that is no number.
std::int64_t sum_of(std::span<const std::int64_t> sizes) {
    std::int64_t sum = 0;
    for (const std::int64_t size : sizes) {
        if (size < 0 || __builtin_add_overflow(sum, size, &sum)) return -1;
    }
    return sum;
}

}  // namespace

Result<InputMesh> mesh_of(const format::FoundStep& step, const std::string& path) {
    const auto shape_of = [&](std::string_view name) {
        const format::FoundField* const array = array_of(step, name);
        return array != nullptr ? array->shown.shape : Shape();
    };
    const auto has_type = [&](std::string_view name, format::ValueType type) {
        const format::FoundField* const array = array_of(step, name);
        return array != nullptr && array->type == type;
    };
    const format::FoundField* const points = array_of(step, format::points_array);
    if (points == nullptr) return Status(ErrorCode::not_found, path + " has no mesh");
    const Shape types = shape_of(format::types_array), pieces = shape_of(format::number_of_points);
    const Shape ids = shape_of(format::connectivity_array);
    const auto is_list = [](const Shape& shape) { return shape.size() == 1 && shape[0] <= most; };
    const bool has_shapes = points->shown.shape.size() == 2 && points->shown.shape[1] == 3 &&
                            points->shown.shape[0] <= most && is_list(types) && is_list(pieces) &&
                            is_list(ids) && shape_of(format::number_of_cells) == pieces &&
                            shape_of(format::number_of_connectivity_ids) == pieces &&
                            shape_of(format::offsets_array) == Shape{types[0] + pieces[0]};
    if (!has_shapes)
        return Status(ErrorCode::format, path + ": the shapes of its mesh's arrays do not fit each other");
    using format::ValueType;
    bool has_types = has_type(format::points_array, ValueType::float64) ||
                     has_type(format::points_array, ValueType::float32);
    for (const std::string_view name :
         {format::number_of_points, format::number_of_cells, format::number_of_connectivity_ids,
          format::connectivity_array, format::offsets_array})
        has_types = has_types && has_type(name, ValueType::int64);
    if (!has_types || !has_type(format::types_array, ValueType::uint8))
        return Status(ErrorCode::format, path + ": an array of its mesh has another type than VTKHDF's");
    InputMesh mesh{.num_points = points->shown.shape[0],
                   .num_cells = types[0],
                   .num_pieces = pieces[0],
                   .points_type = points->shown.type};
    mesh.has_ghosts = std::ranges::any_of(step.fields, [&](const format::FoundField& field) {
        return field.shown.on == On::cells && field.shown.name == format::ghosts_array &&
               field.type == format::ValueType::uint8 &&
               field.shown.shape == std::vector<std::int64_t>{mesh.num_cells};
    });
    return mesh;
}

MeshReading::MeshReading(const format::FoundStep& step, InputMesh mesh, std::string path, int rank,
                         int num_ranks)
    : mesh_(std::move(mesh)),
      path_(std::move(path)),
      rank_(rank),
      num_ranks_(num_ranks),
      num_ids_(array_of(step, format::connectivity_array)->shown.shape[0]) {
    for (auto* sizes : {&pieces_.points, &pieces_.cells, &pieces_.ids})
        sizes->assign(static_cast<std::size_t>(mesh_.num_pieces), 0);
}

Status MeshReading::bad(const std::string& text) const {
    return {ErrorCode::format, path_ + ": the mesh: " + text};
}

void MeshReading::read_counts(const Read& read) {
    if (mesh_.num_pieces == 0) return;
    read(format::number_of_points, std::span(pieces_.points), {});
    read(format::number_of_cells, std::span(pieces_.cells), {});
    read(format::number_of_connectivity_ids, std::span(pieces_.ids), {});
}

Status MeshReading::share() {
    if (sum_of(pieces_.points) != mesh_.num_points || sum_of(pieces_.cells) != mesh_.num_cells ||
        sum_of(pieces_.ids) != num_ids_)
        return bad("the sizes of its pieces do not add up to those of its arrays");
    // A piece goes to the rank whose even share of the cells its middle lies in; so many have none that
    // pieces count as well.
    const double weight = static_cast<double>(mesh_.num_cells + mesh_.num_pieces);
    double before = 0;
    part_.first_piece = -1;
    std::int64_t points = 0, cells = 0, ids = 0;
    for (std::size_t piece = 0; piece < pieces_.cells.size(); ++piece) {
        const double mine = static_cast<double>(pieces_.cells[piece]) + 1;
        const int owner =
            std::min(num_ranks_ - 1, static_cast<int>((before + mine / 2) / weight * num_ranks_));
        before += mine;
        if (owner == rank_) {
            if (part_.first_piece < 0) {
                part_.first_piece = static_cast<std::int64_t>(piece);
                part_.first_point = points;
                part_.first_cell = cells;
                share_.first_id = ids;
            }
            ++part_.num_pieces;
            share_.points += pieces_.points[piece];
            share_.cells += pieces_.cells[piece];
            share_.ids += pieces_.ids[piece];
        }
        points += pieces_.points[piece];
        cells += pieces_.cells[piece];
        ids += pieces_.ids[piece];
    }
    part_.first_piece = std::max<std::int64_t>(0, part_.first_piece);
    part_.points.resize(static_cast<std::size_t>(3 * share_.points));
    if (mesh_.points_type == "float") narrow_points_.resize(part_.points.size());
    part_.connectivity.resize(static_cast<std::size_t>(share_.ids));
    part_.types.resize(static_cast<std::size_t>(share_.cells));
    if (mesh_.has_ghosts) part_.ghosts.resize(static_cast<std::size_t>(share_.cells));
    stored_offsets_.resize(static_cast<std::size_t>(share_.cells + part_.num_pieces));
    return {};
}

void MeshReading::read_arrays(const Read& read) {
    if (mesh_.num_points > 0) {
        const Block block{{mesh_.num_points, 3}, {part_.first_point, 0}, {share_.points, 3}};
        if (mesh_.points_type == "float") {
            read(format::points_array, std::span(narrow_points_), block);
            std::ranges::copy(narrow_points_, part_.points.begin());
        } else {
            read(format::points_array, std::span(part_.points), block);
        }
    }
    if (num_ids_ > 0)
        read(format::connectivity_array, std::span(part_.connectivity),
             {{num_ids_}, {share_.first_id}, {share_.ids}});
    if (mesh_.num_pieces > 0) {
        read(format::offsets_array, std::span(stored_offsets_),
             {{mesh_.num_cells + mesh_.num_pieces},
              {part_.first_cell + part_.first_piece},
              {share_.cells + part_.num_pieces}});
    }
    if (mesh_.num_cells == 0) return;
    const Block cells{{mesh_.num_cells}, {part_.first_cell}, {share_.cells}};
    read(format::types_array, std::span(part_.types), cells);
    if (mesh_.has_ghosts) read(format::ghosts_array, std::span(part_.ghosts), cells);
}

Status MeshReading::join() {
    part_.offsets.reserve(static_cast<std::size_t>(share_.cells + 1));
    part_.offsets.push_back(0);
    std::size_t id = 0, offset = 0;
    std::int64_t first_point = 0;
    for (std::int64_t p = part_.first_piece; p < part_.first_piece + part_.num_pieces; ++p) {
        const auto piece = static_cast<std::size_t>(p);
        const auto first_id = static_cast<std::int64_t>(id);
        std::int64_t before = stored_offsets_[offset++];
        bool is_right = before == 0;
        for (std::int64_t cell = 0; cell < pieces_.cells[piece]; ++cell) {
            const std::int64_t end = stored_offsets_[offset++];
            is_right = is_right && end >= before && end <= pieces_.ids[piece];
            before = end;
            part_.offsets.push_back(first_id + end);
        }
        const std::int64_t num_points = pieces_.points[piece];
        for (std::int64_t i = 0; i < pieces_.ids[piece]; ++i, ++id) {
            std::int64_t& number = part_.connectivity[id];
            is_right = is_right && number >= 0 && number < num_points;
            if (is_right) number += first_point;
        }
        if (!is_right || before != pieces_.ids[piece])
            return bad("the offsets or point numbers of piece " + std::to_string(p) +
                       " are out of its range");
        first_point += num_points;
    }
    return {};
}

}  // namespace hakobi::input
