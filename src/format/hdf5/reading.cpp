#include "format/hdf5/reading.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "format/hdf5/sequences.hpp"
#include "format/hdf5/virtual_sources.hpp"
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
/// The name of no attribute.
constexpr const char* nobodys_name = "hakobi: no attribute is called so";

}  // namespace

OpenFile::OpenFile(const std::string& path)
    : access_(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate"),
      file_((prepare(), H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_)), H5Fclose, "H5Fopen") {}

void OpenFile::prepare() {
    check(driver_.use(access_), "H5Pset_driver");
    check(H5Pset_fclose_degree(access_, H5F_CLOSE_STRONG), "H5Pset_fclose_degree");
#if H5_VERSION_GE(1, 10, 7)
    // A file with a step's name is whole, and nobody writes to it: locks would only fail where a file system
    // has none.
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
            return bytes == 8                 ? "double"
                   : bytes == 4 || bytes == 2 ? "float"  // HDF5 reads half precision as that
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
        for (const std::vector<std::byte>& each : read_sequences(attribute, type)) {
            const std::string_view whole(reinterpret_cast<const char*>(each.data()), each.size());
            const std::string_view one = whole.substr(0, whole.find('\0'));
            if (!one.empty()) text.append(text.empty() ? "" : ", ").append(one);
        }
        return text;
    }
    text.resize(H5Tget_size(type) * static_cast<std::size_t>(num));
    check(H5Aread(attribute, type, text.data()), "H5Aread");
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
}

