// VTKHDF 1.0 by way of the HDF5 library, as VTK's "VTKHDF File Format" asks of an UnstructuredGrid without
// time:
//
//  1. The group VTKHDF has the attributes Version (1, 0) and Type. The file's own attributes are on the root
//     group.
//  2. The mesh's arrays (mesh_arrays.hpp) are data sets of that group, fields those of its groups PointData
//     and CellData. A field of several components has them as a second dimension.
//  3. FieldData has the step's time as TimeValue, VTK's name for it, and scalars as arrays of one value. The
//     groups are there also where they are empty.
//  4. An array that another file has is an external link to the same place there, its file named without a
//     folder: readers look for it beside the file that has the link.
//  5. Data sets are contiguous, allocated at once and never filled, so that H5Dget_offset is final before a
//     value exists. Objects carry no times, and the format's versions are pinned: the bytes depend on the
//     description only.
#include "format/vtkhdf/vtkhdf.hpp"

#include <algorithm>
#include <cassert>
#include <new>

#include "format/alignment.hpp"
#include "format/netcdf4/reader.hpp"
#include "format/vtkhdf/grid_builder.hpp"
#include "format/vtkhdf/growing.hpp"
#include "format/vtkhdf/reader.hpp"

namespace hakobi::format {
namespace {

/// Returns where the time is.
std::int64_t put_time(GridBuilder& builder, const Groups& groups, const StepDescription& step) {
    const hid_t time =
        builder.create_array(groups.field_data, std::string(time_name), ValueType::float64, {1});
    describe_times(time, step);
    check(H5Dwrite(time, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &step.time), "H5Dwrite");
    return offset_of(time);
}

/// Returns where its values go; 0 where there are none in this file.
std::int64_t put_field(GridBuilder& builder, const Groups& groups, const FieldDescription& field) {
    const hid_t group = groups.of(field.place);
    if (!field.file.empty()) {
        link_array(groups, field);
        return 0;
    }
    const std::vector<std::int64_t> extents =
        field.global.empty() ? std::vector<std::int64_t>{1} : field.global;
    const hid_t array = builder.create_array(group, field.name, field.type, extents);
    describe_array(array, field);
    return field.num_elements() == 0 ? 0 : offset_of(array);
}

/// About what everything but the values takes: it then stands together at the file's beginning, and is one
/// write.
hsize_t metadata_bytes_of(const StepDescription& step) {
    constexpr hsize_t of_groups = 2048, of_field = 256;
    return of_groups + of_field * step.fields.size();
}

Layout build(const StepDescription& step) {
    SparseImage image;
    Layout layout;
    {
        GridBuilder builder(image, static_cast<hsize_t>(alignment_of(step)), metadata_bytes_of(step));
        const Groups groups = create_groups(builder, step, {1, 0});
        layout.time_offset_bytes = put_time(builder, groups, step);
        for (const FieldDescription& field : step.fields)
            layout.offsets_bytes.push_back(put_field(builder, groups, field));
        builder.close();
    }
    layout.metadata = image.extents();
    layout.file_bytes = image.size_bytes();
    leave_values_out(layout, step.fields, {});
    return layout;
}

class Vtkhdf final : public Format {
  public:
    Vtkhdf()
        : Format(
              {.name = "vtkhdf", .extension = ".hdf", .holds_meshes = true, .growing = &growing_vtkhdf()}) {}
    [[nodiscard]] Status check(const StepDescription& step) const override {
        if (!step.axes.empty() || !step.time_attributes.empty())
            return {ErrorCode::unsupported, "files of the format vtkhdf have no axes"};
        for (const FieldDescription& field : step.fields) {
            if (field.place == Place::grid && !field.global.empty()) {
                return {ErrorCode::unsupported,
                        "field " + field.name +
                            ": files of the format vtkhdf hold fields on a mesh's points or "
                            "cells, and scalars"};
            }
            if (field.place == Place::grid && field.name == time_name)
                return {ErrorCode::invalid_argument, "field " + field.name + ": the name is the time's"};
        }
        return {};
    }
    [[nodiscard]] Result<Layout> lay_out(
        const StepDescription& step,
        [[maybe_unused]] std::span<const std::vector<StoredChunk>> chunks) const override {
        assert(std::ranges::all_of(chunks, [](const auto& of_field) { return of_field.empty(); }));
        const QuietErrors quiet;
        try {
            return build(step);
        } catch (const Hdf5Failure& failure) {
            return Status(ErrorCode::internal, "laying out the file: " + failure.text);
        } catch (const std::bad_alloc&) {
            return Status(ErrorCode::out_of_memory, "laying out the file: no memory");
        }
    }
    [[nodiscard]] Result<FoundStep> read(const std::string& path) const override {
        return read_vtkhdf(path, Links::followed);
    }
    [[nodiscard]] Result<FoundStep> read_alone(const std::string& path) const override {
        return read_vtkhdf(path, Links::left);
    }
    [[nodiscard]] Status read_values(const std::string& path, const FoundField& field, const Block& block,
                                     std::span<std::byte> values, std::int64_t step_in_file) const override {
        if (field.shown.is_static || step_in_file == 0)
            return read_values_netcdf4(path, field, block, values);
        Block in_file = block;
        if (field.shown.shape.empty()) in_file = {{1}, {0}, {1}};
        in_file.start[0] += step_in_file * (field.shown.shape.empty() ? 1 : field.shown.shape[0]);
        return read_values_netcdf4(path, field, in_file, values);
    }
};

}  // namespace

const Format& vtkhdf() {
    static const Vtkhdf format;
    return format;
}

}  // namespace hakobi::format
