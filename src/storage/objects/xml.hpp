#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi::storage {

// S3's answers are trees of elements without attributes that matter; no more of XML is read here.

/// Returns the contents of the first element of that name; nothing where there is none.
[[nodiscard]] std::optional<std::string_view> xml_element(std::string_view xml, std::string_view name);
/// The same of all elements of that name that do not lie within one another.
[[nodiscard]] std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name);
/// The text of the first element of that name, without escapes; "" where there is none.
[[nodiscard]] std::string xml_text(std::string_view xml, std::string_view name);
[[nodiscard]] std::string xml_escaped(std::string_view text);

}  // namespace hakobi::storage
