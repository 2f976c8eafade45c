#pragma once

#include <hakobi/hints.hpp>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hakobi::io {

/// Hints of a text with "name=value" a line; empty lines and what follows a `#` mean nothing, a later line
/// overrides. invalid_argument, with `path` and the line's number, for a line or a value that cannot be read.
/// Pure.
[[nodiscard]] Result<Hints> parse_hints_file(std::string_view text, const std::string& path);
/// The same of a file, which a process reads once. `io` where it cannot be read. Local; from any thread.
[[nodiscard]] Result<Hints> hints_of_file(const std::string& path);

}  // namespace hakobi::io
