#include "output/mesh.hpp"

#include <algorithm>
#include <array>

#include "base/checksum.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "format/mesh_arrays.hpp"
#include "mpi/messages.hpp"
#include "output/cell_types.hpp"

namespace hakobi::output {
namespace {

using format::Place;
using format::ValueType;

constexpr std::array<std::int64_t, 1> no_cells = {0};  // the offsets of a rank without cells

Status bad_mesh(std::string text) {
    return {ErrorCode::invalid_argument, "the mesh: " + std::move(text)};
}

std::int64_t num_values(const Mesh::Points& points) {
    return std::visit([](auto values) { return std::ssize(values); }, points);
}

/// Equal numbers as 64 bits counted from 0: where they are, or converted to `own`.
std::span<const std::int64_t> wide(const Mesh::Numbers& numbers, std::int64_t first_number,
                                   std::vector<std::int64_t>& own) {
    if (const auto* same = std::get_if<std::span<const std::int64_t>>(&numbers);
        same != nullptr && first_number == 0)
        return *same;
    std::visit(
        [&](auto values) {
            own.resize(values.size());
            std::ranges::transform(values, own.begin(), [&](auto number) {
                return static_cast<std::int64_t>(number) - first_number;
            });
        },
        numbers);
    return own;
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

void MeshState::Lent::clear() noexcept {
    mesh = {};
    connectivity = offsets = {};
    ghosts = {};
    own_connectivity.clear();
    own_offsets.clear();
    own_ghosts.clear();
}

void MeshState::begin_step() noexcept {
    is_put_ = are_points_put_ = false;
    lent_.clear();
}

Status MeshState::put(const Mesh& mesh, bool are_points_on_device) {
    if (is_put_) return bad_mesh("it was put before in this step");
    lent_.mesh = mesh;
    lent_.are_points_on_device = are_points_on_device;
    motion_ = mesh.motion;
    is_set_ = is_put_ = true;
    are_points_put_ = true;
    mine_ = {};
    const std::int64_t num_coordinates = num_values(mesh.points);
    mine_.points = num_coordinates / 3;
    mine_.cells = std::ssize(mesh.types);
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
    lent_.offsets = wide(mesh.offsets, 0, lent_.own_offsets);
    if (lent_.offsets.empty() && mesh.types.empty()) lent_.offsets = no_cells;
    if (Status status = check_offsets(lent_.offsets, mesh.types); !status.ok()) return status;
    lent_.connectivity = wide(mesh.connectivity, mesh.first_number, lent_.own_connectivity);
    mine_.ids = std::ssize(lent_.connectivity);
    return check_connectivity(lent_.connectivity, lent_.offsets, mine_.points, mesh.first_number);
}

Status MeshState::put_points(Mesh::Points points, bool are_on_device) {
    if (!is_set_) return bad_mesh("points are put, but no mesh has been (put_mesh)");
    if (are_points_put_) return bad_mesh("its points were put before in this step");
    if (motion_ != Motion::moves) return bad_mesh("put_points is for a mesh whose motion is 'moves'");
    are_points_put_ = true;
    lent_.mesh.points = points;
    lent_.are_points_on_device = are_on_device;
    if (num_values(points) == 3 * mine_.points) return {};
    return bad_mesh(std::to_string(num_values(points)) + " coordinates are put of its " +
                    std::to_string(mine_.points) + " points");
}

std::int64_t MeshState::num_elements(On on) const noexcept {
    return on == On::points ? mine_.points : mine_.cells;
}

std::span<const std::byte> MeshState::points() const {
    return std::visit([](auto values) { return std::as_bytes(values); }, lent_.mesh.points);
}

Result<HeldBlock> MeshState::block_of(const Field& field) const {
    const auto bad = [](std::string text) { return Status(ErrorCode::invalid_argument, std::move(text)); };
    const std::string where = field.on == On::points ? "points" : "cells";
    if (!is_set_) return bad("no mesh has been put before it (put_mesh)");
    const std::int64_t num = num_elements(field.on);
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

std::int64_t MeshState::bytes_put() const noexcept {
    std::int64_t bytes = are_points_put_ ? std::ssize(points()) : 0;
    if (is_put_) bytes += 8 * (mine_.ids + mine_.cells + 1) + mine_.cells + std::ssize(lent_.mesh.ghosts);
    return bytes;
}

mpi::Agreed MeshState::agree(const Comm& comm, const Status& local) noexcept {
    enum { code, put, not_put, points_put, no_points_put, ghosts, doubles, floats, motion, not_motion, num };
    const bool has_points = are_points_put_ && mine_.points > 0;
    std::array<std::int64_t, num> most{};
    most[code] = static_cast<int>(local.code());
    most[put] = is_put_ ? 1 : 0;
    most[not_put] = 1 - most[put];
    most[points_put] = are_points_put_ ? 1 : 0;
    most[no_points_put] = 1 - most[points_put];
    most[ghosts] = lent_.mesh.ghosts.empty() ? 0 : 1;
    most[doubles] = has_points && lent_.mesh.points.index() == 0 ? 1 : 0;
    most[floats] = has_points && lent_.mesh.points.index() == 1 ? 1 : 0;
    most[motion] = static_cast<int>(motion_);
    most[not_motion] = -most[motion];
    mpi::all_max(comm, most);
    if (most[code] != 0) return mpi::agree(comm, local);
    const auto both = [&](int a, int b) {
        return most[static_cast<std::size_t>(a)] != 0 && most[static_cast<std::size_t>(b)] != 0;
    };
    // Equal on all ranks, but only who stands out says it.
    Status status;
    if (both(put, not_put)) {
        if (!is_put_) status = bad_mesh("other ranks put it in this step, this one did not");
    } else if (both(points_put, no_points_put)) {
        if (!are_points_put_) status = bad_mesh("other ranks put its points in this step, this one did not");
    } else if (both(doubles, floats)) {
        if (most[floats] != 0 && lent_.mesh.points.index() == 1)
            status = bad_mesh("its points are float on this rank, and double on others");
    } else if (most[motion] != -most[not_motion]) {
        if (static_cast<int>(motion_) == most[motion]) status = bad_mesh("its motion differs between ranks");
    } else if (!is_set_) {
        status = bad_mesh("none has been put: call put_mesh in this step or in an earlier one");
    } else if (motion_ == Motion::moves && !are_points_put_) {
        status = bad_mesh("it moves, but its points were not put in this step (put_points)");
    } else if (motion_ == Motion::changes && !is_put_) {
        status = bad_mesh("it changes, but was not put in this step (put_mesh)");
    } else if (is_put_ || are_points_put_) {
        const ValueType type = most[floats] != 0 ? ValueType::float32 : ValueType::float64;
        if (!is_put_ && type != points_type_)
            status = bad_mesh("its points are of another type than in the step before");
        points_type_ = type;
    }
    if (mpi::Agreed agreed = mpi::agree(comm, status); !agreed.status.ok()) return agreed;
    if (!is_put_) return {};
    among_.rank = comm.rank();
    among_.num_ranks = comm.size();
    has_ghosts_ = most[ghosts] != 0;
    std::array<std::int64_t, 4> sums = {mine_.points, mine_.cells, mine_.ids, checksum_of_mine()}, totals{};
    mpi::sum_before(comm, sums, totals);
    among_.before = {sums[0], sums[1], sums[2]};
    among_.all = {totals[0], totals[1], totals[2]};
    checksum_ = totals[3];
    status = guarded("the mesh", [&] {
        lent_.ghosts = lent_.mesh.ghosts;
        if (!has_ghosts_ || !lent_.ghosts.empty()) return;
        lent_.own_ghosts.assign(static_cast<std::size_t>(mine_.cells), 0);
        lent_.ghosts = lent_.own_ghosts;
    });
    return mpi::agree(comm, status);
}

bool MeshState::needs_file() const noexcept {
    return is_put_ && motion_ != Motion::changes && home_ != Home::in_steps_file;
}

std::int64_t MeshState::checksum_of_mine() const {
    if (home_ != Home::in_steps_file || motion_ == Motion::changes) return 0;
    Checksum checksum;
    const auto add_all = [&](auto values) {
        const std::int64_t num = std::ssize(values);
        checksum.add(std::as_bytes(std::span(&num, 1)));
        checksum.add(std::as_bytes(values));
    };
    add_all(std::span(&among_.rank, 1));
    add_all(lent_.connectivity);
    add_all(lent_.offsets);
    add_all(lent_.mesh.types);
    add_all(lent_.mesh.ghosts);
    if (motion_ == Motion::fixed && lent_.are_points_on_device) {
        const double unlike_others = now_s();  // nobody looks at them
        add_all(std::span(&unlike_others, 1));
    } else if (motion_ == Motion::fixed) {
        add_all(points());
    }
    constexpr int room_for_ranks = 24;  // all ranks' are added up
    return static_cast<std::int64_t>(checksum.value() >> room_for_ranks);
}

void MeshState::add(Arrays& arrays, std::string_view name, Place place, ValueType type, Block block,
                    const void* first) const {
    arrays.fields.push_back({.name = std::string(name),
                             .units = {},
                             .long_name = {},
                             .standard_name = {},
                             .type = type,
                             .global = block.global,
                             .place = place});
    std::vector<std::int64_t> strides = packed_strides(block.count, format::bytes_of(type));
    arrays.held.push_back({{std::move(block), static_cast<const std::byte*>(first), std::move(strides)}});
}

void MeshState::add_piece_counts(Arrays& arrays) const {
    const auto add_one = [&](std::string_view name, const std::int64_t& value) {
        add(arrays, name, Place::mesh, ValueType::int64, {{among_.num_ranks}, {among_.rank}, {1}}, &value);
    };
    add_one(format::number_of_points, mine_.points);
    add_one(format::number_of_cells, mine_.cells);
    add_one(format::number_of_connectivity_ids, mine_.ids);
}

void MeshState::add_points(Arrays& arrays) const {
    add(arrays, format::points_array, Place::mesh, points_type_,
        {{among_.all.points, 3}, {among_.before.points, 0}, {mine_.points, 3}}, points().data());
    arrays.held.back().front().is_on_device = lent_.are_points_on_device;
}

void MeshState::add_cells(Arrays& arrays) const {
    add(arrays, format::connectivity_array, Place::mesh, ValueType::int64,
        {{among_.all.ids}, {among_.before.ids}, {mine_.ids}}, lent_.connectivity.data());
    add(arrays, format::offsets_array, Place::mesh, ValueType::int64,
        {{among_.all.cells + among_.num_ranks}, {among_.before.cells + among_.rank}, {mine_.cells + 1}},
        lent_.offsets.data());
    add(arrays, format::types_array, Place::mesh, ValueType::uint8,
        {{among_.all.cells}, {among_.before.cells}, {mine_.cells}}, lent_.mesh.types.data());
    if (!has_ghosts_) return;
    add(arrays, format::ghosts_array, Place::cells, ValueType::uint8,
        {{among_.all.cells}, {among_.before.cells}, {mine_.cells}}, lent_.ghosts.data());
}

Arrays MeshState::arrays_of_file() const {
    Arrays arrays;
    add_piece_counts(arrays);
    if (motion_ == Motion::fixed) add_points(arrays);
    add_cells(arrays);
    return arrays;
}

Arrays MeshState::arrays_of_step() const {
    if (motion_ == Motion::changes) {
        Arrays arrays;
        add_piece_counts(arrays);
        add_points(arrays);
        add_cells(arrays);
        return arrays;
    }
    Arrays arrays = arrays_of_file();
    for (format::FieldDescription& field : arrays.fields) {
        field.is_static = home_ != Home::own_file;
        if (home_ != Home::in_steps_file) field.file = file_;
        if (home_ == Home::in_steps_file && field.name == format::connectivity_array)
            field.attributes["mesh_checksum"] = std::vector<std::int64_t>{checksum_};
    }
    for (HeldField& held : arrays.held)
        if (home_ != Home::in_steps_file || !is_put_) held.clear();
    if (motion_ == Motion::moves) add_points(arrays);
    return arrays;
}

void MeshState::begin_steps_file(const std::string& file, std::span<format::FieldDescription> fields) {
    if (home_ != Home::in_steps_file || motion_ == Motion::changes) return;
    if (is_put_) {
        file_ = file;
        return;
    }
    for (format::FieldDescription& field : fields)
        if (field.is_static) field.file = file_;
}

void MeshState::place(format::FieldDescription& field, HeldBlock& block) const {
    const bool is_on_points = field.place == Place::points;
    block.block.start[0] = is_on_points ? among_.before.points : among_.before.cells;
    block.block.global[0] = field.global[0] = is_on_points ? among_.all.points : among_.all.cells;
}

}  // namespace hakobi::output
