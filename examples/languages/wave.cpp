// Two steps of a field that is split over the ranks, written by Hakobi: wave.{c,f90,py} write the same bytes.
// Usage: wave <prefix> [method]
#include <cstdio>
#include <hakobi/hakobi.hpp>
#include <string>
#include <vector>

namespace {

std::vector<double> axis(std::int64_t num, double first, double step) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < num; ++i) values.push_back(first + step * static_cast<double>(i));
    return values;
}

void run(const std::string& prefix, const std::string& method) {
    const std::int64_t ny = 37, nx = 53;
    auto comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
    auto block = hakobi::split({ny, nx}, comm.size(), comm.rank());
    auto out = hakobi::Output::create(comm, prefix,
                                      {.method = method,
                                       .axes = {{.name = "lat",
                                                 .units = "degrees_north",
                                                 .standard_name = "latitude",
                                                 .values = axis(ny, 30, 0.5)},
                                                {.name = "lon",
                                                 .units = "degrees_east",
                                                 .standard_name = "longitude",
                                                 .values = axis(nx, 140, 0.5)}},
                                       .title = "a wave",
                                       .attributes = {{"institution", "an example"}},
                                       .time_units = "seconds since 2011-03-11 05:46:24",
                                       .if_exists = hakobi::IfExists::replace});
    // Once for all steps; an error here is one on every rank.
    const auto eta_id =
        out.define({.name = "eta",
                    .units = "m",
                    .standard_name = "sea_surface_height",
                    .global = block.global,
                    .attributes = {{"cell_methods", "time: point"}, {"valid_range", std::vector{0.0, 1e6}}},
                    .fill_value = -9999.0});
    const auto cell_id = out.define({.name = "cell",
                                     .long_name = "number of the cell",
                                     .type = hakobi::ValueType::int32,
                                     .global = block.global,
                                     .attributes = {{"valid_min", 0}}});
    const auto number_id = out.define({.name = "number", .type = hakobi::ValueType::int64});  // a scalar
    const auto depth_id = out.define({.name = "depth",
                                      .units = "m",
                                      .type = hakobi::ValueType::float32,
                                      .global = block.global,
                                      .is_static = true});
    for (int step = 0; step < 2; ++step) {
        std::vector<double> eta;
        std::vector<std::int32_t> cell;
        std::vector<float> depth;
        for (std::int64_t j = block.start[0]; j < block.start[0] + block.count[0]; ++j) {
            for (std::int64_t i = block.start[1]; i < block.start[1] + block.count[1]; ++i) {
                eta.push_back(static_cast<double>(1000 * j + i) + 0.25 * step);
                cell.push_back(static_cast<std::int32_t>(j * nx + i));
                depth.push_back(static_cast<float>(10 * j));
            }
        }
        out.begin_step(60.0 * step);
        out.put(eta_id, block, eta);
        out.put(cell_id, block, cell);
        const std::int64_t number = step;
        out.put(number_id, {}, std::span(&number, 1));
        if (step == 0) out.put(depth_id, block, depth);  // in all files
        out.end_step();
    }
    out.close();
    comm.free();
}

}  // namespace

int main(int argc, char** argv) {
    hakobi::report_errors();
    MPI_Init(&argc, &argv);
    run(argc > 1 ? argv[1] : "wave", argc > 2 ? argv[2] : "auto");
    MPI_Finalize();
    return 0;
}
