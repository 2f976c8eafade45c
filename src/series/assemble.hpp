#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "region/region.hpp"
#include "storage/file.hpp"

namespace hakobi::series {

/// Where the bytes of an array's parts are taken from. A member is one part, a stream that is taken from the
/// beginning to the end.
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

/// Writes the bytes that go to `regions` of `file`, one a member, in large pieces in file order, whoever
/// holds which. Windows of the regions' runs, merged by place in the file, are taken into one half of
/// `buffer`, ordered in the other half, and written; whole large runs are written from where they are. Bytes
/// of the file that no region covers are not touched. Regions are ordered and do not overlap.
Status assemble(std::span<const Region> regions, Members& members, storage::File& file,
                std::span<std::byte> buffer);

}  // namespace hakobi::series
