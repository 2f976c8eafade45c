#include "output/step_draft.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "device/device.hpp"
#include "output/uncovered.hpp"
#include "series/step_file.hpp"

namespace hakobi::output {

using format::FieldDescription;

namespace {

/// Checks everything of a mesh but its points.
Status check_on_host(const Mesh& mesh) {
    const auto bytes_of = [](const Mesh::Numbers& numbers) {
        return std::visit([](auto values) { return std::as_bytes(values); }, numbers);
    };
    const std::pair<const char*, std::span<const std::byte>> arrays[] = {
        {"connectivity", bytes_of(mesh.connectivity)},
        {"offsets", bytes_of(mesh.offsets)},
        {"types", std::as_bytes(mesh.types)},
        {"ghosts", std::as_bytes(mesh.ghosts)}};
    for (const auto& [name, bytes] : arrays) {
        if (bytes.empty()) continue;
        const Result<device::Device*> found = device::device_of(bytes.data(), std::ssize(bytes));
        if (!found.ok())
            return {found.status().code(),
                    std::string("the mesh: its ") + name + ": " + found.status().text()};
        if (found.value() != nullptr)
            return {ErrorCode::unsupported, std::string("the mesh: its ") + name + " are in memory of " +
                                                found.value()->text() +
                                                ": only its points, and fields, may be"};
    }
    return {};
}

std::int64_t rounded_up(std::int64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

}  // namespace

void StepDraft::describe() {
    step_.description = setup_.description();
    if (!setup_.format->holds_meshes()) return;
    using Home = MeshState::Home;
    mesh_.emplace(setup_.steps_per_file == 1           ? Home::own_file
                  : setup_.steps_per_file == all_steps ? Home::in_steps_file
                                                       : Home::beside_steps);
}

void StepDraft::begin(const OwnSeries& series, double time) {
    assert(!is_open_);
    is_open_ = true;
    mistake_ = {};
    if (!std::isfinite(time))
        mistake_ = {ErrorCode::invalid_argument, "begin_step: the time is not a number"};
    series.name_next(step_);
    step_.description.time = time;
    step_.description.fields.clear();
    step_.description.read_with.clear();
    held_.clear();
    packed_.of_fields.clear();
    are_statics_new_ = false;
    if (mesh_) mesh_->piece().begin_step();
    device_.forget();
}

Result<HeldBlock> StepDraft::block_of(const Field& field) const {
    if (field.on == On::grid) return held_block(field);
    if (mesh_) return mesh_->piece().block_of(field);
    return check_place(*setup_.format, field);
}

Result<HeldBlock> StepDraft::located_block_of(const Field& field) {
    Result<HeldBlock> held = block_of(field);
    if (!held.ok()) return held;
    const std::int64_t bytes =
        reach_bytes(held.value(), format::bytes_of(static_cast<format::ValueType>(field.data.index())));
    Result<bool> found = device_.add(held.value().first, bytes, field.memory, field.stream);
    if (!found.ok()) return found.status();
    held.value().is_on_device = found.value();
    return held;
}

void StepDraft::put(FieldId id, const Block& block, Field::Data data, const MemoryLayout& layout) {
    const Result<const Field*> defined = definitions_.field(id, block, data, layout);
    if (!defined.ok()) return keep_mistake(defined.status());
    put(*defined.value());
}

void StepDraft::put(const Field& field) {
    assert(is_open_ && held_.size() == fields().size());
    const bool is_on_mesh = field.on != On::grid;
    const auto keep = [&](const Status& status) {
        keep_mistake({status.code(), "field " + field.name + ": " + status.text()});
    };
    Result<HeldBlock> held = located_block_of(field);
    if (!held.ok()) {
        keep(held.status());
        held = HeldBlock{.block = field.block, .first = nullptr, .strides_bytes = {}};
        held.value().block.count.assign(field.block.count.size(), 0);
        if (is_on_mesh) held.value().block = {{1}, {0}, {0}};
    }
    FieldDescription description;
    std::optional<format::Packing> packing;
    if (const Status status = describe_field(setup_, field, description, packing); !status.ok()) keep(status);
    description.global = is_on_mesh ? held.value().block.global : field.block.global;
    if (packing) held.value().unpacked = static_cast<ValueType>(field.data.index());
    add(std::move(description), std::move(held).value(), packing);
}

void StepDraft::add(FieldDescription field, HeldBlock block, const std::optional<format::Packing>& packing) {
    std::vector<FieldDescription>& fields = step_.description.fields;
    const auto before = std::ranges::find(fields, field.name, &FieldDescription::name);
    const bool has_part =
        !field.global.empty() || (setup_.is_rank_0() && block.first != nullptr);  // of a scalar
    if (before == fields.end()) {
        fields.push_back(std::move(field));
        held_.emplace_back();
        packed_.of_fields.push_back(packing);
        if (has_part) held_.back().push_back(std::move(block));
    } else if (field.place != format::Place::grid) {
        keep_mistake({ErrorCode::invalid_argument, "field " + field.name + " was put before in this step"});
    } else if (*before == field) {
        if (has_part) held_[static_cast<std::size_t>(before - fields.begin())].push_back(std::move(block));
    } else {
        keep_mistake(
            {ErrorCode::invalid_argument,
             "field " + field.name + " was put before with another type, array, name or attributes"});
    }
}

void StepDraft::put_mesh(const Mesh& mesh) {
    if (!mesh_) {
        return keep_mistake({ErrorCode::unsupported, "the mesh: files of the format " +
                                                         std::string(setup_.format->name()) +
                                                         " hold none; vtkhdf's do"});
    }
    if (!fields().empty())
        keep_mistake({ErrorCode::invalid_argument, "the mesh: fields were put before it in this step"});
    keep_mistake(guarded("put_mesh", [&]() -> Status {
        if (Status status = check_on_host(mesh); !status.ok()) return status;
        Result<bool> are_points_on_device = are_on_device(mesh.points);
        if (!are_points_on_device.ok()) return are_points_on_device.status();
        return mesh_->piece().put(mesh, are_points_on_device.value());
    }));
}

void StepDraft::put_points(Mesh::Points points) {
    keep_mistake(guarded("put_points", [&]() -> Status {
        if (!mesh_) return no_mesh_for_points();
        Result<bool> are_points_on_device = are_on_device(points);
        if (!are_points_on_device.ok()) return are_points_on_device.status();
        return mesh_->piece().put_points(points, are_points_on_device.value());
    }));
}

Result<bool> StepDraft::are_on_device(const Mesh::Points& points) {
    const auto bytes = std::visit([](auto values) { return std::as_bytes(values); }, points);
    Result<bool> found = device_.add(bytes.data(), std::ssize(bytes), Memory::automatic, nullptr);
    if (found.ok()) return found;
    return Status(found.status().code(), "the mesh: its points: " + found.status().text());
}

std::int64_t StepDraft::end() {
    assert(is_open_ && held_.size() == fields().size());
    is_open_ = false;
    std::int64_t bytes = mesh_ ? mesh_->piece().bytes_put() : 0;
    for (std::size_t f = 0; f < held_.size(); ++f) {
        for (const HeldBlock& one : held_[f])
            bytes += one.block.num_elements() * format::bytes_of(one.unpacked.value_or(fields()[f].type));
    }
    if (setup_.writes()) keep_mistake(guarded("end_step", [&] { return pack_values(); }));
    keep_mistake(guarded("end_step", [&] { return add_statics(); }));
    return bytes;
}

Status StepDraft::bring_unpacked() {
    const auto for_each = [&](auto visit) {
        for (HeldField& field : held_) {
            for (HeldBlock& held : field) {
                if (held.unpacked && held.is_on_device)
                    visit(held, rounded_up(num_values_of(held.block) * format::bytes_of(*held.unpacked)));
            }
        }
    };
    std::int64_t all_bytes = 0;
    for_each([&](const HeldBlock&, std::int64_t bytes) { all_bytes += bytes; });
    if (all_bytes == 0) return {};
    Result<std::byte*> room = device_.host_room(all_bytes);
    if (!room.ok()) return room.status();
    if (Status streams = device_.finish(setup_.comm); !streams.ok()) return streams;
    std::byte* at = room.value();
    for_each([&](HeldBlock& held, std::int64_t bytes) {
        const ValueType type = *held.unpacked;
        held = copied(held, format::bytes_of(type), at, &device_);
        held.unpacked = type;
        at += bytes;
    });
    return device_.finish(setup_.comm);
}

Status StepDraft::pack_values() {
    assert(packed_.of_fields.size() == held_.size());
    if (Status status = bring_unpacked(); !status.ok()) return status;
    const auto for_each = [&](auto visit) -> Status {
        for (std::size_t f = 0; f < held_.size(); ++f) {
            for (HeldBlock& held : held_[f]) {
                if (!held.unpacked) continue;
                const std::int64_t bytes =
                    num_values_of(held.block) * format::bytes_of(packed_.of_fields[f]->type);
                if (Status status = visit(f, held, bytes); !status.ok()) return status;
            }
        }
        return {};
    };
    std::int64_t all_bytes = 0;
    (void)for_each([&](std::size_t, const HeldBlock&, std::int64_t bytes) -> Status {
        all_bytes += rounded_up(bytes);
        return {};
    });
    if (all_bytes > packed_.size_bytes) {
        packed_.values.reset();
        packed_.size_bytes = 0;
        packed_.values = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(all_bytes));
        packed_.size_bytes = all_bytes;
    }
    std::byte* at = packed_.values.get();
    return for_each([&](std::size_t f, HeldBlock& held, std::int64_t bytes) -> Status {
        Result<HeldBlock> done = packed(held, *packed_.of_fields[f], at);
        if (!done.ok())
            return {done.status().code(), "field " + fields()[f].name + ": " + done.status().text()};
        held = std::move(done).value();
        at += rounded_up(bytes);
        return {};
    });
}

Status StepDraft::keep_static(std::size_t field) {
    const FieldDescription& description = fields()[field];
    const std::int64_t element_bytes = format::bytes_of(description.type);
    // The program's streams first: Engine::Impl::call says why.
    const bool is_on_device = std::ranges::any_of(held_[field], &HeldBlock::is_on_device);
    if (is_on_device) {
        if (Status status = device_.finish(setup_.comm); !status.ok()) return status;
    }
    StaticField kept{.description = description, .held = {}, .values = {}};
    for (const HeldBlock& held : held_[field]) {
        const auto bytes = static_cast<std::size_t>(num_values_of(held.block) * element_bytes);
        std::byte* const values = kept.values.emplace_back(bytes).data();
        kept.held.push_back(copied(held, element_bytes, values, held.is_on_device ? &device_ : nullptr));
    }
    if (is_on_device) {
        if (Status status = device_.finish(setup_.comm); !status.ok()) return status;
    }
    held_[field] = kept.held;
    const auto before = std::ranges::find_if(
        statics_, [&](const StaticField& one) { return one.description.name == description.name; });
    if (before == statics_.end()) {
        statics_.push_back(std::move(kept));
    } else {
        // Equal bytes of other blocks are other values; whether all ranks' are the same is not looked at.
        const bool is_same =
            before->values == kept.values &&
            std::ranges::equal(before->held, kept.held, {}, &HeldBlock::block, &HeldBlock::block);
        are_statics_new_ = are_statics_new_ || !is_same;
        *before = std::move(kept);
    }
    return {};
}

void StepDraft::begin_steps_file() {
    if (mesh_) mesh_->begin_steps_file(series::file_name(step_.path), step_.description.fields);
}

void StepDraft::leave_statics_out() {
    if (mesh_) mesh_->go_on_in_steps_file(series::file_name(step_.path));
    std::vector<FieldDescription>& fields = step_.description.fields;
    for (std::size_t f = fields.size(); f-- > 0;) {
        if (!fields[f].is_static) continue;
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(f));
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(f));
    }
}

