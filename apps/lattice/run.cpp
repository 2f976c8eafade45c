#include "run.hpp"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "agree.hpp"
#include "base/clock.hpp"
#include "generate.hpp"
#include "mult_benchmark.hpp"

namespace hakobi::lattice {
namespace {

using Json = nlohmann::ordered_json;

template <class Array>
Json list(const Array& values) {
    Json array = Json::array();
    for (const auto value : values) array.push_back(value);
    return array;
}

std::string mpi_name() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string version(text.data(), static_cast<std::size_t>(length));
    return version.substr(0, version.find_first_of(",\n"));
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

// The links and what is known of them.
struct Configuration {
    std::unique_ptr<Gauge> gauge;
    GaugeMeasures measures;
    std::string checked;  // against what the file said, or ""
};

bool is_file(const Options& options) {
    return options.start != "cold" && options.start != "hot";
}

Configuration configure(const Comm& comm, const Options& options, const std::optional<GaugeLayout>& layout,
                        Exchange& exchange, const Geometry& geometry, const AddUp& add_up) {
    Configuration configuration{.gauge = std::make_unique<Gauge>(exchange, geometry)};
    Gauge& gauge = *configuration.gauge;
    if (layout) {
        const GaugeVerdict verdict =
            as_input([&] { return read_gauge(comm, options.start, *layout, gauge, add_up); });
        configuration.measures = verdict.measures;
        configuration.checked = verdict.checked;
        if (options.num_sweeps == 0) return configuration;
    } else if (options.start == "hot") {
        make_hot(gauge, options.seed);
    }
    heatbath(gauge, options.beta, options.seed, options.num_sweeps);
    configuration.measures = measure(gauge, comm, add_up);
    return configuration;
}

struct Solved {
    Solution solution;
    double time_s = 0, norm = 0;
};

Solved solve(const Comm& comm, const Options& options, Exchange& exchange, Wilson& wilson,
             const AddUp& add_up) {
    Spinor source(exchange, wilson.geometry()), x(exchange, wilson.geometry());
    fill_point(source, {0, 0, 0, 0}, 0, 0);
    Solver solver(exchange, wilson, add_up);
    MPI_Barrier(comm.handle());
    const double from_s = now_s();
    Solved solved{.solution = solver.solve(source, x, options.solver)};
    solved.time_s = now_s() - from_s;
    solved.norm = norm_squared(x, -1, 1, add_up);
    return solved;
}

// One exchange with its operator, timed beside the others.
struct Lane {
    std::unique_ptr<Exchange> exchange;
    std::unique_ptr<Wilson> wilson;
    std::unique_ptr<Spinor> in, out;
};

Lane make_lane(const std::string& name, const Comm& comm, const Gauge& gauge, const Quark& quark) {
    Lane lane{.exchange = as_input([&] { return make_exchange(name, comm, gauge.geometry()); })};
    lane.wilson = std::make_unique<Wilson>(*lane.exchange, gauge, quark);
    lane.in = std::make_unique<Spinor>(*lane.exchange, gauge.geometry());
    lane.out = std::make_unique<Spinor>(*lane.exchange, gauge.geometry());
    fill_normal(*lane.in, 1);
    return lane;
}

void append(const std::string& path, const std::vector<Json>& records) {
    if (path.empty()) return;
    std::ofstream file(path, std::ios::app);
    for (const Json& record : records) file << record.dump() << '\n';
    if (!file.flush()) throw Error(ErrorCode::io, "record " + path + ": cannot be written");
}

}  // namespace

void run(const Comm& comm, const Options& options) {
    std::optional<GaugeLayout> layout;
    if (is_file(options)) layout = as_input([&] { return read_gauge_layout(comm, options.start); });
    if (layout && options.extents && *options.extents != layout->extents) {
        throw InputError{options.start + ": a lattice of " + to_string(layout->extents) + " sites, not " +
                         to_string(*options.extents)};
    }
    const Extents extents = layout ? layout->extents : options.extents.value_or(Extents{8, 8, 8, 16});
    const Geometry geometry = as_input([&] {
        return Geometry(extents,
                        options.grid ? *options.grid : choose_rank_grid(extents, comm.size(), options.split),
                        comm.size(), comm.rank());
    });
    as_input([&] {
        on_rank_0(comm, [&] {
            if (!options.json.empty() && !std::ofstream(options.json, std::ios::app)) {
                throw Error(ErrorCode::permission, "record " + options.json + ": " + std::strerror(errno));
            }
        });
    });

    ScalarSums sums(comm);
    const AddUp add_up = sums.function();
    const auto exchange = as_input([&] { return make_exchange(options.exchanges.front(), comm, geometry); });
    const Configuration configuration = configure(comm, options, layout, *exchange, geometry, add_up);
    const Gauge& gauge = *configuration.gauge;
    if (!options.write_path.empty()) {
        GaugeWriteOptions write = options.write;
        write.provenance = {.label = "hakobi-lattice", .creator = "hakobi-lattice " HAKOBI_LATTICE_VERSION};
        write_gauge(comm, options.write_path, gauge, configuration.measures, write);
    }

    Solved solved;
    if (options.solves) {
        Wilson wilson(*exchange, gauge, options.quark);
        solved = solve(comm, options, *exchange, wilson, add_up);
    }
    std::vector<Lane> lanes;
    std::vector<MultTimes> mults;
    if (options.mult_budget_s > 0) {
        std::vector<MultContender> contenders;
        for (const std::string& name : options.exchanges) {
            lanes.push_back(make_lane(name, comm, gauge, options.quark));
            contenders.push_back({lanes.back().wilson.get(), lanes.back().in.get(), lanes.back().out.get()});
        }
        mults = time_mults(comm, contenders, options.mult_budget_s);
    }
    sums.free();
    if (comm.rank() != 0) return;

    const GaugeMeasures& measures = configuration.measures;
    std::printf("lattice: %s on %s ranks: plaquette %.12f, link trace %.12f, unitary within %.1e\n",
                to_string(extents).c_str(), to_string(geometry.grid()).c_str(), measures.plaquette,
                measures.link_trace, measures.unitarity_defect);
    if (!configuration.checked.empty()) {
        std::printf("%s: right by %s\n", options.start.c_str(), configuration.checked.c_str());
    }
    if (!options.write_path.empty()) {
        std::printf("%s: written (%s)\n", options.write_path.c_str(),
                    std::string(to_string(options.write.format)).c_str());
    }
    const Solution& solution = solved.solution;
    if (options.solves) {
        std::printf("solver: residual %.3e after %d iterations, %.3f s%s\n", solution.residual,
                    solution.num_iterations, solved.time_s, solution.is_converged ? "" : ": NOT CONVERGED");
    }
    std::vector<Json> records;
    for (std::size_t i = 0; i < options.exchanges.size(); ++i) {
        Json record{{"kind", "summary"},
                    {"app", "lattice"},
                    {"lattice", list(extents)},
                    {"ranks", comm.size()},
                    {"grid", list(geometry.grid())},
                    {"exchange", options.exchanges[i]},
                    {"plaquette", measures.plaquette},
                    {"link_trace", measures.link_trace},
                    {"unitarity_defect", measures.unitarity_defect}};
        if (options.solves && i == 0) {
            record["kappa"] = options.quark.kappa;
            record["iterations"] = solution.num_iterations;
            record["residual"] = solution.residual;
            record["converged"] = solution.is_converged;
            record["solve_s"] = solved.time_s;
            record["propagator_norm"] = solved.norm;
        }
        if (!mults.empty()) {
            const MultTimes& own = mults[i];
            const double flops = lanes[i].wilson->flops_per_apply();
            const Speedup speedup = speedup_over(mults[0], own);
            std::printf(
                "mult, %-14s %10.2f us (quartiles %.2f, %.2f), %6.2f GFlop/s, %4.1f %% in the exchange",
                (options.exchanges[i] + ":").c_str(), own.median_s * 1e6, own.low_s * 1e6, own.high_s * 1e6,
                flops / own.median_s / 1e9, 100 * own.communication_share);
            if (i > 0) {
                std::printf(", %.2f times as fast as %s (%.2f to %.2f by the quartiles%s)", speedup.ratio,
                            options.exchanges[0].c_str(), speedup.low, speedup.high,
                            speedup.differs() ? "" : ": within the spread");
            }
            std::printf("\n");
            record["mult_median_s"] = own.median_s;
            record["mult_quartiles_s"] = {own.low_s, own.high_s};
            record["mult_batch"] = own.batch;
            record["mult_samples"] = own.samples_s.size();
            record["flops"] = flops;
            record["gflop_s"] = flops / own.median_s / 1e9;
            record["communication_share"] = own.communication_share;
            record["speedup"] = speedup.ratio;
            record["speedup_quartiles"] = {speedup.low, speedup.high};
            record["speedup_over"] = options.exchanges[0];
        }
        record["mpi"] = mpi_name();
        records.push_back(std::move(record));
    }
    append(options.json, records);
}

}  // namespace hakobi::lattice
