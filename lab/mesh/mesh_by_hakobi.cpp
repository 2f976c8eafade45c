// mesh_by_hakobi PREFIX EDGE STEPS fixed|changes [METHOD]: the steps by hakobi::Output, in VTKHDF. Not
// hidden: end_step returns when the values are in the file.
#include <cstring>
#include <hakobi/hakobi.hpp>

#include "bench.h"

namespace {

template <class Value>
std::span<const Value> span_of(const Value* values, std::int64_t num) {
    return {values, static_cast<std::size_t>(num)};
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    require(argc > 4, "PREFIX EDGE STEPS fixed|changes [METHOD]");
    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    Part part = make_part(std::atoll(argv[2]));
    const bool changes = std::strcmp(argv[4], "changes") == 0;
    const hakobi::Mesh mesh{.points = span_of(part.points, 3 * part.num_points),
                            .connectivity = span_of(part.connectivity, 8 * part.num_cells),
                            .offsets = span_of(part.offsets, part.num_cells + 1),
                            .types = span_of(part.types, part.num_cells),
                            .motion = changes ? hakobi::Motion::changes : hakobi::Motion::fixed};
    auto out = hakobi::Output::create(comm, argv[1],
                                      {.method = argc > 5 ? argv[5] : "pipelined",
                                       .format = "vtkhdf",
                                       .asynchronous = false,
                                       .if_exists = hakobi::IfExists::replace});
    for (int step = 0; step < std::atoi(argv[3]); ++step) {
        fill_values(&part, step);
        remove_step_before(argv[1], step);
        const double begin_s = begin_time();
        out.begin_step(step);
        if (step == 0 || changes) out.put_mesh(mesh);
        for (int f = 0; f < num_fields; ++f) {
            out.put({.name = field_names[f],
                     .data = span_of(part.values[f], num_components[f] * part.num_cells),
                     .on = hakobi::On::cells,
                     .components = num_components[f]});
        }
        out.end_step();
        end_time(begin_s, &part);
    }
    out.close();
    comm.free();
    free_part(&part);
    MPI_Finalize();
}
