#include "gauge.hpp"

#include <limits>

namespace hakobi::lattice {

Gauge::Gauge(Exchange& exchange, const Geometry& geometry)
    : geometry_(&geometry), field_(exchange, geometry, doubles_per_site, Reach::corners) {
    for (std::int32_t site = 0; site < geometry.num_stored(); ++site) {
        for (int mu = 0; mu < num_directions; ++mu) set_link(site, mu, Su3::one());
    }
}

Su3 Gauge::link(std::int32_t site, int mu) const {
    Su3 link;
    const double* values = field_.site(site) + mu * doubles_per_link;
    for (std::size_t i = 0; i < 9; ++i) link.entries[i] = {values[2 * i], values[2 * i + 1]};
    return link;
}

void Gauge::set_link(std::int32_t site, int mu, const Su3& link) {
    double* values = field_.site(site) + mu * doubles_per_link;
    for (std::size_t i = 0; i < 9; ++i) {
        values[2 * i] = link.entries[i].real();
        values[2 * i + 1] = link.entries[i].imag();
    }
}

Su3 Gauge::staple(std::int32_t site, int mu) const {
    const Geometry& g = *geometry_;
    const std::int32_t ahead = g.forward(site, mu);
    Su3 sum;
    for (int nu = 0; nu < num_directions; ++nu) {
        if (nu == mu) continue;
        const std::int32_t up = g.forward(site, nu);
        const std::int32_t down = g.backward(site, nu);
        sum += link(site, nu) * link(up, mu) * adjoint(link(ahead, nu));
        sum += adjoint(link(down, nu)) * link(down, mu) * link(g.forward(down, mu), nu);
    }
    return sum;
}

GaugeMeasures measure(const Gauge& gauge, const Comm& comm, const AddUp& add_up) {
    const Geometry& g = gauge.geometry();
    const auto sites = static_cast<double>(g.num_global_sites());
    double defect = 0;
    const auto add = [&](std::array<SiteSum, 2>& sums) {
        for (const std::int32_t site : g.sites()) {
            double plaquettes = 0, traces = 0;
            for (int mu = 0; mu < num_directions; ++mu) {
                const Su3 link = gauge.link(site, mu);
                traces += real_trace(link);
                const double own = unitarity_defect(link);
                if (!(own <= defect)) defect = own;
                for (int nu = 0; nu < mu; ++nu) {
                    const Su3 there = link * gauge.link(g.forward(site, mu), nu);
                    const Su3 back = gauge.link(site, nu) * gauge.link(g.forward(site, nu), mu);
                    plaquettes += real_trace(there * adjoint(back));
                }
            }
            sums[0].add(plaquettes);
            sums[1].add(traces);
        }
    };
    const auto totals = sum_over_sites<2>(add_up, 18 * sites, add);
    // NaN travels as infinity: the maximum of a NaN and a number is not defined.
    if (!(defect <= 1e300)) defect = std::numeric_limits<double>::infinity();
    MPI_Allreduce(MPI_IN_PLACE, &defect, 1, MPI_DOUBLE, MPI_MAX, comm.handle());
    return {.plaquette = totals[0] / (18 * sites),
            .link_trace = totals[1] / (12 * sites),
            .unitarity_defect = defect};
}

}  // namespace hakobi::lattice
