// A NetCDF-4 file read back by way of the HDF5 library; layout.cpp says what such a file is. Of the root group:
//
//  1. A data set that is a dimension scale is a dimension, or with values a coordinate variable.
//  2. Every other data set is a field. The names of its dimensions are those of the scales attached to it.
//  3. A first dimension of one record that is called time, or has no end, is the step's own and left out of the shape.
//
// Names that netCDF keeps for itself are not attributes.
#include "format/netcdf4/reader.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <new>

#include "base/bytes.hpp"
#include "format/netcdf4/chunk_reader.hpp"
#include "format/netcdf4/found.hpp"
#include "format/netcdf4/hdf5.hpp"
#include "format/netcdf4/read_driver.hpp"
#include "storage/file.hpp"

namespace hakobi::format {
namespace {

constexpr std::array<std::string_view, 11> netcdfs_own = {"CLASS",
                                                          "NAME",
                                                          "DIMENSION_LIST",
                                                          "DIMENSION_LABELS",
                                                          "REFERENCE_LIST",
                                                          "_Netcdf4Dimid",
                                                          "_NCProperties",
                                                          "_nc3_strict",
                                                          "_NCCOPY",
                                                          "_QuantizeBitGroom",
                                                          "_Netcdf4Coordinates"};
constexpr std::string_view no_variable = "This is a netCDF dimension but not a netCDF variable";
constexpr std::string_view renamed = "_nc4_non_coord_";

}  // namespace

OpenFile::OpenFile(const std::string& path)
    : access_(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate"),
      file_((prepare(), H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_)), H5Fclose, "H5Fopen") {}

void OpenFile::prepare() {
    check(driver_.use(access_), "H5Pset_driver");
    check(H5Pset_fclose_degree(access_, H5F_CLOSE_STRONG), "H5Pset_fclose_degree");
#if H5_VERSION_GE(1, 10, 7)
    // What has a step's name is whole, and nobody writes to it: locks would only fail where a file system has none.
    check(H5Pset_file_locking(access_, false, true), "H5Pset_file_locking");
#endif
}

std::string text_of_type(hid_t type) {
    const std::size_t bytes = H5Tget_size(type);
    switch (H5Tget_class(type)) {
        case H5T_FLOAT:
            return bytes == 8   ? "double"
                   : bytes == 4 ? "float"
                                : "float of " + std::to_string(bytes) + " bytes";
        case H5T_INTEGER: {
            const bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
            switch (bytes) {
                case 1:
                    return is_signed ? "byte" : "ubyte";
                case 2:
                    return is_signed ? "short" : "ushort";
                case 4:
                    return is_signed ? "int" : "uint";
                case 8:
                    return is_signed ? "int64" : "uint64";
                default:
                    return "integer of " + std::to_string(bytes) + " bytes";
            }
        }
        case H5T_STRING:
            return "string";
        default:
            return "a type of its own";
    }
}

std::optional<ValueType> value_type_of(const std::string& name) {
    for (int i = 0; i <= static_cast<int>(last_value_type); ++i) {
        if (name_of(static_cast<ValueType>(i)) == name) return static_cast<ValueType>(i);
    }
    return std::nullopt;
}

std::vector<std::int64_t> extents_of(hid_t dataset, bool* is_unlimited) {
    const Handle space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
    const int num = check(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims");
    std::vector<hsize_t> lengths(static_cast<std::size_t>(num)), most(lengths);
    check(H5Sget_simple_extent_dims(space, lengths.data(), most.data()), "H5Sget_simple_extent_dims");
    if (is_unlimited != nullptr) *is_unlimited = !most.empty() && most[0] == H5S_UNLIMITED;
    return {lengths.begin(), lengths.end()};
}

namespace {

std::string read_text(hid_t attribute, hid_t type) {
    const Handle space(H5Aget_space(attribute), H5Sclose, "H5Aget_space");
    const hssize_t num = check(H5Sget_simple_extent_npoints(space), "H5Sget_simple_extent_npoints");
    if (num < 1) return {};
    std::string text;
    if (check(H5Tis_variable_str(type), "H5Tis_variable_str") > 0) {
        const Handle memory(H5Tcopy(type), H5Tclose, "H5Tcopy");
        std::vector<char*> pointers(static_cast<std::size_t>(num), nullptr);
        check(H5Aread(attribute, memory, pointers.data()), "H5Aread");
        for (const char* pointer : pointers) {
            if (pointer != nullptr) text += (text.empty() ? "" : ", ") + std::string(pointer);
        }
        check(H5Dvlen_reclaim(memory, space, H5P_DEFAULT, pointers.data()), "H5Dvlen_reclaim");
        return text;
    }
    text.resize(H5Tget_size(type) * static_cast<std::size_t>(num));
    check(H5Aread(attribute, type, text.data()), "H5Aread");
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
}

std::optional<Attribute> read_attribute(hid_t attribute) {
    const Handle type(H5Aget_type(attribute), H5Tclose, "H5Aget_type");
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_STRING) return read_text(attribute, type);
    if (kind != H5T_FLOAT && kind != H5T_INTEGER) return std::nullopt;
    const Handle space(H5Aget_space(attribute), H5Sclose, "H5Aget_space");
    const auto num = static_cast<std::size_t>(
        std::max<hssize_t>(0, check(H5Sget_simple_extent_npoints(space), "H5Sget_simple_extent_npoints")));
    if (kind == H5T_FLOAT) {
        std::vector<double> values(num);
        if (num > 0) check(H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data()), "H5Aread");
        return values;
    }
    std::vector<std::int64_t> values(num);
    if (num > 0) check(H5Aread(attribute, H5T_NATIVE_INT64, values.data()), "H5Aread");
    return values;
}

}  // namespace

