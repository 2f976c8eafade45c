#include "source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <hakobi/error.hpp>
#include <nlohmann/json.hpp>
#include <numbers>

#include "grid.hpp"
#include "okada.hpp"

namespace hakobi::tsunami {

namespace {

/// Refuses what no earthquake is: later arithmetic takes degrees, kilometres and seconds of ordinary size for
/// granted.
void check_rupture(const Rupture& rupture, const std::string& path) {
    const auto is_in = [](double value, double least, double most) {
        return value >= least && value <= most;
    };
    constexpr double most_km = 5000, most_s = 24 * 3600;
    if (!is_in(rupture.length_km, 0, most_km) || !is_in(rupture.width_km, 0, most_km))
        throw Error(ErrorCode::format, "rupture " + path + ": its subfaults have no length or width in km");
    for (std::size_t i = 0; i < rupture.subfaults.size(); ++i) {
        const Subfault& s = rupture.subfaults[i];
        const bool is_place = is_in(s.longitude_deg, -360, 360) && is_in(s.latitude_deg, -90, 90) &&
                              is_in(s.depth_km, 0, most_km);
        const bool is_slip = is_in(s.slip_m, -1000, 1000) && is_in(s.rake_deg, -360, 360) &&
                             is_in(s.strike_deg, -360, 360) && is_in(s.dip_deg, 0, 90);
        const bool is_time = is_in(s.start_s, 0, most_s) && is_in(s.rise_s, 0, most_s) &&
                             is_in(s.fall_s, 0, most_s) && s.rise_s + s.fall_s > 0;
        if (is_place && is_slip && is_time) continue;
        const char* what = !is_place ? "place" : !is_slip ? "slip" : "time";
        throw Error(ErrorCode::format,
                    "rupture " + path + ": subfault " + std::to_string(i) + " has no possible " + what);
    }
}

}  // namespace

Rupture read_rupture(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Error(ErrorCode::not_found, "rupture " + path + ": cannot be opened");
    Rupture rupture;
    try {
        const auto json = nlohmann::json::parse(file);
        rupture.length_km = json.at("length_km");
        rupture.width_km = json.at("width_km");
        for (const auto& row : json.at("subfaults")) {
            const auto v = row.get<std::array<double, 10>>();
            rupture.subfaults.push_back({v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9]});
        }
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::format, "rupture " + path + ": " + error.what());
    }
    if (rupture.subfaults.empty()) throw Error(ErrorCode::format, "rupture " + path + ": has no subfaults");
    check_rupture(rupture, path);
    return rupture;
}

double slip_fraction(const Subfault& subfault, double time_s) {
    const double t = time_s - subfault.start_s;
    const double rise = subfault.rise_s;
    const double fall = subfault.fall_s;
    if (t <= 0) return 0;
    if (t >= rise + fall) return 1;
    const double pi = std::numbers::pi;
    if (t < rise) return (t - rise / pi * std::sin(pi * t / rise)) / (rise + fall);
    return (t + fall / pi * std::sin(pi * (t - rise) / fall)) / (rise + fall);
}

double uplift_m(const Rupture& rupture, const Subfault& subfault, double longitude_deg, double latitude_deg) {
    const double north_m = earth_radius_m * radians(latitude_deg - subfault.latitude_deg);
    const double east_m = earth_radius_m * std::cos(radians(subfault.latitude_deg)) *
                          radians(longitude_deg - subfault.longitude_deg);
    // Strike is clockwise from north and the fault dips to its right: up-dip is strike minus 90 degrees.
    const double strike = radians(subfault.strike_deg);
    const double along_m = east_m * std::sin(strike) + north_m * std::cos(strike);
    const double updip_m = -east_m * std::cos(strike) + north_m * std::sin(strike);
    const double dip = radians(subfault.dip_deg);
    const double rake = radians(subfault.rake_deg);
    const double length_m = rupture.length_km * 1e3;
    const double half_width_m = rupture.width_km * 1e3 / 2;
    const RectangularFault fault{.length = length_m,
                                 .width = 2 * half_width_m,
                                 .depth = subfault.depth_km * 1e3 + half_width_m * std::sin(dip),
                                 .dip_rad = dip,
                                 .strike_slip = subfault.slip_m * std::cos(rake),
                                 .dip_slip = subfault.slip_m * std::sin(rake)};
    return surface_uplift(fault, along_m + length_m / 2, updip_m + half_width_m * std::cos(dip));
}

