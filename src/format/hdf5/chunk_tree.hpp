#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "format/layout.hpp"

namespace hakobi::format {

/// A chunk of a data set, as an index has it.
struct PlacedChunk {
    std::vector<std::uint64_t> start;  ///< first element, one a dimension
    std::uint32_t bytes = 0;           ///< as it is stored
    std::uint32_t skipped = 0;         ///< HDF5's filter mask
    std::int64_t offset_bytes = 0;     ///< in the file
};

/// HDF5's index of a chunked data set, its B-tree of version 1 ("HDF5 File Format Specification Version 3.0",
/// III.A.1), for data sets that only grow: a tree shares its nodes with the trees before it, and each has one
/// new node a level. Nodes have no checksum, and nobody follows their siblings. Pure code.
///
/// Invariant: `levels_[l]` are the entries of the last node of level l, without what is in the nodes below it
/// that are not full. A
//// node of level 0 takes `most_entries`; one above keeps room for the one below that is not full.
class ChunkTree {
  public:
    static constexpr std::size_t most_entries = 64;  ///< HDF5's default: 2 K of 32
    using Allocate = std::function<std::int64_t(std::int64_t bytes)>;

    /// `chunk`: a chunk's shape, in elements.
    explicit ChunkTree(std::vector<std::uint64_t> chunk) : chunk_(std::move(chunk)) {}

    /// A node's size.
    [[nodiscard]] std::int64_t node_bytes() const;
    /// Adds a chunk behind all others, in C order. Nodes that it fills go to `nodes`.
    void add(const PlacedChunk& chunk, const Allocate& allocate, std::vector<Extent>& nodes);
    /// Returns the root's bytes for all chunks so far; the nodes below it that are not full go to `nodes`.
    /// Requires at least one chunk.
    [[nodiscard]] std::vector<std::byte> root(const Allocate& allocate, std::vector<Extent>& nodes) const;
    [[nodiscard]] const PlacedChunk& first() const { return first_; }

  private:
    void add(const PlacedChunk& entry, std::size_t level, const Allocate& allocate,
             std::vector<Extent>& nodes);
    [[nodiscard]] std::vector<std::byte> node(const std::vector<PlacedChunk>& entries,
                                              std::size_t level) const;
    /// Its entry in the level above.
    [[nodiscard]] PlacedChunk write_node(const std::vector<PlacedChunk>& entries, std::size_t level,
                                         const Allocate& allocate, std::vector<Extent>& nodes) const;

    std::vector<std::uint64_t> chunk_, last_;  // last_: where the last chunk begins
    PlacedChunk first_;
    std::vector<std::vector<PlacedChunk>> levels_;
};

}  // namespace hakobi::format
