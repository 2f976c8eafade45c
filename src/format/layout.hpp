#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format/step.hpp"
#include "storage/joined.hpp"

namespace hakobi::format {

/// Bytes at a place of a file.
struct Extent {
    std::int64_t offset_bytes = 0;
    std::vector<std::byte> bytes;
};

/// A chunk of a field as it will be stored: its size, and HDF5's filter mask (filter::Encoded).
struct StoredChunk {
    std::int64_t bytes = 0;
    std::uint32_t skipped = 0;
};

/// A file without its fields' values: what to write where, and where the values go.
///
/// The file holds `metadata`, and beside it the values of field i (native byte order, C order) from
/// `offsets_bytes[i]`, zeros elsewhere, and is `file_bytes` long. No byte is both.
struct Layout {
    std::vector<Extent> metadata;
    std::vector<std::int64_t> offsets_bytes;
    /// For a field in filtered chunks (chunks.hpp), the offset of each chunk. Its entry in offsets_bytes
    /// means nothing.
    std::vector<std::vector<std::int64_t>> chunk_offsets_bytes;
    std::int64_t file_bytes = 0;
    /// Where the step is several files, which lie behind each other in these addresses: field i's alone.
    std::vector<storage::Member> members = {};
    std::int64_t time_offset_bytes = 0;  ///< where the metadata hold the step's time as a double; 0: nowhere
    /// For a step of a file with several (growing_file.hpp), the extents that make it a part of the file, in
    /// the order of writing, once the values are stored. `metadata` is empty then. Rank 0's.
    std::vector<Extent> commit;
};

/// Takes the bytes that are values out of `layout.metadata`: a format's pages may hold both. `chunks` as in
/// Format::lay_out. Pure.
void leave_values_out(Layout& layout, std::span<const FieldDescription> fields,
                      std::span<const std::vector<StoredChunk>> chunks);

/// Changes the time in a layout's metadata, so that steps that are alike are laid out once. Local; the layout
/// is rank 0's.
void set_time(Layout& layout, double time);

}  // namespace hakobi::format
