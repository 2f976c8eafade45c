#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/format.hpp"
#include "format/found_step.hpp"
#include "series/series.hpp"

namespace hakobi::series {

/// The steps that a run goes on after, and what its own must have in common with them. Local: rank 0's work.
class Resumed {
  public:
    Resumed() = default;
    /// Reads what the last of `files`, the whole steps in their order, says of itself. invalid_argument where
    /// it is of another format; format, not_found or io, naming it, where it cannot be read.
    static Result<Resumed> read(const format::Format& format, std::vector<Series::Entry> files);

    /// That of the last step; minus infinity where nothing is resumed.
    [[nodiscard]] double last_time() const;
    /// invalid_argument, naming the field, when `first`, the first step that is put, has other fields or
    /// another grid than the last whole step, and than every step before: not all steps of a series have the
    /// same fields. Static fields of the last step have to be there, for they are in every step behind the
    /// one in which they were put.
    [[nodiscard]] Status check(const format::StepDescription& first) const;

  private:
    [[nodiscard]] Status check_statics(const format::StepDescription& first) const;
    /// difference() from an earlier step. A format's store has static fields for all steps: they need not be
    /// put again.
    [[nodiscard]] std::string difference_from(const format::StepDescription& first,
                                              const format::FoundStep& earlier) const;

    std::vector<Series::Entry> files_;  ///< none: nothing is resumed
    format::FoundStep last_;
    bool has_store_ = false;
};

/// How a step that was put differs in its grid and fields from one that was found, in words ("field eta has 5
/// x 4 points, not 5 x 3"); "" when it does not. Texts that only people read (title, long names) may differ.
/// Pure.
[[nodiscard]] std::string difference(const format::StepDescription& put, const format::FoundStep& found);

}  // namespace hakobi::series
