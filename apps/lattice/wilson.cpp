#include "wilson.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "random.hpp"

namespace hakobi::lattice {
namespace {

constexpr std::uint32_t normal_epoch = 0;

}  // namespace

void fill_normal(Spinor& field, std::uint64_t seed) {
    const Geometry& g = field.geometry();
    for (const std::int32_t site : g.sites()) {
        PlaceRandom random(seed, normal_epoch, static_cast<std::uint64_t>(g.global_index(site)));
        for (int colour = 0; colour < 3; ++colour) {
            for (int spin = 0; spin < 4; ++spin) field.set(site, spin, colour, random.normal_pair());
        }
    }
}

void fill_point(Spinor& field, const Extents& where, int spin, int colour) {
    for (const std::int32_t site : field.geometry().sites()) {
        std::fill_n(field.site(site), kernel::doubles_per_spinor, 0.0);
        if (field.geometry().global_coordinates(site) == where) field.set(site, spin, colour, 1);
    }
}

Wilson::Wilson(Exchange& exchange, const Gauge& gauge, const Quark& quark)
    : geometry_(&gauge.geometry()),
      quark_(quark),
      links_(exchange.allocate(geometry_->num_stored() * Gauge::doubles_per_site)) {
    constexpr int time = 3;
    std::copy_n(gauge.data(), geometry_->num_stored() * Gauge::doubles_per_site, links_.get());
    for (int parity = -1; exchange.sends_halves() && parity < 2; ++parity) {
        edges_[at((parity + 3) % 3)] = std::make_unique<Edges>(exchange, *geometry_, parity);
    }
    if (!quark.is_antiperiodic_in_time) return;
    for (std::int32_t site = 0; site < geometry_->num_stored(); ++site) {
        if (geometry_->global_coordinates(site)[time] + 1 != geometry_->global()[time]) continue;
        double* link =
            links_.get() + std::int64_t{site} * Gauge::doubles_per_site + time * Gauge::doubles_per_link;
        for (int i = 0; i < Gauge::doubles_per_link; ++i) link[i] = -link[i];
    }
}

void Wilson::apply(Spinor& in, Spinor& out, bool is_adjoint) {
    hop(in, in, out, -1, 1, -quark_.kappa, is_adjoint);
}

void Wilson::hop(Spinor& in, const Spinor& base, Spinor& out, int parity, double base_factor,
                 double hop_factor, bool is_adjoint) {
    const kernel::Hop arguments{.links = links_.get(),
                                .neighbours = geometry_->neighbours().data(),
                                .in = in.data(),
                                .base = base.data(),
                                .out = out.data(),
                                .base_factor = base_factor,
                                .hop_factor = hop_factor,
                                .is_adjoint = is_adjoint};
    const auto compute = [&](const auto& sites_of) {
        for (int p = 0; p < 2; ++p) {
            if (parity >= 0 && p != parity) continue;
            const std::span<const std::int32_t> sites = sites_of(p);
            kernel::hop(arguments, sites.data(), static_cast<std::int64_t>(sites.size()));
        }
    };
    Edges* edges = edges_[at((parity + 3) % 3)].get();
    const double begin_s = now_s();
    double projecting_s = 0;
    if (edges != nullptr) {
        projecting_s = edges->start(arguments);
    } else {
        in.start();
    }
    const double started_s = now_s();
    compute([this](int p) { return geometry_->interior(p); });
    const double inside_s = now_s();
    if (edges != nullptr) {
        edges->wait();
    } else {
        in.wait();
    }
    const double arrived_s = now_s();
    if (edges != nullptr) {
        edges->compute(arguments);
    } else {
        compute([this](int p) { return geometry_->boundary(p); });
    }
    times_.total_s += now_s() - begin_s;
    times_.communication_s += (started_s - begin_s - projecting_s) + (arrived_s - inside_s);
    ++times_.num_hops;
}

double Wilson::flops_per_apply() const {
    return static_cast<double>(geometry_->num_global_sites()) *
           (kernel::flops_per_hop + kernel::flops_per_base);
}

}  // namespace hakobi::lattice
