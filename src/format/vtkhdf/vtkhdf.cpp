// VTKHDF 1.0 by way of the HDF5 library, as VTK's "VTKHDF File Format" asks of an UnstructuredGrid without time:
//
//  1. The group VTKHDF has the attributes Version (1, 0) and Type. The file's own attributes are on the root group.
//  2. The mesh's arrays (mesh_arrays.hpp) are data sets of that group, fields those of its groups PointData and CellData. A
//     field of several components has them as a second dimension.
//  3. FieldData has the step's time as TimeValue, VTK's name for it, and scalars as arrays of one value. The groups are there
//     also where they are empty.
//  4. An array that another file has is an external link to the same place there, its file named without a folder: readers
//     look for it beside the file that has the link.
//  5. Data sets are contiguous, allocated at once and never filled, so that H5Dget_offset is final before a value exists.
//     Objects carry no times, and the format's versions are pinned: the bytes depend on the description only.
#include "format/vtkhdf/vtkhdf.hpp"

#include <hakobi/version.h>
#include <algorithm>
#include <array>
#include <new>

#include "format/alignment.hpp"
#include "format/hdf5/builder.hpp"
#include "format/mesh_arrays.hpp"
#include "format/netcdf4/reader.hpp"
#include "format/vtkhdf/reader.hpp"

