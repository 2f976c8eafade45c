#pragma once

#include <span>
#include <string_view>

#include "output/method.hpp"

namespace hakobi::output {

/// In the order of the documentation.
[[nodiscard]] std::span<const MethodEntry> methods();
/// The entry that `name` stands for, `auto` included; invalid_argument, naming the nearest method, when there
/// is none. Local.
Result<const MethodEntry*> find_method(std::string_view name);

}  // namespace hakobi::output
