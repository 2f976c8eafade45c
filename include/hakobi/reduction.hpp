#pragma once

#include <cstdint>
#include <hakobi/export.hpp>

namespace hakobi {
inline namespace v0 {

enum class ElementType : int { float64, float32, int32, int64, complex128, complex64 };
enum class Reduction : int { sum, product, minimum, maximum };  ///< complex: sum and product
[[nodiscard]] HAKOBI_EXPORT std::int64_t size_of(ElementType type) noexcept;

}  // namespace v0
}  // namespace hakobi
