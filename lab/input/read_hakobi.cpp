// read_hakobi PREFIX EDGE FIELDS: through hakobi::Input.
#include <hakobi/hakobi.hpp>
#include <string>

#include "bench.h"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const Blocks blocks = make_blocks(argc, argv);
    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    const hakobi::Block block{{blocks.edge, blocks.edge, blocks.edge},
                              {blocks.first, blocks.first + 3},
                              {blocks.extent, blocks.extent + 3}};
    const double begin_s = begin_time();
    auto in = hakobi::Input::open(comm, argv[1]);
    for (std::int64_t f = 0; f < blocks.num_fields; ++f) {
        const std::span<double> data(blocks.values[f], static_cast<std::size_t>(num_elements(&blocks)));
        in.read({.name = "field" + std::to_string(f), .block = block, .data = data});
    }
    in.close();
    end_time(begin_s, &blocks);
    comm.free();
    MPI_Finalize();
}
