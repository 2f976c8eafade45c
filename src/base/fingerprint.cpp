#include "base/fingerprint.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hakobi {

std::uint64_t fingerprint(std::span<const std::byte> bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace hakobi
