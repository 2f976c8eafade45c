#include "source.hpp"

#include <array>
#include <cmath>

#include "grid.hpp"
#include "okada.hpp"

namespace hakobi::tsunami {

std::span<const UnitSource> tohoku_2011() {
    static constexpr std::array<UnitSource, 6> sources{{
        {"kiszb24", 143.5273, 40.31248, 185, 19, 5.00, 4.66},
        {"kiszb25", 143.4246, 39.41759, 185, 19, 5.00, 12.23},
        {"kisza26", 142.7622, 38.58372, 188, 21, 21.28, 26.31},
        {"kiszb26", 143.2930, 38.52536, 188, 19, 5.00, 21.27},
        {"kisza27", 142.5320, 37.78298, 198, 21, 21.28, 22.75},
        {"kiszb27", 143.0357, 37.65340, 198, 19, 5.00, 4.98},
    }};
    return sources;
}

double uplift_m(std::span<const UnitSource> sources, double longitude_deg, double latitude_deg) {
    constexpr double reach_m = 1.0e6;
    constexpr double length_m = unit_source_length_km * 1e3;
    constexpr double width_m = unit_source_width_km * 1e3;
    double sum = 0;
    for (const UnitSource& source : sources) {
        const double north_m = earth_radius_m * radians(latitude_deg - source.latitude_deg);
        if (std::abs(north_m) > reach_m) continue;
        const double east_m =
            earth_radius_m * std::cos(radians(source.latitude_deg)) * radians(longitude_deg - source.longitude_deg);
        if (east_m * east_m + north_m * north_m > reach_m * reach_m) continue;
        // Strike is clockwise from north and the fault dips to its right: up-dip is strike minus 90 degrees.
        const double strike = radians(source.strike_deg);
        const double along_m = east_m * std::sin(strike) + north_m * std::cos(strike);
        const double updip_m = -east_m * std::cos(strike) + north_m * std::sin(strike);
        const double dip = radians(source.dip_deg);
        const RectangularFault fault{.length = length_m,
                                     .width = width_m,
                                     .depth = source.top_depth_km * 1e3 + width_m * std::sin(dip),
                                     .dip_rad = dip,
                                     .dip_slip = source.slip_m};
        sum += surface_displacement(fault, along_m + length_m / 2, updip_m).z;
    }
    return sum;
}

}  // namespace hakobi::tsunami
