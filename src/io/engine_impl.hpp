#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/timeline.hpp"
#include "io/ahead.hpp"
#include "io/crew.hpp"
#include "io/descriptions.hpp"
#include "io/engine.hpp"
#include "io/report.hpp"
#include "io/shuffle.hpp"
#include "io/slots.hpp"
#include "node/node_window.hpp"
#include "node/team.hpp"
#include "storage/access.hpp"

namespace hakobi::io {

constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

/// The engine's state, for its own files: engine.cpp (the steps of a call), engine_memory.cpp (the memory that a node's ranks
/// share), engine_exchange.cpp (step 1), engine_storage.cpp (direct access, and what is learnt of the storage).
struct Engine::Impl {
    Comm comm;
    EngineFile name;
    EngineOptions options;
    bool is_cb_chosen = true;  // the caller named no cb_buffer_size: cycles may be smaller
    Aggregators aggregators;
    Crew* crew = nullptr;  // the Comm's

    storage::FilePtr file;  // aggregators open it; the others when they go direct
    std::unique_ptr<storage::Access> direct_access;
    node::NodeWindow control_window;
    ControlBlock* control = nullptr;
    std::span<RankPlace> places;
    CoreSet node_cores = {};  // where any rank of this node may run
    node::Team team;
    Ahead ahead;
    Timeline timeline;             // the accesses of `phase` add to it
    std::shared_ptr<Phase> phase;  // of an aggregator, until it has been waited for
    EngineCounters counters;
    CallLog call_log;
    Explainer explainer;
    bool is_usable = true;
    bool has_failed = false;     // to open, on some rank
    ReportWishes wants;          // of some rank, equal on all
    std::int64_t num_calls = 0;  // that this rank is through with
    std::atomic<bool> leaves_holes = false;
    Status undone_status;  // what an asynchronous call did not report any more
    /// Nodes may not write to one block of so much at once (storage/abilities.hpp); 1: they may. Equal on all ranks.
    std::int64_t writer_block_bytes = 1;
    Service service = Service::unknown;
    int num_waits_in_a_row = 0;  // of direct accesses that made this rank wait

    struct Call {
        bool is_write, is_asynchronous;
        const Region& file;
        const Region& memory;
        std::byte* origin;
        std::int64_t position = 0;          // in the file: everything before it is done
        std::int64_t end_of_file = no_end;  // lowest that this rank has seen
        std::int64_t bytes_direct = 0;      // unordered and direct reads count for themselves
        bool is_counted = false;
        bool is_ordered = true;  // else no cycles could follow its order: the rank moves its pieces by itself
        bool has_moved = false;  // them, and has nothing left
        bool may_fill_holes = false;  // nobody else writes in this call
        Status status = {};
        const WhenStored* when_stored = nullptr;
        bool has_writers = false;  // who will be told, of its last phase
        // Between nodes: what this rank tells aggregators, and what it holds as one.
        std::optional<Describer> describer = {};
        HeldRegions held = {};

        [[nodiscard]] std::int64_t bytes_done() const { return file.bytes_below(position); }
    };

    /// Collective: rank 0's, and whether some rank has failed; sets `wants`.
    EngineOptions agree_on_options(Status& status);
    /// The leader lays the node's common memory out: nobody uses it before `join_control`, after a meeting of all.
    Status set_up_control();
    void join_control();
    Status set_up_buffers(bool for_asynchronous);
    Status need_file();
    /// Collective, where there are several nodes: opens the file again until all have the same one.
    Status agree_on_the_file();
    mpi::Agreed call(Call& call);
    /// Whether there is nobody to meet and nothing to gather, so that the call is one access of the file.
    [[nodiscard]] bool is_one_access(const Call& call) const;
    mpi::Agreed access_alone(Call& call);
    [[nodiscard]] bool is_slow_in_place(const Call& call) const;
    [[nodiscard]] bool is_short_and_contiguous(const Call& call) const;
    /// Moves such a request by one call of the file, which is open.
    void access_in_line(Call& call);
    /// A call without a meeting (ahead.hpp): its error is this rank's own.
    mpi::Agreed run_ahead(Call& call);
    void end_ahead_call();
    /// In a meeting, of the leader: whether no rank has more than one piece.
    [[nodiscard]] bool may_run_ahead(const Call& call) const;
    /// On which terms the ranks might run ahead after this call, of which the leader knows all but that. `has_waited`: its
    /// accesses.
    [[nodiscard]] AheadTerms ahead_terms(const Call& call, const LeaderWord& word, bool has_waited) const;
    /// Ends the program on what it cannot tell the other ranks (no memory for a message, say).
    mpi::Agreed run_call(Call& call);
    mpi::Agreed run_phases(Call& call);
    RequestSummary summary_of(const Call& call);
    /// Steps 1 and 6.
    RequestTotals exchange(Call& call, const RequestSummary& mine, bool may_be_small, bool& was_small,
                           mpi::Agreed& agreed);
    RequestTotals exchange_on_node(Call& call, const RequestSummary& mine, bool may_be_small, bool& was_small,
                                   mpi::Agreed& agreed);
    /// Collective, between nodes: sends this rank's region to the aggregators of the phase that need it, and receives.
    void describe(Call& call, const Region& file_region, const PhasePlan& plan);
    [[nodiscard]] Domains domains_of(const RequestTotals& totals) const;
    void reset_phase(std::int64_t num_cycles);
    void move_direct(Call& call, std::int64_t stream_begin, bool in_flight);
    void try_storage(Call& call);
    void run_phase(Call& call, const RequestTotals& totals);
    void wait_for_storage(Call& call);

    /// Waits for what is under way.
    ~Impl();
};

}  // namespace hakobi::io
