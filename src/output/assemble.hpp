#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/block.hpp>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "storage/file.hpp"

namespace hakobi::output {

/// Where the values of one field's blocks are taken from. A member is one block; its values are a stream in C
/// order that is taken from the beginning to the end.
class Members {
  public:
    virtual ~Members() = default;
    /// The next `length_bytes` of a member's stream. `space` has room for them; `data` is set by take: to
    /// `space`, or to where they are already.
    struct Request {
        int member = 0;
        std::int64_t length_bytes = 0;
        std::byte* space = nullptr;
        const std::byte* data = nullptr;
    };
    virtual Status take(std::span<Request> requests) = 0;
};

/// Writes the values of `blocks` (of one array of elements of `element_bytes` that begins at `offset_bytes`)
/// to `file` in large pieces in file order, whoever holds which element. Windows of the members' runs, merged
/// by place in the file, are taken into one half of `buffer`, ordered in the other half, and written; whole
/// large runs are written from where they are. Bytes of the file that no block covers are not touched.
/// `blocks` do not overlap.
Status assemble(std::span<const Block> blocks, std::int64_t element_bytes, std::int64_t offset_bytes,
                Members& members, storage::File& file, std::span<std::byte> buffer);

}  // namespace hakobi::output