namespace hakobi::format {
namespace {

constexpr std::string_view time_name = "TimeValue";
constexpr unsigned most_links = 65535;  // HDF5's own limit of what a header lists

/// Everything that is open while one file is laid out.
class GridBuilder {
  public:
    GridBuilder(SparseImage& image, hsize_t alignment_bytes, hsize_t metadata_bytes)
        : access_(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate"),
          creation_(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "H5Pcreate"),
          group_(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "H5Pcreate"),
          dataset_(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate"),
          file_((prepare(image, alignment_bytes, metadata_bytes),
                 H5Fcreate("step.hdf", H5F_ACC_TRUNC, creation_, access_)),
                H5Fclose, "H5Fcreate") {}

    [[nodiscard]] hid_t file() const { return file_; }
    // What these return is closed with the file (H5F_CLOSE_STRONG), also when something throws on the way.
    [[nodiscard]] hid_t create_group(hid_t where, const char* name) {
        return check(H5Gcreate2(where, name, H5P_DEFAULT, group_, H5P_DEFAULT), "H5Gcreate2");
    }
    [[nodiscard]] hid_t create_array(hid_t where, const std::string& name, ValueType type,
                                     const std::vector<std::int64_t>& extents) {
        const std::vector<hsize_t> lengths(extents.begin(), extents.end());
        const Handle space(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr),
                           H5Sclose, "H5Screate_simple");
        return check(
            H5Dcreate2(where, name.c_str(), native_type(type), space, H5P_DEFAULT, dataset_, H5P_DEFAULT),
            "H5Dcreate2");
    }
    void close() { file_.close("H5Fclose"); }

  private:
    void prepare(SparseImage& image, hsize_t alignment_bytes, hsize_t metadata_bytes) {
        check(driver_.use(access_, image), "H5Pset_driver");
        check(H5Pset_libver_bounds(access_, H5F_LIBVER_V18, H5F_LIBVER_V18), "H5Pset_libver_bounds");
        check(H5Pset_alignment(access_, alignment_bytes, alignment_bytes), "H5Pset_alignment");
        check(H5Pset_meta_block_size(access_, metadata_bytes), "H5Pset_meta_block_size");
        check(H5Pset_fclose_degree(access_, H5F_CLOSE_STRONG), "H5Pset_fclose_degree");
        // Readers list fields in the order of put.
        const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
        for (const hid_t list : {hid_t(creation_), hid_t(group_)}) {
            check(H5Pset_link_creation_order(list, order), "H5Pset_link_creation_order");
            // Links stand in the group's own header, however many: a heap of them would lie behind the values.
            check(H5Pset_link_phase_change(list, most_links, most_links), "H5Pset_link_phase_change");
            check(H5Pset_obj_track_times(list, false), "H5Pset_obj_track_times");
        }
        check(H5Pset_obj_track_times(dataset_, false), "H5Pset_obj_track_times");
        check(H5Pset_layout(dataset_, H5D_CONTIGUOUS), "H5Pset_layout");
        check(H5Pset_alloc_time(dataset_, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
        check(H5Pset_fill_time(dataset_, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
    }

    ImageDriver driver_;  // outlives the file
    Handle access_, creation_, group_, dataset_, file_;
};

/// The groups of 1 to 3.
struct Groups {
    hid_t grid, point_data, cell_data, field_data;

    [[nodiscard]] hid_t of(Place place) const {
        const std::array<hid_t, 4> all = {field_data, point_data, cell_data, grid};
        return all[static_cast<std::size_t>(place)];
    }
    [[nodiscard]] static std::string path_of(Place place) {
        constexpr std::array<const char*, 4> all = {"/VTKHDF/FieldData/", "/VTKHDF/PointData/",
                                                    "/VTKHDF/CellData/", "/VTKHDF/"};
        return all[static_cast<std::size_t>(place)];
    }
};

Groups create_groups(GridBuilder& builder) {
    const hid_t grid = builder.create_group(builder.file(), "VTKHDF");
    put_attributes(grid, {{"Version", std::vector<std::int64_t>{1, 0}}}, std::nullopt);
    put_text(grid, "Type", "UnstructuredGrid");
    return {grid, builder.create_group(grid, "PointData"), builder.create_group(grid, "CellData"),
            builder.create_group(grid, "FieldData")};
}

/// Returns where the time is.
std::int64_t put_time(GridBuilder& builder, const Groups& groups, const StepDescription& step) {
    const hid_t time =
        builder.create_array(groups.field_data, std::string(time_name), ValueType::float64, {1});
    put_text(time, "units", step.time_units);
    put_text(time, "calendar", step.calendar);
    check(H5Dwrite(time, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &step.time), "H5Dwrite");
    return offset_of(time);
}

/// Returns where its values go; 0 where there are none in this file.
std::int64_t put_field(GridBuilder& builder, const Groups& groups, const FieldDescription& field) {
    const hid_t group = groups.of(field.place);
    if (!field.file.empty()) {
        const std::string target = Groups::path_of(field.place) + field.name;
        check(H5Lcreate_external(field.file.c_str(), target.c_str(), group, field.name.c_str(), H5P_DEFAULT,
                                 H5P_DEFAULT),
              "H5Lcreate_external");
        return 0;
    }
    const std::vector<std::int64_t> extents =
        field.global.empty() ? std::vector<std::int64_t>{1} : field.global;
    const hid_t array = builder.create_array(group, field.name, field.type, extents);
    put_text(array, "standard_name", field.standard_name);
    put_text(array, "long_name", field.long_name);
    put_text(array, "units", field.units);
    put_attributes(array, field.attributes, field.type);
    return field.num_elements() == 0 ? 0 : offset_of(array);
}

/// About what everything but the values takes: it then stands together at the file's beginning, and is one write.
hsize_t metadata_bytes_of(const StepDescription& step) {
    constexpr hsize_t of_groups = 2048, of_field = 256;
    return of_groups + of_field * step.fields.size();
}

Layout build(const StepDescription& step) {
    SparseImage image;
    Layout layout;
    {
        GridBuilder builder(image, static_cast<hsize_t>(alignment_of(step)), metadata_bytes_of(step));
        put_text(builder.file(), "title", step.title);
        if (!step.attributes.contains("source")) put_text(builder.file(), "source", "hakobi " HAKOBI_VERSION);
        put_attributes(builder.file(), step.attributes, std::nullopt);
        const Groups groups = create_groups(builder);
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
    [[nodiscard]] std::string_view name() const override { return "vtkhdf"; }
    [[nodiscard]] std::string_view extension() const override { return ".hdf"; }
    [[nodiscard]] bool holds_meshes() const override { return true; }
    [[nodiscard]] Status check(const StepDescription& step) const override {
        if (!step.axes.empty()) return {ErrorCode::unsupported, "files of the format vtkhdf have no axes"};
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
        const StepDescription& step, std::span<const std::vector<StoredChunk>> /*chunks*/) const override {
        const QuietErrors quiet;
        try {
            return build(step);
        } catch (const Hdf5Failure& failure) {
            return Status(ErrorCode::internal, "laying out the file: " + failure.text);
        } catch (const std::bad_alloc&) {
            return Status(ErrorCode::out_of_memory, "laying out the file: no memory");
        }
    }
    [[nodiscard]] Result<FoundStep> read(const std::string& path) const override { return read_vtkhdf(path); }
    [[nodiscard]] Status read_values(const std::string& path, const FoundField& field, const Block& block,
                                     std::span<std::byte> values,
                                     std::int64_t /*step_in_file*/) const override {
        return read_values_netcdf4(path, field, block, values);
    }
};

}  // namespace

const Format& vtkhdf() {
    static const Vtkhdf format;
    return format;
}

}  // namespace hakobi::format
