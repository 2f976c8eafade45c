// NetCDF-4 by way of the HDF5 library, as "The NetCDF-4 file format" (Unidata) and CF 1.10 ask:
//
//  1. The root group tracks and indexes the creation order of links and attributes: netCDF's order of
//  variables.
//  2. Each dimension is a dimension scale with _Netcdf4Dimid, its number. With a coordinate variable the
//  scale is the
//     variable; without one it is an unwritten big-endian float dataset whose NAME says so.
//  3. Each field is a dataset with all its scales attached (DIMENSION_LIST, and REFERENCE_LIST on the
//  scales).
//  4. Fields are contiguous, allocated at once and never filled, so that H5Dget_offset is final before a
//  value exists.
//  7. Objects carry no times, and the format's versions are pinned: the bytes depend on the description only.
//  5. Fields in filtered chunks are chunked as chunks.hpp says, with netCDF's own filters. HDF5 is told each chunk's size only:
//  it finds a place for the chunk and enters it into its index, and what it would write is left to who has the bytes.
//  6. The dimension time is unlimited, which makes its own variable chunked; fields stay contiguous with one record
//     each, which netCDF reads all the same: ncrcat and MFDataset string the files of a series together.
#include <hdf5_hl.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <optional>

#include "format/chunks.hpp"
#include "format/format.hpp"
#include "format/netcdf4/hdf5.hpp"
#include "format/netcdf4/image_driver.hpp"
#include "format/netcdf4/reader.hpp"

