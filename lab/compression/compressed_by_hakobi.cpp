// compressed_by_hakobi SOURCE PREFIX COMPRESSION STEPS [METHOD]: writes the double fields of SOURCE's last
// step STEPS times and prints each step's seconds, from the barrier before begin_step until all ranks have
// returned from end_step, and the part of them in which fields were encoded on the slowest rank.

#include <cstdio>
#include <cstdlib>
#include <hakobi/hakobi.hpp>
#include <vector>

namespace {

void run(const hakobi::Comm& comm, char** arguments, int num_arguments) {
    hakobi::Input in = hakobi::Input::open(comm, arguments[1]);
    struct Source {
        std::string name;
        hakobi::Block block;
        std::vector<double> values;
    };
    std::vector<Source> fields;
    for (const hakobi::InputField& field : in.fields()) {
        const hakobi::Block block = hakobi::split(field.shape, comm.size(), comm.rank());
        fields.push_back(
            {field.name, block, std::vector<double>(static_cast<std::size_t>(block.num_elements()))});
        in.read({.name = field.name, .block = block, .data = std::span(fields.back().values)});
    }
    in.close();
    auto out = hakobi::Output::create(comm, arguments[2],
                                      {.method = num_arguments > 5 ? arguments[5] : "auto",
                                       .compression = arguments[3],
                                       .if_exists = hakobi::IfExists::replace});
    double encode_s = 0;
    for (int step = 0; step < std::atoi(arguments[4]); ++step) {
        MPI_Barrier(comm.handle());
        const double from_s = MPI_Wtime();
        out.begin_step(step);
        for (const Source& field : fields)
            out.put(
                {.name = field.name, .block = field.block, .data = std::span(std::as_const(field.values))});
        out.end_step();
        MPI_Barrier(comm.handle());
        const double step_s = MPI_Wtime() - from_s;
        double mine = out.times().encode_s - encode_s, most = 0;
        encode_s = out.times().encode_s;
        MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, comm.handle());
        if (comm.rank() == 0) std::printf("%.6f %.6f\n", step_s, most);
    }
    out.close();
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc < 5) {
        std::fprintf(stderr, "compressed_by_hakobi SOURCE PREFIX COMPRESSION STEPS [METHOD]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    {
        hakobi::Comm comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
        run(comm, argv, argc);
        comm.free();
    }
    MPI_Finalize();
    return 0;
}
