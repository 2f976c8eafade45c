#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.hpp"

namespace hakobi::format::grib {

using MessageBytes = std::vector<std::byte>;

/// The fields of one whole message. Edition 2 may repeat sections 2 to 7, 3 to 7 or 4 to 7 for further
/// fields. Each becomes a message of its own: the sections that hold for it, and the bitmap that it shares
/// with an earlier one. Values are not touched. A message with one field gives an empty vector: it is that
/// field as it is.
///
/// format: not one whole message, or sections that make no field. Local, thread-safe.
Result<std::vector<MessageBytes>> split_message(std::span<const std::byte> message);

}  // namespace hakobi::format::grib
