#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "io/phase_site.hpp"
#include "io/plan.hpp"
#include "mpi/nonblocking.hpp"
#include "region/cursor.hpp"

namespace hakobi::io {

/// The part of one phase's shuffle between nodes, of one rank: its parts of cycles whose aggregator is on
/// another node, and, as aggregator or courier, other ranks' messages. The head of between_nodes.cpp has the
/// steps.
class BetweenNodes {
  public:
    explicit BetweenNodes(const PhaseSite& site);

    /// The word that says when the part's staging buffer may be written (`turn`) or read (`Slot::filled |
    /// turn`).
    [[nodiscard]] FutexWord& awaited(const CyclePart& part) const;
    /// Waits, and moves messages meanwhile, which progress only while somebody asks.
    void wait_for(FutexWord& word, std::uint32_t value);
    /// The same until `changed` is no longer `seen`.
    void wait_for_change(FutexWord& changed, std::uint32_t seen);
    /// After that wait: the bytes that are copied, or, by a device, will be.
    std::int64_t write_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory);
    std::int64_t read_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory);
    /// They have been copied.
    void end_part(const CyclePart& part);
    /// Until no message needs this rank.
    void finish();

  private:
    struct Sending {
        mpi::Pending message;
        std::vector<std::byte> bytes;     // reading: the packed reply
        std::int64_t staging_cycle = -1;  // writing: the one whose staging buffer the message leaves free
    };
    struct Receiving {
        mpi::Pending message;
        std::vector<std::byte> bytes;  // writing, at the aggregator
        std::int64_t cycle = 0;
        int node = 0;
    };
    /// An aggregator's used cycles in one lane, by turn.
    struct Lane {
        std::vector<std::int64_t> cycles;
        std::size_t next =
            0;  // writing: whose receives are posted next; reading: whose replies are sent next
    };

    [[nodiscard]] bool has_duties() const;
    void poll();
    void poll_sent();
    void poll_incoming_data();    // aggregator, writing
    void poll_outgoing_data();    // aggregator, reading
    void poll_staging_replies();  // courier, reading
    void poll_incoming(Lane& lane);
    void poll_outgoing(Lane& lane);
    void poll_replies(std::size_t ring);
    void receive(std::int64_t cycle, int node, int from, std::int64_t bytes);
    template <class Take>
    void take_received(Take take);
    void send_staging(std::int64_t cycle, ByteMarks* marks);
    void send_reply(std::int64_t cycle, int node, const BufferWindow& window);
    void unpack_into_buffer(const Receiving& received);
    std::int64_t unpack_packed(const Receiving& received, const BufferWindow& window) const;
    std::int64_t unpack_marked(const Receiving& received, const BufferWindow& window) const;
    [[nodiscard]] bool is_last_of_node(const CyclePart& part) const;
    [[nodiscard]] std::int64_t window_bytes(std::int64_t cycle) const;
    /// Other nodes that may have bytes in a cycle of this aggregator.
    [[nodiscard]] std::vector<int> nodes_around(std::int64_t cycle) const;
    [[nodiscard]] std::int64_t bytes_of_node(int node, std::int64_t cycle) const;
    [[nodiscard]] bool travels_packed(int node, std::int64_t cycle) const;
    [[nodiscard]] std::int64_t message_bytes(int node, std::int64_t cycle) const;
    [[nodiscard]] int courier_of(int node, std::int64_t cycle) const;
    [[nodiscard]] int aggregator_of(std::int64_t cycle) const;
    [[nodiscard]] int tag_of(std::int64_t cycle, int node) const;
    std::int64_t pack_from_buffer(const Region& region, std::int64_t cycle, const BufferWindow& window,
                                  std::byte* packed) const;
    /// The staging buffer of a cycle.
    [[nodiscard]] std::uint32_t staging_slot(std::int64_t cycle) const;
    [[nodiscard]] Slot& slot_of(std::int64_t cycle) const;
    [[nodiscard]] std::byte* staging_of(std::int64_t cycle) const;
    [[nodiscard]] ByteMarks marks_of(std::int64_t cycle) const;
    void open_staging(std::int64_t cycle, std::uint32_t turn) const;
    void open_for_next(std::int64_t cycle) const;

    const PhaseSite& site_;
    std::deque<Sending> sending_;
    std::deque<Receiving> receiving_;
    std::vector<Lane> lanes_;  // this aggregator's
    std::vector<std::size_t>
        next_reply_;  // of each staging ring: the turn that this rank looks at next, as courier
    std::int64_t outgoing_bytes_ = 0;  // replies under way
};

}  // namespace hakobi::io
