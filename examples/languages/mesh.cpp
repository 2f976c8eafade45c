// An unstructured mesh whose points move, written by hakobi::Output in two steps, each rank its part, and
// read back by hakobi::Input. The same program in four languages: mesh.cpp, mesh.c, mesh.f90, mesh.py.
// Usage: mesh <prefix> [method]
#include <cstdint>
#include <cstdio>
#include <hakobi/hakobi.hpp>
#include <vector>

namespace {

/// A rank's part: a column of hexahedra, on the last of several ranks nothing.
struct Column {
    std::vector<double> points;
    std::vector<std::int64_t> connectivity, offsets = {0};
    std::vector<std::uint8_t> types;

    Column(int rank, int num_ranks) {
        const std::int64_t height = num_ranks > 1 && rank == num_ranks - 1 ? 0 : 2 + rank;
        const double corners[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
        for (std::int64_t level = 0; height > 0 && level <= height; ++level) {
            for (const auto& [x, y] : corners)
                points.insert(points.end(), {2 * rank + x, y, static_cast<double>(level)});
        }
        for (std::int64_t cell = 0; cell < height; ++cell) {
            for (std::int64_t corner = 0; corner < 8; ++corner) connectivity.push_back(4 * cell + corner);
            offsets.push_back(8 * (cell + 1));
            types.push_back(12);  // VTK's hexahedron
        }
    }
};

void write(const hakobi::Comm& comm, const std::string& prefix, const std::string& method) {
    Column mine(comm.rank(), comm.size());
    const auto num_cells = mine.types.size(), num_points = mine.points.size() / 3;
    auto out = hakobi::Output::create(
        comm, prefix, {.method = method, .format = "vtkhdf", .if_exists = hakobi::IfExists::replace});
    const auto p_id = out.define({.name = "p", .units = "Pa", .on = hakobi::On::cells});
    const auto velocity_id =
        out.define({.name = "U", .units = "m s-1", .on = hakobi::On::cells, .components = 3});
    const auto temperature_id = out.define({.name = "T", .units = "K", .on = hakobi::On::points});
    for (int step = 0; step < 2; ++step) {
        std::vector<double> p(num_cells), velocity(3 * num_cells), temperature(num_points);
        for (std::size_t i = 0; i < num_cells; ++i) {
            p[i] = 100 * comm.rank() + static_cast<double>(i) + 0.5 * step;
            for (std::size_t c = 0; c < 3; ++c) velocity[3 * i + c] = p[i] + 0.25 * static_cast<double>(c);
        }
        for (std::size_t i = 0; i < num_points; ++i) temperature[i] = 273 + static_cast<double>(i) + step;
        out.begin_step(0.5 * step);
        if (step == 0) {
            out.put_mesh({.points = std::span<const double>(mine.points),
                          .connectivity = std::span<const std::int64_t>(mine.connectivity),
                          .offsets = std::span<const std::int64_t>(mine.offsets),
                          .types = mine.types,
                          .motion = hakobi::Motion::moves});
        } else {
            for (std::size_t i = 0; i < num_points; ++i) mine.points[3 * i] += 0.125;
            out.put_points(std::span<const double>(mine.points));
        }
        out.put(p_id, {}, p);
        out.put(velocity_id, {}, velocity);
        out.put(temperature_id, {}, temperature);
        out.end_step();
    }
    out.close();
}

void read(const hakobi::Comm& comm, const std::string& prefix) {
    auto in = hakobi::Input::open(comm, prefix);
    const hakobi::InputMesh mesh = in.mesh();
    const hakobi::MeshPart part = in.read_mesh();
    const auto num_cells = static_cast<std::int64_t>(part.types.size());
    std::vector<double> p(part.types.size()), velocity(3 * part.types.size());
    in.read({.name = "p", .block = {{mesh.num_cells}, {part.first_cell}, {num_cells}}, .data = std::span(p)});
    in.read({.name = "U",
             .block = {{mesh.num_cells, 3}, {part.first_cell, 0}, {num_cells, 3}},
             .data = std::span(velocity)});
    double sum = 0, total = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const std::int64_t last = part.connectivity[static_cast<std::size_t>(part.offsets[i + 1] - 1)];
        sum += p[i] * part.points[static_cast<std::size_t>(3 * last)] + velocity[3 * i + 2];
    }
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, comm.handle());
    if (comm.rank() == 0) {
        std::printf("mesh: %lld points, %lld cells, %lld pieces: %.3f\n",
                    static_cast<long long>(mesh.num_points), static_cast<long long>(mesh.num_cells),
                    static_cast<long long>(mesh.num_pieces), total);
    }
    in.close();
}

}  // namespace

int main(int argc, char** argv) {
    hakobi::report_errors();
    MPI_Init(&argc, &argv);
    const std::string prefix = argc > 1 ? argv[1] : "mesh";
    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    write(comm, prefix, argc > 2 ? argv[2] : "auto");
    read(comm, prefix);
    comm.free();
    MPI_Finalize();
    return 0;
}
