#pragma once

#include <cstdint>
#include <functional>
#include <hakobi/comm.hpp>
#include <memory>
#include <vector>

#include "io/choice.hpp"
#include "io/crew.hpp"
#include "io/opened_file.hpp"
#include "io/options.hpp"
#include "io/pipeline.hpp"
#include "io/plan.hpp"
#include "io/report.hpp"
#include "io/request.hpp"
#include "io/shared_control.hpp"
#include "io/shuffle.hpp"
#include "io/striping.hpp"

namespace hakobi::io::paths {

/// Two-phase I/O on one file: steps 3 to 5 of engine.cpp's head. Collective over all ranks where nothing else
/// is said.
class TwoPhase {
  public:
    TwoPhase(const Comm& comm, const FileSetting& setting, const EngineOptions& options, OpenedFile& file,
             SharedControl& control, Account& account)
        : comm_(comm),
          setting_(setting),
          options_(options),
          file_(file),
          control_(control),
          account_(account) {}
    /// Waits for what is under way. Local.
    ~TwoPhase();
    TwoPhase(const TwoPhase&) = delete;
    TwoPhase& operator=(const TwoPhase&) = delete;

    /// Who aggregates, once the options are agreed on. `is_cycle_chosen`: nobody has asked for a
    /// cb_buffer_size, and cycles may be smaller. `stripes`: none where domains are contiguous.
    void choose_aggregators(bool is_cycle_chosen, const FileStripes& stripes);
    [[nodiscard]] const Aggregators& aggregators() const { return aggregators_; }

    /// The leader's, while the ranks of the only node meet.
    void prepare(const RequestTotals& totals, bool is_elective);
    /// One phase of the call: moves this rank's data of it, or returns, alike on all ranks, why there can be
    /// no buffers. `latest`: the totals by which the ranks have just chosen.
    Status carry_out(const Request& request, const Choice& choice, const RequestTotals& latest,
                     Progress& progress);
    /// Waits until this rank's accesses are over; what storage said goes to the progress. Local.
    void wait(Progress& progress);
    /// The same of those that are over, without a wait.
    void take_over(Progress& progress);
    /// Waits until they are over, and leaves what storage said. Local.
    void wait_until_over();

    /// All ranks have got their values out of devices, for a hidden call whose writers are told only then.
    /// Local.
    Status confirm();
    /// Keeps an error that a hidden call could no longer report; the file's next call reports it, once.
    void leave_undone(Status status) { hidden_.undone = std::move(status); }
    [[nodiscard]] Status take_undone() { return std::exchange(hidden_.undone, {}); }
    /// Local: this rank has accesses under way, or an error that nobody has heard of.
    [[nodiscard]] bool has_pending() const { return !phases_.empty() || !hidden_.undone.ok(); }
    /// Local: one of them has failed so far, or nobody has heard of an error.
    [[nodiscard]] ErrorCode first_error() const;
    /// This rank's accesses under way, and those that nobody has waited for.
    [[nodiscard]] const std::vector<std::shared_ptr<Phase>>& phases() const { return phases_; }
    /// False once buffers or threads could not be had. Equal on all ranks.
    [[nodiscard]] bool is_usable() const { return health_.is_usable; }
    /// An access of this rank may never end: its error is told, or is about to be. Local.
    [[nodiscard]] bool has_given_up() const { return health_.has_given_up; }
    /// The same of any rank. Collective.
    [[nodiscard]] bool has_any_given_up() const;
    /// Leaves the buffers, and the file, to such accesses. Collective; all ranks know that there are some.
    void abandon_buffers();

  private:
    Status set_up_buffers(bool is_hidden);
    void conclude(const std::vector<std::shared_ptr<Phase>>& over, Progress& progress);
    [[nodiscard]] Domains domains_of(const RequestTotals& totals, bool is_elective, int num_lanes,
                                     std::int64_t phase) const;
    std::function<Status()> both(std::function<Status()> tell);
    [[nodiscard]] std::shared_ptr<ServerWatch> watch();
    void reset(std::int64_t num_cycles);
    /// Collective, between nodes: sends this rank's region to the aggregators of the phase that need it, and
    /// receives.
    void describe(const Region& file, const PhasePlan& plan, Descriptions& descriptions);
    /// This aggregator's accesses begin.
    void begin_accesses(const Request& request, const Choice& choice, const RequestTotals& totals,
                        const PhasePlan& plan, int domain, bool is_last);

    const Comm& comm_;
    const FileSetting& setting_;
    const EngineOptions& options_;
    OpenedFile& file_;
    SharedControl& control_;
    Account& account_;
    Aggregators aggregators_;
    Crew* crew_ = nullptr;  // the Comm's
    struct OfFile {
        bool is_cycle_chosen = true;
        FileStripes stripes;
    };
    struct Health {
        bool is_usable = true, has_given_up = false;
    };
    OfFile of_file_;
    Health health_;
    // An aggregator's, until they have been waited for: several of elective hidden calls, and where the
    // phases of a blocking write overlap.
    std::vector<std::shared_ptr<Phase>> phases_;
    /// The state of a hidden call.
    struct Hidden {
        Status undone;
        std::function<Status()> when_confirmed;
    } hidden_;
};

}  // namespace hakobi::io::paths
