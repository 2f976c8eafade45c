#pragma once

#include <string>

#include "format/step.hpp"

namespace hakobi::format {

/// The first attribute that one of them has otherwise, or not; "" where there is none. Empty texts are not
/// stored, and numbers may have become others of equal value. Pure.
[[nodiscard]] std::string differing(const Attributes& a, const Attributes& b);

/// Returns the attributes of a field's data set (describe_field). Pure.
[[nodiscard]] Attributes stored_attributes(const FieldDescription& field);

}  // namespace hakobi::format
