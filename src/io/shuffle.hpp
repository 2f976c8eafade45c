#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <hakobi/comm.hpp>
#include <memory>
#include <span>
#include <vector>

#include "base/timeline.hpp"
#include "io/counters.hpp"
#include "io/descriptions.hpp"
#include "io/node_parts.hpp"
#include "io/pipeline.hpp"
#include "io/plan.hpp"
#include "io/slots.hpp"
#include "mpi/nonblocking.hpp"
#include "node/node_window.hpp"
#include "region/copy.hpp"

namespace hakobi::io {

/// The collective buffers of a node as one of its ranks sees them.
struct NodeBuffers {
    std::vector<AggregatorState*> aggregators;  ///< of this node, in the order of `local_aggregators`
    std::vector<std::byte*> buffers;            ///< each aggregator's, depth of them
    std::vector<std::uint64_t*> marks;
    AggregatorState* staging = nullptr;  ///< buffers for aggregators of other nodes; null on a single node
    std::byte* staging_buffers = nullptr;
    std::uint64_t* staging_marks = nullptr;
    std::int64_t cb_bytes = 0;
    int depth = 0;
    int staging_depth = 0;
    node::NodeWindow* window = nullptr;  ///< which all of them lie in

    /// Bytes of shared memory for `num_aggregators` of this node; `place` cuts `memory` of that size up.
    static std::int64_t bytes_needed(int num_aggregators, bool has_staging, std::int64_t cb_bytes, int depth);
    void place(std::byte* memory, int num_aggregators, bool has_staging);
    [[nodiscard]] std::uint64_t* marks_of(int aggregator, std::int64_t slot) const {
        return marks[static_cast<std::size_t>(aggregator)] + slot * ByteMarks::num_words(cb_bytes);
    }
};

/// One phase as all ranks of a node see it: the same on each of them.
struct PhasePlan {
    bool is_write = false;
    Domains domains;
    std::vector<int> aggregators;  ///< rank of each domain's aggregator
    std::vector<int> local_index;  ///< of each domain: its aggregator's index on this node, or -1
    std::vector<std::uint32_t>
        turns;  ///< of each cycle: its turn at its aggregator, or its staging turn of this phase
    std::vector<std::uint32_t> first_turns;  ///< of each local aggregator in this phase
    std::vector<std::uint32_t>
        staging_cycles;  ///< cycles of other nodes' aggregators that this node contributes to, in staging order
    static constexpr std::uint32_t no_turn = 0xffffffff;

    /// Numbers the turns from what everybody has added to the tallies: those of local aggregator i from next_turns[i] on,
    /// which is advanced.
    void number_turns(std::span<const CycleTally> tallies, std::span<std::uint32_t> next_turns);
    /// The turns of one local aggregator.
    [[nodiscard]] std::vector<Turn> turns_of(int domain, std::span<const CycleTally> tallies) const;
    [[nodiscard]] bool is_dense(std::int64_t cycle, std::span<const CycleTally> tallies) const;
};

/// One rank's first stage of one phase: its data between its memory and the collective buffers of its node, and, where
/// there are more nodes, messages between nodes. See the numbered steps at the head of engine.cpp.
class Shuffle {
  public:
    struct Request {
        const Region& file;
        const Region& memory;
        std::byte* origin;
    };
    /// What this rank knows of the other ranks' requests; on a single node none of it is used.
    struct Others {
        const HeldRegions& held;  ///< as aggregator, of other nodes' ranks
        NodeParts node;           ///< of its own node's
    };
    /// `pipeline`: this rank's, when it aggregates; `my_domain` then is its domain, else -1. `patience`: the team's.
    Shuffle(const Comm& comm, const PhasePlan& plan, const NodeBuffers& buffers, ControlBlock& control,
            const Others& others, Pipeline* pipeline, int my_domain, EngineCounters& counters,
            Timeline& timeline, const Patience& patience);

    /// Adds this rank's parts to the tallies, and as aggregator what other nodes will send. Before number_turns.
    static std::vector<CyclePart> announce(const Comm& comm, const PhasePlan& plan, const Region& file,
                                           const Others& others, int my_domain, ControlBlock& control);

    /// Moves all parts; returns when this rank's memory is its own again and no message needs it.
    void run(const Request& request, std::span<const CyclePart> parts);

  private:
    struct Sending {
        mpi::Pending message;
        std::vector<std::byte> bytes;    // reading: the packed reply
        std::int64_t staging_turn = -1;  // writing: the staging buffer that the message leaves free
    };
    struct Receiving {
        mpi::Pending message;
        std::vector<std::byte> bytes;  // writing, at the aggregator
        std::uint32_t turn = 0;
        std::int64_t cycle = 0;
        int node = 0;
    };

    void write_part(const Request& request, const CyclePart& part, Cursor& file, Cursor& memory);
    void read_part(const Request& request, const CyclePart& part, Cursor& file, Cursor& memory);
    void write_remote(const Request& request, const CyclePart& part, Cursor& file, Cursor& memory);
    void read_remote(const Request& request, const CyclePart& part, Cursor& file, Cursor& memory);
    void wait_for(FutexWord& word, std::uint32_t value);

    [[nodiscard]] bool has_duties() const;
    void poll();
    void poll_incoming_data();    // aggregator, writing
    void poll_outgoing_data();    // aggregator, reading
    void poll_staging_replies();  // courier, reading
    void unpack_into_buffer(const Receiving& received);
    void arrive(AggregatorState& state, std::uint32_t slot, std::uint32_t expected);
    [[nodiscard]] std::int64_t bytes_of_node(int node, std::int64_t cycle) const;
    [[nodiscard]] std::int64_t offset_in_node(std::int64_t cycle) const;
    [[nodiscard]] bool travels_packed(int node, std::int64_t cycle) const;
    [[nodiscard]] std::int64_t message_bytes(int node, std::int64_t cycle) const;
    [[nodiscard]] int courier_of(int node, std::int64_t cycle) const;
    std::int64_t pack_from_buffer(const Region& region, std::int64_t cycle, const BufferWindow& window,
                                  std::byte* packed) const;
    [[nodiscard]] int tag_of(std::int64_t cycle, int node) const;

    const Comm& comm_;
    const PhasePlan& plan_;
    const NodeBuffers& buffers_;
    ControlBlock& control_;
    const HeldRegions& held_;
    NodeParts node_parts_;
    bool has_other_nodes_;
    Pipeline* pipeline_;
    int my_domain_;
    EngineCounters& counters_;
    Timeline& timeline_;
    int spins_;
    bool takes_turns_;  // ranks share cores, and give way to one another

    // Duties between nodes.
    std::deque<Sending> sending_;
    std::deque<Receiving> receiving_;
    std::vector<std::int64_t> my_cycles_;  // aggregator: its used cycles by turn
    std::size_t next_incoming_ = 0;        // turn whose receives are posted next
    std::size_t next_outgoing_ = 0;        // turn whose replies are sent next
    std::size_t next_reply_ = 0;           // staging turn that this rank looks at next, as courier
    std::int64_t outgoing_bytes_ = 0;      // replies under way
};

}  // namespace hakobi::io
