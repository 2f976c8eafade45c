#include "filter/shuffle.hpp"

#include <array>
#include <cassert>
#include <cstring>

namespace hakobi::filter {
namespace {

constexpr std::size_t lane = 16;  // bytes of a vector, elements at one time
using Vector = std::uint8_t __attribute__((vector_size(lane)));

/// Interleaves the first half of 16 x N bytes with their second half, `passes` times. Each pass rotates the
/// bits of a byte's index left by one. Elements in order have the index [element, 4 bits][byte of it, log2 N
/// bits]: after 4 passes it is [byte][element], and after log2 N more what it was.
template <std::size_t N>
void interleave(std::array<Vector, N>& v, int passes) {
    for (int pass = 0; pass < passes; ++pass) {
        const std::array<Vector, N> old = v;
        for (std::size_t i = 0; i < N / 2; ++i) {
            const Vector a = old[i], b = old[i + N / 2];
            v[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            v[2 * i + 1] =
                __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
    }
}

/// Return how many elements they did: a multiple of the lane.
template <std::size_t N>
std::size_t shuffle_lanes(const std::byte* from, std::size_t num, std::byte* to) {
    std::size_t at = 0;
    for (; at + lane <= num; at += lane) {
        std::array<Vector, N> v;
        std::memcpy(v.data(), from + at * N, lane * N);
        interleave<N>(v, 4);
        for (std::size_t b = 0; b < N; ++b) std::memcpy(to + b * num + at, &v[b], lane);
    }
    return at;
}

template <std::size_t N>
std::size_t unshuffle_lanes(const std::byte* from, std::size_t num, std::byte* to) {
    constexpr int passes = N == 2 ? 1 : N == 4 ? 2 : 3;
    std::size_t at = 0;
    for (; at + lane <= num; at += lane) {
        std::array<Vector, N> v;
        for (std::size_t b = 0; b < N; ++b) std::memcpy(&v[b], from + b * num + at, lane);
        interleave<N>(v, passes);
        std::memcpy(to + at * N, v.data(), lane * N);
    }
    return at;
}

}  // namespace

void shuffle(std::span<const std::byte> from, std::int64_t element_bytes, std::span<std::byte> to) {
    assert(from.size() == to.size() && element_bytes > 0);
    const auto width = static_cast<std::size_t>(element_bytes);
    const std::size_t num = from.size() / width;
    std::size_t done = 0;
    if (width == 2) done = shuffle_lanes<2>(from.data(), num, to.data());
    if (width == 4) done = shuffle_lanes<4>(from.data(), num, to.data());
    if (width == 8) done = shuffle_lanes<8>(from.data(), num, to.data());
    for (std::size_t b = 0; b < width; ++b) {
        for (std::size_t i = done; i < num; ++i) to[b * num + i] = from[i * width + b];
    }
    for (std::size_t rest = num * width; rest < from.size(); ++rest) to[rest] = from[rest];
}

void unshuffle(std::span<const std::byte> from, std::int64_t element_bytes, std::span<std::byte> to) {
    assert(from.size() == to.size() && element_bytes > 0);
    const auto width = static_cast<std::size_t>(element_bytes);
    const std::size_t num = from.size() / width;
    std::size_t done = 0;
    if (width == 2) done = unshuffle_lanes<2>(from.data(), num, to.data());
    if (width == 4) done = unshuffle_lanes<4>(from.data(), num, to.data());
    if (width == 8) done = unshuffle_lanes<8>(from.data(), num, to.data());
    for (std::size_t b = 0; b < width; ++b) {
        for (std::size_t i = done; i < num; ++i) to[i * width + b] = from[b * num + i];
    }
    for (std::size_t rest = num * width; rest < from.size(); ++rest) to[rest] = from[rest];
}

}  // namespace hakobi::filter
