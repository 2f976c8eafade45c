// A NetCDF-4 file read back by way of the HDF5 library; netcdf4.cpp says what such a file is. In the root
// group:
//
//  1. A data set that is a dimension scale is a dimension, or with values a coordinate variable.
//  2. Every other data set is a field. The names of its dimensions are those of the scales attached to it.
//  3. A first dimension of one record that is called time, or has no end, is the step's own and left out of
//     the shape.
//
// Names that netCDF keeps for itself are not attributes.
#include "format/netcdf4/reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "format/calendar.hpp"
#include "format/hdf5/chunk_reader.hpp"
#include "format/hdf5/growing.hpp"
#include "format/hdf5/hdf5.hpp"
#include "format/hdf5/reading.hpp"
#include "format/hdf5/sequences.hpp"

namespace hakobi::format {
namespace {

constexpr std::string_view no_variable = "This is a netCDF dimension but not a netCDF variable";
constexpr std::string_view renamed = "_nc4_non_coord_";

bool is_bare_scale(hid_t dataset) {
    if (H5Aexists(dataset, "NAME") <= 0) return false;
    const Handle attribute(H5Aopen(dataset, "NAME", H5P_DEFAULT), H5Aclose, "H5Aopen");
    const Handle type(H5Aget_type(attribute), H5Tclose, "H5Aget_type");
    return H5Tget_class(type) == H5T_STRING && read_text(attribute, type).starts_with(no_variable);
}

bool is_scale(hid_t dataset) {
    if (H5Aexists(dataset, "CLASS") <= 0) return false;
    const Handle attribute(H5Aopen(dataset, "CLASS", H5P_DEFAULT), H5Aclose, "H5Aopen");
    const Handle type(H5Aget_type(attribute), H5Tclose, "H5Aget_type");
    return H5Tget_class(type) == H5T_STRING && read_text(attribute, type) == "DIMENSION_SCALE";
}

std::vector<std::string> dataset_names(hid_t file) {
    const Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose, "H5Gopen2");
    std::vector<std::string> names = names_in(root);
    // A link that leads nowhere is nobody's field.
    std::erase_if(names, [&](const std::string& name) {
        H5O_info_t info;
        return H5Oget_info_by_name(file, name.c_str(), &info, H5P_DEFAULT) < 0 ||
               info.type != H5O_TYPE_DATASET;
    });
    return names;
}

/// A file's scales, by where they begin.
using Scales = std::map<std::uint64_t, std::string>;

Scales scales_of(hid_t file) {
    Scales scales;
    for (const std::string& name : dataset_names(file)) {
        const Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
        if (is_in_file(dataset, file) && is_scale(dataset)) scales.emplace(place_of(dataset), name);
    }
    return scales;
}

/// The names of the scales that are attached to a data set's dimensions; "" of one without.
std::vector<std::string> dimension_names(hid_t dataset, std::size_t num_dims, const Scales& scales) {
    std::vector<std::string> names(num_dims);
    if (H5Aexists(dataset, "DIMENSION_LIST") <= 0) return names;
    const Handle attribute(H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT), H5Aclose, "H5Aopen");
    const Handle type(H5Aget_type(attribute), H5Tclose, "H5Aget_type");
    if (H5Tget_class(type) != H5T_VLEN) return names;
    const Handle member(H5Tget_super(type), H5Tclose, "H5Tget_super");
    if (check(H5Tequal(member, H5T_STD_REF_OBJ), "H5Tequal") == 0) return names;
    const std::vector<std::vector<std::byte>> lists = read_sequences(attribute, type);
    for (std::size_t d = 0; d < std::min(num_dims, lists.size()); ++d) {
        std::uint64_t address = 0;
        if (lists[d].size() < sizeof(address)) continue;
        std::memcpy(&address, lists[d].data(), sizeof(address));
        if (const auto scale = scales.find(address); scale != scales.end()) names[d] = scale->second;
    }
    return names;
}

class NetcdfReader {
  public:
    NetcdfReader(hid_t file, Records records) : file_(file), kept_(records) {}

    FoundStep read() {
        FoundStep step;
        step.time = std::numeric_limits<double>::quiet_NaN();
        step.attributes = attributes_of(file_);
        step.title = text_attribute(step.attributes, "title");
        has_steps_ = step.attributes.erase(steps_mark) > 0;
        const std::vector<std::string> names = dataset_names(file_);
        scales_ = scales_of(file_);
        for (const std::string& name : names) {
            const Handle dataset = open_dataset(file_, name);
            if (is_scale(dataset)) read_scale(dataset, name, step);
        }
        for (const std::string& name : names) {
            const Handle dataset = open_dataset(file_, name);
            if (!is_scale(dataset)) read_field(dataset, name, step);
        }
        step.decided_by = ReadDriver::ranges_read(file_);
        return step;
    }

