// hakobi-replay TRACE: replays a recorded program's communication (replay.hpp) and prints JSON lines: one
// "replay" record a repetition with every rank's seconds in communication. The command `hakobi bench replay`
// sets it beside the predictions from hot and cold figures. Exit status: 0 replayed; 2 bad input, also a
// trace whose replay would hang.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "replay.hpp"
#include "replayable.hpp"

namespace hakobi::bench {
namespace {

struct Arguments {
    std::string path;
    int repetitions = 3;
    std::int64_t eager_bytes = default_eager_bytes;
};

/// This rank's part of the trace. Collective: throws on all ranks alike, also where the replay would hang.
RankTrace read_replayable(const Comm& comm, const Arguments& arguments) {
    // Rank 0 has all parts for as long as it takes to match them.
    std::vector<int> ranks{comm.rank()};
    if (comm.rank() == 0) {
        ranks.resize(static_cast<std::size_t>(comm.size()));
        std::iota(ranks.begin(), ranks.end(), 0);
    }
    auto read = read_traces(arguments.path, ranks);
    Status status = read.ok() ? Status() : read.status();
    if (status.ok() && read.value().front().num_ranks != comm.size()) {
        status = Status(ErrorCode::invalid_argument, arguments.path + " is a trace of " +
                                                         std::to_string(read.value().front().num_ranks) +
                                                         " ranks: start as many");
    }
    if (status.ok() && comm.rank() == 0) {
        const std::string why = why_it_hangs(read.value(), arguments.eager_bytes);
        if (!why.empty()) status = Status(ErrorCode::format, arguments.path + " cannot be replayed: " + why);
    }
    mpi::agree_or_throw(comm, status);
    std::vector<RankTrace> traces = std::move(read).value();
    return std::move(traces.front());
}

void replay_all(const Comm& comm, const Arguments& arguments) {
    const RankTrace trace = read_replayable(comm, arguments);
    Replay replay(comm, trace);
    for (int repetition = 0; repetition < arguments.repetitions; ++repetition) {
        const ReplayTimes times = replay.run();
        std::vector<double> communication(static_cast<std::size_t>(comm.size()));
        mpi::check(MPI_Gather(&times.communication_s, 1, MPI_DOUBLE, communication.data(), 1, MPI_DOUBLE, 0,
                              comm.state().internal),
                   "MPI_Gather");
        int failed = 0;
        mpi::check(
            MPI_Reduce(&times.num_failed_calls, &failed, 1, MPI_INT, MPI_SUM, 0, comm.state().internal),
            "MPI_Reduce");
        if (comm.rank() != 0) continue;
        const nlohmann::ordered_json record{{"kind", "replay"},       {"repetition", repetition},
                                            {"ranks", comm.size()},   {"communication_s", communication},
                                            {"wall_s", times.wall_s}, {"num_failed_calls", failed}};
        std::printf("%s\n", record.dump().c_str());
        std::fflush(stdout);
    }
}

int run(int argc, char** argv) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Arguments arguments;
    CLI::App app{"Replays a recorded program's communication.", "hakobi-replay"};
    app.add_option("trace", arguments.path, "file written by 'hakobi run --record FILE'")->required();
    app.add_option("--repetitions", arguments.repetitions, "how often")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--eager", arguments.eager_bytes, "bytes up to which a send ends by itself")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    Status status;
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        if (comm.rank() == 0) std::fputs(app.help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& error) {
        status = Status(ErrorCode::invalid_argument, error.what());
    }
    try {
        mpi::agree_or_throw(comm, status);
        replay_all(comm, arguments);
    } catch (const Error& error) {
        if (comm.rank() == 0) std::fprintf(stderr, "hakobi-replay: %s\n", error.what());
        return 2;
    }
    return 0;
}

}  // namespace
}  // namespace hakobi::bench

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    // A replayed call that fails is counted. MPICH takes a wait's errors to the handlers of these two.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const int status = hakobi::bench::run(argc, argv);
    MPI_Finalize();
    return status;
}
