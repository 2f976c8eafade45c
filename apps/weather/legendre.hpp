#pragma once

#include <vector>

namespace hakobi::weather {

/// Associated Legendre functions P_n^m of one wavenumber, with ½ ∫ P² dμ = 1 and no alternating sign, as
/// ECMWF writes spectral fields: for n = m … last and every μ in `sin_latitude`, n slowest.
std::vector<double> legendre(int m, int last, const std::vector<double>& sin_latitude);

/// sqrt((n² - m²) / (4n² - 1)): the recurrence's ε_n^m.
double epsilon(int n, int m);

}  // namespace hakobi::weather
