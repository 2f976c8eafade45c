// A step's mesh, and the fields on it (0 of step_life.cpp):
//
//  1. put_mesh looks at this rank's part. Fields are put with this rank's elements alone, since nobody knows where they begin.
//  2. All ranks agree, and a mesh that was put is counted: each rank learns what those before it have (MeshState::agree).
//  3. A mesh that other steps will share is written into its own file, which is a step's file in every way but its name.
//  4. The step's arrays are the mesh's, of which the other file has most, and the fields, each in its place.
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "output/output_impl.hpp"
#include "series/step_file.hpp"

namespace hakobi {

Result<output::HeldBlock> Output::Impl::block_on_mesh(const Field& field) const {
    const auto bad = [](std::string text) { return Status(ErrorCode::invalid_argument, std::move(text)); };
    const std::string where = field.on == On::points ? "points" : "cells";
    if (!format->holds_meshes()) {
        return Status(ErrorCode::unsupported, "it is on " + where + ", and files of the format " +
                                                  std::string(format->name()) + " hold no meshes");
    }
    if (field.on > On::cells) return bad("it is neither on a grid nor on points or cells");
    if (!mesh.is_set()) return bad("no mesh has been put before it (put_mesh)");
    if (field.components < 1) return bad("it has " + std::to_string(field.components) + " components");
    if (!field.block.global.empty() || !field.dims.empty() || !field.ghosts.empty())
        return bad("block, dims and ghosts are of fields on a grid; it is on " + where);
    if (field.fill_value || !field.coordinates.empty() || field.is_static)
        return Status(ErrorCode::unsupported,
                      "fields on a mesh have no fill value and no coordinates, and are not static");
    const std::int64_t num = mesh.num_elements(field.on);
    const auto given = std::visit([](auto values) { return std::ssize(values); }, field.data);
    Field local = field;
    local.block = {{num}, {0}, {num}};
    if (field.components > 1) local.block = {{num, field.components}, {0, 0}, {num, field.components}};
    if (num == 0 && (given == 0 || !field.strides.empty()))
        return output::HeldBlock{local.block, nullptr, {}};
    if (field.strides.empty() && given != num * field.components) {
        std::string text = "it has " + std::to_string(given) + " values, and the mesh " +
                           std::to_string(num) + " " + where + " on this rank";
        if (field.components > 1) text += ", of " + std::to_string(field.components) + " components each";
        return bad(text);
    }
    return output::held_block(local);
}

mpi::Agreed Output::Impl::write_mesh() noexcept {
    const double start_s = now_s();
    mpi::Agreed agreed = mesh.agree(comm, put_status);
    times.layout_s += now_s() - start_s;
    if (!agreed.status.ok()) return agreed;
    if (mesh.needs_file()) {
        if (agreed = write_mesh_file(); !agreed.status.ok()) return agreed;
    }
    put_status = guarded("the mesh", [&] {
        output::Arrays all = mesh.arrays_of_step();
        std::vector<format::FieldDescription>& fields = step.description.fields;
        for (std::size_t f = 0; f < fields.size(); ++f) {
            const bool is_on_mesh = fields[f].place != format::Place::grid;
            if (is_on_mesh && !held[f].empty()) mesh.place(fields[f], held[f][0]);
            all.fields.push_back(std::move(fields[f]));
            all.held.push_back(std::move(held[f]));
        }
        fields = std::move(all.fields);
        held = std::move(all.held);
    });
    return {};
}

mpi::Agreed Output::Impl::write_mesh_file() noexcept {
    output::Arrays arrays;
    const std::string path = step.path, part_path = step.part_path;
    put_status = guarded("the mesh", [&] {
        arrays = mesh.arrays_of_file();
        step.path += series::mesh_suffix;
        step.part_path = series::part_path(step.path, series::token(step.run, step.number));
        mesh.set_file(step.path.substr(step.path.rfind('/') + 1));
    });
    std::swap(step.description.fields, arrays.fields);
    std::swap(held, arrays.held);
    mpi::Agreed agreed = write_step();
    if (!agreed.status.ok()) return agreed;
    std::swap(step.description.fields, arrays.fields);
    std::swap(held, arrays.held);
    step.path = path;
    step.part_path = part_path;
    return {};
}

}  // namespace hakobi
