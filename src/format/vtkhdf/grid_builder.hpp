#pragma once

#include <hdf5.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "format/hdf5/hdf5.hpp"
#include "format/hdf5/image_driver.hpp"
#include "format/step.hpp"

// Classes that lay out files of one step and of several. Everything throws Hdf5Failure.

namespace hakobi::format {

inline constexpr std::string_view time_name = "TimeValue";  ///< of FieldData, by VTK

/// Everything that is open while one file is laid out. Handles that its functions return are closed with the
/// file, also when something throws on the way.
class GridBuilder {
  public:
    /// `placement`: as of ImageDriver.
    GridBuilder(SparseImage& image, hsize_t alignment_bytes, hsize_t metadata_bytes,
                Placement* placement = nullptr);

    [[nodiscard]] hid_t file() const { return file_; }
    [[nodiscard]] hid_t create_group(hid_t where, const char* name);
    [[nodiscard]] hid_t create_array(hid_t where, const std::string& name, ValueType type,
                                     const std::vector<std::int64_t>& extents);
    /// One without values, whose first dimension has no end.
    [[nodiscard]] hid_t create_in_chunks(hid_t where, const std::string& name, ValueType type,
                                         const std::vector<std::int64_t>& extents,
                                         const std::vector<hsize_t>& chunk);
    /// One of int64 that is nowhere stored: readers get its fill value.
    [[nodiscard]] hid_t create_constant(hid_t where, const std::string& name,
                                        const std::vector<std::int64_t>& extents, std::int64_t value);
    void close() { file_.close("H5Fclose"); }

  private:
    void prepare(SparseImage& image, hsize_t alignment_bytes, hsize_t metadata_bytes);

    ImageDriver driver_;  // outlives the file
    Handle access_, creation_, group_, dataset_, file_;
};

/// The groups of VTKHDF.
struct Groups {
    hid_t grid, point_data, cell_data, field_data;

    [[nodiscard]] hid_t of(Place place) const {
        const std::array<hid_t, 4> all = {field_data, point_data, cell_data, grid};
        return all[static_cast<std::size_t>(place)];
    }
    [[nodiscard]] static std::string path_of(Place place) {
        constexpr std::array<const char*, 4> all = {"/VTKHDF/FieldData/", "/VTKHDF/PointData/",
                                                    "/VTKHDF/CellData/", "/VTKHDF/"};
        return all[static_cast<std::size_t>(place)];
    }
};

/// Makes them, and says what the file and the grid are.
[[nodiscard]] Groups create_groups(GridBuilder& builder, const StepDescription& step,
                                   const std::vector<std::int64_t>& version);
/// Says what a field is.
void describe_array(hid_t array, const FieldDescription& field);
/// Makes a field that another file has.
void link_array(const Groups& groups, const FieldDescription& field);
/// Adds a time's units and calendar.
void describe_times(hid_t times, const StepDescription& step);

}  // namespace hakobi::format
