#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <hakobi/comm.hpp>
#include <hakobi/error.hpp>
#include <nlohmann/json.hpp>

#include "field_output.hpp"
#include "options.hpp"
#include "start.hpp"

// Exit status: 0, 2 for an input that cannot be used, 1 for what went wrong on the way. Rank 0 says it in one
// line.
namespace hakobi::weather {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Forecast days per day of real time: of the last interval, the mean and the highest of all intervals.
class Speed {
  public:
    void add(double forecast_s, double real_s) {
        forecast_s_ += forecast_s;
        real_s_ += real_s;
        now_ = forecast_s / real_s;
        peak_ = std::max(peak_, now_);
    }
    [[nodiscard]] double now() const { return now_; }
    [[nodiscard]] double mean() const { return forecast_s_ / real_s_; }
    [[nodiscard]] double peak() const { return peak_; }
    [[nodiscard]] double real_s() const { return real_s_; }

  private:
    double now_ = 0, peak_ = 0, forecast_s_ = 0, real_s_ = 0;
};

class Records {
  public:
    Records(const std::string& path, bool writes) {
        if (path.empty() || !writes) return;
        file_.open(path, std::ios::app);
        if (!file_) throw Error(ErrorCode::not_found, path + ": cannot be opened for records");
    }
    void add(const nlohmann::json& record) {
        if (file_.is_open()) file_ << record.dump() << std::endl;
    }

