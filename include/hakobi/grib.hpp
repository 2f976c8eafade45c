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
inline namespace v0 {

/// The keywords of one GRIB message, edition 1 or 2: those of MARS (class, stream, expver, date, time, type,
/// levtype, levelist, step, param, number, …), as ECMWF's ecCodes determines them, where the message is
/// labelled for MARS. Other centres' messages are not; they have origin, process, date, time, step, type,
/// levtype, levelist, param and what else tells them apart (docs/store.md lists it). A step that is no whole
/// number of hours has its unit: "90m", "45s". Only the first message of a kind is decoded by ecCodes; the
/// keywords of further ones are read from the message's sections. ecCodes is loaded at the first use, so
/// programs without GRIB do not need it. `domain` is left out: it is the same for every field. Throws format
/// if the bytes are not exactly one complete message, unsupported for a message with several fields
/// (grib_split) or without ecCodes. Local, thread-safe.
[[nodiscard]] HAKOBI_EXPORT Key grib_key(std::span<const std::byte> message);

/// The fields of one GRIB message, each as a message of its own; the message itself where it has one. Values
/// are not touched. Needs no ecCodes. Throws format if the bytes are not exactly one complete message. Local,
/// thread-safe.
[[nodiscard]] HAKOBI_EXPORT std::vector<std::vector<std::byte>> grib_split(
    std::span<const std::byte> message);

/// Grid of a field's values: a reduced Gaussian grid, or coefficients of spherical harmonics.
struct GribGrid {
    /// Grid: number of points on each of the 2N Gaussian latitudes from north to south, each beginning at 0
    /// east. Empty: spectral.
    std::vector<std::int64_t> points_per_row = {};
    /// Spectral: triangular truncation T. The (T + 1)(T + 2) values are real and imaginary parts for m = 0 …
    /// T and, within each m, n = m … T, for P_n^m with a mean square of 1 over the sphere (ECMWF's
    /// convention).
    int truncation = 0;
    /// Model levels (levtype=ml): hybrid coordinates A and B of each half level, all A first; may be empty.
    std::vector<double> vertical = {};
};

struct GribPacking {
    std::string type =
        "simple";  ///< "simple" or "ccsds" for grids; spectral fields are packed as ECMWF's model does
    int bits_per_value = 16;  ///< 1 … 32
};

/// Encodes fields on one grid as GRIB 2 messages, with ecCodes. Copies share the grid. Thread-safe.
class HAKOBI_EXPORT GribEncoder {
  public:
    /// Throws invalid_argument for a grid or packing that GRIB cannot represent; unsupported without ecCodes.
    explicit GribEncoder(GribGrid grid, GribPacking packing = {});

    /// Encodes one message. `key` has param (a number), levtype (sfc, pl or ml), levelist (except for sfc),
    /// date, time and step (hours); it may have class, stream, expver, type (defaults: rd, oper, 0001, fc)
    /// and number. Equal keys and values give equal bytes. Throws invalid_argument for a keyword or value
    /// that GRIB 2 cannot represent, a wrong number of values, or values that are not finite.
    [[nodiscard]] std::vector<std::byte> encode(const Key& key, std::span<const double> values) const;

    [[nodiscard]] std::int64_t num_values() const noexcept;

  private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

/// The values of a GRIB message, unpacked by ecCodes. Throws as grib_key.
[[nodiscard]] HAKOBI_EXPORT std::vector<double> grib_values(std::span<const std::byte> message);

/// Numbers that ecCodes has of a GRIB message under a key of several ("values", "latitudes", "longitudes",
/// "pl"). Throws not_found if it has none, format if it cannot unpack them.
[[nodiscard]] HAKOBI_EXPORT std::vector<double> grib_array(std::span<const std::byte> message,
                                                           const std::string& name);

/// Texts that ecCodes has of a GRIB message under these keys ("name", "units", "gridType"); "" for a key that
/// it has not.
[[nodiscard]] HAKOBI_EXPORT std::vector<std::string> grib_texts(std::span<const std::byte> message,
                                                                const std::vector<std::string>& names);

/// The integer value of an ecCodes key of a GRIB message ("Ni", "bitsPerValue"). Throws not_found if it has
/// none.
[[nodiscard]] HAKOBI_EXPORT std::int64_t grib_number(std::span<const std::byte> message,
                                                     const std::string& name);

/// Length in bytes of the GRIB message at the beginning of `bytes`. Throws format.
[[nodiscard]] HAKOBI_EXPORT std::int64_t grib_length(std::span<const std::byte> bytes);

/// Points on each latitude, from north to south, of ECMWF's classic reduced Gaussian grid with N latitudes
/// between pole and equator. ecCodes has N = 32, 48, 64, 80, 96, 128, 160, 200, 256, 320, …; throws not_found
/// for others.
[[nodiscard]] HAKOBI_EXPORT std::vector<std::int64_t> reduced_gaussian_rows(int num_latitudes_to_equator);

}  // namespace v0
}  // namespace hakobi
