#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <optional>
#include <span>
#include <vector>

#include "io/between_nodes.hpp"
#include "io/phase_site.hpp"
#include "io/plan.hpp"
#include "region/cursor.hpp"

namespace hakobi::io {

/// One rank's first stage of one phase: its data between its memory and the collective buffers of its node, and, where
/// there are more nodes, messages between nodes. See the numbered steps at the head of engine.cpp.
class Shuffle {
  public:
    /// `patience`: the team's.
    Shuffle(const PhaseSite& site, const Patience& patience);

    /// Adds this rank's parts to the tallies, and as aggregator what other nodes will send. Before number_turns.
    static std::vector<CyclePart> announce(const PhaseSite& site, const Region& file);

    /// Moves all parts; returns when this rank's memory is its own again and no message needs it.
    void run(const PhaseData& data, std::span<const CyclePart> parts);

  private:
    void run_by_lanes(const PhaseData& data, std::span<const CyclePart> parts, Cursor& file, Cursor& memory);
    [[nodiscard]] bool is_here(const CyclePart& part) const {
        return site_.local_index(site_.plan.domains.domain_of(part.cycle)) >= 0;
    }
    /// What says that the part's buffer is open for this rank, and its value then.
    [[nodiscard]] FutexWord& awaited(const CyclePart& part) const;
    [[nodiscard]] std::uint32_t awaited_value(const CyclePart& part) const;
    void wait_for_change(FutexWord& changed, std::uint32_t seen);
    /// After that wait.
    void move(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory);
    void write_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory);
    void read_part(const PhaseData& data, const CyclePart& part, Cursor& file, Cursor& memory);
    /// This rank's contribution is made: counts it, and passes the buffer on after the last.
    void end_part(const PhaseSite::BufferPlace& at, std::int64_t cycle, const char* name, double start_s,
                  std::int64_t copied_bytes);
    void wait_for(FutexWord& word, std::uint32_t value);

    const PhaseSite& site_;
    int spins_;
    bool takes_turns_;  // ranks share cores, and give way to one another
    std::optional<BetweenNodes> between_nodes_;
};

}  // namespace hakobi::io