namespace hakobi::format {
namespace {

/// Where large fields begin: at multiples of a power of two, 1 MiB (a common stripe) at most, so small that all holes
/// together are less than 1/64 of the values. Not where there are chunks, each of which would be aligned.
hsize_t alignment_of(const StepDescription& step) {
    if (std::ranges::any_of(step.fields, is_chunked)) return 1;
    constexpr std::uint64_t most_bytes = 1 << 20, least_bytes = 512, holes_share = 64;
    std::uint64_t values_bytes = 0;
    for (const FieldDescription& field : step.fields)
        values_bytes += static_cast<std::uint64_t>(field.size_bytes());
    const std::uint64_t share = values_bytes / (holes_share * std::max<std::size_t>(1, step.fields.size()));
    const std::uint64_t alignment = std::bit_floor(std::min(share, most_bytes));
    return alignment < least_bytes ? 1 : alignment;
}

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

/// An empty one is not stored at all.
void put_text(hid_t object, const char* name, const std::string& text) {
    if (!text.empty()) put_any_text(object, name, text);
}

/// Numbers of the memory type `from`, stored as `type`.
void put_numbers(hid_t object, const char* name, hid_t type, hid_t from, const void* values, hsize_t num) {
    const Handle space(H5Screate_simple(1, &num, nullptr), H5Sclose, "H5Screate_simple");
    const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                           "H5Acreate2");
    check(H5Awrite(attribute, from, values), "H5Awrite");
}

/// `type`: of the field that has them.
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

bool has_int64(const Attributes& attributes) {
    return std::ranges::any_of(attributes, [](const auto& attribute) {
        return number_type(attribute.first, attribute.second, false) == NumberType::int64;
    });
}

void put_int(hid_t object, const char* name, int value) {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "H5Screate");
    const Handle attribute(H5Acreate2(object, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose, "H5Acreate2");
    check(H5Awrite(attribute, H5T_NATIVE_INT, &value), "H5Awrite");
}

/// Everything that is open while one file is laid out.
class Builder {
  public:
    Builder(SparseImage& image, hsize_t alignment_bytes)
        : access_(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate"),
          creation_(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "H5Pcreate"),
          dataset_(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate"),
          file_((prepare(image, alignment_bytes), H5Fcreate("step.nc", H5F_ACC_TRUNC, creation_, access_)),
                H5Fclose, "H5Fcreate") {}

    [[nodiscard]] hid_t file() const { return file_; }

    /// `fill`: what readers take for missing, or nullptr.
    [[nodiscard]] hid_t create(const std::string& name, hid_t type, const std::vector<std::int64_t>& extents,
                               const void* fill = nullptr) {
        const std::vector<hsize_t> lengths(extents.begin(), extents.end());
        const Handle space(lengths.empty()
                               ? H5Screate(H5S_SCALAR)
                               : H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr),
                           H5Sclose, "H5Screate_simple");
        const Handle creation(H5Pcopy(dataset_), H5Pclose, "H5Pcopy");
        if (fill != nullptr) check(H5Pset_fill_value(creation, type, fill), "H5Pset_fill_value");
        return H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    }
    /// Step 5's data set.
    [[nodiscard]] hid_t create_chunked(const FieldDescription& field,
                                       const std::vector<std::int64_t>& extents, const ChunkGrid& grid,
                                       const void* fill) {
        std::vector<hsize_t> chunk(field.is_static ? 0 : 1, 1);
        chunk.insert(chunk.end(), grid.shape().begin(), grid.shape().end());
        const std::vector<hsize_t> lengths(extents.begin(), extents.end());
        const Handle space(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr),
                           H5Sclose, "H5Screate_simple");
        const Handle creation(H5Pcopy(dataset_), H5Pclose, "H5Pcopy");
        if (fill != nullptr)
            check(H5Pset_fill_value(creation, native_type(field.type), fill), "H5Pset_fill_value");
        check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk");
        check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_INCR), "H5Pset_alloc_time");
        if (bytes_of(field.type) > 1) check(H5Pset_shuffle(creation), "H5Pset_shuffle");
        const auto level = static_cast<unsigned>(field.filters.level);
        if (field.filters.codec == filter::Codec::deflate) {
            check(H5Pset_deflate(creation, level), "H5Pset_deflate");
        } else {
            check(H5Pset_filter(creation, filter::hdf5_filter_of(field.filters.codec), H5Z_FLAG_OPTIONAL, 1,
                                &level),
                  "H5Pset_filter");
        }
        return H5Dcreate2(file_, field.name.c_str(), native_type(field.type), space, H5P_DEFAULT, creation,
                          H5P_DEFAULT);
    }
    /// Step 2's scale without a variable: never allocated.
    [[nodiscard]] hid_t create_bare_scale(const std::string& name, std::int64_t length) {
        check(H5Pset_alloc_time(dataset_, H5D_ALLOC_TIME_LATE), "H5Pset_alloc_time");
        const hid_t id = create(name, H5T_IEEE_F32BE, {length});
        check(H5Pset_alloc_time(dataset_, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
        return id;
    }
    /// Step 6's dimension: one record, and room for a chunk of them.
    [[nodiscard]] hid_t create_record(const std::string& name) {
        constexpr hsize_t length = 1, most = H5S_UNLIMITED, chunk = 512;
        const Handle space(H5Screate_simple(1, &length, &most), H5Sclose, "H5Screate_simple");
        const Handle creation(H5Pcopy(dataset_), H5Pclose, "H5Pcopy");
        check(H5Pset_chunk(creation, 1, &chunk), "H5Pset_chunk");
        // What the chunk holds besides the record is written, too.
        check(H5Pset_fill_time(creation, H5D_FILL_TIME_ALLOC), "H5Pset_fill_time");
        return H5Dcreate2(file_, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    }
    void close() { file_.close("H5Fclose"); }

  private:
    void prepare(SparseImage& image, hsize_t alignment_bytes) {
        check(driver_.use(access_, image), "H5Pset_driver");
        check(H5Pset_libver_bounds(access_, H5F_LIBVER_V18, H5F_LIBVER_V18), "H5Pset_libver_bounds");
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

    ImageDriver driver_;  // outlives the file
    Handle access_, creation_, dataset_, file_;
};

void make_scale(hid_t scale, const std::string& name, int number) {
    check(H5DSset_scale(scale, name.c_str()), "H5DSset_scale");
    put_int(scale, "_Netcdf4Dimid", number);
}

void put_global_attributes(hid_t file, const StepDescription& step) {
    put_text(file, "Conventions", "CF-1.10");
    put_text(file, "title", step.title);
    if (!step.attributes.contains("source")) put_text(file, "source", "hakobi " HAKOBI_VERSION);
    put_attributes(file, step.attributes, std::nullopt);
    // netCDF's own mark of a file that its classic model can hold: netCDF4-python's MFDataset takes no other.
    const bool is_classic = std::ranges::all_of(step.fields, [](const FieldDescription& field) {
        return (field.type == ValueType::float64 || field.type == ValueType::float32 ||
                field.type == ValueType::int32 || field.type == ValueType::int16 ||
                field.type == ValueType::int8) &&
               !has_int64(field.attributes);
    });
    const bool are_axes_classic =
        std::ranges::none_of(step.axes, [](const Axis& axis) { return has_int64(axis.attributes); });
    if (is_classic && are_axes_classic && !has_int64(step.attributes)) put_int(file, "_nc3_strict", 1);
}

hid_t create_time(Builder& builder, const StepDescription& step) {
    const hid_t time = check(builder.create_record("time"), "H5Dcreate2");
    make_scale(time, "time", 0);
    put_text(time, "standard_name", "time");
    put_text(time, "axis", "T");
    put_text(time, "units", step.time_units);
    // Only a time since a date has a calendar; seconds of model time have none.
    if (step.time_units.find(" since ") != std::string::npos) put_text(time, "calendar", "standard");
    check(H5Dwrite(time, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &step.time), "H5Dwrite");
    return time;
}

hid_t create_dimension(Builder& builder, const StepDescription& step, const Dimension& dimension,
                       int number) {
    if (dimension.axis < 0) {
        const hid_t scale = check(builder.create_bare_scale(dimension.name, dimension.length), "H5Dcreate2");
        // netCDF's own words, the length right-aligned in ten columns: readers compare the beginning.
        std::string digits = std::to_string(dimension.length);
        if (digits.size() < 10) digits.insert(0, 10 - digits.size(), ' ');
        make_scale(scale, "This is a netCDF dimension but not a netCDF variable." + digits, number);
        return scale;
    }
    const Axis& axis = step.axes[static_cast<std::size_t>(dimension.axis)];
    const hid_t scale =
        check(builder.create(dimension.name, H5T_NATIVE_DOUBLE, {dimension.length}), "H5Dcreate2");
    make_scale(scale, dimension.name, number);
    put_text(scale, "standard_name", axis.standard_name);
    put_text(scale, "units", axis.units);
    put_attributes(scale, axis.attributes, ValueType::float64);
    check(H5Dwrite(scale, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, axis.values.data()), "H5Dwrite");
    return scale;
}

std::int64_t offset_of(hid_t dataset) {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) throw Hdf5Failure("H5Dget_offset");
    return static_cast<std::int64_t>(offset);
}

std::int64_t offset_of_record(hid_t dataset) {
    constexpr hsize_t first = 0;
    unsigned filters = 0;
    haddr_t offset = HADDR_UNDEF;
    hsize_t bytes = 0;
    check(H5Dget_chunk_info_by_coord(dataset, &first, &filters, &offset, &bytes),
          "H5Dget_chunk_info_by_coord");
    if (offset == HADDR_UNDEF) throw Hdf5Failure("H5Dget_chunk_info_by_coord");
    return static_cast<std::int64_t>(offset);
}

/// Gives every chunk its place: SparseImage::take_left.
void place_chunks(hid_t dataset, const FieldDescription& field, const ChunkGrid& grid,
                  std::span<const StoredChunk> chunks) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        std::vector<hsize_t> start(field.is_static ? 0 : 1, 0);
        for (const std::int64_t at : grid.start_of(static_cast<std::int64_t>(i)))
            start.push_back(static_cast<hsize_t>(at));
        check(H5Dwrite_chunk(dataset, H5P_DEFAULT, chunks[i].skipped, start.data(),
                             static_cast<std::size_t>(chunks[i].bytes), ImageDriver::somebody_elses()),
              "H5Dwrite_chunk");
    }
}

