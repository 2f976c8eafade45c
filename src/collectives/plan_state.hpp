#pragma once

#include <hakobi/collectives.hpp>
#include <optional>
#include <string>

#include "collectives/choice.hpp"
#include "collectives/executor.hpp"
#include "mpi/library_collectives.hpp"
#include "mpi/message_context.hpp"
#include "mpi/under_way.hpp"

namespace hakobi::collectives {

/// What a planning call asks for.
struct Request {
    Operation operation = Operation::allreduce;
    ElementType type = ElementType::float64;
    Reduction reduction = Reduction::sum;
    std::int64_t count = 0;  ///< elements of an allreduce, bytes (of a block) otherwise
    int root = 0;
};

/// Bytes of the caller's memory for a request.
struct Lent {
    std::int64_t input_bytes = 0, output_bytes = 0;
};
[[nodiscard]] Lent lent_bytes(const Request& request, int num_ranks);

/// Collective: decides how the plan's request is carried out, by model or by timing, and makes it ready. Throws alike
/// on all ranks.
void choose(CollectivePlan::State& plan, const CollectivesOptions& options);

}  // namespace hakobi::collectives

namespace hakobi {

struct HAKOBI_HIDDEN CollectivePlan::State final : mpi::UnderWay {
    Comm comm;
    mpi::MessageContext context;
    collectives::Request request;
    int tag = 0;
    std::optional<collectives::Executor> own;         ///< the schedule in force, or
    std::optional<mpi::LibraryCollective> delegated;  ///< the MPI library's
    bool is_started = false;                          ///< and its end not yet told to the caller
    std::string explanation;

    /// Without the checks of the public calls.
    void start(const void* input, void* output);
    void wait();
    void execute(const void* input, void* output);

  private:
    Look look() override;
};

}  // namespace hakobi
