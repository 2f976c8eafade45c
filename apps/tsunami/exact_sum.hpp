#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>

namespace hakobi::tsunami {

/// A sum of doubles that does not depend on their order nor on how they are spread over ranks: each is
/// rounded to a whole multiple of 2^-20 (a millionth) and added as a 128-bit integer. Values up to 2^64 in
/// size, 2^40 of them.
class ExactSum {
  public:
    void add(double value);
    /// Adds the sums of all ranks, on all ranks. Collective over `comm`.
    void add_up(MPI_Comm comm);
    [[nodiscard]] double value() const;
    /// This less `other`, exactly, before it becomes a double.
    [[nodiscard]] double minus(const ExactSum& other) const;

  private:
    __extension__ using Wide = __int128;
    Wide units_ = 0;
};

}  // namespace hakobi::tsunami
