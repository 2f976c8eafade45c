#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hakobi::tsunami {

inline constexpr std::int64_t num_ghosts = 2;

/// One value a cell of this rank's block, with two ghost cells on every side.
class CellField {
  public:
    CellField(std::int64_t num_rows, std::int64_t num_columns, double value = 0)
        : pitch_(num_columns + 2 * num_ghosts),
          values_(static_cast<std::size_t>(pitch_ * (num_rows + 2 * num_ghosts)), value) {}

    [[nodiscard]] std::int64_t pitch() const { return pitch_; }
    /// Column 0 of a row; rows and columns from -num_ghosts on.
    [[nodiscard]] double* row(std::int64_t r) {
        return &values_[static_cast<std::size_t>((r + num_ghosts) * pitch_ + num_ghosts)];
    }
    [[nodiscard]] const double* row(std::int64_t r) const {
        return &values_[static_cast<std::size_t>((r + num_ghosts) * pitch_ + num_ghosts)];
    }

  private:
    std::int64_t pitch_;
    std::vector<double> values_;
};

}  // namespace hakobi::tsunami
