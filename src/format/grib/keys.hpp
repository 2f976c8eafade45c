#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace hakobi::format::grib {

using Keywords = std::vector<std::pair<std::string, std::string>>;

/// The MARS keywords of one GRIB message, as ecCodes has them in its namespace `mars` ("class", "stream",
/// "param", …), in ecCodes' order; of a message that is not labelled for MARS those of foreign.hpp.
///
///  1. read_message takes the message apart: numbers that vary from field to field, and its *kind*.
///  2. The first message of a kind is shown to ecCodes (about 2 ms). Keywords whose value equals a number of
///     (1) are noted as that number, the others with their text, as their bytes are part of the kind.
///  3. Every later message of the kind is answered from that note, in about a microsecond.
///
/// A keyword that varies and that (1) does not agree with in the first message is asked of ecCodes for every
/// message of the kind. Notes are the process's; they are dropped when there are more than 16,384 kinds.
///
/// format: not one whole GRIB message; unsupported: no ecCodes for a kind not seen yet. Local, thread-safe.
Result<Keywords> keywords_of(std::span<const std::byte> message);

/// How often keywords_of was answered from a note and how often by ecCodes, in this process.
struct KeywordCounters {
    std::int64_t num_read = 0, num_asked = 0;
};
[[nodiscard]] KeywordCounters keyword_counters();

/// The same by ecCodes alone, for tests and for messages that (1) does not know.
Result<Keywords> ask_eccodes(std::span<const std::byte> message);

}  // namespace hakobi::format::grib
