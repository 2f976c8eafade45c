#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gauge_file.hpp"
#include "solver.hpp"

namespace hakobi::lattice {

/// The options of the command line; equal on every rank.
struct Options {
    std::optional<Extents> extents;  ///< x, y, z, t; of a file where there is one
    std::optional<RankGrid> grid;
    std::string split = "xyzt";          ///< the directions over which ranks are spread
    std::vector<std::string> exchanges;  ///< the first one does the physics, `mult` compares all

    std::string start = "hot";  ///< cold, hot, or a file
    double beta = 6.0;
    int num_sweeps = 0;
    std::uint64_t seed = 1;
    std::string write_path;  ///< or ""
    GaugeWriteOptions write;

    Quark quark;
    bool solves = true;
    SolverOptions solver;
    double mult_budget_s = 1;  ///< 0: none
    std::string json;          ///< path, or ""
};

/// The options, or the status with which the program ends (after --help 0; otherwise 2 and one line on
/// stderr, both printed only where `prints`). Local.
struct ParsedOptions {
    std::optional<Options> options;
    int exit_status = 0;
};
[[nodiscard]] ParsedOptions parse_options(int argc, char** argv, bool prints);

}  // namespace hakobi::lattice
