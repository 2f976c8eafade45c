#include "format/alignment.hpp"

#include <algorithm>
#include <bit>

#include "format/chunks.hpp"

namespace hakobi::format {

std::int64_t alignment_of(const StepDescription& step) {
    if (std::ranges::any_of(step.fields, is_chunked)) return 1;
    constexpr std::uint64_t most_bytes = 1 << 20, least_bytes = 512, holes_share = 64;
    std::uint64_t values_bytes = 0;
    for (const FieldDescription& field : step.fields)
        values_bytes += static_cast<std::uint64_t>(field.size_bytes());
    const std::uint64_t share = values_bytes / (holes_share * std::max<std::size_t>(1, step.fields.size()));
    const std::uint64_t alignment = std::bit_floor(std::min(share, most_bytes));
    return alignment < least_bytes ? 1 : static_cast<std::int64_t>(alignment);
}

}  // namespace hakobi::format
