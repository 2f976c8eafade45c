// Heat in a square plate whose edges are kept at 0, cut into rows for the ranks.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <hakobi/hakobi.hpp>
#include <map>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    hakobi::report_errors();
    MPI_Init(&argc, &argv);
    std::map<std::string, std::string> given{{"--steps", "20"}};
    given.insert({{"--output", "heat"}, {"--method", "auto"}, {"--json", ""}});
    for (int i = 1; i < argc; ++i) given[argv[i]] = i + 1 < argc ? argv[i + 1] : "";
    const int num_steps = std::stoi(given["--steps"]);
    int rank = 0, size = 0, step = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    // This rank's rows, and one more on each side: a neighbour's, or the edge.
    const int n = 400, first = n * rank / size, rows = n * (rank + 1) / size - first;
    const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    const int behind = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    std::vector<double> heat((rows + 2) * n), next((rows + 2) * n);
    for (int i = 1; i <= rows; ++i) {
        for (int j = n / 4; j < n / 2; ++j)
            heat[i * n + j] = first + i > n / 4 && first + i <= n / 2 ? 100 : 0;
    }

    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const hakobi::Block block{{n, n}, {first, 0}, {rows, n}};
    hakobi::OutputOptions options{.method = given["--method"]};
    if (given.contains("--resume")) options.if_exists = hakobi::IfExists::resume;
    auto out = hakobi::Output::create(comm, given["--output"], options);
    const auto field = out.define({.name = "heat", .units = "K", .global = {n, n}});

    if (options.if_exists == hakobi::IfExists::resume) {
        auto in = hakobi::Input::open(comm, given["--output"]);
        in.read({.name = "heat", .block = block, .data = std::span(heat), .ghosts = {1, 0}});
        step = static_cast<int>(in.steps().back()) + 1;
        in.close();
    }

    const double begin_s = MPI_Wtime();

    for (; step < num_steps; ++step) {
        for (int k = 0; k < 1000; ++k) {
            MPI_Sendrecv(&heat[n], n, MPI_DOUBLE, before, 0, &heat[(rows + 1) * n], n, MPI_DOUBLE, behind, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Sendrecv(&heat[rows * n], n, MPI_DOUBLE, behind, 0, &heat[0], n, MPI_DOUBLE, before, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 1; i <= rows; ++i) {
                for (int j = 1; j < n - 1; ++j) {
                    const double* at = &heat[i * n + j];
                    next[i * n + j] = at[0] + 0.2 * (at[-n] + at[n] + at[-1] + at[1] - 4 * at[0]);
                }
            }
            heat.swap(next);
        }
        out.begin_step(1000.0 * (step + 1));
        out.put(field, block, heat, {.ghosts = {1, 0}});
        out.end_step();
    }

    out.close();

    if (rank == 0 && !given["--json"].empty()) {
        std::ofstream record(given["--json"], std::ios::app);
        record << "{\"time_s\": " << MPI_Wtime() - begin_s << "}\n";
    }

    comm.free();
    double mine = *std::max_element(heat.begin() + n, heat.end() - n), hottest = 0;
    MPI_Reduce(&mine, &hottest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%d steps: the hottest place has %.6f K\n", step, hottest);
    MPI_Finalize();
}
