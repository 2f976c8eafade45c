#include "run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <hakobi/error.hpp>
#include <hakobi/input.hpp>
#include <hakobi/output.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "gauges.hpp"
#include "inputs.hpp"
#include "simulation.hpp"
#include "source.hpp"
#include "state.hpp"
#include "statistics.hpp"

namespace hakobi::tsunami {
namespace {

// The fields of a step, gathered from the state into one array each. A dry cell's surface is NaN, its
// velocity 0.
class StepWriter {
  public:
    /// Collective over `comm`.
    StepWriter(const Comm& comm, const Simulation& simulation) : simulation_(simulation) {
        const std::int64_t num = simulation.block().num_elements();
        for (auto* field : {&eta_, &u_, &v_, &eta_max_}) {
            field->on_host.resize(static_cast<std::size_t>(num));
            if (const auto& gpu = simulation.gpu())
                field->on_gpu = gpu->allocate(comm, num * static_cast<std::int64_t>(sizeof(double)));
        }
    }

    /// The fields of the steps, which files have as `store_as` (FieldDefinition). Collective.
    void define(Output& output, const std::string& store_as) {
        const auto define = [&](Values& values, const char* name, const char* units, const char* long_name,
                                const char* standard_name) {
            values.id = output.define({.name = name,
                                       .units = units,
                                       .long_name = long_name,
                                       .standard_name = standard_name,
                                       .global = simulation_.block().global,
                                       .store_as = store_as});
        };
        define(eta_, "eta", "m", "height of the sea surface above mean sea level, NaN where it is dry",
               "sea_surface_height_above_mean_sea_level");
        define(u_, "u", "m s-1", "velocity to the east, mean over the depth",
               "barotropic_eastward_sea_water_velocity");
        define(v_, "v", "m s-1", "velocity to the north, mean over the depth",
               "barotropic_northward_sea_water_velocity");
        define(eta_max_, "eta_max", "m", "highest sea surface so far, NaN where it was never wet", "");
    }

    /// With the state where there is one.
    void write(Output& output, State* state) {
        fill();
        const auto put = [&](const Values& values) {
            const auto& gpu = simulation_.gpu();
            const double* data = values.on_host.data();
            if (gpu != nullptr) {
                gpu->copy(values.on_gpu.get(), data,
                          std::ssize(values.on_host) * std::int64_t{sizeof(double)});
                data = reinterpret_cast<const double*>(values.on_gpu.get());
            }
            output.put(values.id, simulation_.block(), std::span<const double>(data, values.on_host.size()),
                       {.memory = gpu != nullptr ? Memory::device : Memory::host,
                        .stream = gpu != nullptr ? gpu->stream() : nullptr});
        };
        output.begin_step(simulation_.time_s());
        for (const Values* values : {&eta_, &u_, &v_, &eta_max_}) put(*values);
        if (state != nullptr) state->put(output);
        output.end_step();
    }

  private:
    void fill() {
        const Solver& solver = simulation_.solver();
        constexpr double dry = std::numeric_limits<double>::quiet_NaN();
        std::size_t at = 0;
        for (std::int64_t r = 0; r < solver.num_rows(); ++r) {
            for (std::int64_t c = 0; c < solver.num_columns(); ++c, ++at) {
                const double h = solver.eta.row(r)[c] - solver.bed.row(r)[c];
                const bool is_wet = h > solver.options().dry_depth_m;
                const double eta_max = solver.eta_max.row(r)[c];
                eta_.on_host[at] = is_wet ? solver.eta.row(r)[c] : dry;
                u_.on_host[at] = is_wet ? solver.momentum_x.row(r)[c] / h : 0;
                v_.on_host[at] = is_wet ? solver.momentum_y.row(r)[c] / h : 0;
                eta_max_.on_host[at] = std::isfinite(eta_max) ? eta_max : dry;
            }
        }
    }

