#pragma once

#include <memory>
#include <string_view>

#include "device_field.hpp"

namespace hakobi::bench {

/// How plain MPI gets values to its messages and back.
enum class MpiWay {
    pinned,        ///< copies of each region between the field and page-locked messages
    packed,        ///< copies on the device into a buffer there, which goes to a page-locked one at once
    aware,         ///< the same, but for messages from the buffer on the device
    kernel,        ///< as `packed`, by one kernel in the place of the copies on the device
    kernel_aware,  ///< as `aware`, by one kernel
};

/// One message a neighbour, all directions at once, or dimension after dimension. Collective.
[[nodiscard]] std::unique_ptr<DeviceEntrant> make_plain_mpi(DeviceSite& site, const HaloCase& halo_case,
                                                            MpiWay way, bool has_phases);

}  // namespace hakobi::bench
