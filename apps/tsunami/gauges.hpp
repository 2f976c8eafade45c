#pragma once

#include <hakobi/block.hpp>
#include <limits>
#include <hakobi/comm.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grid.hpp"
#include "solver.hpp"

namespace hakobi::tsunami {

/// A place where the surface is observed, and when the first wave's crest was (data/gauges_tohoku_2011.json).
struct Gauge {
    std::string name;
    double longitude_deg = 0, latitude_deg = 0;
    std::optional<double> observed_crest_min;  ///< after the origin time
};

/// Reads a list of gauges: {"gauges": [{"name", "longitude", "latitude", "first_crest_minutes"}, …]}. Local. Throws
/// not_found or format.
[[nodiscard]] std::vector<Gauge> read_gauges(const std::string& path);

struct Sample {
    double time_s, eta_m;
};

/// The first crest of a tsunami in a record: the first sample of at least `threshold_m` that is not exceeded during
/// the `window_s` after it (which must lie within the record). Samples before `from_s` are left out: in the first
/// minutes a pressure gauge records the seismic waves. The one definition for observed and computed records (data/observed_crests.py does the
/// same). Local, pure.
struct CrestRule {
    double threshold_m = 0.2, window_s = 15 * 60, from_s = 15 * 60;
};
[[nodiscard]] std::optional<Sample> first_crest(std::span<const Sample> record, const CrestRule& rule = {});

/// Records the surface at gauges, bilinearly between the four cell centres around each.
class GaugeRecorder {
  public:
    /// Local, pure. Gauges outside the grid's cell centres are kept without samples.
    GaugeRecorder(std::vector<Gauge> gauges, const Grid& grid, const Block& block);

    /// Notes this rank's cells at a model time. Local.
    void record(const Solver& solver, double time_s);

    /// All records, in the order of the gauges; empty on ranks other than 0. Collective over `comm`. A record does
    /// not depend on the number of ranks.
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