    struct Values {
        FieldId id{};
        std::vector<double> on_host;
        std::shared_ptr<std::byte> on_gpu;  ///< a copy, which is what is put; null without a GPU
    };
    const Simulation& simulation_;
    Values eta_, u_, v_, eta_max_;
};

std::vector<double> output_times_s(const Options& options) {
    const double end_s = options.hours * 3600;
    std::vector<double> times;
    if (options.output_interval_min) {
        const double interval_s = *options.output_interval_min * 60;
        if (end_s / interval_s > 1e6)
            throw InputError{"the output interval would give more than a million steps"};
        for (int k = 1; k * interval_s <= end_s * (1 + 1e-12); ++k)
            times.push_back(std::min(k * interval_s, end_s));
        if (times.empty()) throw InputError{"the output interval is longer than the run"};
    } else {
        for (int k = 1; k <= options.num_steps_out; ++k) times.push_back(end_s * k / options.num_steps_out);
    }
    return times;
}

std::string mpi_name() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string version(text.data(), static_cast<std::size_t>(length));
    const bool is_mpich = version.starts_with("MPICH");
    const auto first = version.find_first_of("0123456789");
    if (first == std::string::npos) return version.substr(0, version.find('\n'));
    const auto last = version.find_first_not_of("0123456789.", first);
    const std::string number = version.substr(first, last - first);
    if (is_mpich) return "MPICH " + number;
    if (version.starts_with("Open MPI")) return "Open MPI " + number;
    return version.substr(0, version.find('\n'));
}

double highest_of_ranks(const Comm& comm, double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm.handle());
    return value;
}

double sum_of_ranks(const Comm& comm, double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, comm.handle());
    return value;
}

nlohmann::ordered_json gauge_results(const GaugeRecorder& recorder,
                                     const std::vector<std::vector<Sample>>& records) {
    const auto minutes = [](double value) {
        return std::isnan(value) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
    };
    auto list = nlohmann::ordered_json::array();
    for (std::size_t g = 0; g < recorder.gauges().size(); ++g) {
        const Gauge& gauge = recorder.gauges()[g];
        const auto arrival = arrival_s(records[g]);
        const auto crest = first_crest(records[g]);
        const double nothing = std::numeric_limits<double>::quiet_NaN();
        const double arrival_min = arrival ? *arrival / 60 : nothing;
        list.push_back({{"name", gauge.name},
                        {"longitude", gauge.longitude_deg},
                        {"latitude", gauge.latitude_deg},
                        {"observed_min", minutes(gauge.observed_arrival_min)},
                        {"computed_min", minutes(arrival_min)},
                        {"error_percent", minutes(100 * (arrival_min / gauge.observed_arrival_min - 1))},
                        {"observed_crest_min", minutes(gauge.observed_crest_min)},
                        {"computed_crest_min", minutes(crest ? crest->time_s / 60 : nothing)},
                        {"crest_m", minutes(crest ? crest->eta_m : nothing)}});
    }
    return list;
}

void print_gauges(const nlohmann::ordered_json& gauges) {
    std::printf("%-12s %29s %29s\n%-12s", "minutes", "arrival (0.2 m is reached)", "first crest", "gauge");
    const struct {
        const char *key, *title, *format;
    } columns[] = {{"observed_min", "observed", "%.1f"},       {"computed_min", "computed", "%.1f"},
                   {"error_percent", "error %", "%+.1f"},      {"observed_crest_min", "observed", "%.1f"},
                   {"computed_crest_min", "computed", "%.1f"}, {"crest_m", "height m", "%.2f"}};
    for (const auto& column : columns) std::printf(" %9s", column.title);
    std::printf("\n");
    for (const auto& gauge : gauges) {
        std::printf("%-12s", gauge["name"].get<std::string>().c_str());
        for (const auto& [key, title, format] : columns) {
            std::array<char, 32> text{'-'};
            if (!gauge[key].is_null())
                std::snprintf(text.data(), text.size(), format, gauge[key].get<double>());
            std::printf(" %9s", text.data());
        }
        std::printf("\n");
    }
}

void write_gauge_records(const std::string& path, const GaugeRecorder& recorder,
                         const std::vector<std::vector<Sample>>& records) {
    std::ofstream file(path);
    file << "gauge,seconds_after_origin,eta_m\n";
    for (std::size_t g = 0; g < records.size(); ++g) {
        for (const Sample& sample : records[g]) {
            file << recorder.gauges()[g].name << ',' << sample.time_s << ',' << sample.eta_m << '\n';
        }
    }
    if (!file.flush()) throw Error(ErrorCode::io, "gauge records " + path + ": cannot be written");
}

/// Where a run goes on.
struct Restart {
    std::size_t num_done = 0;     ///< steps whose model time is past
    std::size_t num_written = 0;  ///< steps that are whole: the run was killed between two states
};

/// The last step of that time; none where there is none. Local.
std::optional<std::int64_t> step_at(const Input& input, double time_s) {
    const auto found = std::ranges::find(input.times(), time_s);
    if (found == input.times().end()) return {};
    return input.steps()[static_cast<std::size_t>(found - input.times().begin())];
}

