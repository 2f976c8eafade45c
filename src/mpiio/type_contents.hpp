#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <vector>

namespace hakobi::mpiio {

/// Whether a type is named or one of Fortran 90's, or the MPI library does not say: it is never freed. Local.
[[nodiscard]] bool is_leaf(MPI_Datatype type);

/// How a datatype was made, as MPI_Type_get_envelope and MPI_Type_get_contents say, with large counts where
/// the MPI library has them. Owns the handles of derived children and frees them; named and Fortran 90 types
/// are no copies and are never freed.
class TypeContents {
  public:
    /// Local. For a leaf (a named or Fortran 90 type) only the combiner is known.
    explicit TypeContents(MPI_Datatype type);
    ~TypeContents();
    TypeContents(const TypeContents&) = delete;
    TypeContents& operator=(const TypeContents&) = delete;

    /// False when the MPI library does not say.
    [[nodiscard]] bool is_valid() const noexcept { return is_valid_; }
    [[nodiscard]] bool is_leaf() const noexcept { return is_leaf_; }
    [[nodiscard]] int combiner() const noexcept { return combiner_; }

    /// Argument `small` of the constructor's integers, or `large` of its large counts where it was made with
    /// those.
    [[nodiscard]] std::int64_t count(std::size_t small, std::size_t large) const {
        return has_large_counts() ? large_counts_[large] : integers_[small];
    }
    /// Argument `small` of its addresses, or `large` of its large counts.
    [[nodiscard]] std::int64_t address(std::size_t small, std::size_t large) const {
        return has_large_counts() ? large_counts_[large] : addresses_[small];
    }
    [[nodiscard]] int integer(std::size_t index) const { return integers_[index]; }
    [[nodiscard]] MPI_Datatype type(std::size_t index) const { return types_[index]; }
    [[nodiscard]] std::size_t num_types() const noexcept { return types_.size(); }
    [[nodiscard]] bool has_large_counts() const noexcept { return !large_counts_.empty(); }

  private:
    int combiner_ = MPI_COMBINER_NAMED;
    bool is_valid_ = false, is_leaf_ = true;
    std::vector<int> integers_;
    std::vector<std::int64_t> addresses_, large_counts_;
    std::vector<MPI_Datatype> types_;
};

}  // namespace hakobi::mpiio