Attributes attributes_of(hid_t object) {
    Attributes found;
    H5O_info_t info;
    check(H5Oget_info(object, &info), "H5Oget_info");
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
        const Handle attribute(
            H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
            "H5Aopen_by_idx");
        std::string name(static_cast<std::size_t>(check(H5Aget_name(attribute, 0, nullptr), "H5Aget_name")),
                         '\0');
        H5Aget_name(attribute, name.size() + 1, name.data());
        if (std::ranges::find(netcdfs_own, name) != netcdfs_own.end()) continue;
        if (std::optional<Attribute> value = read_attribute(attribute))
            found.emplace(name, *std::move(value));
    }
    return found;
}

std::string text_attribute(const Attributes& attributes, const char* name) {
    const auto found = attributes.find(name);
    const auto* text = found != attributes.end() ? std::get_if<std::string>(&found->second) : nullptr;
    return text != nullptr ? *text : std::string();
}

namespace {

bool is_bare_scale(hid_t dataset) {
    if (H5Aexists(dataset, "NAME") <= 0) return false;
    const Handle attribute(H5Aopen(dataset, "NAME", H5P_DEFAULT), H5Aclose, "H5Aopen");
    const Handle type(H5Aget_type(attribute), H5Tclose, "H5Aget_type");
    return H5Tget_class(type) == H5T_STRING && read_text(attribute, type).starts_with(no_variable);
}

/// The last part of the name of the scale that is attached to a dimension; "" without one.
std::string dimension_name(hid_t dataset, unsigned dimension) {
    if (H5DSget_num_scales(dataset, dimension) < 1) return {};
    std::string name;
    const auto take = [](hid_t, unsigned, hid_t scale, void* out) -> herr_t {
        std::array<char, 1024> text{};
        if (H5Iget_name(scale, text.data(), text.size()) < 0) return -1;
        *static_cast<std::string*>(out) = text.data();
        return 1;
    };
    check(H5DSiterate_scales(dataset, dimension, nullptr, take, &name), "H5DSiterate_scales");
    return name.substr(name.rfind('/') + 1);
}

}  // namespace

void locate(hid_t dataset, FoundField& field) {
    const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
    const H5D_layout_t layout = H5Pget_layout(creation);
    if (layout == H5D_CHUNKED) {
        field.why_library = H5Pget_nfilters(creation) > 0 ? "chunked and filtered" : "chunked";
    } else if (layout != H5D_CONTIGUOUS) {
        field.why_library = layout == H5D_COMPACT ? "kept in the header" : "virtual";
    } else if (H5Pget_external_count(creation) > 0) {
        field.why_library = "kept in other files";
    } else if (H5Tget_size(type) > 1 && H5Tget_order(type) != H5Tget_order(H5T_NATIVE_INT)) {
        field.why_library = "of another byte order";
    } else if (const haddr_t offset = H5Dget_offset(dataset); offset != HADDR_UNDEF) {
        field.offset_bytes = static_cast<std::int64_t>(offset);
    } else {
        field.why_library = "not stored";
    }
}

namespace {

class Reader {
  public:
    Reader(const std::string& path, Records records) : file_(path), kept_(records) {}

