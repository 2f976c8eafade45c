// Reads the two steps of wave.cpp back, by other blocks than they were written with, and prints a sum that
// holds every value at its place: sums.{c,f90,py} print the same lines.
// Usage: sums <prefix>
#include <cstdio>
#include <hakobi/hakobi.hpp>
#include <string>
#include <vector>

namespace {

void run(const std::string& prefix) {
    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    auto in = hakobi::Input::open(comm, prefix);
    auto block = hakobi::split(in.field("eta").shape, comm.size(), comm.size() - 1 - comm.rank());
    const hakobi::Attribute& missing = in.field("eta").attributes.at("_FillValue");
    if (comm.rank() == 0) std::printf("missing: %.0f\n", std::get<std::vector<double>>(missing)[0]);
    std::vector<double> eta(static_cast<std::size_t>(block.num_elements()));
    for (std::size_t i = 0; i < in.steps().size(); ++i) {
        in.read({.name = "eta", .step = in.steps()[i], .block = block, .data = std::span(eta)});
        double sum = 0;
        for (std::int64_t j = 0; j < block.count[0]; ++j) {
            for (std::int64_t k = 0; k < block.count[1]; ++k) {
                const std::int64_t place = (block.start[0] + j) * block.global[1] + block.start[1] + k;
                sum += static_cast<double>(place % 7 + 1) *
                       eta[static_cast<std::size_t>(j * block.count[1] + k)];
            }
        }
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm.handle());
        if (comm.rank() == 0)
            std::printf("step %d at %g s: %.2f\n", static_cast<int>(in.steps()[i]), in.times()[i], sum);
    }
    in.close();
    comm.free();
}

}  // namespace

int main(int argc, char** argv) {
    hakobi::report_errors();
    MPI_Init(&argc, &argv);
    run(argc > 1 ? argv[1] : "wave");
    MPI_Finalize();
    return 0;
}