Status StepDraft::add_statics() {
    std::vector<FieldDescription>& fields = step_.description.fields;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        if (!fields[f].is_static) continue;
        if (Status status = keep_static(f); !status.ok()) return status;
    }
    for (const StaticField& kept : statics_) {
        const std::string& name = kept.description.name;
        const auto put = std::ranges::find(fields, name, &FieldDescription::name);
        if (put == fields.end()) {
            if (setup_.format->store() != nullptr) {  // which has it from the step in which it was put
                step_.description.read_with.push_back(name);
                continue;
            }
            fields.push_back(kept.description);
            held_.push_back(kept.held);
        } else if (!put->is_static) {
            return {ErrorCode::invalid_argument,
                    "field " + name + " is static in an earlier step, but not here"};
        }
    }
    return {};
}

StepDraft::Aside StepDraft::begin_mesh_file() {
    assert(mesh_ && mesh_->needs_file() && step_.kind == series::Kind::step);
    Aside aside{.arrays = {}, .path = step_.path, .part_path = step_.part_path};
    keep_mistake(guarded("the mesh", [&] {
        aside.arrays = mesh_->arrays_of_file();
        step_.kind = series::Kind::mesh;
        step_.path = series::mesh_path(step_.path);
        step_.part_path = series::part_path(step_.path, series::token(step_.run, step_.number));
        step_.step_in_file = -1;
        mesh_->set_file(series::file_name(step_.path));
    }));
    std::swap(step_.description.fields, aside.arrays.fields);
    std::swap(held_, aside.arrays.held);
    return aside;
}

