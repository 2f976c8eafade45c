// A run whose last rank is killed in the middle of its third step; tests/output/killed_run.sh starts it.
#include <unistd.h>
#include <csignal>
#include <hakobi/hakobi.hpp>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const auto block = hakobi::split({60, 101}, comm.size(), comm.rank());
    const std::vector<double> values(static_cast<std::size_t>(block.num_elements()), 1.5);
    auto out = hakobi::Output::create(comm, argv[1], {.method = argv[2]});
    for (int step = 0; step < 4; ++step) {
        out.begin_step(step);
        out.put({.name = "eta", .block = block, .data = std::span(values)});
        if (step == 2 && comm.rank() == comm.size() - 1) kill(getpid(), SIGKILL);
        out.end_step();
    }
    out.close();
    MPI_Finalize();
    return 0;
}
