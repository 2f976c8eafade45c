#include "geometry.hpp"

#include <algorithm>
#include <hakobi/block.hpp>
#include <hakobi/error.hpp>
#include <numeric>

namespace hakobi::lattice {
namespace {

constexpr std::int64_t max_sites = std::int64_t{1} << 26;  // sums.hpp adds so many exactly

std::int64_t volume(const Extents& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

template <class Array>
std::string joined(const Array& values) {
    std::string text;
    for (const auto value : values) {
        if (!text.empty()) text += 'x';
        text += std::to_string(value);
    }
    return text;
}

// Counts through a box, x fastest: false after the last place.
bool advance(Extents& place, const Extents& extents) {
    for (std::size_t mu = 0; mu < place.size(); ++mu) {
        if (++place[mu] < extents[mu]) return true;
        place[mu] = 0;
    }
    return false;
}

std::int64_t place_in(const Extents& place, const Extents& extents) {
    std::int64_t index = 0;
    for (std::size_t mu = place.size(); mu-- > 0;) index = index * extents[mu] + place[mu];
    return index;
}

void check(const Extents& global, const RankGrid& grid, int num_ranks) {
    std::int64_t sites = 1;
    for (const std::int64_t extent : global) {
        if (extent < 2 || extent % 2 != 0) {
            throw Error(ErrorCode::invalid_argument,
                        "lattice " + joined(global) + ": every extent must be even and at least 2");
        }
        if (extent > max_sites || (sites *= extent) > max_sites) {
            throw Error(ErrorCode::invalid_argument, "lattice " + joined(global) + ": more than 2^26 sites");
        }
    }
    std::int64_t ranks = 1;
    for (std::size_t mu = 0; mu < grid.size(); ++mu) {
        if (grid[mu] < 1 || grid[mu] > global[mu]) {
            throw Error(ErrorCode::invalid_argument,
                        "rank grid " + joined(grid) + ": lattice " + joined(global) + " has " +
                            std::to_string(global[mu]) + " sites in direction " + "xyzt"[mu] + " for " +
                            std::to_string(grid[mu]) + " ranks");
        }
        ranks *= grid[mu];
    }
    if (ranks != num_ranks) {
        throw Error(ErrorCode::invalid_argument, "rank grid " + joined(grid) + " takes " +
                                                     std::to_string(ranks) + " ranks, the program runs on " +
                                                     std::to_string(num_ranks));
    }
}

}  // namespace

Geometry::Geometry(const Extents& global, const RankGrid& grid, int num_ranks, int rank)
    : global_(global), grid_(grid) {
    check(global, grid, num_ranks);
    int rest = rank;
    for (std::size_t mu = 0; mu < num_directions; ++mu) {  // t is the slowest: x is taken off first
        place_[mu] = rest % grid[mu];
        rest /= grid[mu];
        const std::int64_t part = global[mu] / grid[mu];
        const std::int64_t longer = global[mu] % grid[mu];
        count_[mu] = part + (place_[mu] < longer ? 1 : 0);
        start_[mu] = place_[mu] * part + std::min<std::int64_t>(place_[mu], longer);
        stored_[mu] = count_[mu] + (grid[mu] > 1 ? 2 : 0);
    }
    if (volume(stored_) > max_sites * 4) {
        throw Error(ErrorCode::invalid_argument, "a rank's block is too large");
    }
    link_neighbours();
    list_sites();
}

int Geometry::neighbour_rank(int mu, int step) const {
    RankGrid place = place_;
    const int ranks = grid_[at(mu)];
    place[at(mu)] = (place[at(mu)] + step + ranks) % ranks;
    int rank = 0;
    for (std::size_t nu = num_directions; nu-- > 0;) rank = rank * grid_[nu] + place[nu];
    return rank;
}

std::int64_t Geometry::num_global_sites() const {
    return volume(global_);
}
std::int64_t Geometry::num_stored() const {
    return volume(stored_);
}

void Geometry::link_neighbours() {
    neighbours_.resize(at(8 * num_stored()));
    Extents place{};
    std::size_t entry = 0;
    do {
        for (std::size_t mu = 0; mu < num_directions; ++mu) {
            for (const int step : {1, -1}) {
                Extents other = place;
                other[mu] += step;
                const bool is_outside = other[mu] < 0 || other[mu] >= stored_[mu];
                if (is_outside && grid_[mu] == 1) other[mu] = (other[mu] + stored_[mu]) % stored_[mu];
                neighbours_[entry++] =
                    is_outside && grid_[mu] > 1 ? -1 : static_cast<std::int32_t>(place_in(other, stored_));
            }
        }
    } while (advance(place, stored_));
}

void Geometry::list_sites() {
    sites_.reserve(at(volume(count_)));
    Extents place{};
    do {
        Extents in_store = place;
        std::int64_t sum = 0;
        bool has_ghost = false;
        for (std::size_t mu = 0; mu < num_directions; ++mu) {
            sum += start_[mu] + place[mu];
            if (grid_[mu] == 1) continue;
            ++in_store[mu];
            has_ghost = has_ghost || place[mu] == 0 || place[mu] + 1 == count_[mu];
        }
        const auto site = static_cast<std::int32_t>(place_in(in_store, stored_));
        sites_.push_back(site);
        (has_ghost ? boundary_ : interior_)[at(sum % 2)].push_back(site);
    } while (advance(place, count_));
}

Extents Geometry::global_coordinates(std::int32_t site) const {
    Extents coordinates;
    std::int64_t rest = site;
    for (std::size_t mu = 0; mu < num_directions; ++mu) {
        const std::int64_t ghosts = grid_[mu] > 1 ? 1 : 0;
        coordinates[mu] = (start_[mu] + rest % stored_[mu] - ghosts + global_[mu]) % global_[mu];
        rest /= stored_[mu];
    }
    return coordinates;
}

std::int64_t Geometry::global_index(std::int32_t site) const {
    return place_in(global_coordinates(site), global_);
}

RankGrid choose_rank_grid(const Extents& global, int num_ranks, std::string_view directions) {
    std::vector<std::int64_t> extents;
    std::vector<std::size_t> chosen;
    for (std::size_t mu = num_directions; mu-- > 0;) {
        if (directions.find("xyzt"[mu]) == std::string_view::npos) continue;
        extents.push_back(global[mu]);
        chosen.push_back(mu);
    }
    const std::vector<int> dims = dims_of_ranks(extents, num_ranks);
    RankGrid grid{1, 1, 1, 1};
    for (std::size_t i = 0; i < chosen.size(); ++i) grid[chosen[i]] = dims[i];
    return grid;
}

std::string to_string(const Extents& extents) {
    return joined(extents);
}
std::string to_string(const RankGrid& grid) {
    return joined(grid);
}

}  // namespace hakobi::lattice
