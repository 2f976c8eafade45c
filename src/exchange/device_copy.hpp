#pragma once

#include <cstddef>
#include <vector>

#include "device/device.hpp"
#include "exchange/strided_copy.hpp"

namespace hakobi::exchange {

/// The copies that a device makes of one: each of up to two dimensions, the others one by one. Pure.
[[nodiscard]] std::vector<device::Copy> device_copies(const StridedCopy& copy, const std::byte* from,
                                                      std::byte* to);

}  // namespace hakobi::exchange
