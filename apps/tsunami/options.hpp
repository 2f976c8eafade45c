#pragma once

#include <hakobi/output.hpp>
#include <optional>
#include <string>

#include "edges.hpp"
#include "grid.hpp"
#include "solver.hpp"

namespace hakobi::tsunami {

/// The options of the command line; equal on every rank.
struct Options {
    OutputOptions output;  ///< method, sync, hints, …
    std::string prefix = "out/tsunami";
    int num_steps_out = 12;                     ///< evenly over the run, the last at its end
    std::optional<double> output_interval_min;  ///< instead of num_steps_out
    bool is_single_precision = false;
    int state_every = 0;       ///< every n-th step also holds the state (state.hpp); 0: none
    int statistics_every = 0;  ///< steps whose time is an interval of statistics.hpp; 0: none
    bool is_restart = false;   ///< goes on after the last step with a state

    Region region;
    double resolution_arcmin = 5;
    double hours = 3;
    Boundary boundary = Boundary::open;
    SolverOptions solver;
    double courant = 0.8;
    bool with_coriolis = true;
    bool is_on_device = false;  ///< ghosts are exchanged, and steps put, from a GPU's memory

    std::string seafloor;       ///< path
    std::string rupture;        ///< path
    std::string gauges;         ///< path, or "" for none
    std::string gauge_records;  ///< path of a table of the surface at the gauges, or ""
    std::string json;           ///< path, or ""
    bool show_progress = false;
};

/// The options, or the status with which the program ends (after --help 0; otherwise 2 and one line on
/// stderr, both printed only where `prints`). Local.
struct ParsedOptions {
    std::optional<Options> options;
    int exit_status = 0;
};
[[nodiscard]] ParsedOptions parse_options(int argc, char** argv, bool prints);

}  // namespace hakobi::tsunami
