#include "edges.hpp"

#include <algorithm>

namespace hakobi::tsunami {

Edges::Edges(std::span<const int> dims, int rank, Boundary boundary) : boundary_(boundary) {
    const int row = rank / dims[1];
    const int column = rank % dims[1];
    is_outer_ = {column == 0, column + 1 == dims[1], row == 0, row + 1 == dims[0]};
}

void Edges::fill_columns(CellField& field, double wall_sign) const {
    for (std::int64_t r = 0; r < field.num_rows(); ++r) {
        double* row = field.row(r);
        double* beyond = row + field.num_columns();
        for (std::int64_t k = 0; k < num_ghosts; ++k) {
            if (is_outer(west)) row[-1 - k] = boundary_ == Boundary::wall ? wall_sign * row[k] : row[0];
            if (is_outer(east))
                beyond[k] = boundary_ == Boundary::wall ? wall_sign * beyond[-1 - k] : beyond[-1];
        }
    }
}

void Edges::fill_rows(CellField& field, double wall_sign) const {
    const std::int64_t last = field.num_rows() - 1;
    const auto fill = [&](std::int64_t edge, std::int64_t mirrored, std::int64_t ghost) {
        if (boundary_ == Boundary::open) {
            std::copy_n(field.row(edge), field.num_columns(), field.row(ghost));
            return;
        }
        const double* from = field.row(mirrored);
        double* to = field.row(ghost);
        for (std::int64_t c = 0; c < field.num_columns(); ++c) to[c] = wall_sign * from[c];
    };
    for (std::int64_t k = 0; k < num_ghosts; ++k) {
        if (is_outer(south)) fill(0, k, -1 - k);
        if (is_outer(north)) fill(last, last - k, last + 1 + k);
    }
}

}  // namespace hakobi::tsunami
