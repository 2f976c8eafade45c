#pragma once

#include <cstdint>

/// The arithmetic of the Wilson hopping term, site by site. A spinor is 24 doubles: three colours, each with
/// its four spins, each real and imaginary part. Spins 0, 1 and 2, 3 are the two chiralities of the
/// DeGrand-Rossi basis, in which
///
///     gamma_mu = (0, s_mu; s_mu^dagger, 0),   gamma_5 = diag(1, 1, -1, -1):
///
/// (1 -+ gamma_mu) psi has two independent spins, h = upper -+ s_mu lower; they are one vector of four
/// doubles for each colour, multiplied by the link as such, and -+ s_mu^dagger h gives the other two.
namespace hakobi::lattice::kernel {

inline constexpr int doubles_per_spinor = 24;
inline constexpr int doubles_per_links = 72;

/// out(x) = base_factor base(x) + hop_factor sum over mu of (1 - gamma_mu) U_mu(x) in(x + mu)
///                                                       + (1 + gamma_mu) U_mu(x - mu)^dagger in(x - mu)
/// for the `count` sites of `sites`. `neighbours` as Geometry has them, `links` 72 doubles a stored site.
/// `is_adjoint` exchanges the signs of gamma_mu. All arrays are aligned to 64 bytes; `out` is none of the
/// others but may be `base`. A site's result does not depend on the others in the list.
struct Hop {
    const double* links;
    const std::int32_t* neighbours;
    const double* in;
    const double* base;
    double* out;
    double base_factor, hop_factor;
    bool is_adjoint;
};
void hop(const Hop& arguments, const std::int32_t* sites, std::int64_t count);

/// Half spinors, two spins for each colour, are what a neighbour needs of a site.
inline constexpr int doubles_per_half = 12;

/// out[i] = the half spinor that the hopping term of `arguments` takes from site i of `sites` across the
/// block's face in direction `mu`: through the lower face (1 - gamma_mu) in, through the upper one
/// U_mu^dagger (1 + gamma_mu) in, which is multiplied here since the link is. `out` is aligned to 32 bytes.
void project_face(const Hop& arguments, int mu, bool is_upper, const std::int32_t* sites, std::int64_t count,
                  double* out);

/// `hop` for sites at the edge, with half spinors in the place of ghosts: `entries` has eight numbers for
/// each site of the list, in the order of neighbours; -1 - k is the half spinor k of `received` for that side
/// (project_face's, of the rank on the other side).
void hop_edges(const Hop& arguments, const std::int32_t* sites, const std::int32_t* entries,
               std::int64_t count, const double* const received[8]);

/// Floating-point operations of one site's hopping term, as the field counts them: 8 projections of 12, 8
/// products of 132, 7 sums of 24; with the sum into `base` (one factor) 48 more.
inline constexpr int flops_per_hop = 8 * (12 + 132) + 7 * 24;
inline constexpr int flops_per_base = 48;

}  // namespace hakobi::lattice::kernel
