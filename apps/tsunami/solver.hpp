#pragma once

#include <array>
#include <cstdint>
#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/halo.hpp>
#include <span>
#include <vector>

#include "edges.hpp"
#include "field.hpp"
#include "grid.hpp"

namespace hakobi::tsunami {

/// Sizes and terms that vary by row only, for the rows of a block and one row beyond each end.
struct Metric {
    /// Where a row's values stand; rows from -1 on.
    [[nodiscard]] static std::size_t at(std::int64_t row) { return static_cast<std::size_t>(row + 1); }

    double dy_m = 0;
    std::vector<double> dx_m;  ///< of each row, at cell centres
    std::vector<double> south,
        north;  ///< length of a row's southern or northern face over that of its middle
    std::vector<double> coriolis_per_s;   ///< 2 omega sin(latitude)
    std::vector<double> tan_over_radius;  ///< tan(latitude) / earth radius, per metre

    /// Rows [first_row, first_row + num_rows) of a grid on the sphere. Local, pure.
    [[nodiscard]] static Metric on_sphere(const Grid& grid, std::int64_t first_row, std::int64_t num_rows,
                                          bool with_coriolis);
    /// A plane with square-edged cells and no rotation. Local, pure.
    [[nodiscard]] static Metric on_plane(double dx_m, double dy_m, std::int64_t num_rows);
};

struct SolverOptions {
    double dry_depth_m = 0.01;      ///< a cell with less water does not move
    double manning_s_m13 = 0.025;   ///< Manning's roughness, s / m^(1/3); 0: no friction
    double friction_depth_m = 200;  ///< friction is left out where the bed lies deeper than this
};

/// The nonlinear shallow-water equations on a block of cells with neighbours in other ranks: kernel.hpp's
/// sweeps, Strang split (a step's first direction alternates), then rotation and friction. The state after a
/// number of steps does not depend on the number of ranks, bit for bit: neighbours compute a shared face from
/// the same values.
class Solver {
  public:
    /// Collective over `comm`. `block` is this rank's of `dims[0]` x `dims[1]` blocks, `metric` that of its
    /// rows. Throws invalid_argument, alike on all ranks, where a block has fewer than num_ghosts rows or
    /// columns.
    /// With a `gpu` ghosts are exchanged between copies of the fields there.
    Solver(const Comm& comm, std::span<const int> dims, const Block& block, Boundary boundary, Metric metric,
           SolverOptions options, const std::shared_ptr<apps::Gpu>& gpu = nullptr);

    // The state, to be set before `start` and read after it. A dry cell's eta is its bed.
    CellField bed;                     ///< m, above mean sea level
    CellField eta;                     ///< surface height, m
    CellField momentum_x, momentum_y;  ///< depth x velocity to the east and to the north, m^2/s
    CellField eta_max;  ///< highest surface of a cell while it was wet, -infinity for one that never was

    /// Fills the bed's ghost cells again after it has moved. Collective over the communicator.
    void refresh_bed();
    /// Fills the bed's ghost cells and starts eta_max. Collective over the communicator.
    void start();
    /// This rank's highest wave speed over cell size, per second: a step may be as long as 1 / (the highest
    /// of all ranks). Local.
    [[nodiscard]] double max_rate() const;
    /// Advances by dt_s. Collective over the communicator.
    void step(double dt_s);

    [[nodiscard]] std::int64_t num_rows() const { return num_rows_; }
    [[nodiscard]] std::int64_t num_columns() const { return num_columns_; }
    [[nodiscard]] const Metric& metric() const { return metric_; }
    [[nodiscard]] const SolverOptions& options() const { return options_; }
    [[nodiscard]] bool is_wet(std::int64_t row, std::int64_t column) const {
        return eta.row(row)[column] - bed.row(row)[column] > options_.dry_depth_m;
    }
    /// After a state was set that this many steps had led to: what follows is as if they had been made here.
    /// Collective over the communicator.
    void go_on(std::int64_t num_steps);
    /// Volume that has left through the region's edge, one entry for each of this rank's cells along that
    /// side (in the order of Edges), m^3. Empty where the block does not touch the edge.
    [[nodiscard]] const std::array<std::vector<double>, 4>& outflow_m3() const { return outflow_m3_; }
    [[nodiscard]] std::array<std::vector<double>, 4>& outflow_m3() { return outflow_m3_; }

  private:
    // Buffers of one row, from column -num_ghosts on.
    struct Row {
        std::vector<double> depth, normal, tangential;
        std::vector<double> eta_minus, eta_plus, normal_minus, normal_plus, tangential_minus, tangential_plus;
        explicit Row(std::size_t size);
    };
    struct FaceRow {
        std::vector<double> mass, tangential, push_left, push_right;
        explicit FaceRow(std::size_t size);
    };

    /// Collective: the fields of a halo.
    void exchange(Halo& halo, std::initializer_list<CellField*> fields);
    void sweep_x(double dt_s);
    void sweep_y(double dt_s);
    [[nodiscard]] double tan_over_radius(std::int64_t row) const;
    void apply_friction(double dt_s);

    std::shared_ptr<apps::Gpu> gpu_;
    std::int64_t num_rows_, num_columns_;
    Edges edges_;
    Halo bed_halo_, column_halo_, row_halo_;  ///< a sweep needs ghosts along its own direction only
    Metric metric_;
    SolverOptions options_;
    std::int64_t num_steps_ = 0;
    std::vector<Row> rows_;       ///< a ring of rows for the sweep to the north; the first serves the other
    std::vector<FaceRow> faces_;  ///< the same
    std::array<std::vector<double>, 4> outflow_m3_;
    struct Shallow {
        std::int64_t row, column;
    };
    std::vector<Shallow> shallow_;  ///< the cells that friction acts on
};

}  // namespace hakobi::tsunami