  private:
    std::ofstream file_;
};

/// Writes the state as it is, unless nothing is written; returns the seconds.
double write_step(FieldOutput* output, int hour, MPI_Comm comm) {
    if (output == nullptr) return 0;
    MPI_Barrier(comm);
    const auto start = Clock::now();
    output->write(hour);
    return seconds_since(start);
}

void run(const Comm& world, const Options& options) {
    MPI_Comm comm = world.handle();
    const bool prints = world.rank() == 0;
    Records records(options.json, prints);
    const Analysis analysis = read_analysis(options.start, comm);
    ShallowWater model(comm, gaussian_grid(reduced_gaussian_rows(options.latitudes_to_equator)),
                       options.model);
    model.start(fields_of(analysis, model, level_pressures(options.model.num_levels)), 5000 * gravity);
    std::unique_ptr<FieldOutput> output;
    if (options.sink.kind != "none") {
        output = std::make_unique<FieldOutput>(model, comm, options.products, options.sink,
                                               options.writer_stride, analysis.date, analysis.time);
    }
    const int num_writers = output ? output->num_writers() : 0;
    if (prints) {
        std::printf(
            "weather: %s, %lld grid points, %d levels, %d ranks x %d threads, %d writing (%s), from %ld "
            "%04ld\n",
            options.resolution.c_str(), static_cast<long long>(model.grid().num_points()),
            options.model.num_levels, world.size(), options.model.num_threads, num_writers,
            options.sink.kind.c_str(), analysis.date, analysis.time);
        std::printf("%6s %10s %10s %10s %10s %10s %9s\n", "hour", "now", "mean", "peak", "output s",
                    "wind m/s", "MB");
    }
    const int steps_each = static_cast<int>(3600 / options.model.time_step_s) * options.output_hours;
    Speed speed;
    double mass = model.mass(0), output_s = 0;
    OutputTotals totals;
    const int num_outputs = options.hours / options.output_hours;
    for (int i = 1; i <= num_outputs; ++i) {
        MPI_Barrier(comm);
        const auto start = Clock::now();
        for (int step = 0; step < steps_each; ++step) model.step();
        const int hour = i * options.output_hours;
        const double written_s = write_step(output.get(), hour, comm);
        MPI_Barrier(comm);
        const double real_s = seconds_since(start), wind = model.largest_wind();
        speed.add(3600.0 * options.output_hours, real_s);
        output_s += written_s;
        if (output) totals = output->totals();
        if (!(wind < 1000))
            throw Error(ErrorCode::invalid_argument,
                        "the forecast is unstable: a shorter --time-step is needed");
        const double megabytes = static_cast<double>(totals.grid_bytes + totals.spectral_bytes) / 1e6;
        if (prints) {
            std::printf("%6d %10.1f %10.1f %10.1f %10.3f %10.1f %9.1f\n", hour, speed.now(), speed.mean(),
                        speed.peak(), written_s, wind, megabytes);
            std::fflush(stdout);
        }
        records.add({{"kind", "step"},
                     {"hour", hour},
                     {"days_per_day", speed.now()},
                     {"mean_days_per_day", speed.mean()},
                     {"peak_days_per_day", speed.peak()},
                     {"wall_s", real_s},
                     {"output_s", written_s},
                     {"max_wind_m_s", wind}});
    }
    const auto start = Clock::now();
    const std::vector<FileProfile> files = output ? output->close() : std::vector<FileProfile>{};
    speed.add(0, std::max(1e-9, seconds_since(start)));
    const double drift = model.mass(0) / mass - 1;
    if (!prints) return;
    for (const FileProfile& file : files) {
        records.add({{"kind", "file"},
                     {"name", file.name},
                     {"seconds", file.seconds},
                     {"bytes", file.num_bytes},
                     {"calls", file.num_calls}});
    }
    if (!files.empty()) {
        std::printf("%10s %10s %10s %8s %12s  %s\n", "seconds", "MB", "MB/s", "calls", "bytes/call", "file");
        for (const FileProfile& file : files) {
            const double megabytes = static_cast<double>(file.num_bytes) / 1e6;
            std::printf("%10.3f %10.1f %10.1f %8lld %12lld  %s\n", file.seconds, megabytes,
                        file.seconds > 0 ? megabytes / file.seconds : 0,
                        static_cast<long long>(file.num_calls),
                        static_cast<long long>(file.num_calls > 0 ? file.num_bytes / file.num_calls : 0),
                        file.name.c_str());
        }
    }
    std::printf(
        "forecast days per day: mean %.1f, peak %.1f; %.1f s, of which output %.1f s; mass changed by %.1e\n",
        speed.mean(), speed.peak(), speed.real_s(), output_s, drift);
    records.add({{"kind", "summary"},
                 {"resolution", options.resolution},
                 {"levels", options.model.num_levels},
                 {"ranks", world.size()},
                 {"threads", options.model.num_threads},
                 {"writers", num_writers},
                 {"output", options.sink.kind},
                 {"writer_stride", options.writer_stride},
                 {"hours", options.hours},
                 {"mean_days_per_day", speed.mean()},
                 {"peak_days_per_day", speed.peak()},
                 {"wall_s", speed.real_s()},
                 {"output_s", output_s},
                 {"grid_fields", totals.num_grid_fields},
                 {"spectral_fields", totals.num_spectral_fields},
                 {"grid_bytes", totals.grid_bytes},
                 {"spectral_bytes", totals.spectral_bytes},
                 {"mass_drift", drift}});
}

int run_all(int argc, char** argv) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const bool prints = comm.rank() == 0;
    const ParsedOptions parsed = parse_options(argc, argv, prints);
    int status = parsed.exit_status;
    if (parsed.options) {
        try {
            run(comm, *parsed.options);
        } catch (const Error& error) {
            if (prints) std::fprintf(stderr, "hakobi-weather: %s\n", error.what());
            const bool is_input = error.code() == ErrorCode::invalid_argument ||
                                  error.code() == ErrorCode::not_found || error.code() == ErrorCode::format ||
                                  error.code() == ErrorCode::unsupported;
            status = is_input || error.code() == ErrorCode::no_space ? 2 : 1;
        }
    }
    comm.free();
    return status;
}

}  // namespace
}  // namespace hakobi::weather

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    int status = 1;
    try {
        status = hakobi::weather::run_all(argc, argv);
    } catch (const std::exception& error) {
        // Nothing that all ranks share (memory, say): the others may be waiting for this one.
        std::fprintf(stderr, "hakobi-weather: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
}
