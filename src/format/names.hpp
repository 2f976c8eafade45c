#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hakobi::format {

/// Readers by netCDF's library overflow a buffer with longer ones, and file systems have no such name for an
/// array of Zarr.
inline constexpr std::size_t most_name_bytes = 255;

/// Whether `c` is an ASCII letter or digit, in every locale.
[[nodiscard]] bool is_letter_or_digit(char c);

/// Letters, digits and underscores, of which the first is no digit, at most most_name_bytes: what every
/// format can call a field.
[[nodiscard]] bool is_name(std::string_view name);

/// "3 x 4".
[[nodiscard]] std::string extents_text(std::span<const std::int64_t> extents);

}  // namespace hakobi::format
