#pragma once

#include <cstdint>
#include <deque>
#include <hakobi/comm.hpp>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/between_nodes.hpp"
#include "io/phase_site.hpp"
#include "io/plan.hpp"
#include "region/cursor.hpp"

namespace hakobi::io {

/// One rank's first stage of one phase: its data between its memory and the collective buffers of its node,
/// and, where there are more nodes, messages between nodes. See the numbered steps at the head of engine.cpp.
class Shuffle {
  public:
    /// `patience`: the team's.
    Shuffle(const PhaseSite& site, const Patience& patience);

    /// Adds this rank's parts to the tallies, and as aggregator what other nodes will send. Before
    /// number_turns.
    static std::vector<CyclePart> announce(const PhaseSite& site, const Region& file);

    /// Moves all parts; returns when this rank's memory is its own again and no message needs it. An error is
    /// a device's, whose copies have failed: all parts have been passed on all the same.
    Status run(const PhaseData& data, std::span<const CyclePart> parts);

  private:
    void run_by_lanes(const PhaseData& data, std::span<const CyclePart> parts, Cursor& file, Cursor& memory);
    [[nodiscard]] bool is_here(const CyclePart& part) const {
        return site_.local_index(site_.plan.domains.domain_of(part.cycle)) >= 0;
    }
    /// The word that says when the part's buffer is open for this rank, and the word's value then.
    [[nodiscard]] FutexWord& awaited(const CyclePart& part) const;
    [[nodiscard]] std::uint32_t awaited_value(const CyclePart& part) const;
    void wait_for_change(FutexWord& changed, std::uint32_t seen);
    [[nodiscard]] bool is_open(const CyclePart& part) const {
        return awaited(part).load(std::memory_order_acquire) == awaited_value(part);
    }
    /// A part that is being copied.
    struct Copying {
        const CyclePart* part = nullptr;
        double start_s = 0;
        std::int64_t bytes = 0;
        std::unique_ptr<device::Mark> mark = nullptr;  // behind a device's copies
    };
    /// Call after that wait. Copies of device memory only begin here; complete_copies calls end_part for
    /// them.
    void move(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory);
    std::int64_t write_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory);
    std::int64_t read_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory);
    /// This rank's contribution is made: counts it, and passes the buffer on after the last.
    void end_part(const Copying& copied);
    /// Before any wait for a buffer all of them: another rank, or this one, may wait for the parts that are
    /// on their way.
    void complete_copies(std::size_t most_left);
    void wait_for(FutexWord& word, std::uint32_t value);

    const PhaseSite& site_;
    int spins_;
    bool takes_turns_;  // ranks share cores, and give way to one another
    std::optional<BetweenNodes> between_nodes_;
    std::deque<Copying> copying_;  // by a device, in its order
    Status status_;                // of these
    double copied_until_s_ = 0;
};

}  // namespace hakobi::io
