#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/layout.hpp"
#include "format/step.hpp"
#include "region/region.hpp"
#include "series/series.hpp"
#include "storage/place.hpp"

namespace hakobi::io {
class DeviceMemory;
}

namespace hakobi::series {

/// Bytes that this rank has of one array of the file.
struct Part {
    Region file;    ///< where they go, from the start of the file; ordered
    Region memory;  ///< where they are, by address, in the same order
};

/// Parts of one file as one, in the file's order. Pure.
[[nodiscard]] Part concatenated(std::span<const Part> parts);

/// A step that all ranks agree on: what a method gets to write. A method moves bytes from memory to the file
/// and does not know of what.
struct Step {
    RunId run{};
    std::int64_t number = 0;
    Kind kind = Kind::step;   ///< or a mesh that steps share
    storage::PlacePtr place;  ///< where its file is written
    std::string path;         ///< the file's final name
    std::string part_path;    ///< its name until it is whole
    /// In a file that takes several steps (format::GrowingFile): which of them it is, from 0. Such a file
    /// gets its final name with the first one; part_path is that name for later ones. -1: the file is the
    /// step's own.
    std::int64_t step_in_file = -1;
    format::StepDescription description;
    format::Layout layout;    ///< offsets and size on every rank, metadata on rank 0 only
    std::vector<Part> parts;  ///< one an array of the file, as many on every rank
    struct OnDevice {
        io::DeviceMemory* memory =
            nullptr;  ///< copies what of the parts' memory is a device's; null: all is the host's
        double brought_s =
            0;  ///< that such copies to the host took, for a method that takes no device's memory
    } device = {};
    bool are_regions_new =
        true;  ///< on some rank a part goes elsewhere than in the step before; equal on all ranks
};

}  // namespace hakobi::series
