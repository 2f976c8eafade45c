#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "format/step.hpp"

namespace hakobi::format {

/// A file that has records of a series: a step's, which has one, or another that shows several.
struct SeriesSource {
    std::string file = {};  ///< its name in the series' folder; "" of a record that was read of none
    std::int64_t num_records = 1;
};

/// The contents of a file that shows a series as one data set. The fields' values stay in the sources, except
/// where it has copies.
struct SeriesDescription {
    StepDescription shown;               ///< every field of the series; `time` means nothing
    std::vector<SeriesSource> sources;   ///< in the order of their records
    std::vector<std::vector<bool>> has;  ///< [field][source]: whether the source has the field
    std::vector<std::int64_t> numbers;   ///< of each record's step
    std::vector<double> times;           ///< of each record
    /// [field]: a copy of all its records, for the file itself; empty: the values stay in the sources. None:
    /// of no field.
    std::vector<std::vector<std::byte>> copies = {};
    /// Names of fields that are not shown, since more files would have their values than a program may have
    /// open. The file says so.
    std::vector<std::string> left_out = {};
};

/// The name of the variable that has `numbers`; it is left out where a field or a dimension has the name.
inline constexpr const char* step_number_name = "step_number";

}  // namespace hakobi::format
