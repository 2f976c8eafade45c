#include "statistics.hpp"

#include <array>
#include <charconv>
#include <hakobi/error.hpp>
#include <limits>
#include <span>
#include <string>

namespace hakobi::tsunami {

namespace {

Outputs made(const Comm& comm, const std::string& prefix, OutputsOptions options) {
    try {
        return Outputs::create(comm, prefix, options);
    } catch (const Error& error) {
        if (!options.resume_at || error.code() != ErrorCode::not_found) throw;
    }
    options.resume_at.reset();
    return Outputs::create(comm, prefix, options);
}

}  // namespace

Statistics::Statistics(const Comm& comm, const Simulation& simulation, const Options& options,
                       const OutputOptions& output_options, double interval_s,
                       std::optional<double> resume_at_s)
    : simulation_(simulation),
      outputs_(made(comm, options.prefix + "_statistics.state",
                    {.time_units = output_options.time_units,
                     .begin_time = 0,
                     .if_exists = output_options.if_exists,
                     .resume_at = resume_at_s})),
      values_(static_cast<std::size_t>(simulation.block().num_elements())) {
    eta_ = outputs_.define({.name = "eta",
                            .units = "m",
                            .long_name = "height of the sea surface above mean sea level where it is wet",
                            .standard_name = "sea_surface_height_above_mean_sea_level",
                            .global = simulation.block().global,
                            .store_as = options.is_single_precision ? "float32" : ""});
    std::array<char, 32> digits{};
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), interval_s).ptr;
    outputs_.add(options.prefix + "_statistics", output_options, {digits.data(), end},
                 {{.of = "eta", .cell_method = "mean"},
                  {.of = "eta", .cell_method = "minimum"},
                  {.of = "eta", .cell_method = "maximum"}});
}

void Statistics::add() {
    const Solver& solver = simulation_.solver();
    const double dry_depth_m = solver.options().dry_depth_m;
    constexpr double dry = std::numeric_limits<double>::quiet_NaN();
    double* value = values_.data();
    for (std::int64_t r = 0; r < solver.num_rows(); ++r) {
        const double *eta = solver.eta.row(r), *bed = solver.bed.row(r);
        for (std::int64_t c = 0; c < solver.num_columns(); ++c)
            *value++ = eta[c] - bed[c] > dry_depth_m ? eta[c] : dry;
    }
    outputs_.begin_step(simulation_.time_s());
    outputs_.put(eta_, simulation_.block(), std::span<const double>(values_));
    outputs_.end_step();
}

}  // namespace hakobi::tsunami
