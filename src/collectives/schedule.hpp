#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hakobi::collectives {

// The steps of one rank in a collective operation, as a value: no MPI in it.
//
// 1. The ranks stand on a grid of digits: a stage has a stride and a radix, a rank's digit in it is
//    rank / stride % radix, and the ranks that differ in that digit alone are the stage's group. A dimension
//    of the network is one stage or several whose radices multiply to its extent: a stage of the whole extent
//    is one direct exchange in a line, stages of radix 2 are recursive doubling and halving, what lies
//    between trades latency for messages.
// 2. The data is cut into lanes, one a dimension (two on a torus, one for each direction), and each lane
//    takes the dimensions in another order: all links are busy at once. Lanes share nothing and wait for
//    nothing of each other.
// 3. A lane is a list of rounds. In a round a rank copies, then sends and receives, and when all of its
//    messages are complete it sums and copies. Lane and order tell messages of two ranks apart.
//
// Every rank makes its own schedule from the same arguments; `cut` and the grid say the same everywhere, so
// that what one sends is what the other receives. Parts of no bytes are not sent.

/// The operation's memory: what the caller lends, and the plan's own.
enum class Buffer : std::uint8_t { input, output, scratch };

struct Slot {
    Buffer buffer = Buffer::input;
    std::int64_t offset_bytes = 0;
    friend bool operator==(const Slot&, const Slot&) = default;
};

struct Message {
    int peer = 0;
    Slot slot;
    std::int64_t bytes = 0;
};

/// A loop around a copy: `count` times, the places this far apart.
struct Repeat {
    std::int64_t count = 1, from_stride = 0, to_stride = 0;
};

/// Copies `bytes` at a time; the repeats are nested, outermost first.
struct Copy {
    Slot from, to;
    std::int64_t bytes = 0;
    std::vector<Repeat> repeats;
};

/// `to` becomes operands[0] op operands[1] op ..., from the left. `to` may be one of the operands.
struct Sum {
    Slot to;
    std::vector<Slot> operands;
    std::int64_t bytes = 0;
};

struct Round {
    std::vector<Copy> before;
    std::vector<Message> sends, receives;
    std::vector<Sum> sums;
    std::vector<Copy> after;
};

struct Lane {
    std::vector<Round> rounds;
};

struct Schedule {
    std::vector<Lane> lanes;
    std::int64_t scratch_bytes = 0;
};

/// One step through the grid: see 1. above.
struct Stage {
    enum class Exchange : std::uint8_t {
        direct,     ///< every rank of the group sends to every other, at once
        ring_up,    ///< to the neighbour with the next higher digit, radix - 1 times (periodic)
        ring_down,  ///< to the next lower one
    };
    int stride = 1, radix = 1;
    Exchange exchange = Exchange::direct;

    [[nodiscard]] int digit(int rank) const noexcept { return rank / stride % radix; }
    [[nodiscard]] int peer(int rank, int with_digit) const noexcept {
        return rank + (with_digit - digit(rank)) * stride;
    }
};

/// The stages of one lane in their order; together they are the whole grid.
using Route = std::vector<Stage>;

/// How an operation is carried out: equal on all ranks.
struct Form {
    std::vector<Route> routes;  ///< one a lane
    /// allreduce, broadcast: whole vectors in every stage (few messages) and not parts of them (few bytes).
    bool is_whole = false;
};

/// Part `part` of `num_parts` of `units` units: [begin, end).
struct Range {
    std::int64_t begin = 0, end = 0;
    [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};
[[nodiscard]] Range cut(Range units, int num_parts, int part) noexcept;

/// Element-wise sum (or another operation) of every rank's `count` elements, on every rank. Input and output
/// hold `count` elements and may be the same memory. The order of summation is that of the digits.
[[nodiscard]] Schedule make_allreduce(const Form& form, int rank, std::int64_t count,
                                      std::int64_t element_bytes);

/// Input and output hold a block of `block_bytes` for each rank: block j of rank i's input becomes block i of
/// rank j's output. They must not be the same memory where `needs_staging` of the form says so.
[[nodiscard]] Schedule make_alltoall(const Form& form, int rank, int num_ranks, std::int64_t block_bytes);

/// Every rank's block, in order of rank, on every rank. Input holds one block, output all; input may be the
/// rank's own block of output.
[[nodiscard]] Schedule make_allgather(const Form& form, int rank, int num_ranks, std::int64_t block_bytes);

/// The root's output becomes everybody's; input is not used.
[[nodiscard]] Schedule make_broadcast(const Form& form, int rank, int root, std::int64_t bytes);

/// Whether the schedule receives into output while it still sends from input.
[[nodiscard]] bool needs_staging(const Schedule& schedule);

}  // namespace hakobi::collectives
