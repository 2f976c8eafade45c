// output_program PREFIX METHOD STEPS [NAME=VALUE ...]: writes steps of 4 MB with these hints by Output.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <hakobi/hakobi.hpp>
#include <numeric>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    hakobi::report_errors();
    {
        const auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
        hakobi::OutputOptions options;
        options.method = argv[2];
        for (int i = 4; i < argc; ++i) {
            const std::string hint = argv[i];
            options.hints[hint.substr(0, hint.find('='))] = hint.substr(hint.find('=') + 1);
        }
        auto out = hakobi::Output::create(comm, argv[1], options);
        const auto block = hakobi::split({700, 750}, comm.size(), comm.rank());
        std::vector<double> eta(static_cast<std::size_t>(block.count[0] * block.count[1]));
        std::iota(eta.begin(), eta.end(), comm.rank() * 1e6);
        for (int step = 0; step < std::atoi(argv[3]); ++step) {
            out.begin_step(step);
            out.put({.name = "eta", .units = "m", .block = block, .data = eta});
            out.end_step();
        }
        out.close();
    }
    MPI_Finalize();
    return 0;
}
