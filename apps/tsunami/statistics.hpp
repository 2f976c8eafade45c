#pragma once

#include <hakobi/outputs.hpp>
#include <optional>
#include <vector>

#include "simulation.hpp"

namespace hakobi::tsunami {

/// Mean, least and greatest surface of every cell over intervals, from every time step of the solver:
/// `<prefix>_statistics_000000.nc`. Where a cell was dry does not count.
class Statistics {
  public:
    /// `output_options`: of the steps' own output. Intervals are `interval_s` long. A run that resumes goes
    /// on from the checkpoint of `resume_at_s`, or where there is none from the newest. Collective; throws
    /// what Outputs does.
    Statistics(const Comm& comm, const Simulation& simulation, const Options& options,
               const OutputOptions& output_options, double interval_s, std::optional<double> resume_at_s);

    /// Model time of the checkpoint that the run goes on from, in seconds; none: it begins.
    [[nodiscard]] std::optional<double> resume_time_s() const { return outputs_.resume_time(); }
    /// The solver has made a step. Collective.
    void add();
    /// The run's state is stored: a run may go on from here. Collective.
    void checkpoint() { outputs_.checkpoint(); }
    void close() { outputs_.close(); }

  private:
    const Simulation& simulation_;
    Outputs outputs_;
    FieldId eta_{};
    std::vector<double> values_;
};

}  // namespace hakobi::tsunami
