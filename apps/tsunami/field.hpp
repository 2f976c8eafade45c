#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <hakobi/halo.hpp>
#include <hakobi/shared_array.hpp>

namespace hakobi::tsunami {

inline constexpr std::int64_t num_ghosts = 2;

/// One value a cell of this rank's block, with two ghost cells on every side, in memory that the node's ranks share.
class CellField {
  public:
    /// Collective over `comm`; throws out_of_memory alike on all ranks.
    CellField(const Comm& comm, std::int64_t num_rows, std::int64_t num_columns, double value = 0)
        : num_rows_(num_rows),
          num_columns_(num_columns),
          pitch_(num_columns + 2 * num_ghosts),
          memory_(allocate_shared(comm, size() * static_cast<std::int64_t>(sizeof(double)))) {
        std::fill_n(memory_.as<double>(), size(), value);
    }

    [[nodiscard]] std::int64_t num_rows() const { return num_rows_; }
    [[nodiscard]] std::int64_t num_columns() const { return num_columns_; }
    [[nodiscard]] std::int64_t pitch() const { return pitch_; }
    /// Column 0 of a row; rows and columns from -num_ghosts on.
    [[nodiscard]] double* row(std::int64_t r) { return memory_.as<double>() + offset(r); }
    [[nodiscard]] const double* row(std::int64_t r) const { return memory_.as<double>() + offset(r); }

    /// How Halo sees it.
    [[nodiscard]] HaloField layout() {
        constexpr std::int64_t bytes = sizeof(double);
        return {.data = row(0), .element_bytes = bytes, .strides_bytes = {pitch_ * bytes, bytes}};
    }

  private:
    [[nodiscard]] std::int64_t size() const { return pitch_ * (num_rows_ + 2 * num_ghosts); }
    [[nodiscard]] std::int64_t offset(std::int64_t r) const { return (r + num_ghosts) * pitch_ + num_ghosts; }

    std::int64_t num_rows_, num_columns_, pitch_;
    SharedArray memory_;
};

}  // namespace hakobi::tsunami
