#pragma once

#include <deque>
#include <hakobi/collectives.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "collectives/choice.hpp"
#include "collectives/device_ends.hpp"
#include "collectives/executor.hpp"
#include "mpi/library_collectives.hpp"
#include "mpi/message_context.hpp"
#include "mpi/under_way.hpp"

namespace hakobi::collectives {

/// The arguments of a planning call.
struct Request {
    Operation operation = Operation::allreduce;
    ElementType type = ElementType::float64;
    Reduction reduction = Reduction::sum;
    std::int64_t count = 0;  ///< elements of an allreduce, bytes (of a block) otherwise
    int root = 0;
};

[[nodiscard]] Lent lent_bytes(const Request& request, int num_ranks);

/// A plan's place among the operations of one Collectives that have been started and not begun: the MPI
/// library's own begin in one order on all ranks, which is that of their starts, although input on a device
/// comes late.
class Turn {
  public:
    using All = std::deque<const Turn*>;
    Turn() = default;
    explicit Turn(std::shared_ptr<All> all) : all_(std::move(all)) {}
    Turn(Turn&&) = default;
    Turn& operator=(Turn&&) = default;
    ~Turn() { end(); }
    void take() const { all_->push_back(this); }
    [[nodiscard]] bool is_any() const { return !all_->empty(); }
    [[nodiscard]] bool is_next() const { return all_->front() == this; }
    void end() const {
        if (all_) std::erase(*all_, this);
    }

  private:
    std::shared_ptr<All> all_;
};

/// Collective: decides how the plan's request is carried out, by model or by timing, and makes it ready.
/// Throws alike on all ranks.
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

    collectives::Ends ends;  ///< of the operation in progress
    bool has_begun = true;
    collectives::Turn turn;
    std::unique_ptr<collectives::DeviceEnds> on_device;  ///< made at the first use

    /// Without the checks of the public calls.
    void start(const collectives::Ends& with, DeviceStream stream);
    void wait();
    void execute(const void* input, void* output);

  private:
    void begin(const void* input, void* output);
    Look look() override;
};

}  // namespace hakobi
