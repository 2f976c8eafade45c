#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <hakobi/halo.hpp>
#include <hakobi/shared_array.hpp>
#include <memory>

#include "gpu/gpu.hpp"

namespace hakobi::tsunami {

inline constexpr std::int64_t num_ghosts = 2;

/// One value a cell of this rank's block, with two ghost cells on every side, in memory that the node's ranks
/// share. With a GPU there is a copy of it there, which Halo and Output use; the cells are computed on the
/// host.
class CellField {
  public:
    /// Collective over `comm`; throws out_of_memory alike on all ranks. `gpu`: null, or equally not on all
    /// ranks.
    CellField(const Comm& comm, std::shared_ptr<apps::Gpu> gpu, std::int64_t num_rows,
              std::int64_t num_columns, double value = 0)
        : num_rows_(num_rows),
          num_columns_(num_columns),
          pitch_(num_columns + 2 * num_ghosts),
          memory_(allocate_shared(comm, size_bytes())),
          gpu_(std::move(gpu)) {
        std::fill_n(memory_.as<double>(), size(), value);
        if (gpu_ != nullptr) on_gpu_ = gpu_->allocate(comm, size_bytes());
    }

    [[nodiscard]] std::int64_t num_rows() const { return num_rows_; }
    [[nodiscard]] std::int64_t num_columns() const { return num_columns_; }
    [[nodiscard]] std::int64_t pitch() const { return pitch_; }
    /// Column 0 of a row; rows and columns from -num_ghosts on.
    [[nodiscard]] double* row(std::int64_t r) { return memory_.as<double>() + offset(r); }
    [[nodiscard]] const double* row(std::int64_t r) const { return memory_.as<double>() + offset(r); }

    /// Where Halo and Output find row 0: the GPU's copy, where there is one.
    [[nodiscard]] double* shown() {
        return on_gpu_ ? reinterpret_cast<double*>(on_gpu_.get()) + offset(0) : row(0);
    }
    [[nodiscard]] Memory shown_memory() const { return on_gpu_ ? Memory::device : Memory::host; }
    [[nodiscard]] DeviceStream stream() const { return gpu_ ? gpu_->stream() : nullptr; }
    /// How Halo sees it.
    [[nodiscard]] HaloField layout() {
        constexpr std::int64_t bytes = sizeof(double);
        return {.data = shown(),
                .element_bytes = bytes,
                .strides_bytes = {pitch_ * bytes, bytes},
                .memory = shown_memory()};
    }
    /// Bring the GPU's copy up to date, or the host's, in the order of its stream. Nothing to do without a
    /// GPU.
    void to_gpu() {
        if (on_gpu_) gpu_->copy(on_gpu_.get(), memory_.data(), size_bytes());
    }
    void to_host() {
        if (on_gpu_) gpu_->copy(memory_.data(), on_gpu_.get(), size_bytes());
    }

  private:
    [[nodiscard]] std::int64_t size_bytes() const {
        return size() * static_cast<std::int64_t>(sizeof(double));
    }
    [[nodiscard]] std::int64_t size() const { return pitch_ * (num_rows_ + 2 * num_ghosts); }
    [[nodiscard]] std::int64_t offset(std::int64_t r) const { return (r + num_ghosts) * pitch_ + num_ghosts; }

    std::int64_t num_rows_, num_columns_, pitch_;
    SharedArray memory_;
    std::shared_ptr<apps::Gpu> gpu_;
    std::shared_ptr<std::byte> on_gpu_;
};

}  // namespace hakobi::tsunami
