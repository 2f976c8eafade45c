#pragma once

#include <atomic>
#include <hakobi/comm.hpp>

#include "io/ahead.hpp"
#include "io/choice.hpp"
#include "io/opened_file.hpp"
#include "io/paths/two_phase.hpp"
#include "io/report.hpp"
#include "io/request.hpp"
#include "io/shared_control.hpp"
#include "mpi/agree.hpp"

namespace hakobi::io {

/// The result of a meeting; equal on all ranks.
struct Met {
    RequestTotals totals;
    Choice choice;
    mpi::Agreed agreed;  ///< some rank's error, which ends the call
};

/// The ranks' meetings: each says what is left of its request and what it knows, and all learn what they do
/// next. On one node the summaries lie in shared memory and the leader adds them up; between nodes one
/// all-reduce does it.
class Meeting {
  public:
    Meeting(const Comm& comm, const FileSetting& setting, OpenedFile& file, SharedControl& control,
            Ahead& ahead, paths::TwoPhase& two_phase, Account& account)
        : comm_(comm),
          setting_(setting),
          file_(file),
          control_(control),
          ahead_(ahead),
          two_phase_(two_phase),
          account_(account) {}

    /// Collective over all ranks. `is_first`: of its call; only then mailboxes serve.
    Met hold(const Request& request, Progress& progress, bool is_first);
    /// From the next meeting on nobody fills holes. Local, any thread.
    void leave_holes() { leaves_holes_.store(true, std::memory_order_relaxed); }

  private:
    [[nodiscard]] RequestSummary summary_of(const Request& request, const Progress& progress) const;
    Met on_node(const Request& request, Progress& progress, bool is_first);
    Met between_nodes(const Request& request, const Progress& progress);
    // The leader's, while the others wait.
    void lead(const Request& request, Progress& progress, bool is_first);
    void try_storage(const Request& request, Progress& progress);
    [[nodiscard]] Facts facts_of(const Request& request) const;
    bool serve(const Facts& facts);

    const Comm& comm_;
    const FileSetting& setting_;
    OpenedFile& file_;
    SharedControl& control_;
    Ahead& ahead_;
    paths::TwoPhase& two_phase_;
    Account& account_;
    std::atomic<bool> leaves_holes_ = false;
};

}  // namespace hakobi::io
