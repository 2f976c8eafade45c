#include "output/cell_types.hpp"

#include <array>
#include <limits>

namespace hakobi::output {
namespace {

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

constexpr std::array<NumPoints, 256> make_table() {
    std::array<NumPoints, 256> table{};
    const auto fixed = [&](std::size_t type, std::int64_t points) { table[type] = {points, points}; };
    const auto from = [&](std::size_t type, std::int64_t least) { table[type] = {least, any}; };
    fixed(0, 0);                                                    // empty
    fixed(1, 1);                                                    // vertex
    from(2, 1);                                                     // poly vertex
    fixed(3, 2);                                                    // line
    from(4, 2);                                                     // poly line
    fixed(5, 3);                                                    // triangle
    from(6, 3);                                                     // triangle strip
    from(7, 3);                                                     // polygon
    fixed(8, 4);                                                    // pixel
    fixed(9, 4);                                                    // quadrilateral
    fixed(10, 4);                                                   // tetrahedron
    fixed(11, 8);                                                   // voxel
    fixed(12, 8);                                                   // hexahedron
    fixed(13, 6);                                                   // wedge
    fixed(14, 5);                                                   // pyramid
    fixed(15, 10);                                                  // pentagonal prism
    fixed(16, 12);                                                  // hexagonal prism
    fixed(21, 3);                                                   // quadratic edge
    fixed(22, 6);                                                   // quadratic triangle
    fixed(23, 8);                                                   // quadratic quadrilateral
    fixed(24, 10);                                                  // quadratic tetrahedron
    fixed(25, 20);                                                  // quadratic hexahedron
    fixed(26, 15);                                                  // quadratic wedge
    fixed(27, 13);                                                  // quadratic pyramid
    fixed(28, 9);                                                   // biquadratic quadrilateral
    fixed(29, 27);                                                  // triquadratic hexahedron
    fixed(30, 6);                                                   // quadratic linear quadrilateral
    fixed(31, 12);                                                  // quadratic linear wedge
    fixed(32, 18);                                                  // biquadratic quadratic wedge
    fixed(33, 24);                                                  // biquadratic quadratic hexahedron
    fixed(34, 7);                                                   // biquadratic triangle
    fixed(35, 4);                                                   // cubic line
    from(36, 4);                                                    // quadratic polygon
    fixed(37, 19);                                                  // triquadratic pyramid
    for (std::size_t type = 68; type <= 74; ++type) from(type, 2);  // Lagrange, of any order
    for (std::size_t type = 75; type <= 81; ++type) from(type, 2);  // Bezier, of any order
    return table;
}

constexpr std::array<NumPoints, 256> table = make_table();

}  // namespace

NumPoints num_points_of(std::uint8_t type) {
    return table[type];
}

}  // namespace hakobi::output
