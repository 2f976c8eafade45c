#pragma once

#include <cstdint>
#include <hakobi/block.hpp>
#include <span>
#include <vector>

#include "exchange/strided_copy.hpp"
#include "format/chunks.hpp"
#include "output/held_field.hpp"

namespace hakobi::output {

/// A chunk of a step.
struct ChunkId {
    std::size_t field = 0;
    std::int64_t index = 0;  ///< in the field's grid
    friend bool operator==(const ChunkId&, const ChunkId&) = default;
};

/// Returns the chunks that each rank encodes, one entry a rank, in the order of encoding. Chunks go to ranks
/// by their place in their field, all fields side by side: the ranks' shares differ by a chunk at most in
/// bytes, and a rank gets chunks from about the same part of every field, where its own blocks, or those of
/// its node, are in usual decompositions. Pure.
[[nodiscard]] std::vector<std::vector<ChunkId>> chunks_of_ranks(std::span<const format::ChunkGrid> grids,
                                                                int num_ranks);

/// The part of a block that is in a chunk; counts of 0 where there is none. Pure.
[[nodiscard]] Block part_in_chunk(const Block& block, const format::ChunkGrid& grid, std::int64_t index);

/// Copies of a part of a block: from where the rank has it to packed bytes or to a chunk, or from packed
/// bytes to a chunk.
[[nodiscard]] exchange::StridedCopy copy_to_packed(const HeldBlock& held, const Block& part,
                                                   std::int64_t element_bytes);
[[nodiscard]] exchange::StridedCopy copy_to_chunk(const HeldBlock& held, const Block& part,
                                                  const format::ChunkGrid& grid, std::int64_t index,
                                                  std::int64_t element_bytes);
[[nodiscard]] exchange::StridedCopy copy_packed_to_chunk(const Block& part, const format::ChunkGrid& grid,
                                                         std::int64_t index, std::int64_t element_bytes);

/// Carries one of them out, whatever its number of dimensions.
void run_copy(const exchange::StridedCopy& copy, const std::byte* from, std::byte* to);

}  // namespace hakobi::output
