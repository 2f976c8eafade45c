#include "format/vtkhdf/grid_builder.hpp"

#include <hakobi/version.h>

#include "format/hdf5/builder.hpp"

namespace hakobi::format {
namespace {

constexpr unsigned most_links = 65535;  // HDF5's own limit of what a header lists

}  // namespace

GridBuilder::GridBuilder(SparseImage& image, hsize_t alignment_bytes, hsize_t metadata_bytes,
                         Placement* placement)
    : driver_(placement),
      access_(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate"),
      creation_(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "H5Pcreate"),
      group_(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "H5Pcreate"),
      dataset_(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate"),
      file_((prepare(image, alignment_bytes, metadata_bytes),
             H5Fcreate("step.hdf", H5F_ACC_TRUNC, creation_, access_)),
            H5Fclose, "H5Fcreate") {}

hid_t GridBuilder::create_group(hid_t where, const char* name) {
    return check(H5Gcreate2(where, name, H5P_DEFAULT, group_, H5P_DEFAULT), "H5Gcreate2");
}

hid_t GridBuilder::create_array(hid_t where, const std::string& name, ValueType type,
                                const std::vector<std::int64_t>& extents) {
    const std::vector<hsize_t> lengths(extents.begin(), extents.end());
    const Handle space(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), H5Sclose,
                       "H5Screate_simple");
    return check(
        H5Dcreate2(where, name.c_str(), native_type(type), space, H5P_DEFAULT, dataset_, H5P_DEFAULT),
        "H5Dcreate2");
}

hid_t GridBuilder::create_in_chunks(hid_t where, const std::string& name, ValueType type,
                                    const std::vector<std::int64_t>& extents,
                                    const std::vector<hsize_t>& chunk) {
    const std::vector<hsize_t> lengths(extents.begin(), extents.end());
    std::vector<hsize_t> most = lengths;
    most[0] = H5S_UNLIMITED;
    const Handle space(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), most.data()),
                       H5Sclose, "H5Screate_simple");
    const Handle creation(H5Pcopy(dataset_), H5Pclose, "H5Pcopy");
    check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk");
    check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_INCR), "H5Pset_alloc_time");
    return check(
        H5Dcreate2(where, name.c_str(), native_type(type), space, H5P_DEFAULT, creation, H5P_DEFAULT),
        "H5Dcreate2");
}

hid_t GridBuilder::create_constant(hid_t where, const std::string& name,
                                   const std::vector<std::int64_t>& extents, std::int64_t value) {
    const std::vector<hsize_t> lengths(extents.begin(), extents.end());
    const Handle space(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), H5Sclose,
                       "H5Screate_simple");
    const Handle creation(H5Pcopy(dataset_), H5Pclose, "H5Pcopy");
    check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_LATE), "H5Pset_alloc_time");
    check(H5Pset_fill_time(creation, H5D_FILL_TIME_IFSET), "H5Pset_fill_time");
    check(H5Pset_fill_value(creation, H5T_NATIVE_INT64, &value), "H5Pset_fill_value");
    return check(H5Dcreate2(where, name.c_str(), H5T_NATIVE_INT64, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                 "H5Dcreate2");
}

void GridBuilder::prepare(SparseImage& image, hsize_t alignment_bytes, hsize_t metadata_bytes) {
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

Groups create_groups(GridBuilder& builder, const StepDescription& step,
                     const std::vector<std::int64_t>& version) {
    put_text(builder.file(), "title", step.title);
    if (!step.attributes.contains("source")) put_text(builder.file(), "source", "hakobi " HAKOBI_VERSION);
    put_attributes(builder.file(), step.attributes, std::nullopt);
    const hid_t grid = builder.create_group(builder.file(), "VTKHDF");
    put_attributes(grid, {{"Version", version}}, std::nullopt);
    put_text(grid, "Type", "UnstructuredGrid");
    return {grid, builder.create_group(grid, "PointData"), builder.create_group(grid, "CellData"),
            builder.create_group(grid, "FieldData")};
}

void describe_array(hid_t array, const FieldDescription& field) {
    put_text(array, "standard_name", field.standard_name);
    put_text(array, "long_name", field.long_name);
    put_text(array, "units", field.units);
    put_attributes(array, field.attributes, field.type);
}

void link_array(const Groups& groups, const FieldDescription& field) {
    const std::string target = Groups::path_of(field.place) + field.name;
    check(H5Lcreate_external(field.file.c_str(), target.c_str(), groups.of(field.place), field.name.c_str(),
                             H5P_DEFAULT, H5P_DEFAULT),
          "H5Lcreate_external");
}

void describe_times(hid_t times, const StepDescription& step) {
    put_text(times, "units", step.time_units);
    put_text(times, "calendar", step.calendar);
}

}  // namespace hakobi::format
