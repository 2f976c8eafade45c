#pragma once

namespace hakobi::tsunami {

/// A rectangular fault in an elastic half-space, in Okada's frame: x along strike from the fault's lower left
/// corner, y horizontally up-dip, z up. Lengths in one unit, the displacement in the unit of the slip.
struct RectangularFault {
    double length = 0, width = 0;
    double depth = 0;  ///< of the lower edge, positive downwards
    double dip_rad = 0;
    double strike_slip = 0, dip_slip = 0;  ///< left-lateral and thrust components
};

struct Displacement {
    double x = 0, y = 0, z = 0;
};

/// Displacement of the free surface at (x, y) by a uniform slip on the fault; Poisson's ratio is 1/4. Source:
/// Y. Okada, Surface deformation due to shear and tensile faults in a half-space, Bulletin of the
/// Seismological Society of America 75 (1985), 1135-1154, equations 24 to 30. Local, pure.
[[nodiscard]] Displacement surface_displacement(const RectangularFault& fault, double x, double y);
/// Its z alone, at half the cost.
[[nodiscard]] double surface_uplift(const RectangularFault& fault, double x, double y);

}  // namespace hakobi::tsunami
