#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

namespace hakobi::tsunami {
namespace {

// Where the program's data lie: installed beside it, or in the source tree that it was built from.
std::string data_path(const std::string& name) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    const fs::path installed = program.parent_path().parent_path() / HAKOBI_TSUNAMI_SHARE / name;
    if (!error && fs::exists(installed, error)) return installed.string();
    return (fs::path(HAKOBI_TSUNAMI_SOURCE_DATA) / name).string();
}

}  // namespace

ParsedOptions parse_options(int argc, char** argv, bool prints) {
    Options options;
    CLI::App app{
        "The tsunami of 11 March 2011 in the North Pacific: nonlinear shallow-water equations on the "
        "sphere,\n"
        "written step by step through hakobi::Output. Run it under mpirun.",
        "hakobi-tsunami"};
    app.get_formatter()->column_width(34);
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);

    auto* out = app.add_option_group("Output");
    out->add_option("--method", options.output.method,
                    "none, per-process, root, parallel, pipelined, writers, or auto")
        ->capture_default_str();
    out->add_option("--output", options.prefix, "prefix of the files: PREFIX_000000.nc, ...")
        ->capture_default_str()
        ->type_name("PREFIX");
    auto* count = out->add_option("--steps-out", options.num_steps_out, "steps to write, evenly over the run")
                      ->capture_default_str()
                      ->check(CLI::Range(1, 1'000'000));
    double interval_min = 0;
    auto* interval =
        out->add_option("--output-interval", interval_min, "minutes of model time between written steps")
            ->check(CLI::PositiveNumber)
            ->type_name("MIN")
            ->excludes(count);
    std::string precision = "double";
    out->add_option("--precision", precision, "of the written values")
        ->capture_default_str()
        ->check(CLI::IsMember({"single", "double"}));
    out->add_option("--compression", options.output.compression,
                    "none, deflate or zstd, with a level as in deflate:4")
        ->capture_default_str();
    out->add_option("--significant-bits", options.output.significant_bits,
                    "bits of mantissa that compressed values keep; 0: all")
        ->check(CLI::Range(0, 52));
    std::vector<std::string> hints;
    out->add_option("--hint", hints, "a hint for the output method; may be repeated")
        ->type_name("NAME=VALUE")
        ->take_all()
        ->expected(1);
    out->add_option("--writer-stride", options.output.writer_stride,
                    "method writers: every n-th rank writes; 0 chooses")
        ->check(CLI::NonNegativeNumber);
    out->add_flag("--sync", options.output.sync, "a step counts as written when it is on the disk");
    bool is_asynchronous = true;
    auto* asynchronous = out->add_flag("--asynchronous,!--synchronous", is_asynchronous,
                                       "compute while steps are stored, or not; unset: where the method can");
    out->add_flag("--overview", options.output.overview, "beside each step what `hakobi index` makes of it");
    auto* replace = out->add_flag_callback(
        "--replace", [&options] { options.output.if_exists = IfExists::replace; },
        "remove the steps that PREFIX holds already");
    out->add_option("--state-every", options.state_every,
                    "every N-th step also holds what --restart needs; 0: none does")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    out->add_option(
           "--statistics-every", options.statistics_every,
           "mean, least and greatest surface over the time of every N steps, in PREFIX_statistics; 0: "
           "none")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    auto* restart =
        out->add_flag("--restart", options.is_restart,
                      "go on after the last step of PREFIX that holds a state, on any number of ranks")
            ->excludes(replace);
    out->add_flag("--keep-pieces", options.output.per_process.keep_pieces,
                  "per-process: leave the pieces for `hakobi gather`");

    auto* model = app.add_option_group("Model");
    model
        ->add_option("--resolution", options.resolution_arcmin,
                     "cell size in arc minutes; finer than 5 interpolates")
        ->capture_default_str()
        ->check(CLI::PositiveNumber)
        ->type_name("ARCMIN");
    std::vector<double> region;
    model->add_option("--region", region, "degrees WEST,EAST,SOUTH,NORTH; default 120,240,-5,62")
        ->delimiter(',')
        ->expected(4)
        ->type_name("W,E,S,N");
    model->add_option("--hours", options.hours, "model time after the earthquake")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    std::string boundary = "open";
    model->add_option("--boundary", boundary, "the region's edge")
        ->capture_default_str()
        ->check(CLI::IsMember({"open", "wall"}));
    model->add_option("--courant", options.courant, "Courant number")
        ->capture_default_str()
        ->check(CLI::Range(0.05, 0.95));
    model->add_option("--manning", options.solver.manning_s_m13, "Manning's roughness; 0: no friction")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1.0));
    model->add_flag("!--no-coriolis", options.with_coriolis, "leave the earth's rotation out");
    model->add_flag(
        "--device", options.is_on_device,
        "exchange and write the fields from a GPU's memory; they are computed on the host and copied there");
    model->add_option("--seafloor", options.seafloor,
                      "NetCDF-4 file with lat, lon, z; default: ETOPO5's North Pacific");

    model->add_option("--rupture", options.rupture,
                      "JSON file of a finite fault model; default: Tohoku 2011");

    auto* report = app.add_option_group("Report");
    // Their records begin with the earthquake.
    report
        ->add_option("--gauges", options.gauges,
                     "compare arrival times at the gauges of FILE, or `default`: four DART buoys")
        ->type_name("FILE")
        ->excludes(restart);
    report
        ->add_option("--gauge-records", options.gauge_records,
                     "write the surface at the gauges, every time step")
        ->type_name("FILE");
    report->add_option("--json", options.json, "append the run's record to FILE, one line")
        ->type_name("FILE");
    report->add_flag("--progress", options.show_progress, "show the model time while it runs");

    const auto refuse = [prints](const std::string& text) {
        if (prints) std::fprintf(stderr, "hakobi-tsunami: %s\n", text.c_str());
        return ParsedOptions{.options = std::nullopt, .exit_status = 2};
    };
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        if (prints) std::fputs(app.help().c_str(), stdout);
        return {.options = std::nullopt, .exit_status = 0};
    } catch (const CLI::ParseError& error) {
        return refuse(error.what());
    }
    for (const std::string& hint : hints) {
        const auto equals = hint.find('=');
        if (equals == std::string::npos || equals == 0) return refuse("--hint takes NAME=VALUE, not " + hint);
        options.output.hints[hint.substr(0, equals)] = hint.substr(equals + 1);
    }
    if (asynchronous->count() > 0) options.output.hidden.on = is_asynchronous;
    if (!region.empty()) options.region = {region[0], region[1], region[2], region[3]};
    if (interval->count() > 0) options.output_interval_min = interval_min;
    options.is_single_precision = precision == "single";
    options.boundary = boundary == "wall" ? Boundary::wall : Boundary::open;
    if (options.seafloor.empty()) options.seafloor = data_path("north_pacific_etopo5.nc");
    if (options.rupture.empty()) options.rupture = data_path("rupture_tohoku_2011.json");
    if (options.gauges == "default") options.gauges = data_path("gauges_tohoku_2011.json");
    return {.options = std::move(options)};
}

}  // namespace hakobi::tsunami
