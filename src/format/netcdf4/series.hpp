#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/layout.hpp"
#include "format/series.hpp"

namespace hakobi::format {

/// Format::lay_out_series, Format::read_series, Format::read_records and Format::is_series_or_rest;
/// series.cpp says what is in the file.
Result<Layout> lay_out_series_netcdf4(const SeriesDescription& series, const std::string& folder);
Result<SeriesDescription> read_series_netcdf4(const std::string& path);
Result<std::vector<std::vector<std::byte>>> read_records_netcdf4(const std::string& path,
                                                                 std::span<const FieldDescription> fields,
                                                                 std::int64_t num_records);
bool is_series_or_rest_netcdf4(const std::string& path);

}  // namespace hakobi::format
