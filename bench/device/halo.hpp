#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "entrant.hpp"
#include "halo/case.hpp"
#include "site.hpp"

namespace hakobi::bench {

/// Ways to fill the ghosts of a field on a device, beside the floor "copies alone": as many values as ghosts
/// are, copied from this rank's own elements: dimension after dimension by single copies, or all directions
/// at once as one prepared list, whichever the device does faster.
///
/// "mpi-pinned", "mpi-packed", "mpi-aware", "mpi-kernel", "mpi-kernel-aware": plain MPI (plain_mpi.hpp), the
/// first also dimension after dimension, "mpi-phases". "hakobi" (the library chooses), "hakobi-<path>" for
/// each of halo_paths() that has a meaning on devices, "hakobi-stream" (ordered by a stream, of which the
/// sample waits for the end), "hakobi-arrays" (buffer arrays).
[[nodiscard]] std::span<const std::string_view> device_halo_names();

/// Collective; `halo_case` and `names` equal on all ranks. Names that this MPI library or driver cannot serve
/// are left out.
[[nodiscard]] DeviceCase halo_case_on_device(DeviceSite& site, const HaloCase& halo_case,
                                             std::span<const std::string> names);

}  // namespace hakobi::bench
