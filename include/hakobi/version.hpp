#pragma once

#include <hakobi/version.h>
#include <hakobi/export.hpp>
#include <string_view>

namespace hakobi {
inline namespace v0 {

/// "0.2.0": of the library that the program runs with. HAKOBI_VERSION is that of the headers that it was
/// compiled with.
[[nodiscard]] HAKOBI_EXPORT std::string_view version() noexcept;

}  // namespace v0
}  // namespace hakobi
