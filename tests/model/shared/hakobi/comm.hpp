#pragma once

#include <memory>

namespace hakobi::mpi {
struct CommState;
}

namespace hakobi {
inline namespace v0 {

/// A rank of one node, without MPI.
class Comm {
  public:
    Comm() = default;
    Comm(int rank, int size) : rank_(rank), size_(size) {}
    [[nodiscard]] int node_rank() const noexcept { return rank_; }
    [[nodiscard]] int node_size() const noexcept { return size_; }
    [[nodiscard]] mpi::CommState& state() const noexcept;
    [[nodiscard]] explicit operator bool() const noexcept { return size_ > 0; }

  private:
    int rank_ = 0, size_ = 0;
};

}  // namespace v0
}  // namespace hakobi
