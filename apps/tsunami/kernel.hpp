#pragma once

#include <cstdint>

/// The arithmetic of one row of cells in one sweep of the dimension-split scheme. Pure loops over contiguous
/// memory; results do not depend on how a row is cut into parts.
///
/// The scheme is the second-order one of Audusse et al. (E. Audusse, F. Bouchut, M.-O. Bristeau, R. Klein, B.
/// Perthame, A fast and stable well-balanced scheme with hydrostatic reconstruction for shallow water flows,
/// SIAM Journal on Scientific Computing 25 (2004), 2050-2065), with MUSCL-Hancock in time and the HLL flux,
/// rewritten so that only differences of the surface height eta appear:
///
///  1. Cell values of eta, normal velocity and tangential velocity get slopes (monotonised central limiter;
///     none in a dry cell or beside one) and are advanced by half a step.
///  2. At a face the bed is the mean of its cells' beds, but at most the shallower cell's depth below that
///     cell's bed: max(mean, highest - shallowest depth). Beside a dry cell that is Audusse's max; on a
///     gentle slope it is second-order. Depths at the face are max(0, eta - bed of the face).
///  3. Audusse's interface terms g/2 (h_cell^2 - h_face^2) and the centred bed source cancel analytically
///     against the hydrostatic part of the HLL flux. The flux minus g/2 h^2 of the cell's own side remains at
///     each face (`push_left`, `push_right`), and g h (eta_plus - eta_minus) in the cell. Every term is a
///     multiple of a difference of eta or of a velocity: a lake at rest, at whatever level and over whatever
///     bed, stays so to the bit.
///  4. A face's mass flux is at most half of what its donor cell holds: depths stay positive (to rounding) at
///     any Courant number up to 1. In the open ocean that bound is never near.
namespace hakobi::tsunami::kernel {

/// A row's velocities and depths, from the conserved values; `depth` is 0 and the velocities are 0 in a dry
/// cell.
struct Primitive {
    double* depth;
    double* normal;
    double* tangential;
};

/// Values at a cell's two faces after half a step.
struct Faces {
    double *eta_minus, *eta_plus;
    double *normal_minus, *normal_plus;
    double *tangential_minus, *tangential_plus;
};

/// Fluxes through a face: of mass, of tangential momentum, and of the normal momentum of the cells on either
/// side.
struct Fluxes {
    double *mass, *tangential, *push_left, *push_right;
};

void primitives(std::int64_t count, const double* eta, const double* bed, const double* normal_momentum,
                const double* tangential_momentum, double dry_depth, const Primitive& out);

/// Step 1. The neighbours of cell i are i - stride and i + stride of `below`/`above`, which are rows of the
/// same kind.
struct Stencil {
    const double *eta_below, *eta, *eta_above;
    const double *bed_below, *bed_above;
    Primitive below, here, above;
};
/// `half_ratio` is dt / (2 x cell size), `half_metric` dt / 2 x tan(latitude) / radius for the sweep to the
/// north.
void reconstruct(std::int64_t count, const Stencil& stencil, double dry_depth, double half_ratio,
                 double half_metric, const Faces& out);

/// Steps 2 to 4 for faces between cells `left` and `right`. `hold_left` and `hold_right` are what of a cell's
/// depth may pass, in depth x velocity per depth: 0.5 x cell size / dt (x the ratio of widths).
struct Sides {
    const double *eta, *normal, *tangential;  ///< at the face
    const double *bed, *depth;                ///< of the cell
};
void fluxes(std::int64_t count, const Sides& left, const Sides& right, double hold_left, double hold_right,
            const Fluxes& out);

/// Adds a step's fluxes to a row of cells: `ratio` = dt / cell size, the weights are a face's length over the
/// cell's.
struct Update {
    double ratio, weight_minus, weight_plus, dry_depth;
};
void update(std::int64_t count, const Update& constants, const Fluxes& minus, const Fluxes& plus,
            const Faces& faces, const double* bed, double* eta, double* normal_momentum,
            double* tangential_momentum);

/// Coriolis and curvature terms (a rotation: kinetic energy is kept), and the highest surface so far.
void turn_and_record(std::int64_t count, double dt, double coriolis_per_s, double tan_over_radius,
                     double dry_depth, const double* eta, const double* bed, double* east_momentum,
                     double* north_momentum, double* eta_max);

/// The highest of (|u| + c) / dx and (|v| + c) / dy of a row's wet cells, per second.
[[nodiscard]] double max_rate(std::int64_t count, double dx_m, double dy_m, double dry_depth,
                              const double* eta, const double* bed, const double* east_momentum,
                              const double* north_momentum);

}  // namespace hakobi::tsunami::kernel
