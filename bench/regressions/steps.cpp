// hakobi-bench-steps METHOD STEPS ROWS COLUMNS PREFIX: STEPS steps of a field of ROWS x COLUMNS doubles
// through hakobi::Output, as a program's output is: created, written, closed. Prints a sample (a line of
// JSON); the files stay, for whoever compares the methods' bytes.
#include <cstdio>
#include <cstdlib>
#include <hakobi/hakobi.hpp>
#include <numeric>
#include <string>
#include <vector>

namespace {

// From the first rank's start to the last one's end.
double written_s(const hakobi::Comm& comm, char** argv) {
    const std::int64_t rows = std::atoll(argv[3]), columns = std::atoll(argv[4]);
    const hakobi::Block block = hakobi::split({rows, columns}, comm.size(), comm.rank());
    std::vector<double> values(static_cast<std::size_t>(block.num_elements()));
    std::iota(values.begin(), values.end(), 1e6 * comm.rank());
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = MPI_Wtime();
    hakobi::Output out =
        hakobi::Output::create(comm, argv[5], {.method = argv[1], .if_exists = hakobi::IfExists::replace});
    for (int step = 0; step < std::atoi(argv[2]); ++step) {
        out.begin_step(step);
        out.put({.name = "eta", .units = "m", .block = block, .data = std::span<const double>(values)});
        out.end_step();
    }
    out.close();
    double ends[2] = {-begin_s, MPI_Wtime()}, last[2] = {0, 0};
    MPI_Allreduce(ends, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return last[0] + last[1];
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int status = 0;
    {
        const hakobi::Comm comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
        try {
            if (argc != 6)
                throw hakobi::Error(hakobi::ErrorCode::invalid_argument, "METHOD STEPS ROWS COLUMNS PREFIX");
            for (int i = 0; i < 4; ++i) {  // the first one finds the library's pages and is not counted
                const double time_s = written_s(comm, argv);
                if (comm.rank() == 0 && i > 0)
                    std::printf(
                        "{\"kind\": \"sample\", \"hint_set\": 0, \"operation\": \"write\", \"time_s\": %.9f, "
                        "\"bytes\": %lld}\n",
                        time_s, 8 * std::atoll(argv[2]) * std::atoll(argv[3]) * std::atoll(argv[4]));
            }
        } catch (const hakobi::Error& error) {
            if (comm.rank() == 0) std::fprintf(stderr, "hakobi-bench-steps: %s\n", error.what());
            status = error.code() == hakobi::ErrorCode::invalid_argument ? 2 : 1;
        }
    }
    MPI_Finalize();
    return status;
}
