#pragma once

#include <string>
#include <vector>

#include "entrant.hpp"
#include "site.hpp"

namespace hakobi::bench {

/// A step of one field of doubles: a cube of `extent` values a side on each rank.
struct PutShape {
    std::int64_t extent = 256;
    std::int64_t ghost = 0;  ///< layers of ghost values around the cube in memory
    std::string folder;      ///< exists; its files are the caller's to remove
    std::string method = "pipelined";
    bool is_synced = false;
};

/// Collective; `shape` equal on all ranks. To write a step not hidden, to hand it over hidden, and to read
/// it: from (to) device memory; the same in host memory, which is what the storage takes; the copy alone,
/// which is what the device takes; and what programs write by hand, a copy of the array to page-locked memory
/// and a step of that.
[[nodiscard]] std::vector<DeviceCase> put_cases(DeviceSite& site, const PutShape& shape);

/// A program of `num_steps` steps that are put hidden while the next `compute_s` pass.
struct HiddenRun {
    int num_steps = 10;
    double compute_s = 0.5;
};
/// Collective: the whole program without output (the floor), and with output from host memory, from device
/// memory, and by hand.
[[nodiscard]] DeviceCase hidden_case(DeviceSite& site, const PutShape& shape, const HiddenRun& run);

}  // namespace hakobi::bench
