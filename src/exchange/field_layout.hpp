#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <hakobi/halo.hpp>
#include <vector>

#include "exchange/halo_geometry.hpp"
#include "exchange/strided_copy.hpp"
#include "mpi/persistent.hpp"

namespace hakobi::exchange {

/// One field of one rank, in plain numbers that ranks can tell each other. Entry `num_dims` of the strides is
/// the components'.
struct FieldLayout {
    std::int64_t address = 0;  ///< in its process
    std::int64_t shared_id = 0, shared_offset = 0;
    std::int64_t element_bytes = 0, num_components = 0;
    std::array<std::int64_t, most_halo_dims + 1> strides{};
};
[[nodiscard]] FieldLayout layout_of(const HaloField& field);
/// All bytes that the array takes, ghosts included.
struct Reach {
    const std::byte* first = nullptr;
    std::int64_t bytes = 0;
};
[[nodiscard]] Reach reach_of(const FieldLayout& layout, const HaloGrid& grid);
/// Says where in memory of allocate_shared the whole field lies, ghosts included; none where it does not.
/// Local.
void find_shared(FieldLayout& layout, const HaloGrid& grid);

/// The order in which a field's dimensions (and its components, entry `num_dims`) are gone through in a
/// packed message, slowest first: that of its own strides. All ranks take rank 0's.
using Order = std::array<std::int8_t, most_halo_dims + 1>;
[[nodiscard]] Order order_of(const FieldLayout& layout, std::size_t num_dims);

/// From a box of one field to an equal one of another; both offsets count from the fields' first own
/// elements.
[[nodiscard]] StridedCopy copy_between(const FieldLayout& from, const Box& from_box, const FieldLayout& to,
                                       const Box& to_box, std::size_t num_dims);
/// From a box to packed bytes in that order, which begin at `packed_offset`; and back.
[[nodiscard]] StridedCopy copy_to_packed(const FieldLayout& from, const Box& box, std::size_t num_dims,
                                         const Order& order, std::int64_t packed_offset);
[[nodiscard]] StridedCopy copy_from_packed(const FieldLayout& to, const Box& box, std::size_t num_dims,
                                           const Order& order, std::int64_t packed_offset);
/// The same bytes in the same order, for a datatype.
[[nodiscard]] mpi::Pieces pieces_of(const FieldLayout& field, std::byte* data, const Box& box,
                                    std::size_t num_dims, const Order& order);
[[nodiscard]] std::int64_t bytes_of(const FieldLayout& field, const Box& box, std::size_t num_dims);

}  // namespace hakobi::exchange
