#pragma once

#include <cstdint>
#include <functional>
#include <hakobi/comm.hpp>

#include "exact_sum.hpp"
#include "inputs.hpp"
#include "options.hpp"
#include "solver.hpp"
#include "source.hpp"

namespace hakobi::tsunami {

/// The model of one run on this rank: grid, block, state, clock.
class Simulation {
  public:
    /// Lays the grid out, takes this rank's block of it, sets the sea at rest and prepares the rupture that
    /// will move its floor. Collective over `comm`, arguments equal on all ranks; `inputs` are only read.
    /// Throws invalid_argument alike on every rank (a region that does not fit, ranks that do not fit the
    /// grid), and not_found where a rank is to use a GPU and has none.
    Simulation(const Comm& comm, const Options& options, const Inputs& inputs);

    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    /// Steps until the model time is `time_s`, exactly; `after_step` is called after each. Time steps are as
    /// long as the Courant number allows, looked up every few steps. Collective.
    void advance_to(double time_s, const std::function<void()>& after_step);

    /// Goes on at `time_s` after `num_steps` time steps from a state that was set in solver(). Collective.
    void go_on(double time_s, std::int64_t num_steps);

    /// The GPU whose memory has copies of the fields; null without Options::is_on_device.
    [[nodiscard]] const std::shared_ptr<apps::Gpu>& gpu() const { return gpu_; }
    [[nodiscard]] const Grid& grid() const { return grid_; }
    [[nodiscard]] const Block& block() const { return block_; }
    [[nodiscard]] const Solver& solver() const { return solver_; }
    [[nodiscard]] Solver& solver() { return solver_; }
    [[nodiscard]] double time_s() const { return time_s_; }
    [[nodiscard]] std::int64_t num_steps() const { return num_steps_; }

    /// Water in the region plus what has left it through open edges, m^3; the same on every rank and for any
    /// number of them. Collective.
    [[nodiscard]] ExactSum volume_m3() const;
    /// A hash of the state (surface and momenta of every cell, bit by bit), the same for any number of ranks.
    /// Collective.
    [[nodiscard]] std::uint64_t checksum() const;

  private:
    void set_sea_at_rest(const Seafloor& seafloor);
    void move_ground(double from_s, double to_s);

    MPI_Comm comm_;
    double courant_;
    Grid grid_;
    std::vector<int> dims_;
    Block block_;
    std::shared_ptr<apps::Gpu> gpu_;
    Solver solver_;
    GroundMotion ground_;
    double time_s_ = 0;
    std::int64_t num_steps_ = 0;
};

}  // namespace hakobi::tsunami
