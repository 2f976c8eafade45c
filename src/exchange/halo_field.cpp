#include <hakobi/halo.hpp>
#include <limits>

#include "base/checked.hpp"

namespace hakobi {
namespace {

// Impossible sizes stay larger than any memory: Halo::plan refuses it, on all ranks alike.
constexpr std::int64_t no_memory_bytes = std::numeric_limits<std::int64_t>::max();

std::int64_t product(std::int64_t a, std::int64_t b) {
    return checked_multiply(a, b).value_or(no_memory_bytes);
}

std::int64_t length_of(const HaloGrid& grid, std::size_t d) {
    if (d >= grid.ghosts.size()) return grid.extents[d];
    const auto own = checked_add(grid.extents[d], grid.ghosts[d].low);
    return own ? checked_add(*own, grid.ghosts[d].high).value_or(no_memory_bytes) : no_memory_bytes;
}

}  // namespace

HaloField HaloField::dense(void* array, const HaloGrid& grid, std::int64_t element_bytes,
                           std::int64_t num_components, Components components) {
    const std::size_t num_dims = grid.extents.size();
    HaloField field{.element_bytes = element_bytes,
                    .strides_bytes = std::vector<std::int64_t>(num_dims),
                    .num_components = num_components,
                    .component_stride_bytes = element_bytes};
    std::int64_t bytes =
        components == Components::last ? product(element_bytes, num_components) : element_bytes;
    std::int64_t offset = 0;
    for (std::size_t d = num_dims; d-- > 0;) {
        field.strides_bytes[d] = bytes;
        const std::int64_t low = d < grid.ghosts.size() ? grid.ghosts[d].low : 0;
        offset = checked_add(offset, product(low, bytes)).value_or(no_memory_bytes);
        bytes = product(bytes, length_of(grid, d));
    }
    if (components == Components::first) field.component_stride_bytes = bytes;
    const bool is_there = array != nullptr && offset >= 0 && offset < no_memory_bytes;
    field.data = is_there ? static_cast<std::byte*>(array) + offset : array;
    return field;
}

std::int64_t HaloField::dense_bytes(const HaloGrid& grid, std::int64_t element_bytes,
                                    std::int64_t num_components) {
    std::int64_t bytes = product(element_bytes, num_components);
    for (std::size_t d = 0; d < grid.extents.size(); ++d) bytes = product(bytes, length_of(grid, d));
    return bytes;
}

}  // namespace hakobi