GroundMotion::GroundMotion(const Comm& comm, const Rupture& rupture) {
    double west = 360, east = 0, south = 90, north = -90, end_s = 0;
    for (const Subfault& s : rupture.subfaults) {
        west = std::min(west, s.longitude_deg);
        east = std::max(east, s.longitude_deg);
        south = std::min(south, s.latitude_deg);
        north = std::max(north, s.latitude_deg);
        end_s = std::max(end_s, s.start_s + s.rise_s + s.fall_s);
    }
    west_deg_ = west - margin_deg - fade_deg;
    south_deg_ = south - margin_deg - fade_deg;
    num_columns_ = std::llround((east - west + 2 * (margin_deg + fade_deg)) / step_deg) + 1;
    num_rows_ = std::llround((north - south + 2 * (margin_deg + fade_deg)) / step_deg) + 1;
    num_slices_ = static_cast<std::int64_t>(std::ceil(end_s / slice_s));

    const auto num_nodes = static_cast<std::size_t>(num_rows_ * num_columns_);
    uplift_m_.assign(static_cast<std::size_t>(num_slices_), std::vector<double>(num_nodes, 0.0));
    increment_m_.assign(num_nodes, 0.0);
    const auto fade = [](double distance_deg) {  // 0 at the edge, 1 from fade_deg inwards
        const double x = std::clamp(distance_deg / fade_deg, 0.0, 1.0);
        return x * x * (3 - 2 * x);
    };
    const auto slices = static_cast<std::size_t>(num_slices_);
    std::vector<double> fractions;  // of a subfault's slip at each slice's end
    for (const Subfault& subfault : rupture.subfaults) {
        for (std::size_t k = 1; k <= slices; ++k) {
            fractions.push_back(slip_fraction(subfault, slice_s * static_cast<double>(k)));
        }
    }
    for (std::int64_t row = comm.rank(); row < num_rows_; row += comm.size()) {
        const double from_edge_y = static_cast<double>(std::min(row, num_rows_ - 1 - row)) * step_deg;
        for (std::int64_t column = 0; column < num_columns_; ++column) {
            const double from_edge_x =
                static_cast<double>(std::min(column, num_columns_ - 1 - column)) * step_deg;
            const double scale = fade(from_edge_x) * fade(from_edge_y);
            if (scale == 0) continue;
            const double longitude = west_deg_ + static_cast<double>(column) * step_deg;
            const double latitude = south_deg_ + static_cast<double>(row) * step_deg;
            std::vector<double> at_node(slices, 0.0);
            for (std::size_t s = 0; s < rupture.subfaults.size(); ++s) {
                const double final_m = scale * uplift_m(rupture, rupture.subfaults[s], longitude, latitude);
                for (std::size_t k = 0; k < slices; ++k) at_node[k] += final_m * fractions[s * slices + k];
            }
            for (std::size_t k = 0; k < slices; ++k) uplift_m_[k][node(row, column)] = at_node[k];
        }
    }
    for (auto& slice : uplift_m_) {  // every node is one rank's; adding the others' zeros changes nothing
        MPI_Allreduce(MPI_IN_PLACE, slice.data(), static_cast<int>(num_nodes), MPI_DOUBLE, MPI_SUM,
                      comm.handle());
    }
}

void GroundMotion::set_interval(double from_s, double to_s) {
    std::fill(increment_m_.begin(), increment_m_.end(), 0.0);
    const auto add = [this](double time_s, double sign) {
        const double position = std::min(time_s / slice_s, static_cast<double>(num_slices_));
        const auto slice = static_cast<std::int64_t>(position);  // whole slices before that time
        const double fraction = position - static_cast<double>(slice);
        for (std::size_t i = 0; i < increment_m_.size(); ++i) {
            const double before = slice > 0 ? uplift_m_[static_cast<std::size_t>(slice - 1)][i] : 0.0;
            const double after = slice < num_slices_ ? uplift_m_[static_cast<std::size_t>(slice)][i] : before;
            increment_m_[i] += sign * (before + fraction * (after - before));
        }
    };
    add(to_s, 1);
    add(from_s, -1);
}

double GroundMotion::increment_m(double longitude_deg, double latitude_deg) const {
    const double x = (longitude_deg - west_deg_) / step_deg;
    const double y = (latitude_deg - south_deg_) / step_deg;
    const auto column = static_cast<std::int64_t>(std::floor(x));
    const auto row = static_cast<std::int64_t>(std::floor(y));
    if (column < 0 || row < 0 || column >= num_columns_ - 1 || row >= num_rows_ - 1) return 0;
    const double fx = x - static_cast<double>(column);
    const double fy = y - static_cast<double>(row);
    const double* nodes = increment_m_.data();
    return (1 - fy) * ((1 - fx) * nodes[node(row, column)] + fx * nodes[node(row, column + 1)]) +
           fy * ((1 - fx) * nodes[node(row + 1, column)] + fx * nodes[node(row + 1, column + 1)]);
}

}  // namespace hakobi::tsunami
