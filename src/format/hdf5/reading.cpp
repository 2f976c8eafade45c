#include "format/hdf5/reading.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

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

std::vector<std::string> names_in(hid_t group) {
    const Handle creation(H5Gget_create_plist(group), H5Pclose, "H5Gget_create_plist");
    unsigned order = 0;
    check(H5Pget_link_creation_order(creation, &order), "H5Pget_link_creation_order");
    const H5_index_t index = (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    H5G_info_t info;
    check(H5Gget_info(group, &info), "H5Gget_info");
    std::vector<std::string> names;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
        const ssize_t length =
            check(H5Lget_name_by_idx(group, ".", index, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT),
                  "H5Lget_name_by_idx");
        std::string name(static_cast<std::size_t>(length), '\0');
        H5Lget_name_by_idx(group, ".", index, H5_ITER_INC, i, name.data(), name.size() + 1, H5P_DEFAULT);
        names.push_back(std::move(name));
    }
    return names;
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

std::vector<std::int64_t> extents_of(hid_t dataset, bool* is_unlimited) {
    const Handle space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
    const int num = check(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims");
    std::vector<hsize_t> lengths(static_cast<std::size_t>(num)), most(lengths);
    check(H5Sget_simple_extent_dims(space, lengths.data(), most.data()), "H5Sget_simple_extent_dims");
    if (is_unlimited != nullptr) *is_unlimited = !most.empty() && most[0] == H5S_UNLIMITED;
    return {lengths.begin(), lengths.end()};
}

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

namespace {

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

Status failure_of(const std::string& path, const char* kind, const Hdf5Failure& failure) {
    return {ErrorCode::format,
            path + ": not a whole " + kind + " file that this library can read (" + failure.text + ")"};
}

}  // namespace hakobi::format
