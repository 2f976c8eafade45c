// A VTKHDF file read back by way of the HDF5 library; vtkhdf.cpp says what such a file is. Fields are found
// in the order in which they were made, where the file keeps it; the mesh's arrays come behind them.
#include "format/vtkhdf/reader.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "format/calendar.hpp"
#include "format/hdf5/growing.hpp"
#include "format/hdf5/reading.hpp"
#include "format/mesh_arrays.hpp"
#include "format/vtkhdf/grid_builder.hpp"

namespace hakobi::format {
namespace {

constexpr std::array mesh_names = {number_of_points, number_of_cells,    number_of_connectivity_ids,
                                   points_array,     connectivity_array, offsets_array,
                                   types_array};

class VtkReader {
  public:
    VtkReader(hid_t file, Links links) : file_(file), links_(links) {}

    /// Says what keeps the file from being read as a step; "" when nothing does.
    [[nodiscard]] std::string problem() const {
        if (H5Lexists(file_, "VTKHDF", H5P_DEFAULT) <= 0) return "it has no group VTKHDF";
        const Handle grid(H5Gopen2(file_, "VTKHDF", H5P_DEFAULT), H5Gclose, "H5Gopen2");
        const std::string type = text_attribute(attributes_of(grid), "Type");
        if (type != "UnstructuredGrid")
            return "it is a VTKHDF file of type '" + type + "', not UnstructuredGrid";
        if (H5Lexists(grid, "Steps", H5P_DEFAULT) > 0 && H5Aexists(file_, steps_mark) <= 0)
            return "it has several steps (VTKHDF's group Steps), which another program has put there";
        for (const std::string_view name : mesh_names) {
            if (H5Lexists(grid, std::string(name).c_str(), H5P_DEFAULT) <= 0)
                return "it has no data set VTKHDF/" + std::string(name);
        }
        return {};
    }

    FoundStep read() {
        FoundStep step;
        step.time = std::numeric_limits<double>::quiet_NaN();
        step.attributes = attributes_of(file_);
        step.title = text_attribute(step.attributes, "title");
        step.attributes.erase(steps_mark);
        read_steps(step);
        read_group("VTKHDF/PointData", On::points, step);
        read_group("VTKHDF/CellData", On::cells, step);
        read_group("VTKHDF/FieldData", On::grid, step);
        const Handle grid(H5Gopen2(file_, "VTKHDF", H5P_DEFAULT), H5Gclose, "H5Gopen2");
        for (const std::string_view name : mesh_names) {
            FoundField field = read_field(grid, std::string(name), "VTKHDF");
            field.is_of_mesh = true;
            step.fields.push_back(std::move(field));
        }
        step.decided_by = ReadDriver::ranges_read(file_);
        return step;
    }

  private:
    void read_steps(FoundStep& step) {
        if (H5Lexists(file_, "VTKHDF/Steps", H5P_DEFAULT) <= 0) return;
        const Handle group(H5Gopen2(file_, "VTKHDF/Steps", H5P_DEFAULT), H5Gclose, "H5Gopen2");
        const Handle times = open_dataset(group, "Values");
        step.times = read_times(times);
        step.time = step.times[0];
        take_units(attributes_of(times), step);
        num_steps_ = num_steps_of(step);
    }

    /// Finds each step's part of a field in a file of several: the steps are one behind the other along the
    /// first dimension.
    void divide_among_steps(hid_t dataset, FoundField& field) const {
        bool grows = false;
        static_cast<void>(extents_of(dataset, &grows));
        field.shown.is_static = !grows;
        if (!grows) return;
        if (field.shown.shape[0] % num_steps_ != 0)
            throw Hdf5Failure(field.shown.name + " has not as many values in each step");
        field.shown.shape[0] /= num_steps_;
        locate_steps(dataset, field.shown.shape, num_steps_, field);
    }

    void read_group(const char* path, On on, FoundStep& step) {
        if (H5Lexists(file_, path, H5P_DEFAULT) <= 0) return;
        const Handle group(H5Gopen2(file_, path, H5P_DEFAULT), H5Gclose, "H5Gopen2");
        for (const std::string& name : names_in(group)) {
            FoundField field = read_field(group, name, path);
            if (on == On::grid && name == time_name) {
                if (num_steps_ == 0) read_time_of(group, field, step);
                continue;
            }
            field.shown.on = on;
            if (on == On::grid) {
                if (field.shown.shape == std::vector<std::int64_t>{1}) field.shown.shape.clear();
            } else if (!field.shown.shape.empty()) {
                field.shown.dims[0] = on == On::points ? "points" : "cells";
            }
            step.fields.push_back(std::move(field));
            step.fields.back().shown.dims.resize(step.fields.back().shown.shape.size());
        }
    }

    FoundField read_field(hid_t group, const std::string& name, const std::string& path) const {
        FoundField field;
        field.shown.name = name;
        field.link = path + "/" + name;
        H5L_info_t link;
        check(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT), "H5Lget_info");
        if (link.type == H5L_TYPE_EXTERNAL) {
            std::vector<char> value(link.u.val_size);
            check(H5Lget_val(group, name.c_str(), value.data(), value.size(), H5P_DEFAULT), "H5Lget_val");
            const char *file = nullptr, *object = nullptr;
            unsigned flags = 0;
            check(H5Lunpack_elink_val(value.data(), value.size(), &flags, &file, &object),
                  "H5Lunpack_elink_val");
            field.file = file;
            if (links_ == Links::left) return field;
        }
        const Handle dataset = open_dataset(group, name);
        const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
        field.shown.type = text_of_type(type);
        field.type = value_type_of(field.shown.type);
        field.shown.shape = extents_of(dataset);
        field.shown.attributes = attributes_of(dataset);
        field.shown.dims.assign(field.shown.shape.size(), "components");
        locate(file_, dataset, field);
        if (num_steps_ > 0) divide_among_steps(dataset, field);
        return field;
    }

    void read_time_of(hid_t group, const FoundField& field, FoundStep& step) const {
        if (field.shown.shape != std::vector<std::int64_t>{1}) return;
        const Handle dataset(H5Dopen2(group, time_name.data(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
        step.time = read_time(file_, dataset, step.time_offset_bytes);
        take_units(field.shown.attributes, step);
    }

    static void take_units(const Attributes& attributes, FoundStep& step) {
        step.time_units = text_attribute(attributes, "units");
        step.calendar = calendar_of(step.time_units, text_attribute(attributes, "calendar"));
    }

    hid_t file_;
    Links links_;
    std::int64_t num_steps_ = 0;  // of a file that may have several
};

}  // namespace

Result<FoundStep> read_vtkhdf(const std::string& path, Links links) {
    if (Status status = check_kind(path); !status.ok()) return status;
    FoundStep step;
    std::string problem;
    Status status = with_file(path, "VTKHDF", [&](hid_t file) {
        VtkReader reader(file, links);
        problem = reader.problem();
        if (problem.empty()) step = reader.read();
    });
    if (!status.ok()) return status;
    if (!problem.empty()) return Status(ErrorCode::format, path + ": " + problem);
    return step;
}

}  // namespace hakobi::format
