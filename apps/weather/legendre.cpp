#include "legendre.hpp"

#include <cmath>

namespace hakobi::weather {

double epsilon(int n, int m) {
    const double n2 = static_cast<double>(n) * n, m2 = static_cast<double>(m) * m;
    return std::sqrt((n2 - m2) / (4 * n2 - 1));
}

std::vector<double> legendre(int m, int last, const std::vector<double>& sin_latitude) {
    const std::size_t count = sin_latitude.size();
    std::vector<double> values(static_cast<std::size_t>(last - m + 1) * count);
    for (std::size_t j = 0; j < count; ++j) {
        const double mu = sin_latitude[j], cosine = std::sqrt(1 - mu * mu);
        double sectoral = 1;
        for (int k = 1; k <= m; ++k) sectoral *= std::sqrt((2.0 * k + 1) / (2.0 * k)) * cosine;
        double before = 0, now = sectoral;
        values[j] = now;
        for (int n = m + 1; n <= last; ++n) {
            // ε_n P_n = μ P_{n-1} - ε_{n-1} P_{n-2}
            const double next = (mu * now - (n - 1 > m ? epsilon(n - 1, m) * before : 0)) / epsilon(n, m);
            before = now;
            now = next;
            values[static_cast<std::size_t>(n - m) * count + j] = now;
        }
    }
    return values;
}

}  // namespace hakobi::weather
