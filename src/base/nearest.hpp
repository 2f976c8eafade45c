#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hakobi {

/// The candidate with the smallest edit distance to `word`, or "" when none is within a third of its length
/// (at least 2 edits, and fewer than it has letters): what an error message suggests for a misspelt name.
[[nodiscard]] std::string nearest_name(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace hakobi
