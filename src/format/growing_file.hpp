#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "format/layout.hpp"
#include "format/step.hpp"

namespace hakobi::format {

/// A file that takes one step after another, as rank 0 knows it. Nothing that a reader can reach is ever
/// overwritten:
///
///  1. `append` decides where a step's values go, behind all that is in the file, and what makes the step
///     visible.
///  2. The ranks store the values. Steps after it may be appended, and their values stored, meanwhile.
///  3. Layout::commit is written, in its order: new parts first, and last one extent of less than a sector,
///     which no kill tears. Before that extent is written a reader finds the earlier steps, after it this
///     one, too. Steps are committed in the order of `append`.
///
/// A step that is never committed is bytes behind the file's end that nobody finds. Where the bytes go
/// depends on the steps' descriptions and the sizes of their chunks alone, not on when the steps before are
/// stored. Local.
class GrowingFile {
  public:
    GrowingFile() = default;
    virtual ~GrowingFile() = default;
    GrowingFile(const GrowingFile&) = delete;
    GrowingFile& operator=(const GrowingFile&) = delete;

    /// Lays out the next step. The first one decides what the file holds; later ones have its fields but
    /// those that are static, which the file has, and whose values are not stored again. `chunks` as in
    /// Format::lay_out. Layout::file_bytes is the file's size with this step. Errors as of Format::lay_out;
    /// what was appended before stays right.
    [[nodiscard]] virtual Result<Layout> append(const StepDescription& step,
                                                std::span<const std::vector<StoredChunk>> chunks) = 0;
    /// The steps in it, those that are appended and not committed yet among them.
    [[nodiscard]] virtual std::int64_t num_steps() const = 0;
    /// Its size with those that it had when it was resumed: what lies behind is nobody's. 0 of a new file.
    [[nodiscard]] virtual std::int64_t resumed_bytes() const { return 0; }
};

}  // namespace hakobi::format
