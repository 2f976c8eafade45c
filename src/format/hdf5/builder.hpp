#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/chunks.hpp"
#include "format/dimensions.hpp"
#include "format/hdf5/hdf5.hpp"
#include "format/hdf5/image_driver.hpp"
#include "format/step.hpp"

// How files of the formats that are HDF5 are laid out; netcdf4/netcdf4.cpp has the numbered steps. Everything
// throws Hdf5Failure.

namespace hakobi::format {

/// A text attribute as netCDF's char attributes are stored; an empty one is not stored at all.
void put_text(hid_t object, const char* name, const std::string& text);
void put_int(hid_t object, const char* name, int value);
/// Adds all attributes to an object; `type` is that of the field, if it is one's.
void put_attributes(hid_t object, const Attributes& attributes, std::optional<ValueType> type);
/// Adds all attributes of a field to its data set, but those of its dimensions.
void describe_field(hid_t dataset, const FieldDescription& field);
/// Makes the variable time a dimension scale, and adds its attributes.
void describe_time(hid_t dataset, const StepDescription& step);

/// Everything that is open while one file is laid out.
class Builder {
  public:
    /// `newest`: the last version of the format that objects may need. `placement`: as of ImageDriver.
    Builder(SparseImage& image, hsize_t alignment_bytes, H5F_libver_t newest = H5F_LIBVER_V18,
            Placement* placement = nullptr);

    [[nodiscard]] hid_t file() const { return file_; }

    /// `fill`: what readers take for missing, or nullptr.
    [[nodiscard]] hid_t create(const std::string& name, hid_t type, const std::vector<std::int64_t>& extents,
                               const void* fill = nullptr);
    /// Step 5's data set.
    [[nodiscard]] hid_t create_chunked(const FieldDescription& field,
                                       const std::vector<std::int64_t>& extents, const ChunkGrid& grid,
                                       const void* fill);
    /// Step 6's dimension, or a variable of it: `length` records in chunks of many.
    [[nodiscard]] hid_t create_record(const std::string& name, hid_t type, hsize_t length);
    /// A data set in chunks of any shape, without any: `most` are its largest extents. `filters`: null where
    /// it has none.
    [[nodiscard]] hid_t create_in_chunks(hid_t where, const std::string& name, hid_t type,
                                         const std::vector<hsize_t>& lengths,
                                         const std::vector<hsize_t>& most, const std::vector<hsize_t>& chunk,
                                         const filter::Filters* filters, const void* fill);
    /// Step 2's dimension, the scale number `number`. Without `with_values` its coordinates are where they
    /// are expected.
    [[nodiscard]] hid_t create_dimension(const StepDescription& step, const Dimension& dimension, int number,
                                         bool with_values = true);
    /// A copy of the creation properties that all data sets share, for one with a layout of its own.
    [[nodiscard]] Handle copy_of_creation() const;
    void close() { file_.close("H5Fclose"); }

  private:
    void prepare(SparseImage& image, hsize_t alignment_bytes, H5F_libver_t newest);
    [[nodiscard]] hid_t create_bare_scale(const std::string& name, std::int64_t length);

    ImageDriver driver_;  // outlives the file
    Handle access_, creation_, dataset_, file_;
};

}  // namespace hakobi::format
