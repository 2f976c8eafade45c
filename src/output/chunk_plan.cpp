#include "output/chunk_plan.hpp"

#include <algorithm>

namespace hakobi::output {
namespace {

using exchange::StridedCopy;

struct Side {
    std::vector<std::int64_t> strides_bytes;
    std::int64_t offset_bytes = 0;  // of the part's first element
};

Side in_memory(const HeldBlock& held, const Block& part) {
    Side side{held.strides_bytes, 0};
    for (std::size_t d = 0; d < part.start.size(); ++d)
        side.offset_bytes += (part.start[d] - held.block.start[d]) * held.strides_bytes[d];
    return side;
}

Side in_chunk(const Block& part, const format::ChunkGrid& grid, std::int64_t index,
              std::int64_t element_bytes) {
    Side side{packed_strides(grid.shape(), element_bytes), 0};
    const std::vector<std::int64_t> start = grid.start_of(index);
    for (std::size_t d = 0; d < start.size(); ++d)
        side.offset_bytes += (part.start[d] - start[d]) * side.strides_bytes[d];
    return side;
}

StridedCopy copy_of(const Block& part, const Side& from, const Side& to, std::int64_t element_bytes) {
    StridedCopy copy;
    for (std::size_t d = 0; d < part.count.size(); ++d)
        copy.dims.push_back({part.count[d], from.strides_bytes[d], to.strides_bytes[d]});
    copy.piece_bytes = element_bytes;
    copy.from_offset = from.offset_bytes;
    copy.to_offset = to.offset_bytes;
    return exchange::simplified(std::move(copy));
}

}  // namespace

std::vector<std::vector<ChunkId>> chunks_of_ranks(std::span<const format::ChunkGrid> grids, int num_ranks) {
    struct Placed {
        double place;
        ChunkId id;
    };
    std::vector<Placed> all;
    std::int64_t total_bytes = 0;
    for (std::size_t f = 0; f < grids.size(); ++f) {
        const std::int64_t num = grids[f].num_chunks();
        for (std::int64_t i = 0; i < num; ++i)
            all.push_back({(static_cast<double>(i) + 0.5) / static_cast<double>(num), {f, i}});
        total_bytes += num * grids[f].chunk_bytes();
    }
    std::ranges::stable_sort(all, {}, &Placed::place);
    std::vector<std::vector<ChunkId>> chunks(static_cast<std::size_t>(num_ranks));
    std::int64_t before_bytes = 0;
    for (const Placed& placed : all) {
        const std::int64_t bytes = grids[placed.id.field].chunk_bytes();
        const double middle = static_cast<double>(before_bytes) + 0.5 * static_cast<double>(bytes);
        const auto rank = static_cast<std::size_t>(middle / static_cast<double>(total_bytes) * num_ranks);
        chunks[std::min(rank, chunks.size() - 1)].push_back(placed.id);
        before_bytes += bytes;
    }
    return chunks;
}

Block part_in_chunk(const Block& block, const format::ChunkGrid& grid, std::int64_t index) {
    Block part{block.global, grid.start_of(index), {}};
    for (std::size_t d = 0; d < part.start.size(); ++d) {
        const std::int64_t end = std::min(block.start[d] + block.count[d], part.start[d] + grid.shape()[d]);
        part.start[d] = std::max(part.start[d], block.start[d]);
        part.count.push_back(std::max<std::int64_t>(0, end - part.start[d]));
    }
    return part;
}

StridedCopy copy_to_packed(const HeldBlock& held, const Block& part, std::int64_t element_bytes) {
    return copy_of(part, in_memory(held, part), {packed_strides(part.count, element_bytes), 0},
                   element_bytes);
}

StridedCopy copy_to_chunk(const HeldBlock& held, const Block& part, const format::ChunkGrid& grid,
                          std::int64_t index, std::int64_t element_bytes) {
    return copy_of(part, in_memory(held, part), in_chunk(part, grid, index, element_bytes), element_bytes);
}

StridedCopy copy_packed_to_chunk(const Block& part, const format::ChunkGrid& grid, std::int64_t index,
                                 std::int64_t element_bytes) {
    return copy_of(part, {packed_strides(part.count, element_bytes), 0},
                   in_chunk(part, grid, index, element_bytes), element_bytes);
}

void run_copy(const StridedCopy& copy, const std::byte* from, std::byte* to) {
    if (copy.dims.size() <= exchange::most_dims) return exchange::run(copy, from, to);
    StridedCopy inner = copy;
    inner.dims.erase(inner.dims.begin());
    const StridedCopy::Dimension& outer = copy.dims.front();
    for (std::int64_t i = 0; i < outer.count; ++i)
        run_copy(inner, from + i * outer.from_stride, to + i * outer.to_stride);
}

}  // namespace hakobi::output