namespace {

/// Throws where a number's bits are not all within its bytes: HDF5 (1.10.8) converts them all the same, and
/// reads and writes beside the values.
void check_bits(hid_t type) {
    const H5T_class_t kind = H5Tget_class(type);
    if (kind != H5T_FLOAT && kind != H5T_INTEGER) return;
    const std::size_t precision = H5Tget_precision(type), bits = 8 * H5Tget_size(type);
    bool is_whole = precision > 0 && precision <= bits &&
                    static_cast<std::size_t>(check(H5Tget_offset(type), "H5Tget_offset")) <= bits - precision;
    if (kind == H5T_FLOAT) {
        std::size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, fraction_at = 0, fraction_bits = 0;
        check(H5Tget_fields(type, &sign_at, &exponent_at, &exponent_bits, &fraction_at, &fraction_bits),
              "H5Tget_fields");
        constexpr std::size_t most_exponent_bits = 32;
        is_whole = is_whole && sign_at < precision && exponent_bits > 0 &&
                   exponent_bits <= most_exponent_bits && exponent_at + exponent_bits <= precision &&
                   fraction_bits > 0 && fraction_at + fraction_bits <= precision;
    }
    if (!is_whole) throw Hdf5Failure("a type of numbers has bits outside of its bytes");
}

std::optional<Attribute> read_attribute(hid_t attribute) {
    const Handle type(H5Aget_type(attribute), H5Tclose, "H5Aget_type");
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_STRING) return read_text(attribute, type);
    if (kind != H5T_FLOAT && kind != H5T_INTEGER) return std::nullopt;
    check_bits(type);
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
    // Looking for a name decodes them all, and fails where one is damaged. Opening by number would fail too,
    // but HDF5 (1.10.8) then closes attributes that it had not yet put into its table.
    check(H5Aexists(object, nobodys_name), "H5Aexists");
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
        if (H5Aget_storage_size(attribute) > static_cast<hsize_t>(ReadDriver::size_of(object)))
            throw Hdf5Failure("attribute " + name + " is larger than the file");
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

Handle open_dataset(hid_t where, const std::string& name) {
    Handle dataset(H5Dopen2(where, name.c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
    // Values of other types are not read, and HDF5 would read a fill value that is a sequence.
    const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
    check_bits(type);
    if (value_type_of(text_of_type(type))) refuse_loops(dataset);
    return dataset;
}

std::string path_of(hid_t object) {
    std::string path(static_cast<std::size_t>(check(H5Fget_name(object, nullptr, 0), "H5Fget_name")), '\0');
    H5Fget_name(object, path.data(), path.size() + 1);
    return path;
}

std::uint64_t place_of(hid_t object) {
    H5O_info_t info;
    check(H5Oget_info(object, &info), "H5Oget_info");
#if H5_VERSION_GE(1, 12, 0) && !defined(H5_USE_110_API)
    haddr_t address = HADDR_UNDEF;
    check(H5VLnative_token_to_addr(object, info.token, &address), "H5VLnative_token_to_addr");
    return address;
#else
    return info.addr;
#endif
}

bool is_in_file(hid_t object, hid_t file) {
    H5O_info_t its, files;
    check(H5Oget_info(object, &its), "H5Oget_info");
    check(H5Oget_info(file, &files), "H5Oget_info");
    return its.fileno == files.fileno;
}

namespace {

/// Whether the data set is the one that field.link names in field.file, and that file beside `file`.
bool is_where_it_says(hid_t file, hid_t dataset, const FoundField& field) {
    namespace fs = std::filesystem;
    if (field.file.empty()) return is_in_file(dataset, file);
    std::error_code unknown;
    if (!fs::equivalent(path_of(dataset), fs::path(path_of(file)).parent_path() / field.file, unknown))
        return false;
    const OpenFile other(path_of(dataset));
    const hid_t found = H5Dopen2(other.id(), field.link.c_str(), H5P_DEFAULT);
    if (found < 0) return false;  // its name there is another
    const Handle same(found, H5Dclose, "H5Dopen2");
    return is_in_file(same, other.id()) && place_of(same) == place_of(dataset);
}

std::string why_library(hid_t dataset, hid_t type, const FoundField& field) {
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
    const H5D_layout_t layout = H5Pget_layout(creation);
    if (layout == H5D_CHUNKED) return H5Pget_nfilters(creation) > 0 ? "chunked and filtered" : "chunked";
    if (layout != H5D_CONTIGUOUS) return layout == H5D_COMPACT ? "kept in the header" : "virtual";
    if (H5Pget_external_count(creation) > 0) return "kept in other files";
    if (check(H5Tequal(type, native_type(*field.type)), "H5Tequal") == 0)
        return H5Tget_order(type) != H5Tget_order(H5T_NATIVE_INT) && H5Tget_size(type) > 1
                   ? "of another byte order"
                   : "numbers of another form";
    return {};
}

}  // namespace

void locate(hid_t file, hid_t dataset, FoundField& field) {
    if (!is_where_it_says(file, dataset, field)) {
        field.file.clear();
        field.why_library = "kept in another file";
        return;
    }
    const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
    field.why_library = field.type ? why_library(dataset, type, field) : "of a type of its own";
    if (!field.why_library.empty()) return;
    // Asked first: behind a user block HDF5 makes an offset of what has none.
    H5D_space_status_t status = H5D_SPACE_STATUS_NOT_ALLOCATED;
    check(H5Dget_space_status(dataset, &status), "H5Dget_space_status");
    const haddr_t offset = H5Dget_offset(dataset);
    if (status == H5D_SPACE_STATUS_NOT_ALLOCATED || offset == HADDR_UNDEF) {
        field.why_library = "not stored";
        return;
    }
    std::uint64_t bytes = H5Tget_size(type);
    bool is_possible = true;
    for (const std::int64_t length : extents_of(dataset))
        is_possible =
            is_possible && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(length), &bytes);
    const auto file_bytes = static_cast<std::uint64_t>(ReadDriver::size_of(dataset));
    if (!is_possible || bytes > H5Dget_storage_size(dataset) || offset > file_bytes ||
        bytes > file_bytes - offset)
        throw Hdf5Failure("the values of " + field.shown.name + " are not in the file");
    field.offset_bytes = static_cast<std::int64_t>(offset);
}

void locate_steps(hid_t dataset, const std::vector<std::int64_t>& of_step, std::int64_t num_steps,
                  FoundField& field) {
    if (field.why_library != "chunked" || !field.type) return;
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
    const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
    const std::vector<hsize_t> whole(of_step.begin(), of_step.end());
    std::vector<hsize_t> chunk(whole.size()), start(whole.size());
    if (H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()) !=
            static_cast<int>(chunk.size()) ||
        chunk != whole || check(H5Tequal(type, native_type(*field.type)), "H5Tequal") == 0)
        return;
    std::vector<std::int64_t> offsets;
    std::uint64_t step_bytes = H5Tget_size(type);
    for (const hsize_t extent : whole) step_bytes *= extent;
    const auto file_bytes = static_cast<std::uint64_t>(ReadDriver::size_of(dataset));
    for (std::int64_t s = 0; s < num_steps; ++s, start[0] += whole[0]) {
        unsigned skipped = 0;
        haddr_t offset = HADDR_UNDEF;
        hsize_t bytes = 0;
        check(H5Dget_chunk_info_by_coord(dataset, start.data(), &skipped, &offset, &bytes),
              "H5Dget_chunk_info_by_coord");
        if (offset == HADDR_UNDEF) return;  // the fill value
        if (offset > file_bytes || step_bytes > file_bytes - offset)
            throw Hdf5Failure("the values of " + field.shown.name + " are not in the file");
        offsets.push_back(static_cast<std::int64_t>(offset));
    }
    if (offsets.empty()) return;
    field.offset_bytes = offsets.front();
    field.offsets_of_steps = std::move(offsets);
    field.why_library.clear();
}

void check_chunk(hid_t dataset) {
    constexpr std::int64_t least_limit_bytes = std::int64_t{64} << 20;  // compressed, it may exceed its file
    const Handle properties(H5Dget_create_plist(dataset), H5Pclose, "H5Dget_create_plist");
    if (H5Pget_layout(properties) != H5D_CHUNKED) return;
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    const int rank = check(H5Pget_chunk(properties, H5S_MAX_RANK, chunk.data()), "H5Pget_chunk");
    const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
    auto left = static_cast<hsize_t>(std::max(ReadDriver::size_of(dataset), least_limit_bytes)) /
                std::max<std::size_t>(H5Tget_size(type), 1);
    for (int d = 0; d < rank; ++d) left /= std::max<hsize_t>(chunk[static_cast<std::size_t>(d)], 1);
    if (left == 0) throw Hdf5Failure("it has an impossible chunk");
}

double read_time(hid_t file, hid_t dataset, std::int64_t& offset_bytes) {
    double time = 0;
    check_chunk(dataset);
    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &time), "H5Dread");
    const Handle type(H5Dget_type(dataset), H5Tclose, "H5Dget_type");
    FoundField as_field;
    as_field.shown.name = "time";
    as_field.type = value_type_of(text_of_type(type));
    locate(file, dataset, as_field);
    if (as_field.why_library == "chunked" && check(H5Tequal(type, H5T_NATIVE_DOUBLE), "H5Tequal") > 0) {
        const hsize_t first = 0;
        unsigned skipped = 0;
        hsize_t bytes = 0;
        haddr_t offset = HADDR_UNDEF;
        check(H5Dget_chunk_info_by_coord(dataset, &first, &skipped, &offset, &bytes),
              "H5Dget_chunk_info_by_coord");
        if (offset != HADDR_UNDEF) as_field.offset_bytes = static_cast<std::int64_t>(offset);
    }
    offset_bytes = as_field.type == ValueType::float64 ? as_field.offset_bytes : -1;
    return time;
}

std::vector<double> read_times(hid_t dataset) {
    const std::vector<std::int64_t> extents = extents_of(dataset);
    constexpr std::int64_t least_bytes = 8;
    if (extents.size() != 1 || extents[0] < 1 || extents[0] > ReadDriver::size_of(dataset) / least_bytes)
        throw Hdf5Failure("it has an impossible number of steps");
    check_chunk(dataset);
    std::vector<double> times(static_cast<std::size_t>(extents[0]));
    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, times.data()), "H5Dread");
    return times;
}

Status check_kind(const std::string& path) {
    // Opening a pipe waits for who writes to it. A link to a file is right.
    if (storage::facts_behind(path).kind == storage::FileFacts::Kind::other)
        return {ErrorCode::format, path + ": it is no regular file"};
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
