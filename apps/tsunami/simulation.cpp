#include "simulation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <hakobi/error.hpp>

namespace hakobi::tsunami {
namespace {

std::vector<int> dims_that_fit(const Grid& grid, int num_ranks) {
    const std::array global{grid.num_rows, grid.num_columns};
    std::vector<int> dims = dims_of_ranks(global, num_ranks);
    if (global[0] / dims[0] < num_ghosts || global[1] / dims[1] < num_ghosts) {
        throw Error(ErrorCode::invalid_argument,
                    std::to_string(num_ranks) + " ranks do not fit a grid of " +
                        std::to_string(grid.num_rows) + " x " + std::to_string(grid.num_columns) +
                        " cells: each needs " + std::to_string(num_ghosts) + " rows and columns");
    }
    return dims;
}

// Steele, Lea and Flood's SplitMix64 finaliser: every bit of the result depends on every bit of `value`.
std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

}  // namespace

Simulation::Simulation(const Comm& comm, const Options& options, const Inputs& inputs)
    : comm_(comm.handle()),
      courant_(options.courant),
      grid_(make_grid(options.region, options.resolution_arcmin)),
      dims_(dims_that_fit(grid_, comm.size())),
      block_(split({grid_.num_rows, grid_.num_columns}, comm.size(), comm.rank())),
      gpu_(options.is_on_device ? apps::Gpu::open(comm) : nullptr),
      solver_(comm, dims_, block_, options.boundary,
              Metric::on_sphere(grid_, block_.start[0], block_.count[0], options.with_coriolis),
              options.solver, gpu_),
      ground_(comm, inputs.rupture) {
    set_sea_at_rest(inputs.seafloor);
    solver_.start();
}

// Cells above mean sea level start dry.
void Simulation::set_sea_at_rest(const Seafloor& seafloor) {
    const auto heights =
        cell_heights_m(seafloor, grid_, block_.start[0], block_.count[0], block_.start[1], block_.count[1]);
    for (std::int64_t r = 0; r < block_.count[0]; ++r) {
        double* bed = solver_.bed.row(r);
        double* eta = solver_.eta.row(r);
        for (std::int64_t c = 0; c < block_.count[1]; ++c) {
            bed[c] = heights[static_cast<std::size_t>(r * block_.count[1] + c)];
            eta[c] = std::max(bed[c], 0.0);
        }
    }
}

// The ground takes the water above it along: the motion is far wider than the sea is deep, and over in
// minutes.
void Simulation::move_ground(double from_s, double to_s) {
    ground_.set_interval(from_s, to_s);
    for (std::int64_t r = 0; r < block_.count[0]; ++r) {
        double* bed = solver_.bed.row(r);
        double* eta = solver_.eta.row(r);
        const double latitude = grid_.latitude_deg(block_.start[0] + r);
        for (std::int64_t c = 0; c < block_.count[1]; ++c) {
            const double rise_m = ground_.increment_m(grid_.longitude_deg(block_.start[1] + c), latitude);
            bed[c] += rise_m;
            eta[c] += rise_m;
        }
    }
    solver_.refresh_bed();
}

void Simulation::advance_to(double time_s, const std::function<void()>& after_step) {
    // The highest wave speed changes slowly: deep water sets it. The Courant number leaves room for that.
    constexpr std::int64_t steps_between_looks = 16;
    while (time_s_ < time_s) {
        double rate = solver_.max_rate();
        MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_MAX, comm_);  // a maximum is exact in any order
        const double rest_s = time_s - time_s_;
        const double num_needed = std::ceil(rest_s * rate / courant_);
        if (!(num_needed < 1e9)) {
            throw Error(ErrorCode::internal,
                        "the solution is not finite after " + std::to_string(time_s_) + " s");
        }
        const std::int64_t num_left = std::max<std::int64_t>(1, static_cast<std::int64_t>(num_needed));
        const double dt_s = rest_s / static_cast<double>(num_left);
        const double from_s = time_s_;
        for (std::int64_t i = 1; i <= std::min(num_left, steps_between_looks); ++i) {
            const double next_s = i == num_left ? time_s : from_s + static_cast<double>(i) * dt_s;
            if (time_s_ < ground_.end_s()) move_ground(time_s_, next_s);
            solver_.step(dt_s);
            ++num_steps_;
            time_s_ = next_s;
            after_step();
        }
    }
}

void Simulation::go_on(double time_s, std::int64_t num_steps) {
    solver_.go_on(num_steps);
    time_s_ = time_s;
    num_steps_ = num_steps;
}

ExactSum Simulation::volume_m3() const {
    ExactSum sum;
    for (std::int64_t r = 0; r < block_.count[0]; ++r) {
        const double area_m2 = grid_.area_m2(block_.start[0] + r);
        for (std::int64_t c = 0; c < block_.count[1]; ++c) {
            sum.add((solver_.eta.row(r)[c] - solver_.bed.row(r)[c]) * area_m2);
        }
    }
    for (const auto& side : solver_.outflow_m3()) {
        for (const double volume : side) sum.add(volume);
    }
    sum.add_up(comm_);
    return sum;
}

std::uint64_t Simulation::checksum() const {
    std::uint64_t sum = 0;
    for (std::int64_t r = 0; r < block_.count[0]; ++r) {
        const CellField* fields[] = {&solver_.eta, &solver_.momentum_x, &solver_.momentum_y};
        for (std::int64_t c = 0; c < block_.count[1]; ++c) {
            const std::int64_t cell = (block_.start[0] + r) * grid_.num_columns + block_.start[1] + c;
            auto hash = static_cast<std::uint64_t>(cell);
            for (const CellField* field : fields)
                hash = mixed(hash ^ std::bit_cast<std::uint64_t>(field->row(r)[c]));
            sum += hash;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, comm_);
    return sum;
}

}  // namespace hakobi::tsunami