/// Step 3. `dimensions`: indices into `scales`, whose first is time's, less one.
hid_t create_field(Builder& builder, const FieldDescription& field, const std::vector<int>& dimensions,
                   const std::vector<hid_t>& scales, const ChunkGrid& grid) {
    const hid_t type = native_type(field.type);
    const void* const fill = address_of(field.fill_value);
    std::vector<hid_t> own;
    std::vector<std::int64_t> extents = field.global;
    if (!field.is_static) {
        own.push_back(scales[0]);
        extents.insert(extents.begin(), 1);
    }
    for (const int d : dimensions) own.push_back(scales[static_cast<std::size_t>(d) + 1]);
    const hid_t dataset = check(grid.num_chunks() > 0 ? builder.create_chunked(field, extents, grid, fill)
                                                      : builder.create(field.name, type, extents, fill),
                                "H5Dcreate2");
    put_text(dataset, "standard_name", field.standard_name);
    put_text(dataset, "long_name", field.long_name);
    put_text(dataset, "units", field.units);
    if (fill != nullptr) put_numbers(dataset, "_FillValue", type, type, fill, 1);
    put_text(dataset, "coordinates", coordinates_text(field));
    if (const int bits = bits_kept(field); bits > 0)
        put_int(dataset, "_QuantizeBitRoundNumberOfSignificantBits", bits);
    put_attributes(dataset, field.attributes, field.type);
    for (std::size_t d = 0; d < own.size(); ++d)
        check(H5DSattach_scale(dataset, own[d], static_cast<unsigned>(d)), "H5DSattach_scale");
    return dataset;
}

