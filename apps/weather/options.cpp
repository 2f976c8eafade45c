#include "options.hpp"

#include <hakobi/version.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "threads.hpp"

namespace hakobi::weather {
namespace {

/// Truncation, grid and time step that go together: linear grids, as ECMWF pairs them. The pressure levels
/// are as many as bring a step of T159 and T511 with 60 model levels to 14 + 31 and 133 + 248 MB (grid +
/// spectral).
struct Resolution {
    const char* name;
    int truncation, latitudes;
    double time_step_s;
    int pressure_levels, grid_pressure_levels;
};
constexpr Resolution resolutions[] = {{"T63", 63, 32, 900, 20, 10},
                                      {"T95", 95, 48, 600, 20, 10},
                                      {"T159", 159, 80, 300, 57, 13},
                                      {"T255", 255, 128, 180, 57, 13},
                                      {"T511", 511, 256, 90, 34, 10}};

std::string shipped_analysis() {
    const std::string name = "gfs_2011011012_f120.grib2";
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto installed = program.parent_path().parent_path() / HAKOBI_WEATHER_SHARE / name;
    if (std::filesystem::exists(installed, error)) return installed.string();
    return std::string(HAKOBI_WEATHER_SOURCE_DATA) + "/" + name;
}

std::string refuse_output(Options& options, const std::string& output) {
    const std::size_t colon = output.find(':');
    options.sink.kind = output.substr(0, colon);
    options.sink.path = colon == std::string::npos ? "" : output.substr(colon + 1);
    const bool needs_path = options.sink.kind == "files" || options.sink.kind == "store";
    if (!needs_path && options.sink.kind != "none" && options.sink.kind != "fdb") {
        return "--output " + output + ": none, files:PREFIX, store:PATH and fdb are there";
    }
    if (needs_path && options.sink.path.empty()) {
        return "--output " + output + ": a path is missing, as in " + options.sink.kind + ":out/forecast";
    }
    return {};
}

}  // namespace

ParsedOptions parse_options(int argc, char** argv, bool prints) {
    Options options;
    std::string output = "none";
    int buffer_mib = 64;
    double time_step_s = 0;
    bool is_synchronous = false, is_unsynced = false, is_directory_unsynced = false;
    CLI::App app{
        "Shallow-water forecasts on many levels from a real state of the atmosphere, with the output of a "
        "weather model: "
        "grid-point and spectral fields as GRIB 2. Prints forecast days per day.",
        "hakobi-weather"};
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.set_version_flag("--version", HAKOBI_VERSION);
    app.add_option("--resolution", options.resolution, "T63, T95, T159, T255 or T511")->capture_default_str();
    auto* levels =
        app.add_option("--levels", options.model.num_levels, "model levels")->check(CLI::Range(1, 200));
    options.model.num_levels = 60;
    levels->capture_default_str();
    auto* pressure = app.add_option("--pressure-levels", options.products.num_pressure_levels,
                                    "levels of spectral fields by pressure")
                         ->check(CLI::Range(0, 900));
    auto* grid_pressure = app.add_option("--grid-pressure-levels", options.products.num_grid_pressure_levels,
                                         "of those, with a field on the grid")
                              ->check(CLI::Range(0, 900));
    app.add_option("--hours", options.hours, "of forecast")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    app.add_option("--output-hours", options.output_hours, "between two outputs")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    app.add_option("--time-step", time_step_s, "seconds, a divisor of 3600 (default: by resolution)");
    app.add_option("--threads", options.model.num_threads, "of each rank, for the model's computing")
        ->capture_default_str()
        ->check(CLI::Range(1, 1024));
    app.add_option("--start", options.start,
                   "GRIB file with u, v and gh on pressure levels (default: a forecast of NOAA's GFS)");
    app.add_option("--output", output, "none, files:PREFIX, store:PATH or fdb (ECMWF's, by FDB5_CONFIG_FILE)")
        ->capture_default_str();
    app.add_option("--writer-stride", options.writer_stride,
                   "store, fdb: every n-th rank writes, the others encode and hand over")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000000));
    app.add_flag("--synchronous", is_synchronous, "store: archive writes itself, without buffers");
    app.add_option("--buffers", options.sink.store.num_buffers, "store: asynchronous buffers")
        ->capture_default_str()
        ->check(CLI::Range(2, 1024));
    app.add_option("--buffer-mib", buffer_mib, "store: size of each")
        ->capture_default_str()
        ->check(CLI::Range(1, 16384));
    app.add_option("--io-threads", options.sink.store.num_threads, "store: at most so many write the buffers")
        ->capture_default_str()
        ->check(CLI::Range(1, 1024));
    app.add_option("--pad-bytes", options.sink.store.pad_bytes,
                   "store: fields begin at multiples of this, such as a file system's block (0: no padding)")
        ->capture_default_str()
        ->check(CLI::Range(0, 1 << 30));
    app.add_flag("--huge-pages", options.sink.store.huge_pages, "store: large pages behind the buffers");
    app.add_flag("--direct", options.sink.store.direct,
                 "store: past the system's cache where the storage can; with --pad-bytes 4096");
    app.add_flag("--no-sync", is_unsynced,
                 "files and store: leave data in the system's cache at a step's end");
    app.add_flag("--no-directory-sync", is_directory_unsynced,
                 "store: do not sync the names of new files, which is done once for each writer");
    app.add_option("--packing", options.products.packing, "of grid fields: simple or ccsds")
        ->capture_default_str();
    app.add_option("--bits", options.products.bits_per_value, "of a packed value")
        ->capture_default_str()
        ->check(CLI::Range(1, 32));
    app.add_option("--json", options.json, "append records to this file");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        if (prints) std::fputs(app.help().c_str(), stdout);
        return {.options = {}, .exit_status = 0};
    } catch (const CLI::CallForVersion&) {
        if (prints) std::puts("hakobi-weather " HAKOBI_VERSION);
        return {.options = {}, .exit_status = 0};
    } catch (const CLI::ParseError& error) {
        if (prints) std::fprintf(stderr, "hakobi-weather: %s\n", error.what());
        return {.options = {}, .exit_status = 2};
    }
    std::string wrong = refuse_output(options, output);
    const Resolution* chosen = nullptr;
    for (const Resolution& one : resolutions) {
        if (options.resolution == one.name) chosen = &one;
    }
    if (chosen == nullptr) {
        wrong = "--resolution " + options.resolution + ": T63, T95, T159, T255 and T511 are there";
    } else {
        options.model.truncation = chosen->truncation;
        options.latitudes_to_equator = chosen->latitudes;
        options.model.time_step_s = time_step_s > 0 ? time_step_s : chosen->time_step_s;
        if (pressure->count() == 0) options.products.num_pressure_levels = chosen->pressure_levels;
        if (grid_pressure->count() == 0)
            options.products.num_grid_pressure_levels = chosen->grid_pressure_levels;
        const double steps = 3600 / options.model.time_step_s;
        if (time_step_s < 0 || steps < 1 || steps != static_cast<double>(static_cast<int>(steps)))
            wrong = "--time-step " + std::to_string(time_step_s) + ": a divisor of 3600 is needed";
    }
    if (options.products.packing != "simple" && options.products.packing != "ccsds")
        wrong = "--packing " + options.products.packing + ": simple and ccsds are there";
    if (options.model.num_threads > most_threads())
        wrong = "--threads " + std::to_string(options.model.num_threads) + ": this build has no OpenMP";
    if (!wrong.empty()) {
        if (prints) std::fprintf(stderr, "hakobi-weather: %s\n", wrong.c_str());
        return {.options = {}, .exit_status = 2};
    }
    options.sink.store.schema = "weather";
    options.sink.store.asynchronous = !is_synchronous;
    options.sink.store.buffer_bytes = std::int64_t{buffer_mib} << 20;
    options.sink.sync = options.sink.store.sync = !is_unsynced;
    options.sink.store.sync_directory = !is_directory_unsynced;
    if (options.start.empty()) options.start = shipped_analysis();
    return {.options = options, .exit_status = 0};
}

}  // namespace hakobi::weather
