#pragma once

#include <cstdint>
#include <vector>

#include "format/netcdf4/sparse_image.hpp"
#include "format/step.hpp"

namespace hakobi::format {

/// A step's NetCDF-4 file without the fields' values: what to write where, and where the values go.
///
/// The file holds `metadata`, then the values of field i (native byte order, C order) from
/// `offsets_bytes[i]`, zeros elsewhere, and is `file_bytes` long. Fields of 1 MiB and more begin at a
/// multiple of 1 MiB.
struct Layout {
    std::vector<SparseImage::Extent> metadata;
    std::vector<std::int64_t> offsets_bytes;
    std::int64_t file_bytes = 0;
    std::int64_t time_offset_bytes = 0;  ///< where the metadata hold the step's time
};

/// Lays out the file of a step that passed check_description. Local and pure: no file is touched, and equal
/// descriptions give equal layouts (HDF5 writes no dates and no addresses of ours).
/// out_of_memory, or internal with HDF5's own text.
Result<Layout> lay_out_netcdf4(const StepDescription& step);

/// Makes a layout that of the same step at another time: steps of a series are laid out once.
void set_time(Layout& layout, double time);

}  // namespace hakobi::format
