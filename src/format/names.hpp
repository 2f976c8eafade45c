#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hakobi::format {

/// Letters, digits and underscores, of which the first is no digit: what every format can call a field.
[[nodiscard]] bool is_name(std::string_view name);

/// "3 x 4".
[[nodiscard]] std::string extents_text(std::span<const std::int64_t> extents);

}  // namespace hakobi::format
