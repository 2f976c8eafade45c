// A run that puts all its steps into one file until somebody ends it: endless_run PREFIX METHOD resume|fail. Values of step s are s everywhere.
// tests/python/test_several_steps.py kills it.
#include <hakobi/hakobi.hpp>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    MPI_Init(&argc, &argv);
    const auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const auto block = hakobi::split({60, 101}, comm.size(), comm.rank());
    const std::string_view if_exists = argv[3];
    auto out = hakobi::Output::create(
        comm, argv[1],
        {.method = argv[2],
         .if_exists = if_exists == "resume" ? hakobi::IfExists::resume : hakobi::IfExists::fail,
         .steps_per_file = hakobi::all_steps});
    std::vector<double> eta(static_cast<std::size_t>(block.num_elements()));
    std::vector<float> packed(eta.size());
    double first = 0;
    if (if_exists == "resume") {
        auto in = hakobi::Input::open(comm, argv[1]);
        first = in.times().back() + 1;
        in.close();
    }
    for (double step = first;; ++step) {
        eta.assign(eta.size(), step);
        packed.assign(packed.size(), static_cast<float>(step));
        out.begin_step(step);
        out.put({.name = "eta", .block = block, .data = std::span<const double>(eta)});
        out.put({.name = "packed",
                 .compression = "deflate",
                 .block = block,
                 .data = std::span<const float>(packed)});
        out.end_step();
    }
}