  private:
    void read_scale(hid_t dataset, const std::string& name, FoundStep& step) {
        bool is_unlimited = false;
        const std::vector<std::int64_t> extents = extents_of(dataset, &is_unlimited);
        const Attributes attributes = attributes_of(dataset);
        if (extents.size() != 1) return;
        const bool is_record = kept_ == Records::all || has_steps_
                                   ? name == "time"
                                   : extents[0] == 1 && (name == "time" || is_unlimited);
        if (is_record) {
            records_.push_back(name);
            step.time_units = text_attribute(attributes, "units");
            step.calendar = calendar_of(step.time_units, text_attribute(attributes, "calendar"));
            step.time_attributes = attributes;
            for (const char* own : {"units", "calendar", "standard_name", "axis"})
                step.time_attributes.erase(own);
            if (has_steps_) {
                step.times = read_times(dataset);
                step.time = step.times[0];
            }
            if (!has_steps_ && extents[0] == 1 && !is_bare_scale(dataset))
                step.time = read_time(file_, dataset, step.time_offset_bytes);
            return;
        }
        Axis axis{.name = name,
                  .units = text_attribute(attributes, "units"),
                  .standard_name = text_attribute(attributes, "standard_name"),
                  .values = {},
                  .attributes = attributes};
        axis.attributes.erase("units");
        axis.attributes.erase("standard_name");
        const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
        const H5T_class_t kind = H5Tget_class(type);
        if (!is_bare_scale(dataset) && (kind == H5T_FLOAT || kind == H5T_INTEGER)) {
            // More than any of HDF5's own filters could have packed into the file.
            constexpr std::int64_t most_packed = 1032;
            if (extents[0] / most_packed > ReadDriver::size_of(dataset))
                throw Hdf5Failure("the values of " + name + " are not in the file");
            axis.values.resize(static_cast<std::size_t>(extents[0]));
            check_chunk(dataset);
            check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, axis.values.data()),
                  "H5Dread");
        }
        step.axes.push_back(std::move(axis));
    }

    void read_field(hid_t dataset, const std::string& link, FoundStep& step) {
        FoundField field;
        const bool is_renamed = link.starts_with(renamed);
        field.shown.name = is_renamed ? link.substr(renamed.size()) : link;
        if (is_renamed) field.link = link;
        const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
        field.shown.type = text_of_type(type);
        field.type = value_type_of(field.shown.type);
        field.shown.shape = extents_of(dataset);
        field.shown.attributes = attributes_of(dataset);
        field.shown.dims = names_of_dimensions(dataset, field.shown.shape.size());
        for (std::size_t d = 0; d < field.shown.dims.size(); ++d) {
            if (field.shown.dims[d].empty()) field.shown.dims[d] = "dim_" + std::to_string(d);
        }
        if (!field.shown.dims.empty() && std::ranges::find(records_, field.shown.dims[0]) != records_.end()) {
            field.has_record = true;
            field.shown.dims.erase(field.shown.dims.begin());
            field.shown.shape.erase(field.shown.shape.begin());
        }
        field.shown.is_static = !field.has_record;
        locate(file_, dataset, field);
        if (has_steps_ && field.has_record && field.file.empty()) {
            std::vector<std::int64_t> of_step = field.shown.shape;
            of_step.insert(of_step.begin(), 1);
            locate_steps(dataset, of_step, num_steps_of(step), field);
        }
        step.fields.push_back(std::move(field));
    }

    [[nodiscard]] std::vector<std::string> names_of_dimensions(hid_t dataset, std::size_t num_dims) const {
        if (is_in_file(dataset, file_)) return dimension_names(dataset, num_dims, scales_);
        const Handle other(H5Iget_file_id(dataset), H5Fclose, "H5Iget_file_id");
        return dimension_names(dataset, num_dims, scales_of(other));
    }

    hid_t file_;
    Records kept_;
    bool has_steps_ = false;
    Scales scales_;
    std::vector<std::string> records_;
};

}  // namespace

Result<FoundStep> read_netcdf4(const std::string& path, Records records) {
    if (Status status = check_kind(path); !status.ok()) return status;
    FoundStep step;
    Status status =
        with_file(path, netcdf4_kind, [&](hid_t file) { step = NetcdfReader(file, records).read(); });
    if (!status.ok()) return status;
    return step;
}

Status read_values_netcdf4(const std::string& path, const FoundField& field, const Block& block,
                           std::span<std::byte> values, std::int64_t step_in_file) {
    std::optional<Status> by_chunks;
    Status status = with_file(path, netcdf4_kind, [&](hid_t file) {
        const Handle dataset = open_dataset(file, field.link.empty() ? field.shown.name : field.link);
        std::vector<hsize_t> start(block.start.begin(), block.start.end());
        std::vector<hsize_t> count(block.count.begin(), block.count.end());
        if (field.has_record) {
            start.insert(start.begin(), static_cast<hsize_t>(step_in_file));
            count.insert(count.begin(), 1);
        }
        by_chunks = read_chunks(dataset, path_of(dataset), native_type(*field.type), start, count, values);
        if (by_chunks) return;
        const Handle from(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
        if (!start.empty()) {
            check(H5Sselect_hyperslab(from, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
                  "H5Sselect_hyperslab");
        }
        const Handle to(start.empty()
                            ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                        H5Sclose, "H5Screate_simple");
        check(H5Dread(dataset, native_type(*field.type), to, from, H5P_DEFAULT, values.data()), "H5Dread");
    });
    return status.ok() && by_chunks ? *by_chunks : status;
}

}  // namespace hakobi::format
