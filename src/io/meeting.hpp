#pragma once

#include <atomic>
#include <functional>
#include <hakobi/comm.hpp>
#include <utility>

#include "io/ahead.hpp"
#include "io/choice.hpp"
#include "io/opened_file.hpp"
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

/// How a rank comes to a meeting.
struct Coming {
    bool is_first = true;       ///< of its call
    bool has_given_up = false;  ///< an access of this rank may never end
};

/// The result of a path's work for the leader, done while the node's ranks meet.
struct LeadersPart {
    Status status;
    bool has_waited = false;  ///< for storage of which nothing is known
};

/// The ranks' meetings: each says what is left of its request and what it knows, and all learn what they do
/// next. On one node the summaries lie in shared memory and the leader adds them up; between nodes one
/// all-reduce does it.
class Meeting {
  public:
    using Lead = std::function<LeadersPart(const Choice&, const Facts&)>;

    /// `lead` is called on a node's leader between the choice and the others' return from the meeting.
    Meeting(const Comm& comm, const FileSetting& setting, OpenedFile& file, SharedControl& control,
            Ahead& ahead, Account& account, Lead lead)
        : comm_(comm),
          setting_(setting),
          file_(file),
          control_(control),
          ahead_(ahead),
          account_(account),
          lead_(std::move(lead)) {}

    /// Collective over all ranks.
    Met hold(const Request& request, Progress& progress, const Coming& coming);
    /// From the next meeting on nobody fills holes. Local, any thread.
    void leave_holes() { leaves_holes_.store(true, std::memory_order_relaxed); }

  private:
    [[nodiscard]] RequestSummary summary_of(const Request& request, const Progress& progress,
                                            const Coming& coming) const;
    Met on_node(const Request& request, Progress& progress, const Coming& coming);
    Met between_nodes(const Request& request, const Progress& progress, const Coming& coming);
    // The leader's, while the others wait.
    void lead(const Request& request, Progress& progress, bool is_first);
    void try_storage(const Request& request, Progress& progress);
    [[nodiscard]] Facts facts_of(const Request& request) const;
    static void add_hidden(const Request& request, Facts& facts);

    const Comm& comm_;
    const FileSetting& setting_;
    OpenedFile& file_;
    SharedControl& control_;
    Ahead& ahead_;
    Account& account_;
    Lead lead_;
    std::atomic<bool> leaves_holes_ = false;
};

}  // namespace hakobi::io
