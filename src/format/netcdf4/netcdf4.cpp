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
//  5. Fields in filtered chunks are chunked as chunks.hpp says, with netCDF's own filters. HDF5 is told each
//     chunk's size only:
//  it finds a place for the chunk and enters it into its index, and what it would write is left to who has
//  the bytes.
//  6. The dimension time is unlimited, which makes its own variable chunked; fields stay contiguous with one
//     record each, which netCDF reads all the same: ncrcat and MFDataset string the files of a series
//     together.
//  7. Objects carry no times, and the format's versions are pinned: the bytes depend on the description only.
#include "format/netcdf4/netcdf4.hpp"

#include <hdf5_hl.h>

#include <hakobi/version.h>
#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <optional>

#include "format/alignment.hpp"
#include "format/dimensions.hpp"
#include "format/hdf5/builder.hpp"
#include "format/netcdf4/growing.hpp"
#include "format/netcdf4/reader.hpp"
#include "format/netcdf4/series.hpp"

namespace hakobi::format {
namespace {

bool has_int64(const Attributes& attributes) {
    return std::ranges::any_of(attributes, [](const auto& attribute) {
        return number_type(attribute.first, attribute.second, false) == NumberType::int64;
    });
}

hid_t create_time(Builder& builder, const StepDescription& step) {
    const hid_t time = check(builder.create_record("time", H5T_NATIVE_DOUBLE, 1), "H5Dcreate2");
    describe_time(time, step);
    check(H5Dwrite(time, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &step.time), "H5Dwrite");
    return time;
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
    assert(std::ssize(chunks) == grid.num_chunks());
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
    describe_field(dataset, field);
    for (std::size_t d = 0; d < own.size(); ++d)
        check(H5DSattach_scale(dataset, own[d], static_cast<unsigned>(d)), "H5DSattach_scale");
    return dataset;
}

Layout build(const StepDescription& step, const Dimensions& dimensions,
             std::span<const std::vector<StoredChunk>> chunks) {
    assert(chunks.empty() || chunks.size() == step.fields.size());
    const std::vector<ChunkGrid> grids = chunk_grids(step.fields);
    SparseImage image;
    Layout layout;
    {
        Builder builder(image, static_cast<hsize_t>(alignment_of(step)));
        put_global_attributes(builder.file(), step);
        // H5F_CLOSE_STRONG closes every dataset with the file, also when something throws on the way.
        std::vector<hid_t> scales = {create_time(builder, step)};
        layout.time_offset_bytes = offset_of_record(scales[0]);
        for (const Dimension& dimension : dimensions.all) {
            scales.push_back(builder.create_dimension(step, dimension, static_cast<int>(scales.size())));
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
    leave_values_out(layout, step.fields, chunks);
    return layout;
}

class Netcdf4 final : public Format {
  public:
    Netcdf4()
        : Format({.name = "netcdf4",
                  .extension = ".nc",
                  .holds_chunks = true,
                  .growing = &growing_netcdf4(),
                  .series = &series_netcdf4()}) {}
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
    [[nodiscard]] Status read_values(const std::string& path, const FoundField& field, const Block& block,
                                     std::span<std::byte> values, std::int64_t step_in_file) const override {
        return read_values_netcdf4(path, field, block, values, step_in_file);
    }
};

}  // namespace

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
    if (is_classic && are_axes_classic && !has_int64(step.attributes) && !has_int64(step.time_attributes))
        put_int(file, "_nc3_strict", 1);
}

const Format& netcdf4() {
    static const Netcdf4 format;
    return format;
}

}  // namespace hakobi::format