void StepDraft::end_mesh_file(Aside aside) {
    assert(step_.kind == series::Kind::mesh);
    step_.description.fields = std::move(aside.arrays.fields);
    held_ = std::move(aside.arrays.held);
    step_.kind = series::Kind::step;
    step_.path = std::move(aside.path);
    step_.part_path = std::move(aside.part_path);
}

void StepDraft::place_on_mesh() {
    Arrays all = mesh_->arrays_of_step();
    std::vector<FieldDescription>& fields = step_.description.fields;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const bool is_on_mesh = fields[f].place != format::Place::grid;
        if (is_on_mesh && !held_[f].empty()) mesh_->place(fields[f], held_[f][0]);
        all.fields.push_back(std::move(fields[f]));
        all.held.push_back(std::move(held_[f]));
    }
    fields = std::move(all.fields);
    held_ = std::move(all.held);
}

void StepDraft::add_fill(const std::vector<std::vector<Block>>& uncovered) {
    assert(uncovered.size() == held_.size());
    fill_rows_.clear();
    for (std::size_t f = 0; f < uncovered.size(); ++f) {
        for (const Block& block : uncovered[f]) {
            const Block mine = share_of(block, setup_.comm.size(), setup_.comm.rank());
            if (mine.num_elements() == 0) continue;
            std::visit(
                [&](const auto& value) {
                    const auto bytes = std::as_bytes(std::span(&value, 1));
                    // Its rows keep their places when the list of them grows.
                    held_[f].push_back(filled(mine, bytes, fill_rows_.emplace_back()));
                },
                *fields()[f].fill_value);
        }
    }
}

