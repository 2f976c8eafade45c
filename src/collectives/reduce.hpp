#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/collectives.hpp>
#include <span>

namespace hakobi::collectives {

/// Whether the reduction is one for the type: complex numbers have no order.
[[nodiscard]] bool is_defined(ElementType type, Reduction reduction) noexcept;

/// to[i] = operands[0][i] op operands[1][i] op ..., from the left, for `bytes` of elements. `to` may be an
/// operand.
void reduce(ElementType type, Reduction reduction, std::byte* to, std::span<const std::byte* const> operands,
            std::int64_t bytes);

}  // namespace hakobi::collectives
