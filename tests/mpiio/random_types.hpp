#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <vector>

namespace hakobi::mpiio_test {

/// Equal numbers for equal seeds on every machine (splitmix64).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next();
    /// From `lowest` to `highest`, both possible.
    int between(int lowest, int highest);
    bool one_in(int n) { return between(1, n) == 1; }

  private:
    std::uint64_t state_;
};

/// Makes datatypes and frees all of them when it goes. Everything that it returns is committed.
class Types {
  public:
    explicit Types(Random& random) : random_(random) {}
    ~Types();
    Types(const Types&) = delete;
    Types& operator=(const Types&) = delete;

    /// A small type to build on: named, or a few named ones with or without holes.
    MPI_Datatype element();
    /// A file type of whole elements for one rank of `num_ranks`: never two ranks' bytes in one place,
    /// offsets that never decrease. The random choices come from `random_`, which must be in the same state
    /// on all ranks.
    MPI_Datatype file(MPI_Datatype element, int rank, int num_ranks);
    /// A memory type of whole elements: any order, strides of either sign, holes, nested. With `may_overlap`
    /// bytes may come twice, which is right in memory that is written from.
    MPI_Datatype memory(MPI_Datatype element, bool may_overlap);

  private:
    MPI_Datatype keep(MPI_Datatype type);
    MPI_Datatype ascending(MPI_Datatype element);
    MPI_Datatype one_level(MPI_Datatype child, bool may_overlap);

    Random& random_;
    std::vector<MPI_Datatype> made_;
};

std::int64_t size_of(MPI_Datatype type);
std::int64_t extent_of(MPI_Datatype type);

}  // namespace hakobi::mpiio_test
