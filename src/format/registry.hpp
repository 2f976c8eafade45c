#pragma once

#include <span>
#include <string_view>

#include "format/format.hpp"

namespace hakobi::format {

/// All formats, in the order of the documentation; the first is the default. They live as long as the
/// process.
[[nodiscard]] std::span<const Format* const> formats();
/// The format whose files end so; nullptr where none does.
[[nodiscard]] const Format* format_with(std::string_view extension);
/// invalid_argument, naming the nearest, when no format has the name.
Result<const Format*> find_format(std::string_view name);

}  // namespace hakobi::format
