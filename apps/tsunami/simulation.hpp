#pragma once

#include <cstdint>
#include <functional>
#include <hakobi/comm.hpp>

#include "inputs.hpp"
#include "options.hpp"
#include "solver.hpp"

namespace hakobi::tsunami {

/// The model of one run on this rank: grid, block, state, clock.
class Simulation {
  public:
    /// Lays the grid out, takes this rank's block of it, and sets the sea at rest with the earthquake's uplift. Collective
    /// over `comm`, arguments equal on all ranks; `seafloor` is only read. Throws invalid_argument alike on every rank
    /// (a region that does not fit, ranks that do not fit the grid).
    Simulation(const Comm& comm, const Options& options, const Seafloor& seafloor);

    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    /// Steps until the model time is `time_s`, exactly; `after_step` is called after each. Time steps are as long as
    /// the Courant number allows, looked up every few steps. Collective.
    void advance_to(double time_s, const std::function<void()>& after_step);

    [[nodiscard]] const Grid& grid() const { return grid_; }
    [[nodiscard]] const Block& block() const { return block_; }
    [[nodiscard]] const Solver& solver() const { return solver_; }
    [[nodiscard]] double time_s() const { return time_s_; }
    [[nodiscard]] std::int64_t num_steps() const { return num_steps_; }

    /// Water in the region plus what has left it through open edges, m^3; the same on every rank and for any number
    /// of them. Collective.
    [[nodiscard]] double volume_m3() const;
    /// A hash of the state (surface and momenta of every cell, bit by bit), the same for any number of ranks.
    /// Collective.
    [[nodiscard]] std::uint64_t checksum() const;

  private:
    void set_sea_at_rest(const Seafloor& seafloor);

    MPI_Comm comm_;
    double courant_;
    Grid grid_;
    std::vector<int> dims_;
    Block block_;
    Halo halo_;
    Solver solver_;
    double time_s_ = 0;
    std::int64_t num_steps_ = 0;
};

}  // namespace hakobi::tsunami