/// The time of the last step that holds a state; none where there is none. Collective.
std::optional<double> last_state_s(const Comm& comm, const Options& options) {
    Input input = Input::open(comm, options.prefix, {.hints = options.output.hints});
    const std::optional<std::int64_t> step = State::last_step(input);
    std::optional<double> time_s;
    if (step) time_s = time_of(input, *step);
    input.close();
    return time_s;
}

/// Sets the simulation to the last state that the series holds, or with statistics to that of their
/// checkpoint; without one it begins again. Collective; throws alike on every rank.
Restart restart(const Comm& comm, const Options& options, std::span<const double> times_s, State& state,
                const Statistics* statistics) {
    Input input = Input::open(comm, options.prefix, {.hints = options.output.hints});
    std::optional<std::int64_t> step = State::last_step(input);
    if (!step) {
        throw InputError{"no step of " + options.prefix +
                         " holds a state: only a run with --state-every can be restarted"};
    }
    if (statistics != nullptr) {
        const std::optional<double> time_s = statistics->resume_time_s();
        if (!time_s) return {0, static_cast<std::size_t>(input.steps().back()) + 1};
        step = step_at(input, *time_s);
        if (!step) {
            throw InputError{options.prefix + " has no step of the statistics' checkpoint, " +
                             std::to_string(*time_s) + " s: the run had no --state-every"};
        }
    }
    state.restore(input, *step);
    const auto num_done = static_cast<std::size_t>(*step) + 1;
    if (num_done > times_s.size() || time_of(input, *step) != times_s[num_done - 1]) {
        throw InputError{"step " + std::to_string(*step) + " of " + options.prefix +
                         " is at another time than in this run: it was written with other --hours, "
                         "--steps-out or --output-interval"};
    }
    const auto num_written = static_cast<std::size_t>(input.steps().back()) + 1;
    input.close();
    return {num_done, num_written};
}

// Makes `action`'s Error one of the input: nothing has been computed yet.
template <class Action>
auto as_input(Action action) -> decltype(action()) {
    try {
        return action();
    } catch (const Error& error) {
        throw InputError{error.what()};
    }
}

}  // namespace

