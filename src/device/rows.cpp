#include "device/rows.hpp"

#include <algorithm>
#include <utility>

namespace hakobi::device {

namespace {

/// One dimension of a copy.
struct Dimension {
    std::int64_t num = 1;
    std::array<std::int64_t, 2> strides_bytes{0, 0};  // where it is written, where it is read
    [[nodiscard]] bool can_be_rows(std::int64_t max_pitch_bytes) const {
        return num > 1 && *std::max_element(strides_bytes.begin(), strides_bytes.end()) <= max_pitch_bytes;
    }
    [[nodiscard]] bool can_be_planes_of(const Dimension& rows) const {
        const auto fits = [&](int side) {
            return strides_bytes[side] % rows.strides_bytes[side] == 0 &&
                   strides_bytes[side] / rows.strides_bytes[side] >= rows.num;
        };
        return num > 1 && fits(0) && fits(1);
    }
};

}  // namespace

Copy joined(Copy copy) {
    for (int dimension : {1, 0, 1}) {
        std::int64_t &num = copy.num[dimension], &to_stride = copy.to_strides_bytes[dimension],
                     &from_stride = copy.from_strides_bytes[dimension];
        if (num > 1 && (to_stride != copy.length_bytes || from_stride != copy.length_bytes)) continue;
        copy.length_bytes *= num;
        num = 1;
        to_stride = from_stride = 0;
    }
    return copy;
}

RowParts::RowParts(const Copy& whole, std::int64_t max_pitch_bytes) {
    if (whole.size_bytes() <= 0) {
        num_ = {0, 0};
        return;
    }
    // 1.
    const Copy copy = joined(whole);
    Dimension outer{copy.num[0], {copy.to_strides_bytes[0], copy.from_strides_bytes[0]}};
    Dimension inner{copy.num[1], {copy.to_strides_bytes[1], copy.from_strides_bytes[1]}};
    first_ = {.to = copy.to, .from = copy.from, .row_bytes = copy.length_bytes};
    // 2. and 3., where each dimension may have the rows
    const auto have_rows = [&](const Dimension& dimension) { return dimension.can_be_rows(max_pitch_bytes); };
    const auto have_planes = [&](const Dimension& planes, const Dimension& rows) {
        return have_rows(rows) && planes.can_be_planes_of(rows);
    };
    if (!have_planes(outer, inner) &&
        (have_planes(inner, outer) || (have_rows(outer) && (!have_rows(inner) || outer.num > inner.num))))
        std::swap(outer, inner);
    if (have_rows(inner)) {
        first_.pitch_bytes = inner.strides_bytes;
        first_.height = {inner.num, inner.num};
        if (have_planes(outer, inner)) {
            first_.num_planes = std::exchange(outer.num, 1);
            for (int side : {0, 1})
                first_.height[side] = outer.strides_bytes[side] / inner.strides_bytes[side];
        }
        first_.num_rows = std::exchange(inner.num, 1);
    } else {
        first_.pitch_bytes = {first_.row_bytes, first_.row_bytes};
    }
    num_ = {outer.num, inner.num};
    to_strides_bytes_ = {outer.strides_bytes[0], inner.strides_bytes[0]};
    from_strides_bytes_ = {outer.strides_bytes[1], inner.strides_bytes[1]};
}

Rows RowParts::operator[](std::int64_t part) const {
    Rows rows = first_;
    const std::array<std::int64_t, 2> at{part / num_[1], part % num_[1]};
    for (int dimension : {0, 1}) {
        rows.to += at[dimension] * to_strides_bytes_[dimension];
        rows.from += at[dimension] * from_strides_bytes_[dimension];
    }
    return rows;
}

}  // namespace hakobi::device
