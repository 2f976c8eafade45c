#pragma once

#include <hakobi/grib.hpp>
#include <memory>
#include <string>
#include <vector>

#include "shallow_water.hpp"
#include "sinks.hpp"

namespace hakobi::weather {

/// The fields that a step writes. Spectral: vorticity, divergence, geopotential, stream function and velocity
/// potential on every model level and on `num_pressure_levels`; on the grid: u, v and wind speed on every
/// model level, wind speed on the first `num_grid_pressure_levels` of the pressure levels.
struct Products {
    int num_pressure_levels = 10;
    int num_grid_pressure_levels = 4;
    std::string packing = "simple";
    int bits_per_value = 16;
};

struct OutputTotals {
    std::int64_t num_grid_fields = 0, num_spectral_fields = 0;
    std::int64_t grid_bytes = 0, spectral_bytes = 0;  ///< of messages, in the last step
};

/// Brings the model's fields whole to ranks that encode them, a field to a rank, and the messages to the
/// ranks that write.
///
///  1. Fields are taken in batches. A rank's part of each goes to the field's encoder by one MPI_Alltoallv a
///     batch.
///  2. Encoders: every rank for store and fdb; rank 0 alone for files, as a model without a field database
///     has it.
///  3. Every writer_stride-th rank writes; the others hand their messages to the writer before them.
///
/// The same fields give the same messages however many ranks and writers there are.
class FieldOutput {
  public:
    /// Collective; options are equal on every rank.
    FieldOutput(ShallowWater& model, MPI_Comm comm, const Products& products, const SinkOptions& sink,
                int writer_stride, long date, long time);
    ~FieldOutput();
    FieldOutput(const FieldOutput&) = delete;
    FieldOutput& operator=(const FieldOutput&) = delete;

    /// All fields of the model as it is, under the step in hours. Collective; every rank throws the same
    /// Error.
    void write(int step_hours);
    /// Ends the writing; the profiles of all writers' files on rank 0. Collective.
    std::vector<FileProfile> close();
    /// Sums over all ranks; collective.
    [[nodiscard]] OutputTotals totals() const;
    [[nodiscard]] int num_writers() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hakobi::weather
