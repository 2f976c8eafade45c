#include "format/names.hpp"

#include <algorithm>

namespace hakobi::format {

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name(std::string_view name) {
    const auto is_good = [](char c) { return is_letter_or_digit(c) || c == '_'; };
    return !name.empty() && name.size() <= most_name_bytes && !(name[0] >= '0' && name[0] <= '9') &&
           std::ranges::all_of(name, is_good);
}

std::string extents_text(std::span<const std::int64_t> extents) {
    std::string text;
    for (const std::int64_t extent : extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text;
}

}  // namespace hakobi::format
