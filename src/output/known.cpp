#include "output/known.hpp"

#include <algorithm>
#include <cassert>

#include "format/names.hpp"

namespace hakobi::output {
namespace {

bool are_blocks_of(const std::vector<std::vector<Block>>& blocks, std::span<const HeldField> held) {
    return std::ranges::equal(blocks, held, [](const std::vector<Block>& before, const HeldField& field) {
        return std::ranges::equal(before, field, {}, {}, &HeldBlock::block);
    });
}

}  // namespace

bool Known::has_layout_of(std::span<const format::FieldDescription> fields) const {
    return fields_ && std::ranges::equal(*fields_, fields);
}

Status Known::check_types(std::span<const format::FieldDescription> fields) {
    for (const format::FieldDescription& field : fields) {
        if (field.place == format::Place::mesh) continue;  // each mesh has its own
        const auto before = types_.try_emplace(field.name, field.type).first;
        if (before->second == field.type) continue;
        return {ErrorCode::invalid_argument,
                "field " + field.name + ": its values are " + std::string(format::name_of(field.type)) +
                    ", and those of earlier steps " + std::string(format::name_of(before->second)) +
                    ": all steps have one type"};
    }
    return {};
}

StepAgreement Known::agree_on_step(const Comm& comm, const Status& local, double time,
                                   std::span<const format::FieldDescription> fields,
                                   std::span<const HeldField> held, bool are_statics_new) {
    assert(held.size() == fields.size());
    // Title, axes and attributes were agreed on in create.
    const format::StepDescription put{
        .title = {}, .time_units = {}, .time = time, .axes = {}, .fields = {fields.begin(), fields.end()}};
    StepAgreement found =
        output::agree_on_step(comm, local, put, !are_blocks_of(blocks_, held), are_statics_new);
    if (!has_layout_of(fields)) found.are_blocks_new = true;
    return found;
}

mpi::Agreed Known::agree_on_blocks(const Comm& comm, std::span<const format::FieldDescription> fields,
                                   std::span<const HeldField> held) {
    mpi::Agreed agreed = output::agree_on_blocks(comm, fields, held, uncovered_);
    if (agreed.status.ok()) keep(held);
    return agreed;
}

void Known::keep_blocks(std::span<const HeldField> held) {
    uncovered_.assign(held.size(), {});
    keep(held);
}

void Known::keep(std::span<const HeldField> held) {
    blocks_.clear();
    for (const HeldField& field : held) {
        blocks_.emplace_back();
        for (const HeldBlock& one : field) blocks_.back().push_back(one.block);
    }
}

}  // namespace hakobi::output
