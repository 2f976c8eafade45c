#include "edges.hpp"

#include "base/clock.hpp"

namespace hakobi::lattice {
namespace {

// Where a site lies in direction mu: at the lower face, the upper one, both or neither.
struct Place {
    bool is_lower, is_upper;
};
Place place_of(const Geometry& geometry, std::int32_t site, int mu) {
    const std::int64_t local = geometry.global_coordinates(site)[at(mu)] - geometry.start()[at(mu)];
    return {.is_lower = local == 0, .is_upper = local + 1 == geometry.count()[at(mu)]};
}

int parity_of(const Geometry& geometry, std::int32_t site) {
    std::int64_t sum = 0;
    for (const std::int64_t coordinate : geometry.global_coordinates(site)) sum += coordinate;
    return static_cast<int>(sum % 2);
}

}  // namespace

Edges::Edges(Exchange& exchange, const Geometry& geometry, int parity) {
    FaceCounts counts;
    std::vector<std::int32_t> entry_of_site(geometry.neighbours().begin(), geometry.neighbours().end());
    for (int mu = 0; mu < num_directions; ++mu) {
        if (!geometry.is_split(mu)) continue;
        Face lower{.mu = mu, .upper = 0, .sites = {}}, upper{.mu = mu, .upper = 1, .sites = {}};
        auto& received = counts.received[at(mu)];
        for (const std::int32_t site : geometry.sites()) {
            const Place place = place_of(geometry, site, mu);
            const bool is_result = parity < 0 || parity_of(geometry, site) == parity;
            const bool is_source = parity < 0 || !is_result;
            if (place.is_lower && is_source) lower.sites.push_back(site);
            if (place.is_upper && is_source) upper.sites.push_back(site);
            std::int32_t* entries = &entry_of_site[at(8 * std::int64_t{site})];
            if (place.is_upper && is_result) entries[2 * mu] = static_cast<std::int32_t>(-1 - received[1]++);
            if (place.is_lower && is_result)
                entries[2 * mu + 1] = static_cast<std::int32_t>(-1 - received[0]++);
        }
        for (Face* face : {&lower, &upper}) {
            counts.sent[at(mu)][at(face->upper)] = static_cast<std::int64_t>(face->sites.size());
            faces_.push_back(std::move(*face));
        }
    }
    for (int p = 0; p < 2; ++p) {
        if (parity >= 0 && p != parity) continue;
        for (const std::int32_t site : geometry.boundary(p)) {
            sites_.push_back(site);
            const auto from = entry_of_site.begin() + 8 * std::int64_t{site};
            entries_.insert(entries_.end(), from, from + 8);
        }
    }
    halves_ = exchange.plan_halves(counts);
}

double Edges::start(const kernel::Hop& arguments) {
    const double from_s = now_s();
    for (const Face& face : faces_) {
        kernel::project_face(arguments, face.mu, face.upper != 0, face.sites.data(),
                             static_cast<std::int64_t>(face.sites.size()),
                             halves_->to_send(face.mu, face.upper));
    }
    const double projected_s = now_s();
    halves_->start();
    return projected_s - from_s;
}

void Edges::compute(const kernel::Hop& arguments) const {
    std::array<const double*, 8> received{};  // forward halves came through the upper face
    for (const Face& face : faces_) {
        received[at(2 * face.mu + (face.upper != 0 ? 0 : 1))] = halves_->received(face.mu, face.upper);
    }
    kernel::hop_edges(arguments, sites_.data(), entries_.data(), static_cast<std::int64_t>(sites_.size()),
                      received.data());
}

}  // namespace hakobi::lattice
