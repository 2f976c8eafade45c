#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/export.hpp>
#include <hakobi/store.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hakobi {

/// The MARS keywords of one GRIB message, edition 1 or 2: class, stream, expver, date, time, type, levtype, levelist,
/// step, param, number and others that it has, as ECMWF's ecCodes tells them. They are read from the message's sections;
/// ecCodes, which is loaded then (it need not be installed where no GRIB is met), is asked for the first message of a
/// kind only. `domain` is left out: it is the same for every field.
/// Throws format for what is not exactly one whole message, unsupported for one with several fields or without ecCodes.
/// Local, thread-safe.
[[nodiscard]] HAKOBI_EXPORT Key grib_key(std::span<const std::byte> message);

/// Where the values of a field are: on a reduced Gaussian grid, or coefficients of spherical harmonics.
struct GribGrid {
    /// Grid: points on each of the 2N Gaussian latitudes from north to south, the first on 0 east. Empty: spectral.
    std::vector<std::int64_t> points_per_row = {};
    /// Spectral: triangular truncation T. Values are (T + 1)(T + 2) numbers, real and imaginary part for m = 0 … T and
    /// within it n = m … T, of P_n^m with a mean square of 1 over the sphere, as ECMWF writes them.
    int truncation = 0;
    /// Model levels (levtype=ml): their hybrid coordinate, A and B of each half level, A's first; may be empty.
    std::vector<double> vertical = {};
};

struct GribPacking {
    std::string type =
        "simple";  ///< "simple" or "ccsds" for grids; spectral fields are packed as ECMWF's model does
    int bits_per_value = 16;  ///< 1 … 32
};

/// Makes GRIB 2 messages of fields on one grid, by ecCodes. What is equal from field to field is prepared once a thread.
/// Copies share the grid. Calls may come from any threads.
class HAKOBI_EXPORT GribEncoder {
  public:
    /// Throws invalid_argument for a grid or packing that GRIB cannot hold; unsupported: no ecCodes.
    explicit GribEncoder(GribGrid grid, GribPacking packing = {});

    /// One message. `key` has param (a number), levtype (sfc, pl or ml), levelist (but for sfc), date, time, step
    /// (hours) and may have class, stream, expver, type (default rd, oper, 0001, fc) and number. The same key and values
    /// give the same bytes, whatever was encoded before. Throws invalid_argument for a keyword or value that GRIB 2 has no
    /// place for, a wrong number of values, or values that are not finite.
    [[nodiscard]] std::vector<std::byte> encode(const Key& key, std::span<const double> values) const;

    [[nodiscard]] std::int64_t num_values() const noexcept;

  private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

/// The values of a GRIB message, as ecCodes unpacks them. Throws as grib_key.
[[nodiscard]] HAKOBI_EXPORT std::vector<double> grib_values(std::span<const std::byte> message);

/// A number that ecCodes tells of a GRIB message by its name there ("Ni", "bitsPerValue"). not_found without one.
[[nodiscard]] HAKOBI_EXPORT std::int64_t grib_number(std::span<const std::byte> message,
                                                     const std::string& name);

/// Bytes of the GRIB message at the beginning of `bytes`: the next one begins there. Throws format.
[[nodiscard]] HAKOBI_EXPORT std::int64_t grib_length(std::span<const std::byte> bytes);

/// Points on each latitude of ECMWF's classic reduced Gaussian grid of N latitudes between pole and equator, from north to
/// south, of those that ecCodes ships (N = 32, 48, 64, 80, 96, 128, 160, 200, 256, 320, …). not_found for others.
[[nodiscard]] HAKOBI_EXPORT std::vector<std::int64_t> reduced_gaussian_rows(int num_latitudes_to_equator);

}  // namespace hakobi
