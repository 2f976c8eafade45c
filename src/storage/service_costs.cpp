#include "storage/service_costs.hpp"

#include <algorithm>

namespace hakobi::storage {
namespace {

// The guess: a call of the kernel and a copy, or a request to something that is not memory. The latter is
// taken for unknown storage: many accesses that wait cost more than a few needless copies. It weighs next to
// nothing: it is to decide only what accesses of one length leave open.
constexpr ServiceCosts::Cost memory_guess{2e-6, 0.5e-9}, other_guess{1e-4, 1e-9};
// The least cost of an access: a few requests whose times happen to grow with their lengths may seem to say
// that it costs nothing, and a write of thousands of runs that believes it takes seconds (10.5 s instead of
// 0.03, 2 ms a request).
constexpr double least_memory_access_s = 0.5e-6, least_other_access_s = 50e-6;
constexpr double guess_weight = 1e-4;
constexpr double memory_of_older = 0.9;

}  // namespace

void ServiceCosts::completed(bool is_write, std::int64_t num_accesses, std::int64_t num_bytes,
                             double seconds) {
    if (num_accesses <= 0 || seconds <= 0) return;
    const double n = static_cast<double>(num_accesses) / seconds;
    const double b = static_cast<double>(num_bytes) / seconds;
    Sums& sums = sums_[is_write ? 1 : 0];
    for (double* sum : {&sums.nn, &sums.nb, &sums.bb, &sums.n, &sums.b}) *sum *= memory_of_older;
    sums.nn += n * n;
    sums.nb += n * b;
    sums.bb += b * b;
    sums.n += n;
    sums.b += b;
}

// Least squares of n x + b y = 1 over the accesses and, weighted, of x = guess and y = guess, each as a part
// of the guess.
ServiceCosts::Cost ServiceCosts::of(bool is_write, bool is_from_memory) const {
    const Cost guess = is_from_memory ? memory_guess : other_guess;
    const Sums& sums = sums_[is_write ? 1 : 0];
    const double nn = sums.nn + guess_weight / (guess.access_s * guess.access_s);
    const double bb = sums.bb + guess_weight / (guess.byte_s * guess.byte_s);
    const double n = sums.n + guess_weight / guess.access_s, b = sums.b + guess_weight / guess.byte_s;
    const double determinant = nn * bb - sums.nb * sums.nb;
    Cost cost{(n * bb - b * sums.nb) / determinant, (b * nn - n * sums.nb) / determinant};
    // Neither is less than nothing: what is left of one alone when the other would be.
    if (cost.access_s < 0) cost = {0, b / bb};
    if (cost.byte_s < 0) cost = {n / nn, 0};
    cost.access_s = std::max(cost.access_s, is_from_memory ? least_memory_access_s : least_other_access_s);
    return cost;
}

}  // namespace hakobi::storage
