// A block-decomposed field leaves a program, step by step:
//   mpiexec -n 4 ./output run pipelined      makes run_000000.nc, run_000001.nc and run_000002.nc
#include <cmath>
#include <hakobi/hakobi.hpp>
#include <vector>

namespace {

/// A wave that has travelled for `time_s` seconds, on this rank's part of the grid.
std::vector<double> wave(const hakobi::Block& block, double time_s) {
    std::vector<double> eta;
    for (std::int64_t y = block.start[0]; y < block.start[0] + block.count[0]; ++y) {
        for (std::int64_t x = block.start[1]; x < block.start[1] + block.count[1]; ++x) {
            eta.push_back(std::sin(0.1 * static_cast<double>(x + y) - time_s));
        }
    }
    return eta;
}

void run(const char* prefix, const char* method) {
    const auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const auto block = hakobi::split({60, 101}, comm.size(), comm.rank());
    auto out = hakobi::Output::create(comm, prefix, {.method = method, .title = "a travelling wave"});
    const auto field = out.define({.name = "eta", .units = "m", .global = block.global});
    for (const double time_s : {0.0, 0.5, 1.0}) {
        const std::vector<double> eta = wave(block, time_s);
        out.begin_step(time_s);
        out.put(field, block, eta);
        out.end_step();
    }
    out.close();
}

}  // namespace

int main(int argc, char** argv) {
    hakobi::report_errors();
    MPI_Init(&argc, &argv);
    run(argc > 1 ? argv[1] : "run", argc > 2 ? argv[2] : "auto");
    MPI_Finalize();
    return 0;
}
