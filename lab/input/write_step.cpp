// write_step PREFIX EDGE FIELDS: one step that the programs of this folder read, each rank its slab.
#include <hakobi/hakobi.hpp>
#include <vector>

#include "bench.h"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    require(argc > 3, "PREFIX EDGE FIELDS");
    const std::int64_t edge = std::atoll(argv[2]), num_fields = std::atoll(argv[3]);
    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const std::int64_t begin = edge * comm.rank() / comm.size(), end = edge * (comm.rank() + 1) / comm.size();
    const hakobi::Block block{{edge, edge, edge}, {begin, 0, 0}, {end - begin, edge, edge}};
    std::vector<std::vector<double>> values(static_cast<std::size_t>(num_fields));
    auto out = hakobi::Output::create(comm, argv[1], {.if_exists = hakobi::IfExists::replace});
    out.begin_step(0);
    for (std::int64_t f = 0; f < num_fields; ++f) {
        std::vector<double>& field = values[static_cast<std::size_t>(f)];
        for (std::int64_t i = begin * edge * edge; i < end * edge * edge; ++i)
            field.push_back(value_at(f, i));
        out.put({.name = "field" + std::to_string(f), .block = block, .data = field});
    }
    out.end_step();
    out.close();
    comm.free();
    MPI_Finalize();
}
