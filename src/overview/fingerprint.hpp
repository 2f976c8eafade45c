#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace hakobi::overview {

/// BLAKE2s (RFC 7693) of 16 bytes without a key, in hexadecimal digits.
[[nodiscard]] std::string blake2s(std::span<const std::byte> bytes);

/// Identifies a file's content without reading all of it, by its size and 66 pieces of 4 KiB, as
/// python/hakobi/post/overview.py has it.
[[nodiscard]] std::string fingerprint(int fd, std::int64_t num_bytes);

}  // namespace hakobi::overview