void run(const Comm& comm, const Options& options) {
    const double setup_from_s = now_s();
    const std::vector<double> times_s = output_times_s(options);
    const Inputs inputs = as_input(
        [&] { return read_inputs(comm, options.seafloor, options.rupture, options.gauges, options.json); });
    auto simulation = as_input([&] { return std::make_unique<Simulation>(comm, options, inputs); });
    const Grid& grid = simulation->grid();

    OutputOptions output_options = options.output;
    output_options.title = "Tsunami of 11 March 2011 in the North Pacific, shallow-water equations";
    output_options.time_units = tohoku_2011_time_units;
    output_options.axes = {{.name = "lat",
                            .units = "degrees_north",
                            .standard_name = "latitude",
                            .values = grid.latitudes_deg()},
                           {.name = "lon",
                            .units = "degrees_east",
                            .standard_name = "longitude",
                            .values = grid.longitudes_deg()}};
    GaugeRecorder recorder(inputs.gauges, grid, simulation->block());
    recorder.record(simulation->solver(), 0);
    const ExactSum volume_at_start_m3 = simulation->volume_m3();

    State state(*simulation);
    Restart restarted;
    if (options.is_restart) output_options.if_exists = hakobi::IfExists::resume;
    std::optional<Statistics> statistics;
    if (options.statistics_every > 0) {
        const double interval_s = times_s[0] * options.statistics_every;
        as_input([&] {
            const auto resume_at_s = options.is_restart ? last_state_s(comm, options) : std::nullopt;
            statistics.emplace(comm, *simulation, options, output_options, interval_s, resume_at_s);
        });
    }
    if (options.is_restart) {
        restarted = as_input(
            [&] { return restart(comm, options, times_s, state, statistics ? &*statistics : nullptr); });
    }
    const double restarted_at_s = simulation->time_s();
    Output output = as_input([&] { return Output::create(comm, options.prefix, output_options); });
    StepWriter writer(comm, *simulation);
    writer.define(output, options.is_single_precision ? "float32" : "");
    if (options.state_every > 0) state.define(output);

    MPI_Barrier(comm.handle());
    const double from_s = now_s();
    const auto after_step = [&] {
        recorder.record(simulation->solver(), simulation->time_s());
        if (statistics) statistics->add();
    };
    std::size_t num_put = 0;
    for (std::size_t k = restarted.num_done; k < times_s.size(); ++k) {
        const double time_s = times_s[k];
        simulation->advance_to(time_s, after_step);
        if (k < restarted.num_written) continue;
        const auto number = static_cast<std::int64_t>(k) + 1;
        const bool has_state = options.state_every > 0 && number % options.state_every == 0;
        writer.write(output, has_state ? &state : nullptr);
        if (has_state && statistics) {
            output.flush();  // a checkpoint has its state
            statistics->checkpoint();
        }
        ++num_put;
        if (options.show_progress && comm.rank() == 0) {
            std::fprintf(stderr, "\r%.2f of %g h", time_s / 3600, options.hours);
        }
    }
    simulation->advance_to(options.hours * 3600, after_step);
    if (statistics) statistics->close();
    output.close();
    MPI_Barrier(comm.handle());
    const double to_s = now_s();
    if (options.show_progress && comm.rank() == 0) std::fputs("\n", stderr);

    const double change = simulation->volume_m3().minus(volume_at_start_m3) / volume_at_start_m3.value();
    const std::uint64_t checksum = simulation->checksum();
    const OutputTimes times = output.times();
    std::int64_t bytes = times.bytes;
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, comm.handle());
    const nlohmann::ordered_json output_times{{"encode_s", highest_of_ranks(comm, times.encode_s)},
                                              {"layout_s", highest_of_ranks(comm, times.layout_s)},
                                              {"values_s", highest_of_ranks(comm, times.values_s)},
                                              {"finish_s", highest_of_ranks(comm, times.finish_s)},
                                              {"gather_s", highest_of_ranks(comm, times.gather_s)},
                                              {"hidden_s", highest_of_ranks(comm, times.hidden_s)},
                                              {"cpu_s", sum_of_ranks(comm, times.cpu_s)}};
    const auto records = recorder.gather(comm.handle());
    if (comm.rank() != 0) return;

    const auto gauges = gauge_results(recorder, records);
    std::array<char, 96> written{"nothing written"};
    if (output.method() != "none") {
        std::snprintf(written.data(), written.size(), "%zu steps (%.1f MB) written by %s", num_put,
                      static_cast<double>(bytes) / 1e6, std::string(output.method()).c_str());
    }
    std::array<char, 48> from{};
    if (options.is_restart) std::snprintf(from.data(), from.size(), ", from %g h on", restarted_at_s / 3600);
    std::printf("tsunami: %lld x %lld cells, %g h in %lld steps on %d ranks%s, %s: %.2f s\n",
                static_cast<long long>(grid.num_rows), static_cast<long long>(grid.num_columns),
                options.hours, static_cast<long long>(simulation->num_steps()), comm.size(), from.data(),
                written.data(), to_s - from_s);
    if (output.method() != "none") std::printf("tsunami: output by %s\n", output.explain().c_str());
    const std::string device = simulation->gpu() != nullptr ? simulation->gpu()->name() : "";
    if (!device.empty()) {
        std::printf(
            "tsunami: ghosts and steps from the memory of %s, which holds copies of fields that the host "
            "computes\n",
            device.c_str());
    }
    if (!gauges.empty()) print_gauges(gauges);
    if (!options.gauge_records.empty()) write_gauge_records(options.gauge_records, recorder, records);
    if (options.json.empty()) return;
    std::array<char, 24> hash{};
    std::snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(checksum));
    const nlohmann::ordered_json record{{"app", "tsunami"},
                                        {"method", output.method()},
                                        {"ranks", comm.size()},
                                        {"time_s", to_s - from_s},
                                        {"setup_s", from_s - setup_from_s},
                                        {"output_bytes", bytes},
                                        {"steps", simulation->num_steps()},
                                        {"steps_out", num_put},
                                        {"grid", {grid.num_rows, grid.num_columns}},
                                        {"output_times", output_times},
                                        {"output_explained", output.explain()},
                                        {"device", device},
                                        {"mass_relative_change", change},
                                        {"eta_checksum", hash.data()},
                                        {"mpi", mpi_name()},
                                        {"gauges", gauges}};
    std::ofstream file(options.json, std::ios::app);
    file << record.dump() << '\n';
    if (!file.flush()) throw Error(ErrorCode::io, "record " + options.json + ": cannot be written");
}

}  // namespace hakobi::tsunami