    FoundStep read() {
        FoundStep step;
        step.time = std::numeric_limits<double>::quiet_NaN();
        step.attributes = attributes_of(file_.id());
        step.title = text_attribute(step.attributes, "title");
        const std::vector<std::string> names = dataset_names();
        for (const std::string& name : names) {
            const Handle dataset(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
            if (H5DSis_scale(dataset) > 0) read_scale(dataset, name, step);
        }
        for (const std::string& name : names) {
            const Handle dataset(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
            if (H5DSis_scale(dataset) <= 0) read_field(dataset, name, step);
        }
        return step;
    }

  private:
    std::vector<std::string> dataset_names() {
        // The file's own creation properties do not tell: the root group's do.
        const Handle root(H5Gopen2(file_.id(), "/", H5P_DEFAULT), H5Gclose, "H5Gopen2");
        const Handle creation(H5Gget_create_plist(root), H5Pclose, "H5Gget_create_plist");
        unsigned order = 0;
        check(H5Pget_link_creation_order(creation, &order), "H5Pget_link_creation_order");
        const H5_index_t index = (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
        H5G_info_t group;
        check(H5Gget_info(file_.id(), &group), "H5Gget_info");
        std::vector<std::string> names;
        for (hsize_t i = 0; i < group.nlinks; ++i) {
            const ssize_t length =
                check(H5Lget_name_by_idx(file_.id(), ".", index, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT),
                      "H5Lget_name_by_idx");
            std::string name(static_cast<std::size_t>(length), '\0');
            H5Lget_name_by_idx(file_.id(), ".", index, H5_ITER_INC, i, name.data(), name.size() + 1,
                               H5P_DEFAULT);
            H5O_info_t info;
            // A link that leads nowhere is nobody's field.
            if (H5Oget_info_by_name(file_.id(), name.c_str(), &info, H5P_DEFAULT) < 0) continue;
            if (info.type == H5O_TYPE_DATASET) names.push_back(name);
        }
        return names;
    }

    void read_scale(hid_t dataset, const std::string& name, FoundStep& step) {
        bool is_unlimited = false;
        const std::vector<std::int64_t> extents = extents_of(dataset, &is_unlimited);
        const Attributes attributes = attributes_of(dataset);
        if (extents.size() != 1) return;
        const bool is_record =
            kept_ == Records::all ? name == "time" : extents[0] == 1 && (name == "time" || is_unlimited);
        if (is_record) {
            records_.push_back(name);
            step.time_units = text_attribute(attributes, "units");
            if (extents[0] == 1 && !is_bare_scale(dataset))
                check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &step.time),
                      "H5Dread");
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
            axis.values.resize(static_cast<std::size_t>(extents[0]));
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
        for (std::size_t d = 0; d < field.shown.shape.size(); ++d) {
            std::string name = dimension_name(dataset, static_cast<unsigned>(d));
            field.shown.dims.push_back(name.empty() ? "dim_" + std::to_string(d) : std::move(name));
        }
        if (!field.shown.dims.empty() && std::ranges::find(records_, field.shown.dims[0]) != records_.end()) {
            field.has_record = true;
            field.shown.dims.erase(field.shown.dims.begin());
            field.shown.shape.erase(field.shown.shape.begin());
        }
        field.shown.is_static = !field.has_record;
        locate(dataset, field);
        step.fields.push_back(std::move(field));
    }

    OpenFile file_;
    Records kept_;
    std::vector<std::string> records_;
};

}  // namespace

Status check_kind(const std::string& path) {
    // Opening a pipe waits for who writes to it. A link to a file is right.
    std::error_code unknown;
    const std::filesystem::file_status kind = std::filesystem::status(storage::system_path(path), unknown);
    if (std::filesystem::is_other(kind)) return {ErrorCode::format, path + ": it is no regular file"};
    Result<storage::FilePtr> file = storage::open_file(path, {});
    if (!file.ok()) return file.status();
    std::array<std::byte, 8> start{};
    Result<std::int64_t> read = file.value()->read_at(start, 0);
    if (!read.ok()) return read.status();
    const std::string_view text(reinterpret_cast<const char*>(start.data()),
                                static_cast<std::size_t>(read.value()));
    if (text.empty()) return {ErrorCode::format, path + ": the file is empty"};
    if (text.starts_with("CDF"))
        return {ErrorCode::unsupported,
                path + ": NetCDF's classic format is not read; nccopy -k nc4 makes a NetCDF-4 file of it"};
    return {};
}

namespace {

Status failure_of(const std::string& path, const Hdf5Failure& failure) {
    return {ErrorCode::format,
            path + ": not a whole NetCDF-4 or HDF5 file that this library can read (" + failure.text + ")"};
}

template <class Body>
Status with_hdf5(const std::string& path, Body&& body) {
    const QuietErrors quiet;
    try {
        body();
        return {};
    } catch (const Hdf5Failure& failure) {
        return failure_of(path, failure);
    } catch (const std::bad_alloc&) {
        return {ErrorCode::out_of_memory, path + ": no memory to read it"};
    }
}

}  // namespace

Result<FoundStep> read_netcdf4(const std::string& path, Records records) {
    if (Status status = check_kind(path); !status.ok()) return status;
    FoundStep step;
    Status status = with_hdf5(path, [&] { step = Reader(storage::system_path(path), records).read(); });
    if (!status.ok()) return status;
    return step;
}

Status with_file(const std::string& path, const std::function<void(hid_t)>& body) {
    return with_hdf5(path, [&] { body(OpenFile(storage::system_path(path)).id()); });
}

Status read_values_netcdf4(const std::string& path, const FoundField& field, const Block& block,
                           std::span<std::byte> values) {
    std::optional<Status> by_chunks;
    Status status = with_hdf5(path, [&] {
        const OpenFile file(storage::system_path(path));
        const std::string& name = field.link.empty() ? field.shown.name : field.link;
        const Handle dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
        std::vector<hsize_t> start(block.start.begin(), block.start.end());
        std::vector<hsize_t> count(block.count.begin(), block.count.end());
        if (field.has_record) {
            start.insert(start.begin(), 0);
            count.insert(count.begin(), 1);
        }
        by_chunks = read_chunks(dataset, path, native_type(*field.type), start, count, values);
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

std::vector<std::byte> encode_found(const FoundStep& step) {
    ByteWriter writer;
    writer.put_text(step.title);
    writer.put_text(step.time_units);
    put_attributes(writer, step.attributes);
    writer.put(std::ssize(step.axes));
    for (const Axis& axis : step.axes) {
        writer.put_text(axis.name);
        writer.put_text(axis.units);
        writer.put_text(axis.standard_name);
        writer.put_all(axis.values);
        put_attributes(writer, axis.attributes);
    }
    writer.put(std::ssize(step.fields));
    for (const FoundField& field : step.fields) {
        writer.put_text(field.shown.name);
        writer.put_text(field.shown.type);
        writer.put_text(field.link);
        writer.put_text(field.why_library);
        writer.put(field.shown.on);
        writer.put(field.is_of_mesh);
        writer.put_text(field.file);
        writer.put(field.has_record);
        writer.put(field.shown.is_static);
        writer.put(field.offset_bytes);
        writer.put_all(field.shown.shape);
        for (const std::string& dim : field.shown.dims) writer.put_text(dim);
        put_attributes(writer, field.shown.attributes);
    }
    return writer.take();
}

Result<FoundStep> decode_found(std::span<const std::byte> bytes) {
    ByteReader reader(bytes);
    FoundStep step;
    step.title = reader.get_text();
    step.time_units = reader.get_text();
    step.attributes = get_attributes(reader);
    for (auto n = reader.get_count(40); n > 0; --n) {
        Axis axis;
        axis.name = reader.get_text();
        axis.units = reader.get_text();
        axis.standard_name = reader.get_text();
        axis.values = reader.get_all<double>();
        axis.attributes = get_attributes(reader);
        step.axes.push_back(std::move(axis));
    }
    for (auto n = reader.get_count(68); n > 0; --n) {
        FoundField field;
        field.shown.name = reader.get_text();
        field.shown.type = reader.get_text();
        field.type = value_type_of(field.shown.type);
        field.link = reader.get_text();
        field.why_library = reader.get_text();
        field.shown.on = reader.get<On>();
        field.is_of_mesh = reader.get<bool>();
        field.file = reader.get_text();
        field.has_record = reader.get<bool>();
        field.shown.is_static = reader.get<bool>();
        field.offset_bytes = reader.get<std::int64_t>();
        field.shown.shape = reader.get_all<std::int64_t>();
        for (std::size_t d = 0; d < field.shown.shape.size() && reader.ok(); ++d)
            field.shown.dims.push_back(reader.get_text());
        field.shown.attributes = get_attributes(reader);
        step.fields.push_back(std::move(field));
    }
    if (!reader.ok() || !reader.at_end())
        return Status(ErrorCode::internal, "a step's description is damaged");
    return step;
}

}  // namespace hakobi::format
