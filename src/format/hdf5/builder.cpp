#include "format/hdf5/builder.hpp"

#include <hdf5_hl.h>

#include <algorithm>

#include "format/attributes.hpp"
#include "format/calendar.hpp"

namespace hakobi::format {
namespace {

/// A text attribute as netCDF's char attributes are stored.
void put_any_text(hid_t object, const char* name, const std::string& text) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "H5Tcopy");
    check(H5Tset_size(type, std::max<std::size_t>(1, text.size())), "H5Tset_size");
    const bool is_ascii =
        std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
    check(H5Tset_cset(type, is_ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8), "H5Tset_cset");
    const Handle space(H5Screate(text.empty() ? H5S_NULL : H5S_SCALAR), H5Sclose, "H5Screate");
    const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                           "H5Acreate2");
    if (!text.empty()) check(H5Awrite(attribute, type, text.data()), "H5Awrite");
}

/// Numbers of the memory type `from`, stored as `type`.
void put_numbers(hid_t object, const char* name, hid_t type, hid_t from, const void* values, hsize_t num) {
    const Handle space(H5Screate_simple(1, &num, nullptr), H5Sclose, "H5Screate_simple");
    const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                           "H5Acreate2");
    check(H5Awrite(attribute, from, values), "H5Awrite");
}

void make_scale(hid_t scale, const std::string& name, int number) {
    check(H5DSset_scale(scale, name.c_str()), "H5DSset_scale");
    put_int(scale, "_Netcdf4Dimid", number);
}

}  // namespace

void put_text(hid_t object, const char* name, const std::string& text) {
    if (!text.empty()) put_any_text(object, name, text);
}

void put_attributes(hid_t object, const Attributes& attributes, std::optional<ValueType> type) {
    for (const auto& [name, value] : attributes) {
        const NumberType stored = number_type(name, value, type.has_value());
        const hid_t as = stored == NumberType::field   ? native_type(*type)
                         : stored == NumberType::int32 ? H5T_NATIVE_INT32
                         : stored == NumberType::int64 ? H5T_NATIVE_INT64
                                                       : H5T_NATIVE_DOUBLE;
        if (const auto* text = std::get_if<0>(&value)) put_any_text(object, name.c_str(), *text);
        if (const auto* reals = std::get_if<1>(&value))
            put_numbers(object, name.c_str(), as, H5T_NATIVE_DOUBLE, reals->data(), reals->size());
        if (const auto* integers = std::get_if<2>(&value))
            put_numbers(object, name.c_str(), as, H5T_NATIVE_INT64, integers->data(), integers->size());
    }
}

void put_int(hid_t object, const char* name, int value) {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "H5Screate");
    const Handle attribute(H5Acreate2(object, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose, "H5Acreate2");
    check(H5Awrite(attribute, H5T_NATIVE_INT, &value), "H5Awrite");
}

void describe_field(hid_t dataset, const FieldDescription& field) {
    put_text(dataset, "standard_name", field.standard_name);
    put_text(dataset, "long_name", field.long_name);
    put_text(dataset, "units", field.units);
    const void* const fill = address_of(field.fill_value);
    const hid_t type = native_type(field.type);
    if (fill != nullptr) put_numbers(dataset, "_FillValue", type, type, fill, 1);
    put_text(dataset, "coordinates", coordinates_text(field));
    if (const int bits = bits_kept(field); bits > 0)
        put_int(dataset, "_QuantizeBitRoundNumberOfSignificantBits", bits);
    put_attributes(dataset, field.attributes, field.type);
}

void describe_time(hid_t dataset, const StepDescription& step) {
    make_scale(dataset, "time", 0);
    put_text(dataset, "standard_name", "time");
    put_text(dataset, "axis", "T");
    put_text(dataset, "units", step.time_units);
    put_text(dataset, "calendar", calendar_of(step.time_units, step.calendar));
    put_attributes(dataset, step.time_attributes, ValueType::float64);
}

