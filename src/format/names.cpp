#include "format/names.hpp"

#include <algorithm>
#include <cctype>

namespace hakobi::format {

bool is_name(std::string_view name) {
    const auto good = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    return !name.empty() && name.size() <= 256 && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
           std::all_of(name.begin(), name.end(), good);
}

std::string extents_text(std::span<const std::int64_t> extents) {
    std::string text;
    for (const std::int64_t extent : extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text;
}

}  // namespace hakobi::format
