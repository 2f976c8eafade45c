#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "geometry.hpp"

/// The parts of gauge configuration files around the links, as pure functions on text and bytes.
///
/// NERSC: a text header, BEGIN_HEADER to END_HEADER, and the links: sites with x fastest, four links each,
/// rows of a link one after the other; DATATYPE 4D_SU3_GAUGE leaves the third row out. CHECKSUM is the sum of
/// all 32-bit words of the links.
/// ILDG: a LIME file, that is records of a 144-byte header (magic, version, flags, length, type; big-endian)
/// and data padded to 8 bytes. `ildg-format` (XML) has extents and precision, `ildg-binary-data` the links,
/// always 3 rows and big-endian; `scidac-checksum` (XML) two sums of the sites' CRC-32. (ILDG file format,
/// revision 1.2; the LIME and QIO libraries of USQCD.)
namespace hakobi::lattice {

enum class GaugeFormat { nersc, ildg };

/// A number of a header with as many digits as it has there.
struct HeaderNumber {
    double value = 0;
    double resolution = 0;  ///< one unit of the last digit
};

/// Checksums of the links as they are in the file.
struct Checksums {
    std::uint32_t words = 0;          ///< NERSC's: sum of the 32-bit words
    std::uint32_t words_swapped = 0;  ///< the same in the other byte order: tells what went wrong
    std::uint32_t crc_29 = 0,
                  crc_31 = 0;  ///< SciDAC's: CRC-32 of each site, turned by its place mod 29 or 31
};

/// Where and how a file holds its links, and what it says about them.
struct GaugeLayout {
    GaugeFormat format = GaugeFormat::nersc;
    Extents extents{};
    int num_rows = 3;        ///< of a link that are in the file
    int bytes_per_real = 8;  ///< 4 or 8
    bool is_big_endian = true;
    std::int64_t links_offset_bytes = 0;
    std::optional<std::uint32_t> words_checksum;
    std::optional<std::uint32_t> crc_29, crc_31;
    std::optional<HeaderNumber> plaquette, link_trace;

    [[nodiscard]] std::int64_t site_bytes() const { return std::int64_t{4} * num_rows * 6 * bytes_per_real; }
    [[nodiscard]] std::int64_t links_bytes() const {
        return site_bytes() * extents[0] * extents[1] * extents[2] * extents[3];
    }
};

/// Reads up to that many bytes at an offset: fewer only at the end of the file. May throw Error.
using ReadAt = std::function<std::string(std::int64_t offset_bytes, std::int64_t max_bytes)>;

/// Parses the file of `file_bytes` that `read_at` reads. `name` is for messages. Throws Error: `format` for a
/// file of another kind, a torn one, extents or types that cannot be; `unsupported` for other gauge groups.
[[nodiscard]] GaugeLayout parse_gauge_file(const ReadAt& read_at, std::int64_t file_bytes,
                                           const std::string& name);

/// A file's bytes before and after the links; fills in layout.links_offset_bytes.
struct GaugeFrame {
    std::string before, after;
};
struct Provenance {
    std::string label;    ///< of the ensemble
    std::string creator;  ///< program and version
};
[[nodiscard]] GaugeFrame frame_gauge_file(GaugeLayout& layout, const Checksums& checksums,
                                          const Provenance& provenance);

/// The names on the command line: "nersc", "ildg".
[[nodiscard]] std::string_view to_string(GaugeFormat format);

namespace nersc {
[[nodiscard]] GaugeLayout parse(const std::string& header, const std::string& name);
[[nodiscard]] std::string compose(const GaugeLayout& layout, const Checksums& checksums,
                                  const Provenance& provenance);
}  // namespace nersc

namespace lime {
[[nodiscard]] GaugeLayout parse(const ReadAt& read_at, std::int64_t file_bytes, const std::string& name);
[[nodiscard]] GaugeFrame compose(const GaugeLayout& layout, const Checksums& checksums,
                                 const Provenance& provenance);
}  // namespace lime

}  // namespace hakobi::lattice
