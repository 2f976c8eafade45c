#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel.hpp"

namespace hakobi::tsunami {
namespace {

std::size_t index(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

/// Collective.
Halo plan_halo(const Comm& comm, std::span<const int> dims, const Block& block,
               std::array<std::int64_t, 2> ghosts, std::initializer_list<HaloField> fields) {
    const HaloGrid grid{.extents = block.count,
                        .ghosts = {{ghosts[0], ghosts[0]}, {ghosts[1], ghosts[1]}},
                        .ranks = {dims.begin(), dims.end()}};
    return Halo::plan(comm, grid, fields, {.corners = false});
}

}  // namespace

Metric Metric::on_sphere(const Grid& grid, std::int64_t first_row, std::int64_t num_rows,
                         bool with_coriolis) {
    Metric metric{.dy_m = grid.dy_m()};
    for (std::int64_t row = first_row - 1; row <= first_row + num_rows; ++row) {
        const double latitude = radians(grid.latitude_deg(row));
        metric.dx_m.push_back(grid.dx_m(row));
        metric.south.push_back(std::cos(radians(grid.face_latitude_deg(row))) / std::cos(latitude));
        metric.north.push_back(std::cos(radians(grid.face_latitude_deg(row + 1))) / std::cos(latitude));
        metric.coriolis_per_s.push_back(with_coriolis ? 2 * earth_rotation_rad_s * std::sin(latitude) : 0.0);
        metric.tan_over_radius.push_back(std::tan(latitude) / earth_radius_m);
    }
    return metric;
}

Metric Metric::on_plane(double dx_m, double dy_m, std::int64_t num_rows) {
    const auto same = [num_rows](double value) { return std::vector<double>(index(num_rows + 2), value); };
    return {.dy_m = dy_m,
            .dx_m = same(dx_m),
            .south = same(1),
            .north = same(1),
            .coriolis_per_s = same(0),
            .tan_over_radius = same(0)};
}

Solver::Row::Row(std::size_t size)
    : depth(size),
      normal(size),
      tangential(size),
      eta_minus(size),
      eta_plus(size),
      normal_minus(size),
      normal_plus(size),
      tangential_minus(size),
      tangential_plus(size) {}

Solver::FaceRow::FaceRow(std::size_t size)
    : mass(size), tangential(size), push_left(size), push_right(size) {}

Solver::Solver(const Comm& comm, std::span<const int> dims, const Block& block, Boundary boundary,
               Metric metric, SolverOptions options, const std::shared_ptr<apps::Gpu>& gpu)
    : bed(comm, gpu, block.count[0], block.count[1]),
      eta(comm, gpu, block.count[0], block.count[1]),
      momentum_x(comm, gpu, block.count[0], block.count[1]),
      momentum_y(comm, gpu, block.count[0], block.count[1]),
      eta_max(comm, gpu, block.count[0], block.count[1], -std::numeric_limits<double>::infinity()),
      gpu_(gpu),
      num_rows_(block.count[0]),
      num_columns_(block.count[1]),
      edges_(dims, comm.rank(), boundary),
      bed_halo_(plan_halo(comm, dims, block, {num_ghosts, num_ghosts}, {bed.layout()})),
      column_halo_(plan_halo(comm, dims, block, {0, num_ghosts},
                             {eta.layout(), momentum_x.layout(), momentum_y.layout()})),
      row_halo_(plan_halo(comm, dims, block, {num_ghosts, 0},
                          {eta.layout(), momentum_y.layout(), momentum_x.layout()})),
      metric_(std::move(metric)),
      options_(options),
      rows_(4, Row(index(num_columns_ + 2 * num_ghosts))),
      faces_(2, FaceRow(index(num_columns_ + 2 * num_ghosts))) {
    for (const int side : {Edges::west, Edges::east, Edges::south, Edges::north}) {
        if (!edges_.is_outer(side)) continue;
        outflow_m3_[index(side)].assign(index(side <= Edges::east ? num_rows_ : num_columns_), 0.0);
    }
}

// On a GPU all of it is in the order of one stream, which the host waits for at the end.
void Solver::exchange(Halo& halo, std::initializer_list<CellField*> fields) {
    if (gpu_ == nullptr) return halo.exchange();
    for (CellField* field : fields) field->to_gpu();
    halo.exchange(gpu_->stream());
    for (CellField* field : fields) field->to_host();
    gpu_->synchronize();
}

void Solver::refresh_bed() {
    exchange(bed_halo_, {&bed});
    edges_.fill_columns(bed);
    edges_.fill_rows(bed);
}

void Solver::start() {
    refresh_bed();
    for (std::int64_t r = 0; r < num_rows_; ++r) {
        for (std::int64_t c = 0; c < num_columns_; ++c) {
            if (is_wet(r, c)) eta_max.row(r)[c] = eta.row(r)[c];
            if (std::abs(bed.row(r)[c]) < options_.friction_depth_m) shallow_.push_back({r, c});
        }
    }
    if (options_.manning_s_m13 <= 0) shallow_.clear();
}

void Solver::go_on(std::int64_t num_steps) {
    refresh_bed();
    num_steps_ = num_steps;
}

double Solver::max_rate() const {
    double highest = 0;
    for (std::int64_t r = 0; r < num_rows_; ++r) {
        highest = std::max(highest, kernel::max_rate(num_columns_, metric_.dx_m[Metric::at(r)], metric_.dy_m,
                                                     options_.dry_depth_m, eta.row(r), bed.row(r),
                                                     momentum_x.row(r), momentum_y.row(r)));
    }
    return highest;
}

void Solver::step(double dt_s) {
    const bool x_first = num_steps_++ % 2 == 0;
    if (x_first) sweep_x(dt_s);
    sweep_y(dt_s);
    if (!x_first) sweep_x(dt_s);
    for (std::int64_t r = 0; r < num_rows_; ++r) {
        kernel::turn_and_record(num_columns_, dt_s, metric_.coriolis_per_s[Metric::at(r)],
                                metric_.tan_over_radius[Metric::at(r)], options_.dry_depth_m, eta.row(r),
                                bed.row(r), momentum_x.row(r), momentum_y.row(r), eta_max.row(r));
    }
    apply_friction(dt_s);
}

void Solver::sweep_x(double dt_s) {
    exchange(column_halo_, {&eta, &momentum_x, &momentum_y});
    edges_.fill_columns(eta);
    edges_.fill_columns(momentum_x, -1);
    edges_.fill_columns(momentum_y);

    // Row buffers start at column -2: primitives there, faces' values from column -1, face f between f - 1
    // and f.
    Row& row = rows_[0];
    FaceRow& face = faces_[0];
    const kernel::Primitive primitive{row.depth.data(), row.normal.data(), row.tangential.data()};
    const auto shifted = [](const kernel::Primitive& p, std::int64_t by) {
        return kernel::Primitive{p.depth + by, p.normal + by, p.tangential + by};
    };
    const kernel::Faces cells{row.eta_minus.data(),        row.eta_plus.data(),
                              row.normal_minus.data(),     row.normal_plus.data(),
                              row.tangential_minus.data(), row.tangential_plus.data()};
    const kernel::Fluxes flux{face.mass.data(), face.tangential.data(), face.push_left.data(),
                              face.push_right.data()};
    const kernel::Fluxes flux_east{flux.mass + 1, flux.tangential + 1, flux.push_left + 1,
                                   flux.push_right + 1};
    const std::int64_t n = num_columns_;
    for (std::int64_t r = 0; r < num_rows_; ++r) {
        const double dx_m = metric_.dx_m[Metric::at(r)];
        const double* e = eta.row(r);
        const double* b = bed.row(r);
        kernel::primitives(n + 4, e - 2, b - 2, momentum_x.row(r) - 2, momentum_y.row(r) - 2,
                           options_.dry_depth_m, primitive);
        // cells' entry i belongs to column i - 1.
        kernel::reconstruct(
            n + 2, {e - 2, e - 1, e, b - 2, b, primitive, shifted(primitive, 1), shifted(primitive, 2)},
            options_.dry_depth_m, 0.5 * dt_s / dx_m, 0, cells);
        const double hold = 0.5 * dx_m / dt_s;
        kernel::fluxes(
            n + 1, {cells.eta_plus, cells.normal_plus, cells.tangential_plus, b - 1, primitive.depth + 1},
            {cells.eta_minus + 1, cells.normal_minus + 1, cells.tangential_minus + 1, b, primitive.depth + 2},
            hold, hold, flux);
        kernel::update(n, {dt_s / dx_m, 1, 1, options_.dry_depth_m}, flux, flux_east,
                       {cells.eta_minus + 1, cells.eta_plus + 1, nullptr, nullptr, nullptr, nullptr}, b,
                       eta.row(r), momentum_x.row(r), momentum_y.row(r));
        const double face_m2 = dt_s * metric_.dy_m;
        if (edges_.is_outer(Edges::west)) outflow_m3_[Edges::west][index(r)] -= face_m2 * flux.mass[0];
        if (edges_.is_outer(Edges::east)) outflow_m3_[Edges::east][index(r)] += face_m2 * flux.mass[n];
    }
}

void Solver::sweep_y(double dt_s) {
    exchange(row_halo_, {&eta, &momentum_y, &momentum_x});
    edges_.fill_rows(eta);
    edges_.fill_rows(momentum_y, -1);
    edges_.fill_rows(momentum_x);

    const std::int64_t n = num_columns_;
    const double dry = options_.dry_depth_m;
    const double ratio = dt_s / metric_.dy_m;
    const auto primitive = [this](std::int64_t r) {
        Row& row = rows_[index((r + num_ghosts) % 4)];
        return kernel::Primitive{row.depth.data(), row.normal.data(), row.tangential.data()};
    };
    const auto cells = [this](std::int64_t r) {
        Row& row = rows_[index((r + num_ghosts) % 4)];
        return kernel::Faces{row.eta_minus.data(),   row.eta_plus.data(),         row.normal_minus.data(),
                             row.normal_plus.data(), row.tangential_minus.data(), row.tangential_plus.data()};
    };
    const auto flux = [this](std::int64_t r) {  // through row r's southern face
        FaceRow& face = faces_[index((r + num_ghosts) % 2)];
        return kernel::Fluxes{face.mass.data(), face.tangential.data(), face.push_left.data(),
                              face.push_right.data()};
    };
    const auto fill_primitives = [&](std::int64_t r) {
        kernel::primitives(n, eta.row(r), bed.row(r), momentum_y.row(r), momentum_x.row(r), dry,
                           primitive(r));
    };
    const auto fill_cells = [&](std::int64_t r) {
        kernel::reconstruct(n,
                            {eta.row(r - 1), eta.row(r), eta.row(r + 1), bed.row(r - 1), bed.row(r + 1),
                             primitive(r - 1), primitive(r), primitive(r + 1)},
                            dry, 0.5 * ratio, 0.5 * dt_s * tan_over_radius(r), cells(r));
    };
    const auto fill_flux = [&](std::int64_t r) {
        const kernel::Faces below = cells(r - 1);
        const kernel::Faces above = cells(r);
        const double hold = 0.5 / ratio;
        kernel::fluxes(
            n,
            {below.eta_plus, below.normal_plus, below.tangential_plus, bed.row(r - 1),
             primitive(r - 1).depth},
            {above.eta_minus, above.normal_minus, above.tangential_minus, bed.row(r), primitive(r).depth},
            hold / metric_.north[Metric::at(r - 1)], hold / metric_.south[Metric::at(r)], flux(r));
    };

    // Row r may change when everything that needs its old values is done: the slopes of row r + 1, and the
    // flux between the two.
    for (std::int64_t r = -2; r <= 1; ++r) fill_primitives(r);
    fill_cells(-1);
    fill_cells(0);
    fill_flux(0);
    if (edges_.is_outer(Edges::south)) {
        const double face_m2 = dt_s * metric_.south[Metric::at(0)] * metric_.dx_m[Metric::at(0)];
        for (std::int64_t c = 0; c < n; ++c) outflow_m3_[Edges::south][index(c)] -= face_m2 * flux(0).mass[c];
    }
    for (std::int64_t r = 0; r < num_rows_; ++r) {
        fill_primitives(r + 2);
        fill_cells(r + 1);
        fill_flux(r + 1);
        const std::size_t at = Metric::at(r);
        kernel::update(n, {ratio, metric_.south[at], metric_.north[at], dry}, flux(r), flux(r + 1), cells(r),
                       bed.row(r), eta.row(r), momentum_y.row(r), momentum_x.row(r));
    }
    if (edges_.is_outer(Edges::north)) {
        const std::size_t at = Metric::at(num_rows_ - 1);
        const double face_m2 = dt_s * metric_.north[at] * metric_.dx_m[at];
        for (std::int64_t c = 0; c < n; ++c)
            outflow_m3_[Edges::north][index(c)] += face_m2 * flux(num_rows_).mass[c];
    }
}

// Beyond the region's edge a row is its neighbour's continuation or mirror image, and so is its metric term.
double Solver::tan_over_radius(std::int64_t row) const {
    const auto& values = metric_.tan_over_radius;
    const double sign = edges_.boundary() == Boundary::wall ? -1 : 1;
    if (row < 0 && edges_.is_outer(Edges::south)) return sign * values[Metric::at(0)];
    if (row >= num_rows_ && edges_.is_outer(Edges::north)) return sign * values[Metric::at(num_rows_ - 1)];
    return values[Metric::at(row)];
}

// Manning's law, implicit in the momentum it slows: q / (1 + dt g n^2 |q| / h^(7/3)).
void Solver::apply_friction(double dt_s) {
    const double factor = dt_s * gravity_m_s2 * options_.manning_s_m13 * options_.manning_s_m13;
    for (const auto& [r, c] : shallow_) {
        double& qx = momentum_x.row(r)[c];
        double& qy = momentum_y.row(r)[c];
        const double size = std::sqrt(qx * qx + qy * qy);
        if (size == 0) continue;
        const double h = eta.row(r)[c] - bed.row(r)[c];
        const double slowed = 1 / (1 + factor * size / (h * h * std::cbrt(h)));
        qx *= slowed;
        qy *= slowed;
    }
}

}  // namespace hakobi::tsunami
