// Ends a run in many ways while its hidden steps are on their way; tests/python/test_endings.py starts it and
// looks at what is left. Usage: ending <prefix> <method> <ending>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <hakobi/hakobi.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// Steps whose end_step has returned on rank 0; rank 0 sees no more than what all have.
void note(const hakobi::Comm& comm, const std::string& prefix, int step) {
    if (comm.rank() != 0) return;
    std::FILE* const file = std::fopen((prefix + ".accepted").c_str(), "a");
    std::fprintf(file, "%d\n", step);
    std::fclose(file);
}

void write_steps(hakobi::Output& out, const hakobi::Comm& comm, const std::string& prefix) {
    const auto block = hakobi::split({256, 512}, comm.size(), comm.rank());
    for (int step = 0; step < 5; ++step) {
        const std::vector<double> values(static_cast<std::size_t>(block.num_elements()), step + 0.5);
        out.begin_step(step);
        out.put({.name = "eta", .block = block, .data = std::span(values)});
        out.end_step();
        note(comm, prefix, step);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    hakobi::report_errors();
    MPI_Init(&argc, &argv);
    const auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const std::string prefix = argv[1], ending = argv[3];
    std::optional<hakobi::Output> out = hakobi::Output::create(comm, prefix, {.method = argv[2]});
    try {
        write_steps(*out, comm, prefix);
        if (ending == "exception") {
            const hakobi::Output leaves_this_scope = std::move(*out);
            throw std::runtime_error("the solver diverges");
        }
    } catch (const std::runtime_error&) {
    }
    const bool is_last = comm.rank() == comm.size() - 1;
    if (ending == "close") out->close();
    if (ending == "drop") out.reset();
    if (ending == "error") (void)hakobi::Input::open(comm, prefix + ".none");
    if (ending == "local_error" && is_last) (void)hakobi::Input::open(prefix + ".none");
    if (ending == "exit") std::exit(3);
    if (ending == "abort" && is_last) MPI_Abort(MPI_COMM_WORLD, 3);
    if (ending == "terminate" && is_last) kill(getpid(), SIGTERM);
    if (ending == "kill" && is_last) kill(getpid(), SIGKILL);
    if (ending == "abort" || ending == "terminate" || ending == "kill" || ending == "local_error") sleep(30);
    MPI_Finalize();
    return 0;
}
