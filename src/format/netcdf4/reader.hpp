#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/block.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/found_step.hpp"

namespace hakobi::format {

/// The name of such a file in errors.
inline constexpr const char* netcdf4_kind = "NetCDF-4 or HDF5";

/// The records of time that are read: the one of a step, or all in a file of a series.
enum class Records : std::uint8_t { one, all };

/// Reads what a NetCDF-4 file, or another HDF5 file with data sets in its root group, says of itself. Local.
/// not_found, permission; format where it is no such file, torn, or newer than the HDF5 library; unsupported
/// for NetCDF's classic formats.
Result<FoundStep> read_netcdf4(const std::string& path, Records records = Records::one);

/// Reads a block of a field whose values only the HDF5 library finds: `values` gets its elements in C order
/// and native byte order. The chunks that it needs are fetched and unpacked here if deflate or zstd packed
/// them (chunk_reader.hpp); else the library reads. `step_in_file` counts from 0. Fails with unsupported,
/// naming it, for a filter that is missing. Local.
Status read_values_netcdf4(const std::string& path, const FoundField& field, const Block& block,
                           std::span<std::byte> values, std::int64_t step_in_file = 0);

}  // namespace hakobi::format
