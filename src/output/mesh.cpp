#include "output/mesh.hpp"

#include <array>
#include <cassert>

#include "base/checksum.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "format/mesh_arrays.hpp"
#include "mpi/messages.hpp"

namespace hakobi::output {
namespace {

using format::Place;
using format::ValueType;

}  // namespace

mpi::Agreed MeshState::agree(const Comm& comm, const Status& local) noexcept {
    enum { code, put, not_put, points_put, no_points_put, ghosts, doubles, floats, motion, not_motion, num };
    const bool has_points = piece_.are_points_put() && piece_.counts().points > 0;
    std::array<std::int64_t, num> most{};
    most[code] = static_cast<int>(local.code());
    most[put] = piece_.is_put() ? 1 : 0;
    most[not_put] = 1 - most[put];
    most[points_put] = piece_.are_points_put() ? 1 : 0;
    most[no_points_put] = 1 - most[points_put];
    most[ghosts] = piece_.mesh().ghosts.empty() ? 0 : 1;
    most[doubles] = has_points && piece_.mesh().points.index() == 0 ? 1 : 0;
    most[floats] = has_points && piece_.mesh().points.index() == 1 ? 1 : 0;
    most[motion] = static_cast<int>(piece_.motion());
    most[not_motion] = -most[motion];
    mpi::all_max(comm, most);
    if (most[code] != 0) return mpi::agree(comm, local);
    const auto both = [&](int a, int b) {
        return most[static_cast<std::size_t>(a)] != 0 && most[static_cast<std::size_t>(b)] != 0;
    };
    // Equal on all ranks, but only who stands out says it.
    Status status;
    if (both(put, not_put)) {
        if (!piece_.is_put()) status = bad_mesh("other ranks put it in this step, this one did not");
    } else if (both(points_put, no_points_put)) {
        if (!piece_.are_points_put())
            status = bad_mesh("other ranks put its points in this step, this one did not");
    } else if (both(doubles, floats)) {
        if (most[floats] != 0 && piece_.mesh().points.index() == 1)
            status = bad_mesh("its points are float on this rank, and double on others");
    } else if (most[motion] != -most[not_motion]) {
        if (static_cast<int>(piece_.motion()) == most[motion])
            status = bad_mesh("its motion differs between ranks");
    } else if (!piece_.is_set()) {
        status = bad_mesh("none has been put: call put_mesh in this step or in an earlier one");
    } else if (piece_.motion() == Motion::moves && !piece_.are_points_put()) {
        status = bad_mesh("it moves, but its points were not put in this step (put_points)");
    } else if (piece_.motion() == Motion::changes && !piece_.is_put()) {
        status = bad_mesh("it changes, but was not put in this step (put_mesh)");
    } else if (piece_.is_put() || piece_.are_points_put()) {
        const ValueType type = most[floats] != 0 ? ValueType::float32 : ValueType::float64;
        if (!piece_.is_put() && type != points_type_)
            status = bad_mesh("its points are of another type than in the step before");
        points_type_ = type;
    }
    if (mpi::Agreed agreed = mpi::agree(comm, status); !agreed.status.ok()) return agreed;
    if (!piece_.is_put()) return {};
    among_.rank = comm.rank();
    among_.num_ranks = comm.size();
    has_ghosts_ = most[ghosts] != 0;
    const MeshCounts& mine = piece_.counts();
    std::array<std::int64_t, 4> sums = {mine.points, mine.cells, mine.ids, checksum_of_mine()}, totals{};
    mpi::sum_before(comm, sums, totals);
    among_.before = {sums[0], sums[1], sums[2]};
    among_.all = {totals[0], totals[1], totals[2]};
    checksum_ = totals[3];
    status = guarded("the mesh", [&] {
        if (has_ghosts_ && piece_.mesh().ghosts.empty())
            no_ghosts_.assign(static_cast<std::size_t>(piece_.counts().cells), 0);
    });
    return mpi::agree(comm, status);
}

bool MeshState::needs_file() const noexcept {
    return piece_.is_put() && piece_.motion() != Motion::changes && home_ != Home::in_steps_file;
}

std::int64_t MeshState::checksum_of_mine() const {
    if (home_ != Home::in_steps_file || piece_.motion() == Motion::changes) return 0;
    Checksum checksum;
    const auto add_all = [&](auto values) {
        const std::int64_t num = std::ssize(values);
        checksum.add(std::as_bytes(std::span(&num, 1)));
        checksum.add(std::as_bytes(values));
    };
    add_all(std::span(&among_.rank, 1));
    add_all(piece_.connectivity());
    add_all(piece_.offsets());
    add_all(piece_.mesh().types);
    add_all(piece_.mesh().ghosts);
    if (piece_.motion() == Motion::fixed && piece_.are_points_on_device()) {
        const double unlike_others = now_s();  // nobody looks at them
        add_all(std::span(&unlike_others, 1));
    } else if (piece_.motion() == Motion::fixed) {
        add_all(piece_.points());
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
    add_one(format::number_of_points, piece_.counts().points);
    add_one(format::number_of_cells, piece_.counts().cells);
    add_one(format::number_of_connectivity_ids, piece_.counts().ids);
}

void MeshState::add_points(Arrays& arrays) const {
    add(arrays, format::points_array, Place::mesh, points_type_,
        {{among_.all.points, 3}, {among_.before.points, 0}, {piece_.counts().points, 3}},
        piece_.points().data());
    arrays.held.back().front().is_on_device = piece_.are_points_on_device();
}

void MeshState::add_cells(Arrays& arrays) const {
    const auto& [all, before, rank, num_ranks] = among_;
    const MeshCounts& mine = piece_.counts();
    const Block cells = {{all.cells}, {before.cells}, {mine.cells}};
    add(arrays, format::connectivity_array, Place::mesh, ValueType::int64,
        {{all.ids}, {before.ids}, {mine.ids}}, piece_.connectivity().data());
    add(arrays, format::offsets_array, Place::mesh, ValueType::int64,
        {{all.cells + num_ranks}, {before.cells + rank}, {mine.cells + 1}}, piece_.offsets().data());
    add(arrays, format::types_array, Place::mesh, ValueType::uint8, cells, piece_.mesh().types.data());
    if (!has_ghosts_) return;
    const std::span<const std::uint8_t> ghosts = piece_.mesh().ghosts;
    add(arrays, format::ghosts_array, Place::cells, ValueType::uint8, cells,
        ghosts.empty() ? no_ghosts_.data() : ghosts.data());
}

Arrays MeshState::arrays_of_file() const {
    Arrays arrays;
    add_piece_counts(arrays);
    if (piece_.motion() == Motion::fixed) add_points(arrays);
    add_cells(arrays);
    return arrays;
}

Arrays MeshState::arrays_of_step() const {
    if (piece_.motion() == Motion::changes) {
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
        if (home_ != Home::in_steps_file || !piece_.is_put()) held.clear();
    if (piece_.motion() == Motion::moves) add_points(arrays);
    return arrays;
}

void MeshState::begin_steps_file(const std::string& file, std::span<format::FieldDescription> fields) {
    if (home_ != Home::in_steps_file || piece_.motion() == Motion::changes) return;
    if (piece_.is_put()) {
        file_ = file;
        return;
    }
    assert(!file_.empty());
    // Static fields of the program's are the file's own.
    for (format::FieldDescription& field : fields)
        if (field.is_static && (field.place == Place::mesh || field.name == format::ghosts_array))
            field.file = file_;
}

void MeshState::go_on_in_steps_file(const std::string& file) {
    if (home_ == Home::in_steps_file && piece_.motion() != Motion::changes && file_.empty()) file_ = file;
}

void MeshState::place(format::FieldDescription& field, HeldBlock& block) const {
    const bool is_on_points = field.place == Place::points;
    block.block.start[0] = is_on_points ? among_.before.points : among_.before.cells;
    block.block.global[0] = field.global[0] = is_on_points ? among_.all.points : among_.all.cells;
}

}  // namespace hakobi::output
