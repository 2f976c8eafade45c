#include "output/mesh_piece.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "output/cell_types.hpp"

namespace hakobi::output {

Status bad_mesh(std::string text) {
    return {ErrorCode::invalid_argument, "the mesh: " + std::move(text)};
}

Status no_mesh_for_points() {
    return bad_mesh("points are put, but no mesh has been (put_mesh)");
}

namespace {

constexpr std::array<std::int64_t, 1> no_cells = {0};  // the offsets of a rank without cells

std::int64_t num_values(const Mesh::Points& points) {
    return std::visit([](auto values) { return std::ssize(values); }, points);
}

Status check_offsets(std::span<const std::int64_t> offsets, std::span<const std::uint8_t> types) {
    if (offsets.size() != types.size() + 1) {
        return bad_mesh("it has " + std::to_string(types.size()) + " types of cells and " +
                        std::to_string(offsets.size()) + " offsets, which are one more than the cells");
    }
    if (offsets[0] != 0) return bad_mesh("its offsets begin with " + std::to_string(offsets[0]) + ", not 0");
    for (std::size_t cell = 0; cell < types.size(); ++cell) {
        const std::int64_t num = offsets[cell + 1] - offsets[cell];
        const NumPoints right = num_points_of(types[cell]);
        if (num >= right.least && num <= right.most) continue;
        const std::string which =
            "cell " + std::to_string(cell) + " is of type " + std::to_string(types[cell]);
        if (types[cell] == 42) {
            return {ErrorCode::unsupported,
                    "the mesh: " + which + ", a polyhedron, which VTKHDF 1.0 cannot hold"};
        }
        if (!right.is_type()) return bad_mesh(which + ", which VTK does not know");
        return bad_mesh(which + ", which has " + (right.least == right.most ? "" : "at least ") +
                        std::to_string(right.least) + " points, and its offsets say " + std::to_string(num));
    }
    return {};
}

/// `first_number`: what the caller called the first point, for the text.
Status check_connectivity(std::span<const std::int64_t> connectivity, std::span<const std::int64_t> offsets,
                          std::int64_t num_points, std::int64_t first_number) {
    if (std::ssize(connectivity) != offsets.back()) {
        return bad_mesh("its offsets end with " + std::to_string(offsets.back()) +
                        ", and its connectivity has " + std::to_string(connectivity.size()) + " numbers");
    }
    // One comparison each, which the compiler makes many of at a time; negative ones are large.
    std::uint64_t largest = 0;
    for (const std::int64_t id : connectivity) largest = std::max(largest, static_cast<std::uint64_t>(id));
    if (connectivity.empty() || largest < static_cast<std::uint64_t>(num_points)) return {};
    const auto is_outside = [&](std::int64_t id) { return id < 0 || id >= num_points; };
    const auto at = std::ranges::find_if(connectivity, is_outside);
    const auto cell = std::ranges::upper_bound(offsets, at - connectivity.begin()) - offsets.begin() - 1;
    return bad_mesh("cell " + std::to_string(cell) + " names point " + std::to_string(*at + first_number) +
                    ", and this rank has " + std::to_string(num_points) + " points, from " +
                    std::to_string(first_number) + " on");
}

}  // namespace

void MeshPiece::Numbers::take(const Mesh::Numbers& numbers, std::int64_t first_number) {
    const auto* same = std::get_if<std::span<const std::int64_t>>(&numbers);
    if (same != nullptr && first_number == 0) {
        values = *same;
        return;
    }
    std::visit(
        [&](auto given) {
            own.resize(given.size());
            std::ranges::transform(given, own.begin(), [&](auto number) {
                return static_cast<std::int64_t>(number) - first_number;
            });
        },
        numbers);
    values = own;
}

void MeshPiece::Numbers::clear() noexcept {
    values = {};
    own.clear();
}

void MeshPiece::begin_step() noexcept {
    is_put_ = are_points_put_ = false;
    mesh_ = {};
    connectivity_.clear();
    offsets_.clear();
}

Status MeshPiece::put(const Mesh& mesh, bool are_points_on_device) {
    if (is_put_) return bad_mesh("it was put before in this step");
    mesh_ = mesh;
    are_points_on_device_ = are_points_on_device;
    motion_ = mesh.motion;
    is_set_ = is_put_ = true;
    are_points_put_ = true;
    counts_ = {};
    const std::int64_t num_coordinates = num_values(mesh.points);
    counts_.points = num_coordinates / 3;
    counts_.cells = std::ssize(mesh.types);
    if (mesh.motion > Motion::changes) return bad_mesh("its motion is none of fixed, moves and changes");
    if (mesh.first_number != 0 && mesh.first_number != 1)
        return bad_mesh("its first number is " + std::to_string(mesh.first_number) + ", not 0 or 1");
    if (num_coordinates % 3 != 0)
        return bad_mesh("its points have " + std::to_string(num_coordinates) +
                        " coordinates, not three each");
    if (!mesh.ghosts.empty() && mesh.ghosts.size() != mesh.types.size()) {
        return bad_mesh("it has " + std::to_string(mesh.types.size()) + " cells, and ghosts for " +
                        std::to_string(mesh.ghosts.size()));
    }
    offsets_.take(mesh.offsets, 0);
    if (offsets_.values.empty() && mesh.types.empty()) offsets_.values = no_cells;
    if (Status status = check_offsets(offsets_.values, mesh.types); !status.ok()) return status;
    connectivity_.take(mesh.connectivity, mesh.first_number);
    counts_.ids = std::ssize(connectivity_.values);
    return check_connectivity(connectivity_.values, offsets_.values, counts_.points, mesh.first_number);
}

Status MeshPiece::put_points(Mesh::Points points, bool are_on_device) {
    if (!is_set_) return no_mesh_for_points();
    if (are_points_put_) return bad_mesh("its points were put before in this step");
    if (motion_ != Motion::moves) return bad_mesh("put_points is for a mesh whose motion is 'moves'");
    are_points_put_ = true;
    mesh_.points = points;
    are_points_on_device_ = are_on_device;
    if (num_values(points) == 3 * counts_.points) return {};
    return bad_mesh(std::to_string(num_values(points)) + " coordinates are put of its " +
                    std::to_string(counts_.points) + " points");
}

std::span<const std::byte> MeshPiece::points() const noexcept {
    return std::visit([](auto values) { return std::as_bytes(values); }, mesh_.points);
}

Status check_on_mesh(const Field& field) {
    const auto bad = [](std::string text) { return Status(ErrorCode::invalid_argument, std::move(text)); };
    if (field.on > On::cells) return bad("it is neither on a grid nor on points or cells");
    if (field.components < 1) return bad("it has " + std::to_string(field.components) + " components");
    if (!field.block.global.empty() || !field.dims.empty() || !field.ghosts.empty()) {
        return bad(std::string("block, dims and ghosts are of fields on a grid; it is on ") +
                   (field.on == On::points ? "points" : "cells"));
    }
    if (field.fill_value || !field.coordinates.empty() || field.is_static)
        return {ErrorCode::unsupported,
                "fields on a mesh have no fill value and no coordinates, and are not static"};
    return {};
}

Result<HeldBlock> MeshPiece::block_of(const Field& field) const {
    const auto bad = [](std::string text) { return Status(ErrorCode::invalid_argument, std::move(text)); };
    const std::string where = field.on == On::points ? "points" : "cells";
    if (Status status = check_on_mesh(field); !status.ok()) return status;
    if (!is_set_) return bad("no mesh has been put before it (put_mesh)");
    const std::int64_t num = field.on == On::points ? counts_.points : counts_.cells;
    const auto given = std::visit([](auto values) { return std::ssize(values); }, field.data);
    Field local = field;
    local.block = {{num}, {0}, {num}};
    if (field.components > 1) local.block = {{num, field.components}, {0, 0}, {num, field.components}};
    if (num == 0 && (given == 0 || !field.strides.empty())) return HeldBlock{local.block, nullptr, {}};
    if (field.strides.empty() && given != num * field.components) {
        std::string text = "it has " + std::to_string(given) + " values, and the mesh " +
                           std::to_string(num) + " " + where + " on this rank";
        if (field.components > 1) text += ", of " + std::to_string(field.components) + " components each";
        return bad(text);
    }
    return held_block(local);
}

std::int64_t MeshPiece::bytes_put() const noexcept {
    std::int64_t bytes = are_points_put_ ? std::ssize(points()) : 0;
    if (is_put_) bytes += 8 * (counts_.ids + counts_.cells + 1) + counts_.cells + std::ssize(mesh_.ghosts);
    return bytes;
}

}  // namespace hakobi::output
