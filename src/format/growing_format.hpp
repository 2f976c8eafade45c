#pragma once

#include <memory>
#include <string>

#include "base/status.hpp"
#include "format/growing_file.hpp"
#include "format/step.hpp"

namespace hakobi::format {

/// The part of a format whose files can take one step after another (OutputOptions::steps_per_file). Local.
class GrowingFormat {
  public:
    virtual ~GrowingFormat() = default;
    GrowingFormat() = default;
    GrowingFormat(const GrowingFormat&) = delete;
    GrowingFormat& operator=(const GrowingFormat&) = delete;

    /// A new file.
    [[nodiscard]] virtual std::unique_ptr<GrowingFile> begin_file() const = 0;
    /// One that has steps already, for a run that goes on behind them with steps like `next`.
    /// invalid_argument, saying why, where the file is no such file, was changed by others, or has other
    /// fields: a new file takes the step then. Else as Format::read.
    [[nodiscard]] virtual Result<std::unique_ptr<GrowingFile>> resume_file(
        const std::string& path, const StepDescription& next) const = 0;
};

}  // namespace hakobi::format
