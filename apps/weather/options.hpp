#pragma once

#include <optional>
#include <string>

#include "field_output.hpp"

namespace hakobi::weather {

/// The options of the command line; equal on every rank.
struct Options {
    std::string resolution = "T159";
    ModelOptions model;
    int latitudes_to_equator = 80;  ///< N of the reduced Gaussian grid
    Products products;
    int hours = 6, output_hours = 1;
    std::string start;  ///< path of the analysis
    SinkOptions sink;
    int writer_stride = 1;
    std::string json;  ///< path, or ""
};

/// The options, or the status with which the program ends (after --help 0; otherwise 2 and one line on
/// stderr, both printed only where `prints`). Local.
struct ParsedOptions {
    std::optional<Options> options;
    int exit_status = 0;
};
[[nodiscard]] ParsedOptions parse_options(int argc, char** argv, bool prints);

}  // namespace hakobi::weather
