#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/device.hpp>
#include <hakobi/export.hpp>
#include <hakobi/network_shape.hpp>
#include <hakobi/reduction.hpp>
#include <memory>
#include <span>
#include <string>

namespace hakobi {
inline namespace v0 {

/// Cost of messages on the declared network: the model that ranks the algorithms before they are measured.
struct NetworkCosts {
    double latency_s = 2e-6;         ///< of an empty message between ranks of one line
    double overhead_s = 0.5e-6;      ///< processor time per message, on each side
    double bandwidth_bytes_s = 5e9;  ///< of one link in one direction
};

/// Options of Collectives::create; equal on every rank.
struct CollectivesOptions {
    NetworkShape shape = {};
    /// "auto": planning times Hakobi's algorithms and the MPI library's, and takes the fastest. "model": the
    /// cheapest algorithm by `costs`, without timing. "mpi": the MPI library's.
    std::string method = "auto";
    /// Sums are bitwise equal in every run with the same shape, ranks, costs, type and count, independently
    /// of timing, load and MPI library. Algorithms are then chosen by `costs`, and the MPI library's is never
    /// used.
    bool is_reproducible = false;
    NetworkCosts costs = {};
};

/// One planned operation. Copies are cheap and refer to the same plan. Destruction never communicates.
///
/// Input and output may be on a device, both or one of them: they are recognised, and go by page-locked
/// memory of the plan. Values on a device are used when what its default stream holds is done. Stream and
/// memory are taken in the first operation with such values; a rank that can have none ends the program, for
/// the others wait in that operation.
class HAKOBI_EXPORT CollectivePlan {
  public:
    CollectivePlan() = default;
    /// Executes the operation. Collective over the plan's ranks. The planning call states the sizes of
    /// `input` and `output`. They may be the same memory (allgather: `input` may be the rank's own block of
    /// `output`). Broadcast ignores `input`.
    void execute(const void* input, void* output);
    /// The same in two steps; the memory must stay valid until `wait` returns or `test` returns true. Ranks
    /// start the plans of one Collectives in the same order, and a plan only after its previous operation has
    /// completed. They may wait for them in any order: all operations of this rank that are in progress, of
    /// halos and buffer arrays too, progress in `test` and `wait` of any of them, but not in the program's
    /// own calls of MPI. Throws invalid_argument immediately for a plan in progress, a null pointer to data
    /// or memory that is only partly on a device; unsupported for two devices.
    void start(const void* input, void* output);
    [[nodiscard]] bool test();
    void wait();
    /// The same for values on a device, without waiting for it: they are used when what `stream` holds is
    /// done, and what it is given after `wait` begins when the output is there. Throw invalid_argument for a
    /// stream of another device, too.
    void start(const void* input, void* output, DeviceStream stream);
    void wait(DeviceStream stream);
    /// Memory that the plan has allocated.
    [[nodiscard]] std::int64_t scratch_bytes() const noexcept;
    /// The chosen algorithm and why, for people: "allreduce of 16 B: ours, whole vectors, 16 x 16 x 10: 12 us
    /// (mpi 19 us)".
    [[nodiscard]] std::string explain() const;
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

    struct State;
    explicit CollectivePlan(std::shared_ptr<State> state) : state_(std::move(state)) {}

  private:
    std::shared_ptr<State> state_;
};

/// Collective operations on a communicator whose network is declared; planned once, executed many times. They
/// use a message context of their own, separate from the program's messages.
class HAKOBI_EXPORT Collectives {
  public:
    Collectives() = default;
    /// Collective over `comm`; options equal on all ranks. Throws invalid_argument on every rank if options
    /// differ or if the shape's number of nodes is not the number of ranks (shape `nodes` fits every
    /// communicator).
    [[nodiscard]] static Collectives create(const Comm& comm, const CollectivesOptions& options);

    // Planning is collective. If arguments differ between ranks, every rank throws invalid_argument; if
    // memory is short on any rank, every rank throws out_of_memory.

    /// Input: `count` elements. Output: their element-wise reduction over all ranks.
    [[nodiscard]] CollectivePlan allreduce(ElementType type, Reduction reduction, std::int64_t count);
    /// Input: a block of `block_bytes` for each rank. Output: a block from each rank.
    [[nodiscard]] CollectivePlan alltoall(std::int64_t block_bytes);
    /// Input: one block of `block_bytes`. Output: all ranks' blocks in rank order.
    [[nodiscard]] CollectivePlan allgather(std::int64_t block_bytes);
    /// Output: on `root` the data to send, on the others the memory that receives it. No input.
    [[nodiscard]] CollectivePlan broadcast(std::int64_t bytes, int root);

    /// Releases the message context. Collective; plans must not be used afterwards.
    void free();
    [[nodiscard]] const NetworkShape& shape() const noexcept;
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

    struct State;

  private:
    std::shared_ptr<State> state_;
};

}  // namespace v0
}  // namespace hakobi