Builder::Builder(SparseImage& image, hsize_t alignment_bytes, H5F_libver_t newest, Placement* placement)
    : driver_(placement),
      access_(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate"),
      creation_(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "H5Pcreate"),
      dataset_(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate"),
      file_(
          (prepare(image, alignment_bytes, newest), H5Fcreate("step.nc", H5F_ACC_TRUNC, creation_, access_)),
          H5Fclose, "H5Fcreate") {}

hid_t Builder::create(const std::string& name, hid_t type, const std::vector<std::int64_t>& extents,
                      const void* fill) {
    const std::vector<hsize_t> lengths(extents.begin(), extents.end());
    const Handle space(lengths.empty()
                           ? H5Screate(H5S_SCALAR)
                           : H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr),
                       H5Sclose, "H5Screate_simple");
    const Handle creation(H5Pcopy(dataset_), H5Pclose, "H5Pcopy");
    if (fill != nullptr) check(H5Pset_fill_value(creation, type, fill), "H5Pset_fill_value");
    return H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
}

hid_t Builder::create_chunked(const FieldDescription& field, const std::vector<std::int64_t>& extents,
                              const ChunkGrid& grid, const void* fill) {
    std::vector<hsize_t> chunk(field.is_static ? 0 : 1, 1);
    chunk.insert(chunk.end(), grid.shape().begin(), grid.shape().end());
    const std::vector<hsize_t> lengths(extents.begin(), extents.end());
    return create_in_chunks(file_, field.name, native_type(field.type), lengths, lengths, chunk,
                            &field.filters, fill);
}

hid_t Builder::create_in_chunks(hid_t where, const std::string& name, hid_t type,
                                const std::vector<hsize_t>& lengths, const std::vector<hsize_t>& most,
                                const std::vector<hsize_t>& chunk, const filter::Filters* filters,
                                const void* fill) {
    const Handle space(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), most.data()),
                       H5Sclose, "H5Screate_simple");
    const Handle creation(H5Pcopy(dataset_), H5Pclose, "H5Pcopy");
    if (fill != nullptr) check(H5Pset_fill_value(creation, type, fill), "H5Pset_fill_value");
    check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk");
    check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_INCR), "H5Pset_alloc_time");
    if (filters != nullptr) {
        if (H5Tget_size(type) > 1) check(H5Pset_shuffle(creation), "H5Pset_shuffle");
        const auto level = static_cast<unsigned>(filters->level);
        if (filters->codec == filter::Codec::deflate) {
            check(H5Pset_deflate(creation, level), "H5Pset_deflate");
        } else {
            check(
                H5Pset_filter(creation, filter::hdf5_filter_of(filters->codec), H5Z_FLAG_OPTIONAL, 1, &level),
                "H5Pset_filter");
        }
    }
    return H5Dcreate2(where, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
}

/// Step 2's scale without a variable: never allocated.
hid_t Builder::create_bare_scale(const std::string& name, std::int64_t length) {
    check(H5Pset_alloc_time(dataset_, H5D_ALLOC_TIME_LATE), "H5Pset_alloc_time");
    const hid_t id = create(name, H5T_IEEE_F32BE, {length});
    check(H5Pset_alloc_time(dataset_, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
    return id;
}

hid_t Builder::create_record(const std::string& name, hid_t type, hsize_t length) {
    constexpr hsize_t most = H5S_UNLIMITED, chunk = 512;
    const Handle space(H5Screate_simple(1, &length, &most), H5Sclose, "H5Screate_simple");
    const Handle creation(H5Pcopy(dataset_), H5Pclose, "H5Pcopy");
    check(H5Pset_chunk(creation, 1, &chunk), "H5Pset_chunk");
    // The rest of the chunk is written, too.
    check(H5Pset_fill_time(creation, H5D_FILL_TIME_ALLOC), "H5Pset_fill_time");
    return H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
}

hid_t Builder::create_dimension(const StepDescription& step, const Dimension& dimension, int number,
                                bool with_values) {
    if (dimension.axis < 0) {
        const hid_t scale = check(create_bare_scale(dimension.name, dimension.length), "H5Dcreate2");
        // netCDF's own words, the length right-aligned in ten columns: readers compare the beginning.
        std::string digits = std::to_string(dimension.length);
        if (digits.size() < 10) digits.insert(0, 10 - digits.size(), ' ');
        make_scale(scale, "This is a netCDF dimension but not a netCDF variable." + digits, number);
        return scale;
    }
    const Axis& axis = step.axes[static_cast<std::size_t>(dimension.axis)];
    const hid_t scale = check(create(dimension.name, H5T_NATIVE_DOUBLE, {dimension.length}), "H5Dcreate2");
    make_scale(scale, dimension.name, number);
    put_text(scale, "standard_name", axis.standard_name);
    put_text(scale, "units", axis.units);
    put_attributes(scale, axis.attributes, ValueType::float64);
    if (!with_values) return scale;
    check(H5Dwrite(scale, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, axis.values.data()), "H5Dwrite");
    return scale;
}

Handle Builder::copy_of_creation() const {
    Handle copy(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate");
    check(H5Pset_attr_creation_order(copy, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
          "H5Pset_attr_creation_order");
    check(H5Pset_obj_track_times(copy, false), "H5Pset_obj_track_times");
    return copy;
}

void Builder::prepare(SparseImage& image, hsize_t alignment_bytes, H5F_libver_t newest) {
    check(driver_.use(access_, image), "H5Pset_driver");
    check(H5Pset_libver_bounds(access_, H5F_LIBVER_V18, newest), "H5Pset_libver_bounds");
    check(H5Pset_alignment(access_, alignment_bytes, alignment_bytes), "H5Pset_alignment");
    check(H5Pset_fclose_degree(access_, H5F_CLOSE_STRONG), "H5Pset_fclose_degree");
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    check(H5Pset_link_creation_order(creation_, order), "H5Pset_link_creation_order");
    check(H5Pset_attr_creation_order(creation_, order), "H5Pset_attr_creation_order");
    check(H5Pset_obj_track_times(creation_, false), "H5Pset_obj_track_times");
    check(H5Pset_attr_creation_order(dataset_, order), "H5Pset_attr_creation_order");
    check(H5Pset_obj_track_times(dataset_, false), "H5Pset_obj_track_times");
    check(H5Pset_layout(dataset_, H5D_CONTIGUOUS), "H5Pset_layout");
    check(H5Pset_alloc_time(dataset_, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
    check(H5Pset_fill_time(dataset_, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
}

}  // namespace hakobi::format
