// hakobi-bench-output METHOD BYTES STEPS PREFIX [hidden]: what does a step cost, and how often do the ranks
// synchronise in it? STEPS steps of one field of BYTES, each between two barriers; rank 0 prints a line of
// JSON: the median, the quartiles and the extremes of the time from the first rank's begin_step to the last
// one's end_step, and the median of the collective calls of MPI that rank 0 made in it. The first four steps
// are not counted. Rounds within the engine, in memory that a node's ranks share, are no calls of MPI: on one
// node each is an "agree on requests" or a "plan" in a HAKOBI_TRACE.
//
// Every step's values are read back and compared at the end, which is not timed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <hakobi/hakobi.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "synchronisations.hpp"

namespace {

constexpr int num_warm_up = 4;
constexpr std::int64_t num_columns = 1024;

struct Samples {
    std::vector<double> times_s;
    std::vector<int> calls;
};

double value_at(std::int64_t step, std::int64_t element, int rank) {
    return 1e9 * static_cast<double>(step) + 1e6 * rank + static_cast<double>(element % 9973);
}

void fill(std::vector<double>& values, std::int64_t step, int rank) {
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = value_at(step, static_cast<std::int64_t>(i), rank);
}

Samples write_steps(const hakobi::Comm& comm, const hakobi::Block& block, int num_steps,
                    const std::string& prefix, const hakobi::OutputOptions& options) {
    Samples samples;
    std::vector<double> values(static_cast<std::size_t>(block.num_elements()));
    hakobi::Output out = hakobi::Output::create(comm, prefix, options);
    for (int step = 0; step < num_steps + num_warm_up; ++step) {
        fill(values, step, comm.rank());
        MPI_Barrier(MPI_COMM_WORLD);
        const int calls_before = hakobi::bench::num_collective_calls();
        const double begin_s = MPI_Wtime();
        out.begin_step(step);
        out.put({.name = "eta", .units = "m", .block = block, .data = std::span<const double>(values)});
        out.end_step();
        const double end_s = MPI_Wtime();
        const int calls = hakobi::bench::num_collective_calls() - calls_before;
        double ends[2] = {-begin_s, end_s}, last[2] = {0, 0};
        MPI_Allreduce(ends, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (step < num_warm_up) continue;
        samples.times_s.push_back(last[0] + last[1]);
        samples.calls.push_back(calls);
    }
    out.close();
    return samples;
}

bool read_back(const hakobi::Comm& comm, const hakobi::Block& block, const std::string& prefix) {
    std::vector<double> values(static_cast<std::size_t>(block.num_elements()));
    hakobi::Input in = hakobi::Input::open(comm, prefix);
    std::int64_t num_wrong = 0;
    for (const std::int64_t step : in.steps()) {
        in.read({.name = "eta", .step = step, .block = block, .data = std::span<double>(values)});
        for (std::size_t i = 0; i < values.size(); ++i)
            num_wrong += values[i] != value_at(step, static_cast<std::int64_t>(i), comm.rank());
    }
    in.close();
    std::int64_t num_wrong_of_all = 0;
    MPI_Allreduce(&num_wrong, &num_wrong_of_all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return num_wrong_of_all == 0;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int status = 0;
    {
        const hakobi::Comm comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
        try {
            if (argc < 5 || argc > 6)
                throw hakobi::Error(hakobi::ErrorCode::invalid_argument,
                                    "METHOD BYTES STEPS PREFIX [hidden]");
            const std::string method = argv[1], prefix = argv[4];
            const std::int64_t num_bytes = std::atoll(argv[2]);
            const int num_steps = std::max(1, std::atoi(argv[3]));
            const bool is_hidden = argc == 6 && std::string_view(argv[5]) == "hidden";
            const hakobi::Block block =
                hakobi::split({std::max<std::int64_t>(1, num_bytes / 8 / num_columns), num_columns},
                              comm.size(), comm.rank());
            hakobi::OutputOptions options;
            options.method = method;
            options.if_exists = hakobi::IfExists::replace;
            options.asynchronous = is_hidden;
            Samples samples = write_steps(comm, block, num_steps, prefix, options);
            const bool is_verified = method != "none" && read_back(comm, block, prefix);
            if (!is_verified && method != "none")
                throw hakobi::Error(hakobi::ErrorCode::internal, "wrong values");
            std::ranges::sort(samples.times_s);
            std::ranges::sort(samples.calls);
            const auto at = [&](double part) {
                return samples.times_s[static_cast<std::size_t>(
                           part * static_cast<double>(samples.times_s.size() - 1))] *
                       1e6;
            };
            if (comm.rank() == 0)
                std::printf(
                    "{\"method\": \"%s\", \"hidden\": %s, \"bytes\": %lld, \"ranks\": %d, \"steps\": %d, "
                    "\"median_us\": %.1f, \"quartiles_us\": [%.1f, %.1f], \"extremes_us\": [%.1f, %.1f], "
                    "\"collective_calls\": %d, \"verified\": %s}\n",
                    method.c_str(), is_hidden ? "true" : "false", static_cast<long long>(num_bytes),
                    comm.size(), num_steps, at(0.5), at(0.25), at(0.75), at(0), at(1),
                    samples.calls[samples.calls.size() / 2], is_verified ? "true" : "false");
        } catch (const hakobi::Error& error) {
            if (comm.rank() == 0) std::fprintf(stderr, "hakobi-bench-output: %s\n", error.what());
            status = error.code() == hakobi::ErrorCode::invalid_argument ? 2 : 1;
        }
    }
    MPI_Finalize();
    return status;
}
