// Conway's Game of Life on a periodic grid that is split over the ranks. Its ghosts, corners too, are
// exchanged by hakobi::Halo, between ranks that hakobi::Topology has put beside each other; rank 0 gets the
// whole by buffer arrays. The same program in four languages: life.cpp, life.c, life.f90, life.py.
// Usage: life [path], with path as in HaloOptions
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <hakobi/hakobi.hpp>
#include <vector>

namespace {

constexpr std::int64_t ny = 37, nx = 53;
constexpr int num_steps = 20;

void run(const hakobi::Comm& world, const std::string& path) {
    const std::vector<std::int64_t> global{ny, nx};
    const std::vector<int> dims = hakobi::dims_of_ranks(global, world.size());
    const auto order = hakobi::Topology::discover(world).reorder(dims, {}, {true, true});
    hakobi::Comm comm = hakobi::reordered(world, order);
    const hakobi::Block block = hakobi::split(global, comm.size(), comm.rank());
    const std::int64_t rows = block.count[0], columns = block.count[1], pitch = columns + 2;

    const hakobi::HaloGrid grid{
        .extents = block.count, .ghosts = {{1, 1}, {1, 1}}, .ranks = dims, .is_periodic = {true, true}};
    const auto memory = hakobi::allocate_shared(comm, hakobi::HaloField::dense_bytes(grid, sizeof(int)));
    int* const cells = memory.as<int>();
    const auto at = [pitch](std::int64_t y, std::int64_t x) { return (y + 1) * pitch + x + 1; };
    for (std::int64_t y = 0; y < rows; ++y) {
        for (std::int64_t x = 0; x < columns; ++x) {
            const std::int64_t gy = block.start[0] + y, gx = block.start[1] + x;
            cells[at(y, x)] = static_cast<int>((7 * gy + 13 * gx + gx * gy) % 5 < 2);
        }
    }
    const auto field = hakobi::HaloField::dense(cells, grid, sizeof(int));
    auto halo = hakobi::Halo::plan(comm, grid, {&field, 1}, {.path = path});
    std::vector<int> next(static_cast<std::size_t>(rows * columns));
    for (int step = 0; step < num_steps; ++step) {
        halo.start();  // a step without ghosts to compute meanwhile would go here
        halo.wait();
        for (std::int64_t y = 0; y < rows; ++y) {
            for (std::int64_t x = 0; x < columns; ++x) {
                int around = -cells[at(y, x)];
                for (int i = -1; i <= 1; ++i)
                    for (int j = -1; j <= 1; ++j) around += cells[at(y + i, x + j)];
                next[static_cast<std::size_t>(y * columns + x)] =
                    static_cast<int>(around == 3 || (around == 2 && cells[at(y, x)] == 1));
            }
        }
        for (std::int64_t y = 0; y < rows; ++y)
            std::copy_n(&next[static_cast<std::size_t>(y * columns)], columns, &cells[at(y, 0)]);
    }

    const auto arrays = hakobi::BufferArrays::get(comm);
    auto own = arrays.make();
    for (std::int64_t y = 0; y < rows; ++y)
        own.append(&cells[at(y, 0)], columns * static_cast<std::int64_t>(sizeof(int)));
    own.send(0);
    if (comm.rank() == 0) {
        std::vector<int> whole(static_cast<std::size_t>(ny * nx));
        std::vector<hakobi::BufferArray> parts;
        for (int rank = 0; rank < comm.size(); ++rank) {
            const hakobi::Block part = hakobi::split(global, comm.size(), rank);
            parts.push_back(arrays.make());
            for (std::int64_t y = part.start[0]; y < part.start[0] + part.count[0]; ++y)
                parts.back().append(&whole[static_cast<std::size_t>(y * nx + part.start[1])],
                                    part.count[1] * static_cast<std::int64_t>(sizeof(int)));
            parts.back().receive(rank);
        }
        for (auto& part : parts) part.wait();
        std::int64_t alive = 0, places = 0;
        for (std::size_t i = 0; i < whole.size(); ++i) {
            alive += whole[i];
            places += whole[i] * static_cast<std::int64_t>(i);
        }
        std::printf("life: %lld alive after %d steps, sum of their places %lld\n",
                    static_cast<long long>(alive), num_steps, static_cast<long long>(places));
    }
    own.wait();
    comm.free();
}

}  // namespace

int main(int argc, char** argv) {
    hakobi::report_errors();
    MPI_Init(&argc, &argv);
    auto world = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    run(world, argc > 1 ? argv[1] : "auto");
    world.free();
    MPI_Finalize();
    return 0;
}
