#include "exact_sum.hpp"

#include <array>
#include <cmath>

namespace hakobi::tsunami {
namespace {

constexpr double unit = 1.0 / (1 << 20);

}  // namespace

void ExactSum::add(double value) {
    units_ += static_cast<Wide>(std::rint(value / unit));
}

void ExactSum::add_up(MPI_Comm comm) {
    // Four limbs of 32 bits leave 31 bits for the number of ranks; the highest carries the sign.
    std::array<std::int64_t, 4> limbs;
    Wide rest = units_;
    for (std::size_t i = 0; i < 3; ++i) {
        limbs[i] = static_cast<std::int64_t>(rest & 0xffffffff);
        rest >>= 32;
    }
    limbs[3] = static_cast<std::int64_t>(rest);
    MPI_Allreduce(MPI_IN_PLACE, limbs.data(), 4, MPI_INT64_T, MPI_SUM, comm);
    units_ = 0;
    for (std::size_t i = 4; i-- > 0;) units_ = units_ * (Wide{1} << 32) + limbs[i];
}

double ExactSum::value() const {
    return static_cast<double>(units_) * unit;
}

double ExactSum::minus(const ExactSum& other) const {
    return static_cast<double>(units_ - other.units_) * unit;
}

}  // namespace hakobi::tsunami
