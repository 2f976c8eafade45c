#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/found_step.hpp"
#include "format/layout.hpp"
#include "format/series.hpp"
#include "format/step.hpp"

namespace hakobi::format {

/// The part of a format of which a file can show a whole series, whose values stay in the steps' files.
/// Local; any thread.
class SeriesFormat {
  public:
    virtual ~SeriesFormat() = default;
    SeriesFormat() = default;
    SeriesFormat(const SeriesFormat&) = delete;
    SeriesFormat& operator=(const SeriesFormat&) = delete;

    /// Turns what Format::read found into a description for lay_out_series. Fields that the format could not
    /// write are left out. Pure.
    [[nodiscard]] virtual StepDescription description_of(const FoundStep& found) const = 0;
    /// Lays out such a file for the folder where its sources are, which may be read. All of it is metadata.
    /// Errors as of Format::lay_out.
    [[nodiscard]] virtual Result<Layout> lay_out_series(const SeriesDescription& series,
                                                        const std::string& folder) const = 0;
    /// Reads what such a file says, without values; of a static field, one of the sources that have it.
    /// Returns format for any other file.
    [[nodiscard]] virtual Result<SeriesDescription> read_series(const std::string& path) const = 0;
    /// Reads the first `num_records` records of fields that the file of a step, of several, or of a part of a
    /// series has, in C order. Errors are Format::read's.
    [[nodiscard]] virtual Result<std::vector<std::vector<std::byte>>> read_records(
        const std::string& path, std::span<const FieldDescription> fields,
        std::int64_t num_records) const = 0;
    /// Whether the file may be replaced by a new one of its kind: it shows a series, or is what a crash left
    /// of one that did.
    [[nodiscard]] virtual bool is_series_or_rest(const std::string& path) const = 0;
};

}  // namespace hakobi::format
