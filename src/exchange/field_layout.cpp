#include "exchange/field_layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "exchange/shared_array.hpp"

namespace hakobi::exchange {
namespace {

std::int64_t offset_of(const FieldLayout& field, const Box& box, std::size_t num_dims) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < num_dims; ++d) offset += box.start[d] * field.strides[d];
    return offset;
}

std::int64_t count_of(const FieldLayout& field, const Box& box, std::size_t num_dims, std::size_t entry) {
    return entry == num_dims ? field.num_components : box.count[entry];
}

/// Returns each dimension's stride in packed bytes.
std::array<std::int64_t, most_halo_dims + 1> packed_strides(const FieldLayout& field, const Box& box,
                                                            std::size_t num_dims, const Order& order) {
    std::array<std::int64_t, most_halo_dims + 1> strides{};
    std::int64_t bytes = field.element_bytes;
    for (std::size_t i = num_dims + 1; i-- > 0;) {
        const auto entry = static_cast<std::size_t>(order[i]);
        strides[entry] = bytes;
        bytes *= count_of(field, box, num_dims, entry);
    }
    return strides;
}

}  // namespace

FieldLayout layout_of(const HaloField& field) {
    FieldLayout layout;
    layout.address = reinterpret_cast<std::int64_t>(field.data);
    layout.element_bytes = field.element_bytes;
    layout.num_components = field.num_components;
    std::copy(field.strides_bytes.begin(), field.strides_bytes.end(), layout.strides.begin());
    layout.strides[field.strides_bytes.size()] = field.component_stride_bytes;
    return layout;
}

Reach reach_of(const FieldLayout& layout, const HaloGrid& grid) {
    const std::size_t num_dims = grid.extents.size();
    std::int64_t low = 0, high = layout.element_bytes;  // around its first own element
    const auto reach = [&](std::int64_t stride, std::int64_t first, std::int64_t last) {
        low += std::min(stride * first, stride * last);
        high += std::max(stride * first, stride * last);
    };
    for (std::size_t d = 0; d < num_dims; ++d)
        reach(layout.strides[d], -grid.ghosts[d].low, grid.extents[d] + grid.ghosts[d].high - 1);
    reach(layout.strides[num_dims], 0, layout.num_components - 1);
    return {reinterpret_cast<const std::byte*>(layout.address) + low, high - low};
}

void find_shared(FieldLayout& layout, const HaloGrid& grid) {
    const Reach reach = reach_of(layout, grid);
    const SharedPlace place = place_of(reach.first, reach.bytes);
    layout.shared_id = place.id;
    layout.shared_offset = place.offset + (reinterpret_cast<const std::byte*>(layout.address) - reach.first);
}

Order order_of(const FieldLayout& layout, std::size_t num_dims) {
    Order order{};
    std::iota(order.begin(), order.end(), std::int8_t{0});
    std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(num_dims + 1),
                     [&](std::int8_t a, std::int8_t b) {
                         return std::abs(layout.strides[static_cast<std::size_t>(a)]) >
                                std::abs(layout.strides[static_cast<std::size_t>(b)]);
                     });
    return order;
}

StridedCopy copy_between(const FieldLayout& from, const Box& from_box, const FieldLayout& to,
                         const Box& to_box, std::size_t num_dims) {
    StridedCopy copy{.piece_bytes = from.element_bytes,
                     .from_offset = offset_of(from, from_box, num_dims),
                     .to_offset = offset_of(to, to_box, num_dims)};
    for (std::size_t i = 0; i <= num_dims; ++i)
        copy.dims.push_back({count_of(from, from_box, num_dims, i), from.strides[i], to.strides[i]});
    return copy;
}

StridedCopy copy_to_packed(const FieldLayout& from, const Box& box, std::size_t num_dims, const Order& order,
                           std::int64_t packed_offset) {
    FieldLayout packed = from;
    packed.strides = packed_strides(from, box, num_dims, order);
    StridedCopy copy = copy_between(from, box, packed, Box{{}, box.count}, num_dims);
    copy.to_offset += packed_offset;
    return simplified(std::move(copy));
}

StridedCopy copy_from_packed(const FieldLayout& to, const Box& box, std::size_t num_dims, const Order& order,
                             std::int64_t packed_offset) {
    FieldLayout packed = to;
    packed.strides = packed_strides(to, box, num_dims, order);
    StridedCopy copy = copy_between(packed, Box{{}, box.count}, to, box, num_dims);
    copy.from_offset += packed_offset;
    return simplified(std::move(copy));
}

mpi::Pieces pieces_of(const FieldLayout& field, std::byte* data, const Box& box, std::size_t num_dims,
                      const Order& order) {
    mpi::Pieces pieces{.first = data + offset_of(field, box, num_dims), .piece_bytes = field.element_bytes};
    for (std::size_t i = 0; i <= num_dims; ++i) {
        const auto entry = static_cast<std::size_t>(order[i]);
        pieces.dims.push_back({count_of(field, box, num_dims, entry), field.strides[entry]});
    }
    while (!pieces.dims.empty() &&
           (pieces.dims.back().count == 1 || pieces.dims.back().stride_bytes == pieces.piece_bytes)) {
        pieces.piece_bytes *= pieces.dims.back().count;
        pieces.dims.pop_back();
    }
    return pieces;
}

std::int64_t bytes_of(const FieldLayout& field, const Box& box, std::size_t num_dims) {
    return box.num_elements(num_dims) * field.num_components * field.element_bytes;
}

}  // namespace hakobi::exchange