Status StepDraft::bring_to_host(bool all) {
    step_.device.brought_s = 0;
    if (device_.empty()) return {};
    const double begin_s = now_s();
    const auto for_each_brought = [&](auto visit) {
        for (std::size_t f = 0; f < held_.size(); ++f) {
            if (!all && !format::is_chunked(fields()[f])) continue;
            const std::int64_t element_bytes = format::bytes_of(fields()[f].type);
            for (HeldBlock& held : held_[f])
                if (held.is_on_device) visit(held, element_bytes, num_values_of(held.block) * element_bytes);
        }
    };
    std::int64_t all_bytes = 0;
    for_each_brought(
        [&](const HeldBlock&, std::int64_t, std::int64_t bytes) { all_bytes += rounded_up(bytes); });
    if (all_bytes == 0) return {};
    Result<std::byte*> room = device_.host_room(all_bytes);
    if (!room.ok()) return room.status();
    if (Status streams = device_.finish(setup_.comm); !streams.ok()) return streams;
    std::byte* at = room.value();
    for_each_brought([&](HeldBlock& held, std::int64_t element_bytes, std::int64_t bytes) {
        held = copied(held, element_bytes, at, &device_);
        at += rounded_up(bytes);
    });
    Status status = device_.finish(setup_.comm);
    if (all) step_.device.brought_s = now_s() - begin_s;
    return status;
}

void StepDraft::place_fields(const ChunkEncoder* encoder) {
    assert(held_.size() == fields().size());
    assert(step_.layout.offsets_bytes.size() == held_.size());
    step_.parts.clear();
    const auto is_on_device = [](const HeldField& held) {
        return std::ranges::any_of(held, &HeldBlock::is_on_device);
    };
    step_.device.memory = std::ranges::any_of(held_, is_on_device) ? &device_ : nullptr;
    for (std::size_t f = 0; f < held_.size(); ++f) {
        if (format::is_chunked(fields()[f])) {
            step_.parts.push_back(encoder->part_of(f, step_.layout.chunk_offsets_bytes[f]));
        } else {
            step_.parts.push_back(
                part_of(held_[f], format::bytes_of(fields()[f].type), step_.layout.offsets_bytes[f]));
        }
    }
}

series::Step StepDraft::names(bool is_whole) const {
    series::Step names{.run = step_.run,
                       .number = step_.number,
                       .kind = step_.kind,
                       .place = step_.place,
                       .path = step_.path,
                       .part_path = step_.part_path};
    names.step_in_file = step_.step_in_file;
    names.layout.file_bytes = step_.layout.file_bytes;
    names.layout.members = step_.layout.members;
    names.layout.commit = step_.layout.commit;
    if (!is_whole) return names;
    names.description = step_.description;
    names.layout.offsets_bytes = step_.layout.offsets_bytes;
    names.layout.chunk_offsets_bytes = step_.layout.chunk_offsets_bytes;
    return names;
}

}  // namespace hakobi::output
