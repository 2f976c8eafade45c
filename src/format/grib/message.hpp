#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.hpp"

namespace hakobi::format::grib {

/// A GRIB message of edition 1 or 2, taken apart as far as its MARS keywords need it:
///
///  1. *What varies* from field to field of one product and can be read as a number without any table: date,
///     time, step, level, number.
///  2. *What stays*, `kind`: the bytes of every section that a keyword may depend on (indicator,
///     identification, local use, product definition; of the grid definition a checksum), with those that (1)
///     was read from left out. Messages with equal `kind` have equal class, stream, type, expver, levtype and
///     param.
///
/// A value is read in (1) only where the sections say that it means what it seems to: hours as unit of time,
/// whole hPa, a surface whose level no parameter depends on. Elsewhere its bytes are part of `kind` and it
/// has no number.
struct Message {
    int edition = 0;
    std::string kind;
    std::optional<std::int64_t> date;                  ///< 20261123
    std::optional<std::int64_t> time;                  ///< hours * 100 + minutes
    std::optional<std::int64_t> step_start, step_end;  ///< hours
    std::optional<std::int64_t> level;                 ///< in levelist's unit
    std::optional<std::int64_t> number;                ///< of an ensemble's member
};

/// Bytes of the message that `bytes` begins with, from its first section (GRIB 1 above 8 MB: from its
/// sections' lengths). format when it does not begin with a GRIB message of edition 1 or 2 or ends before its
/// length is known.
Result<std::int64_t> message_length(std::span<const std::byte> bytes);

/// Whether `bytes` is exactly one whole message by its length, its head and its end. format.
Status check_whole(std::span<const std::byte> bytes);

/// Takes one whole message apart. format when `bytes` is not exactly one: no GRIB, cut short, followed by
/// other bytes, or with sections that do not fit into one another; unsupported when it holds more than one
/// field. Reads no byte outside `bytes`.
Result<Message> read_message(std::span<const std::byte> bytes);

}  // namespace hakobi::format::grib
