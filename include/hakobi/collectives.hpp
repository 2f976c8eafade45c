#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <hakobi/network_shape.hpp>
#include <memory>
#include <span>
#include <string>

namespace hakobi {

/// What messages cost on the declared network: the model by which forms are ranked before they are measured.
struct NetworkCosts {
    double latency_s = 2e-6;         ///< from send to receive, of no bytes, between ranks of one line
    double overhead_s = 0.5e-6;      ///< of a processor, for each message that it sends or receives
    double bandwidth_bytes_s = 5e9;  ///< of one link in one direction
};

/// What Collectives::create takes; equal on every rank.
struct CollectivesOptions {
    NetworkShape shape = {};
    /// `auto`: when an operation is planned its forms are timed against the MPI library's own, and the fastest is taken;
    /// `model`: the cheapest form by `costs`, without timing; `mpi`: the MPI library's own.
    std::string method = "auto";
    /// Sums have the same bits in every run with the same shape, ranks, costs, type and count: whatever the timing, the load
    /// and the MPI library are. The MPI library's own is then never taken, and forms are chosen by `costs`, not by time.
    bool is_reproducible = false;
    NetworkCosts costs = {};
};

enum class ElementType : int { float64, float32, int32, int64, complex128, complex64 };
enum class Reduction : int { sum, product, minimum, maximum };  ///< complex: sum and product
[[nodiscard]] HAKOBI_EXPORT std::int64_t size_of(ElementType type) noexcept;

/// One planned operation. A cheap value: copies name the same plan. Destruction never communicates.
class HAKOBI_EXPORT CollectivePlan {
  public:
    CollectivePlan() = default;
    /// Carries the operation out. Collective over the plan's ranks. The memory is lent until it returns, has the sizes that
    /// the planning call states, and `input` may be `output` (allgather: the rank's own block of it); broadcast
    /// takes no input.
    void execute(const void* input, void* output);
    /// The same in two steps: the memory is lent until `wait` returns or `test` says true. Ranks start the plans of one
    /// Collectives in one order; one plan is not started again before it is complete. What is under way moves on in `test`
    /// and `wait` only. Throws invalid_argument, at once, for a plan that is under way or a null pointer to data.
    void start(const void* input, void* output);
    [[nodiscard]] bool test();
    void wait();
    /// Memory besides the caller's, taken when planned.
    [[nodiscard]] std::int64_t scratch_bytes() const noexcept;
    /// What was chosen and why, for people: "allreduce of 16 B: ours, whole vectors, 16 x 16 x 10: 12 us (mpi 19 us)".
    [[nodiscard]] std::string explain() const;
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

    struct State;
    explicit CollectivePlan(std::shared_ptr<State> state) : state_(std::move(state)) {}

  private:
    std::shared_ptr<State> state_;
};

/// Collective operations of one communicator that know the wiring of its network, planned once and executed many times,
/// on a message context of their own: the program's messages and theirs never meet.
class HAKOBI_EXPORT Collectives {
  public:
    Collectives() = default;
    /// Collective over `comm`; options equal on all ranks. Throws invalid_argument, on every rank, when the shape has not
    /// as many nodes as `comm` has ranks, or options differ between ranks. (`nodes` takes every communicator.)
    [[nodiscard]] static Collectives create(const Comm& comm, const CollectivesOptions& options);

    // Planning is collective; arguments are equal on all ranks, else every rank throws invalid_argument. Where memory for
    // a plan is short on some rank, every rank throws out_of_memory.

    /// `count` elements in, their element-wise reduction over all ranks out.
    [[nodiscard]] CollectivePlan allreduce(ElementType type, Reduction reduction, std::int64_t count);
    /// One block of `block_bytes` for every rank in, one from every rank out.
    [[nodiscard]] CollectivePlan alltoall(std::int64_t block_bytes);
    /// One block in, everybody's out, in order of rank.
    [[nodiscard]] CollectivePlan allgather(std::int64_t block_bytes);
    /// The output of rank `root` replaces everybody's.
    [[nodiscard]] CollectivePlan broadcast(std::int64_t bytes, int root);

    /// Releases the message context. Collective; its plans may not be used afterwards.
    void free();
    [[nodiscard]] const NetworkShape& shape() const noexcept;
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

    struct State;

  private:
    std::shared_ptr<State> state_;
};

}  // namespace hakobi
