#pragma once

#include <cstdint>
#include <vector>

#include "region/copy.hpp"
#include "storage/access.hpp"

namespace hakobi::io {

/// The costs of writing around holes (docs/decisions/0003).
struct HoleCosts {
    bool may_fill = false;  ///< holes may be read and written back, under a lock
    storage::ServiceCosts::Cost read, write;
};

/// The extents by which a buffer's marked bytes are written to a file, where byte 0 of the buffer is at
/// `file_begin_bytes`: neighbouring runs with the holes between them (has_holes) as long as reading and
/// writing those back costs less than an access for each run; else each run. Pure.
[[nodiscard]] std::vector<storage::Extent> extents_of(const ByteMarks& marks, std::int64_t file_begin_bytes,
                                                      const HoleCosts& costs);

/// Marks as the storage's accesses ask for them. `buffer` and the words of `marks` are lent.
class MarkedHoles final : public storage::Holes {
  public:
    MarkedHoles(ByteMarks marks, std::byte* buffer) : marks_(marks), buffer_(buffer) {}
    void fill(const storage::Extent& extent, const std::byte* old) override;
    void append_runs(const storage::Extent& extent, std::vector<storage::Extent>& runs) const override;

  private:
    ByteMarks marks_;
    std::byte* buffer_;
};

}  // namespace hakobi::io