Layout build(const StepDescription& step, const Dimensions& dimensions,
             std::span<const std::vector<StoredChunk>> chunks) {
    const std::vector<ChunkGrid> grids = chunk_grids(step.fields);
    SparseImage image;
    Layout layout;
    {
        Builder builder(image, alignment_of(step));
        put_global_attributes(builder.file(), step);
        // H5F_CLOSE_STRONG closes every dataset with the file, also when something throws on the way.
        std::vector<hid_t> scales = {create_time(builder, step)};
        layout.time_offset_bytes = offset_of_record(scales[0]);
        for (const Dimension& dimension : dimensions.all) {
            scales.push_back(create_dimension(builder, step, dimension, static_cast<int>(scales.size())));
        }
        for (std::size_t f = 0; f < step.fields.size(); ++f) {
            const bool is_in_chunks = grids[f].num_chunks() > 0;
            const hid_t dataset =
                create_field(builder, step.fields[f], dimensions.of_field[f], scales, grids[f]);
            if (is_in_chunks) place_chunks(dataset, step.fields[f], grids[f], chunks[f]);
            layout.offsets_bytes.push_back(is_in_chunks ? 0 : offset_of(dataset));
            layout.chunk_offsets_bytes.push_back(image.take_left());
        }
        builder.close();
    }
    layout.metadata = image.extents();
    layout.file_bytes = image.size_bytes();
    return layout;
}

class Netcdf4 final : public Format {
  public:
    [[nodiscard]] std::string_view name() const override { return "netcdf4"; }
    [[nodiscard]] std::string_view extension() const override { return ".nc"; }
    [[nodiscard]] bool holds_chunks() const override { return true; }
    [[nodiscard]] Result<Layout> lay_out(const StepDescription& step,
                                         std::span<const std::vector<StoredChunk>> chunks) const override {
        Result<Dimensions> dimensions = dimensions_of(step);
        if (!dimensions.ok()) return dimensions.status();
        const QuietErrors quiet;
        try {
            return build(step, dimensions.value(), chunks);
        } catch (const Hdf5Failure& failure) {
            return Status(ErrorCode::internal, "laying out the file: " + failure.text);
        } catch (const std::bad_alloc&) {
            return Status(ErrorCode::out_of_memory, "laying out the file: no memory");
        }
    }
    [[nodiscard]] Result<FoundStep> read(const std::string& path) const override {
        return read_netcdf4(path);
    }
};

}  // namespace

const Format& netcdf4() {
    static const Netcdf4 format;
    return format;
}

}  // namespace hakobi::format
