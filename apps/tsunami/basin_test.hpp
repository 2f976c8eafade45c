#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <vector>

#include "solver.hpp"

namespace hakobi::tsunami {

/// A rectangular basin on a plane, spread over the ranks of MPI_COMM_WORLD, for tests: x to the east, y to
/// the north, both from 0. Collective wherever the solver is.
class Basin {
  public:
    using Shape = std::function<double(double x_m, double y_m)>;

    Basin(std::int64_t num_rows, std::int64_t num_columns, double cell_m, Boundary boundary,
          SolverOptions options)
        : num_rows_(num_rows),
          num_columns_(num_columns),
          cell_m_(cell_m),
          comm_(Comm::duplicate(MPI_COMM_WORLD)),
          dims_(dims_of_ranks(std::array{num_rows, num_columns}, comm_.size())),
          block_(split({num_rows, num_columns}, comm_.size(), comm_.rank())),
          solver_(comm_, dims_, block_, boundary, Metric::on_plane(cell_m, cell_m, block_.count[0]),
                  options) {}
    ~Basin() { comm_.free(); }
    Basin(const Basin&) = delete;
    Basin& operator=(const Basin&) = delete;

    /// Bed and surface at cell centres; the surface nowhere below the bed.
    void fill(const Shape& bed, const Shape& eta) {
        for (std::int64_t r = 0; r < block_.count[0]; ++r) {
            for (std::int64_t c = 0; c < block_.count[1]; ++c) {
                solver_.bed.row(r)[c] = bed(x_m(c), y_m(r));
                solver_.eta.row(r)[c] = std::max(eta(x_m(c), y_m(r)), solver_.bed.row(r)[c]);
            }
        }
        solver_.start();
    }

    void advance(
        double time_s, double courant, const std::function<void()>& after_step = [] {}) {
        double now_s = 0;
        while (now_s < time_s) {
            double rate = solver_.max_rate();
            MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_MAX, comm_.handle());
            const double dt_s = std::min(courant / rate, time_s - now_s);
            solver_.step(dt_s);
            now_s += dt_s;
            after_step();
        }
    }

    /// A field's values of the whole basin, row by row, on every rank.
    [[nodiscard]] std::vector<double> whole(const CellField& field) const {
        std::vector<double> values(static_cast<std::size_t>(num_rows_ * num_columns_), 0.0);
        for (std::int64_t r = 0; r < block_.count[0]; ++r) {
            for (std::int64_t c = 0; c < block_.count[1]; ++c) {
                values[static_cast<std::size_t>((block_.start[0] + r) * num_columns_ + block_.start[1] + c)] =
                    field.row(r)[c];
            }
        }
        MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                      comm_.handle());
        return values;
    }

    [[nodiscard]] double x_m(std::int64_t column) const {
        return (static_cast<double>(block_.start[1] + column) + 0.5) * cell_m_;
    }
    [[nodiscard]] double y_m(std::int64_t row) const {
        return (static_cast<double>(block_.start[0] + row) + 0.5) * cell_m_;
    }
    [[nodiscard]] Solver& solver() { return solver_; }
    [[nodiscard]] const Comm& comm() const { return comm_; }

  private:
    std::int64_t num_rows_, num_columns_;
    double cell_m_;
    Comm comm_;
    std::vector<int> dims_;
    Block block_;
    Solver solver_;
};

}  // namespace hakobi::tsunami
