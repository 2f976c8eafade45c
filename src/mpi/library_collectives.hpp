#pragma once

#include <cstdint>
#include <hakobi/reduction.hpp>

#include "mpi/message_context.hpp"

namespace hakobi::mpi {

/// The MPI library's own collective operations in a context, for plans that delegate. Input may be output as
/// in CollectivePlan. Counts must pass `fits`. A failed call ends the program.
class LibraryCollective {
  public:
    enum class Kind { allreduce, alltoall, allgather, broadcast };
    struct Arguments {
        Kind kind = Kind::allreduce;
        ElementType type = ElementType::float64;
        Reduction reduction = Reduction::sum;
        std::int64_t count = 0;  ///< elements of an allreduce, bytes (of a block) otherwise
        int root = 0;
    };
    LibraryCollective() = default;
    LibraryCollective(MessageContext context, Arguments arguments)
        : context_(context), arguments_(arguments) {}
    /// Whether MPI's int takes the counts.
    [[nodiscard]] static bool fits(const Arguments& arguments);

    void execute(const void* input, void* output) const;
    void start(const void* input, void* output);
    [[nodiscard]] bool test();
    void wait();

  private:
    MessageContext context_;
    Arguments arguments_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace hakobi::mpi
