#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace hakobi {

/// MD5 (RFC 1321): what protocols ask for to find damaged bytes. It protects against nobody.
[[nodiscard]] std::array<std::byte, 16> md5(std::span<const std::byte> bytes);

}  // namespace hakobi
