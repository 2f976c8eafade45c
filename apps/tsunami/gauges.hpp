#pragma once

#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grid.hpp"
#include "solver.hpp"

namespace hakobi::tsunami {

/// A place where the surface is observed, and when the first wave was there, in minutes after the origin time
/// (data/gauges_tohoku_2011.json); NaN where that is not known.
struct Gauge {
    std::string name;
    double longitude_deg = 0, latitude_deg = 0;
    double observed_arrival_min = std::numeric_limits<double>::quiet_NaN();
    double observed_crest_min = std::numeric_limits<double>::quiet_NaN();
};

/// Reads a list of gauges: {"gauges": [{"name", "longitude", "latitude", "arrival_minutes",
/// "first_crest_minutes"}, …]}, the last two optional. Local. Throws not_found or format.
[[nodiscard]] std::vector<Gauge> read_gauges(const std::string& path);

struct Sample {
    double time_s, eta_m;
};

/// Defines the first wave, for observed (data/observed_waves.py) and computed records alike. Samples before
/// `from_s` are left out: in the first minutes a pressure gauge records the seismic waves.
struct FirstWaveRule {
    double threshold_m = 0.2, from_s = 15 * 60, window_s = 15 * 60;
};
/// When the surface first reaches the threshold, linear between samples, s. Local, pure.
[[nodiscard]] std::optional<double> arrival_s(std::span<const Sample> record, const FirstWaveRule& rule = {});
/// The first sample of at least the threshold that is not exceeded during the `window_s` after it, which must
/// lie within the record. Local, pure.
[[nodiscard]] std::optional<Sample> first_crest(std::span<const Sample> record,
                                                const FirstWaveRule& rule = {});

/// Records the surface at gauges, bilinearly between the four cell centres around each.
class GaugeRecorder {
  public:
    /// Local, pure. Gauges outside the grid's cell centres are kept without samples.
    GaugeRecorder(std::vector<Gauge> gauges, const Grid& grid, const Block& block);

    /// Notes this rank's cells at a model time. Local.
    void record(const Solver& solver, double time_s);

    /// All records, in the order of the gauges; empty on ranks other than 0. Collective over `comm`. A record
    /// does not depend on the number of ranks.
    [[nodiscard]] std::vector<std::vector<Sample>> gather(MPI_Comm comm) const;
    [[nodiscard]] const std::vector<Gauge>& gauges() const { return gauges_; }

  private:
    struct Corner {
        int gauge, corner;
        double weight;
        std::int64_t row, column;  ///< in this rank's block
    };
    std::vector<Gauge> gauges_;
    std::vector<Corner> corners_;  ///< this rank's
    std::vector<double> times_s_;
    std::vector<double> weighted_;  ///< corners_.size() values a time
};

}  // namespace hakobi::tsunami
