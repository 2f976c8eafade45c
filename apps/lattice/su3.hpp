#pragma once

#include <array>
#include <cmath>
#include <complex>

namespace hakobi::lattice {

using Complex = std::complex<double>;

/// A 3 x 3 complex matrix, rows first; a link of the lattice where it is unitary with determinant 1. Products
/// are written out: the standard's complex product looks for infinities.
struct Su3 {
    std::array<Complex, 9> entries{};

    [[nodiscard]] Complex& operator()(std::size_t row, std::size_t column) {
        return entries[3 * row + column];
    }
    [[nodiscard]] const Complex& operator()(std::size_t row, std::size_t column) const {
        return entries[3 * row + column];
    }
    [[nodiscard]] static Su3 one() {
        Su3 m;
        m(0, 0) = m(1, 1) = m(2, 2) = 1;
        return m;
    }
};

[[nodiscard]] inline Complex times(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

[[nodiscard]] inline Su3 operator*(const Su3& a, const Su3& b) {
    Su3 product;
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            product(i, j) = times(a(i, 0), b(0, j)) + times(a(i, 1), b(1, j)) + times(a(i, 2), b(2, j));
        }
    }
    return product;
}

[[nodiscard]] inline Su3 adjoint(const Su3& a) {
    Su3 result;
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) result(i, j) = std::conj(a(j, i));
    }
    return result;
}

inline Su3& operator+=(Su3& a, const Su3& b) {
    for (std::size_t i = 0; i < 9; ++i) a.entries[i] += b.entries[i];
    return a;
}

[[nodiscard]] inline double real_trace(const Su3& a) {
    return a(0, 0).real() + a(1, 1).real() + a(2, 2).real();
}

/// The third row that makes two orthonormal ones a matrix of determinant 1: the conjugate of their cross
/// product.
inline void complete_third_row(Su3& m) {
    for (std::size_t j = 0; j < 3; ++j) {
        const std::size_t k = (j + 1) % 3, l = (j + 2) % 3;
        m(2, j) = std::conj(times(m(0, k), m(1, l)) - times(m(0, l), m(1, k)));
    }
}

/// Makes the rows orthonormal (Gram-Schmidt) and the determinant 1.
inline void reunitarize(Su3& m) {
    const auto normalize = [&m](std::size_t row) {
        double norm = 0;
        for (std::size_t j = 0; j < 3; ++j) norm += std::norm(m(row, j));
        for (std::size_t j = 0; j < 3; ++j) m(row, j) /= std::sqrt(norm);
    };
    normalize(0);
    Complex overlap = 0;
    for (std::size_t j = 0; j < 3; ++j) overlap += times(std::conj(m(0, j)), m(1, j));
    for (std::size_t j = 0; j < 3; ++j) m(1, j) -= times(overlap, m(0, j));
    normalize(1);
    complete_third_row(m);
}

/// How far a matrix is from SU(3): the largest entry of U U^dagger - 1, or of the third row less what the
/// first two make it.
[[nodiscard]] inline double unitarity_defect(const Su3& m) {
    Su3 product = m * adjoint(m);
    for (std::size_t i = 0; i < 3; ++i) product(i, i) -= 1;
    Su3 completed = m;
    complete_third_row(completed);
    double defect = 0;
    const auto take = [&defect](double value) {
        if (!(value <= defect)) defect = value;  // a NaN stays
    };
    for (const Complex& entry : product.entries) take(std::abs(entry));
    for (std::size_t j = 0; j < 3; ++j) take(std::abs(m(2, j) - completed(2, j)));
    return defect;
}

}  // namespace hakobi::lattice
