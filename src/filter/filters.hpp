#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hakobi::filter {

enum class Codec : std::uint8_t { none = 0, deflate = 1, zstd = 2 };

/// The header of a packed chunk: none, as in HDF5, or Blosc's own (blosc.hpp).
enum class Frame : std::uint8_t { none = 0, blosc = 1 };

/// The filters of a chunk's values before they are stored. Values are, in this order, rounded
/// (significant_bits), shuffled (the first bytes of all values, then the second, …: with every codec), packed
/// by the codec.
struct Filters {
    Codec codec = Codec::none;
    std::int8_t level = 0;
    /// Explicit bits of a floating-point value's mantissa that are kept; 0: all. Values of other types are
    /// never rounded.
    std::int8_t significant_bits = 0;
    Frame frame = Frame::none;

    friend bool operator==(const Filters&, const Filters&) = default;
};

/// Parses a user's text: "none", "deflate", "deflate:1" to "deflate:9", "zstd", "zstd:1" to "zstd:22";
/// without a level deflate's is 1 and zstd's 3. `significant_bits` is 0 to 52. Fails with invalid_argument,
/// naming the nearest text, and where values would be rounded but not packed. Pure.
Result<Filters> parse_filters(std::string_view compression, int significant_bits);
/// The same of one field, where "" and 0 are what `others` says.
Result<Filters> parse_filters(std::string_view compression, int significant_bits, const Filters& others);

/// Whether a codec that there is has a level that it has, and the bits are some of a mantissa's: for what
/// came from elsewhere.
[[nodiscard]] bool is_valid(const Filters& filters);

/// HDF5's number of the codec's filter: 1 for deflate, 32015 for zstd.
[[nodiscard]] int hdf5_filter_of(Codec codec);

}  // namespace hakobi::filter
