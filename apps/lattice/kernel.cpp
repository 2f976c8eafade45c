#include "kernel.hpp"

#include <cstddef>
#include <cstring>

// Compiled for several instruction sets where the platform picks at load time: results are the same for every
// decomposition on one machine, and may differ in rounding between machines (fused multiply-add).
#ifdef HAKOBI_LATTICE_CLONES
#define HAKOBI_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HAKOBI_VECTORISED
#endif
#define HAKOBI_INLINE [[gnu::always_inline]] inline

namespace hakobi::lattice::kernel {
namespace {

// Two spins, real and imaginary part each.
using Two = double __attribute__((vector_size(32)));

HAKOBI_INLINE Two load(const double* from) {
    Two value;
    std::memcpy(&value, __builtin_assume_aligned(from, 32), sizeof value);
    return value;
}
HAKOBI_INLINE void store(double* to, Two value) {
    std::memcpy(__builtin_assume_aligned(to, 32), &value, sizeof value);
}
HAKOBI_INLINE Two all(double value) {
    return Two{value, value, value, value};
}

// i times both spins.
HAKOBI_INLINE Two times_i(Two v) {
    return __builtin_shufflevector(v, v, 1, 0, 3, 2) * Two{-1, 1, -1, 1};
}

// s_mu: what the lower spins give to the upper ones, with a sign in front.
template <int mu, int sign>
HAKOBI_INLINE Two to_upper(Two lower) {
    constexpr double p = sign, m = -sign;
    if constexpr (mu == 0) return __builtin_shufflevector(lower, lower, 3, 2, 1, 0) * Two{m, p, m, p};
    if constexpr (mu == 1) return __builtin_shufflevector(lower, lower, 2, 3, 0, 1) * Two{m, m, p, p};
    if constexpr (mu == 2) return __builtin_shufflevector(lower, lower, 1, 0, 3, 2) * Two{m, p, p, m};
    return lower * Two{p, p, p, p};
}

// s_mu^dagger: what two spins become in the lower half.
template <int mu, int sign>
HAKOBI_INLINE Two to_lower(Two upper) {
    constexpr double p = sign, m = -sign;
    if constexpr (mu == 0) return __builtin_shufflevector(upper, upper, 3, 2, 1, 0) * Two{p, m, p, m};
    if constexpr (mu == 1) return __builtin_shufflevector(upper, upper, 2, 3, 0, 1) * Two{p, p, m, m};
    if constexpr (mu == 2) return __builtin_shufflevector(upper, upper, 1, 0, 3, 2) * Two{p, m, m, p};
    return upper * Two{p, p, p, p};
}

struct Half {
    Two colour[3];
};
struct Spinor {
    Two upper[3], lower[3];
};

template <int mu, int sign>
HAKOBI_INLINE Half project(const double* in) {
    Half half;
    for (int c = 0; c < 3; ++c) half.colour[c] = load(in + 8 * c) + to_upper<mu, sign>(load(in + 8 * c + 4));
    return half;
}

// The link's matrix, or its adjoint, times each spin's colour vector.
template <bool is_adjoint>
HAKOBI_INLINE Half multiply(const double* link, const Half& half) {
    Half result;
    const Two turned[3] = {times_i(half.colour[0]), times_i(half.colour[1]), times_i(half.colour[2])};
    for (int row = 0; row < 3; ++row) {
        Two sum{};
        for (int column = 0; column < 3; ++column) {
            const double* entry = link + (is_adjoint ? 2 * (3 * column + row) : 2 * (3 * row + column));
            const Two real = all(entry[0]);
            const Two imaginary = all(is_adjoint ? -entry[1] : entry[1]);
            sum = column == 0 ? real * half.colour[column] : sum + real * half.colour[column];
            sum += imaginary * turned[column];
        }
        result.colour[row] = sum;
    }
    return result;
}

template <int mu, int sign>
HAKOBI_INLINE void add(Spinor& sum, const Half& half) {
    for (int c = 0; c < 3; ++c) {
        sum.upper[c] += half.colour[c];
        sum.lower[c] += to_lower<mu, sign>(half.colour[c]);
    }
}

template <int mu, int sign>
HAKOBI_INLINE void add_direction(Spinor& sum, const Hop& a, std::int64_t site,
                                 const std::int32_t* neighbours) {
    const std::int64_t forward = neighbours[2 * mu], backward = neighbours[2 * mu + 1];
    const double* ahead = a.links + site * doubles_per_links + 18 * mu;
    const double* behind = a.links + backward * doubles_per_links + 18 * mu;
    add<mu, -sign>(sum, multiply<false>(ahead, project<mu, -sign>(a.in + forward * doubles_per_spinor)));
    add<mu, sign>(sum, multiply<true>(behind, project<mu, sign>(a.in + backward * doubles_per_spinor)));
}

HAKOBI_INLINE Half load_half(const double* from) {
    return {load(from), load(from + 4), load(from + 8)};
}

template <int mu, int sign>
HAKOBI_INLINE void add_edge_direction(Spinor& sum, const Hop& a, std::int64_t site,
                                      const std::int32_t* entries, const double* const received[8]) {
    const std::int64_t forward = entries[2 * mu], backward = entries[2 * mu + 1];
    const double* ahead = a.links + site * doubles_per_links + 18 * mu;
    const Half from_ahead = forward >= 0 ? project<mu, -sign>(a.in + forward * doubles_per_spinor)
                                         : load_half(received[2 * mu] + (-1 - forward) * doubles_per_half);
    add<mu, -sign>(sum, multiply<false>(ahead, from_ahead));
    const double* behind = a.links + backward * doubles_per_links + 18 * mu;
    add<mu, sign>(sum, backward >= 0
                           ? multiply<true>(behind, project<mu, sign>(a.in + backward * doubles_per_spinor))
                           : load_half(received[2 * mu + 1] + (-1 - backward) * doubles_per_half));
}

HAKOBI_INLINE void finish(const Hop& a, std::int64_t site, const Spinor& sum) {
    const Two base_factor = all(a.base_factor), hop_factor = all(a.hop_factor);
    const double* base = a.base + site * doubles_per_spinor;
    double* out = a.out + site * doubles_per_spinor;
    for (int c = 0; c < 3; ++c) {
        store(out + 8 * c, base_factor * load(base + 8 * c) + hop_factor * sum.upper[c]);
        store(out + 8 * c + 4, base_factor * load(base + 8 * c + 4) + hop_factor * sum.lower[c]);
    }
}

template <int mu, int sign>
HAKOBI_INLINE void project_sites(const Hop& a, bool is_upper, const std::int32_t* sites, std::int64_t count,
                                 double* out) {
    for (std::int64_t i = 0; i < count; ++i, out += doubles_per_half) {
        const std::int64_t site = sites[i];
        const double* in = a.in + site * doubles_per_spinor;
        const double* link = a.links + site * doubles_per_links + 18 * mu;
        const Half half = is_upper ? multiply<true>(link, project<mu, sign>(in)) : project<mu, -sign>(in);
        for (int c = 0; c < 3; ++c) store(out + 4 * c, half.colour[c]);
    }
}

template <int sign>
HAKOBI_INLINE void project_direction(const Hop& a, int mu, bool is_upper, const std::int32_t* sites,
                                     std::int64_t count, double* out) {
    switch (mu) {
        case 0:
            return project_sites<0, sign>(a, is_upper, sites, count, out);
        case 1:
            return project_sites<1, sign>(a, is_upper, sites, count, out);
        case 2:
            return project_sites<2, sign>(a, is_upper, sites, count, out);
        default:
            return project_sites<3, sign>(a, is_upper, sites, count, out);
    }
}

template <int sign>
HAKOBI_INLINE void hop_edge_sites(const Hop& a, const std::int32_t* sites, const std::int32_t* entries,
                                  std::int64_t count, const double* const received[8]) {
    for (std::int64_t i = 0; i < count; ++i, entries += 8) {
        Spinor sum{};
        add_edge_direction<0, sign>(sum, a, sites[i], entries, received);
        add_edge_direction<1, sign>(sum, a, sites[i], entries, received);
        add_edge_direction<2, sign>(sum, a, sites[i], entries, received);
        add_edge_direction<3, sign>(sum, a, sites[i], entries, received);
        finish(a, sites[i], sum);
    }
}

template <int sign>
HAKOBI_INLINE void hop_sites(const Hop& a, const std::int32_t* sites, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t site = sites[i];
        const std::int32_t* neighbours = a.neighbours + 8 * site;
        Spinor sum{};
        add_direction<0, sign>(sum, a, site, neighbours);
        add_direction<1, sign>(sum, a, site, neighbours);
        add_direction<2, sign>(sum, a, site, neighbours);
        add_direction<3, sign>(sum, a, site, neighbours);
        finish(a, site, sum);
    }
}

}  // namespace

// The compiler fuses the same operations for a site inside and at the edge: full spinors go through one
// function, and halves through the same expressions. Tests hold that results are the same bits.
HAKOBI_VECTORISED void hop(const Hop& arguments, const std::int32_t* sites, std::int64_t count) {
    if (arguments.is_adjoint) {
        hop_sites<-1>(arguments, sites, count);
    } else {
        hop_sites<1>(arguments, sites, count);
    }
}

HAKOBI_VECTORISED void project_face(const Hop& arguments, int mu, bool is_upper, const std::int32_t* sites,
                                    std::int64_t count, double* out) {
    if (arguments.is_adjoint) {
        project_direction<-1>(arguments, mu, is_upper, sites, count, out);
    } else {
        project_direction<1>(arguments, mu, is_upper, sites, count, out);
    }
}

HAKOBI_VECTORISED void hop_edges(const Hop& arguments, const std::int32_t* sites, const std::int32_t* entries,
                                 std::int64_t count, const double* const received[8]) {
    if (arguments.is_adjoint) {
        hop_edge_sites<-1>(arguments, sites, entries, count, received);
    } else {
        hop_edge_sites<1>(arguments, sites, entries, count, received);
    }
}

}  // namespace hakobi::lattice::kernel
