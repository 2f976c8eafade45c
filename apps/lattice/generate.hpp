#pragma once

#include <cstdint>

#include "gauge.hpp"

namespace hakobi::lattice {

/// Independent links, evenly distributed over SU(3). Collective.
void make_hot(Gauge& gauge, std::uint64_t seed);

/// Sweeps of the pseudo-heatbath for the Wilson plaquette action at `beta`: each link in turn, by SU(2)
/// subgroups (N. Cabibbo, E. Marinari, Physics Letters B 119 (1982), 387) with Kennedy and Pendleton's draws
/// (Physics Letters B 156 (1985), 393). Even sites, then odd ones, direction by direction. `first_sweep`
/// continues a series of random numbers. The links are the same bits for every decomposition. Collective.
void heatbath(Gauge& gauge, double beta, std::uint64_t seed, int num_sweeps, int first_sweep = 0);

/// The links as another gauge sees them: U_mu(x) becomes g(x) U_mu(x) g(x + mu)^dagger, with a random g(x)
/// that `gauge_rotation` tells for any site. Collective.
void rotate(Gauge& gauge, std::uint64_t seed);
[[nodiscard]] Su3 gauge_rotation(std::uint64_t seed, std::int64_t global_site);

}  // namespace hakobi::lattice
