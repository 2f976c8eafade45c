#pragma once

#include "exchange.hpp"
#include "geometry.hpp"
#include "su3.hpp"
#include "sums.hpp"

namespace hakobi::lattice {

/// The links of this rank's sites with ghosts around: U_mu(x) joins x and x + mu. A site's four links lie one
/// after the other, a link's rows first: 72 doubles a site.
class Gauge {
  public:
    static constexpr int doubles_per_link = 18;
    static constexpr int doubles_per_site = num_directions * doubles_per_link;

    /// All links one. Collective; `geometry` is lent.
    Gauge(Exchange& exchange, const Geometry& geometry);

    [[nodiscard]] const Geometry& geometry() const { return *geometry_; }
    [[nodiscard]] Su3 link(std::int32_t site, int mu) const;
    void set_link(std::int32_t site, int mu, const Su3& link);
    [[nodiscard]] const double* data() const { return field_.data(); }
    /// Brings the ghosts (edges and corners included) up to date after links were set. Collective.
    void update() { field_.update(); }

    /// The sum of the six paths around the link's plaquettes: Re Tr (U_mu(x) staple^dagger) summed over them
    /// is the action's part. Ghosts must be up to date.
    [[nodiscard]] Su3 staple(std::int32_t site, int mu) const;

  private:
    const Geometry* geometry_;
    Field field_;
};

/// Measures that identify a configuration; the first two are those of NERSC's file headers.
struct GaugeMeasures {
    double plaquette = 0;         ///< mean of Re Tr / 3 over all plaquettes: 1 when all links are one
    double link_trace = 0;        ///< mean of Re Tr / 3 over all links
    double unitarity_defect = 0;  ///< the largest of all links (su3.hpp)
};
/// Collective; ghosts must be up to date. The same bits for every decomposition.
[[nodiscard]] GaugeMeasures measure(const Gauge& gauge, const Comm& comm, const AddUp& add_up);

}  // namespace hakobi::lattice
