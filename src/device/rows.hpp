#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/device.hpp"

namespace hakobi::device {

/// One copy of a driver: `num_planes` times `num_rows` rows of `row_bytes`. Element 0 of an array describes
/// the side that is written, element 1 the side that is read.
struct Rows {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::int64_t row_bytes = 0, num_rows = 1, num_planes = 1;
    std::array<std::int64_t, 2> pitch_bytes{0, 0};  ///< from row to row
    std::array<std::int64_t, 2> height{1, 1};       ///< from plane to plane, in rows
};

/// The same copy with as long runs as can be: those that follow each other on both sides are one. A dimension
/// that has one run has no distances. Pure.
[[nodiscard]] Copy joined(Copy copy);

/// Divides a copy into such parts. Pure.
///
/// 1. The copy is `joined`.
/// 2. A dimension can have the rows if no distance in it is above `max_pitch_bytes`.
/// 3. The other one can have the planes if these are a whole number of rows apart, no less than a plane has.
/// 4. Where both hold for neither order, the dimension with more runs has the rows, and each plane is a part.
///    Where 2. holds for none, each run is one.
class RowParts {
  public:
    RowParts(const Copy& whole, std::int64_t max_pitch_bytes);
    [[nodiscard]] std::int64_t num() const noexcept { return num_[0] * num_[1]; }
    [[nodiscard]] Rows operator[](std::int64_t part) const;  ///< 0 <= part < num()

  private:
    Rows first_;
    std::array<std::int64_t, 2> num_{1, 1};  // parts along each dimension, the slower one first
    std::array<std::int64_t, 2> to_strides_bytes_{0, 0}, from_strides_bytes_{0, 0};  // between them
};

}  // namespace hakobi::device
