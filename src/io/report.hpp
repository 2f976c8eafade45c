#pragma once

#include <hakobi/comm.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/timeline.hpp"
#include "io/choice.hpp"
#include "io/counters.hpp"
#include "io/options.hpp"
#include "io/plan.hpp"
#include "io/server_watch.hpp"
#include "storage/abilities.hpp"
#include "storage/layout.hpp"

namespace hakobi::io {

struct NodeBuffers;

/// Says on stderr, on rank 0, what the engine decides and why, when HAKOBI_EXPLAIN=1; each decision once
/// until it changes, and of files whose names differ in digits alone (the steps of a series) of the first.
class Explainer {
  public:
    Explainer() = default;
    Explainer(int rank, std::string path);
    void storage(const storage::Abilities& abilities, const storage::Layout& layout) const;
    void tell(const std::string& text) const;
    /// Said without HAKOBI_EXPLAIN, too, of files whose names differ in digits alone once.
    void warn(const std::string& text) const;
    void path(const Choice& choice, const RequestTotals& totals, bool is_write);
    /// Reports a call without a meeting; this rank knows only its own part of it.
    void alone(Why why, bool is_write, std::int64_t size_bytes);
    void phase(const Domains& domains, const NodeBuffers& buffers, const EngineOptions& options,
               bool is_involved);
    /// Reports the servers' times in this rank's accesses, on any rank, but only where a server was late.
    void servers(const ServerWatch& watch);
    [[nodiscard]] bool tells_late() const { return tells_late_; }

  private:
    /// Once, until something else is said of it.
    void say(std::string& last, const std::string& text, const std::string& details) const;

    bool is_on_ = false, tells_late_ = false;
    std::string path_;
    std::string last_path_, last_phase_, last_late_;
};

/// One collective call as one rank saw it. Plain data: it travels to rank 0 as it is.
struct CallProfile {
    std::int64_t is_write = 0;
    std::int64_t bytes = 0;  ///< of this rank's request
    std::int64_t is_direct = 0;
    double start_s = 0, end_s = 0;  ///< on now_s()
    double copy_s = 0, wait_buffer_s = 0, wait_peer_s = 0;
};

/// The calls of one file, kept while somebody wants a profile: the first max_calls of them.
class CallLog {
  public:
    static constexpr std::size_t max_calls = 1000;
    explicit CallLog(bool is_on = false) : is_on_(is_on) {}
    /// A call from `start_s` to `end_s`, whose counters were `before` and are `after`.
    void add(bool is_write, double start_s, double end_s, const EngineCounters& before,
             const EngineCounters& after);
    [[nodiscard]] const std::vector<CallProfile>& calls() const noexcept { return calls_; }

  private:
    bool is_on_ = false;
    std::vector<CallProfile> calls_;
};
/// The reports that some rank of a file asks for; equal on all.
struct ReportWishes {
    bool profile = false, trace = false;
};
[[nodiscard]] bool is_profile_wanted(const EngineOptions& options);

/// One rank's counters and reports of one file's calls.
struct Account {
    EngineCounters counters;
    Timeline timeline;  ///< I/O threads add to it, too
    CallLog call_log;
    Explainer explainer;
    ReportWishes wants;
    std::shared_ptr<ServerWatch> servers;  ///< of an aggregator, where the storage's servers are watched

    /// Collective: on rank 0's stderr the counters by rank and the calls, where that is asked for
    /// (hakobi_profile, HAKOBI_PROFILE=1), and the trace that HAKOBI_TRACE names.
    void report(const Comm& comm, const std::string& path);
};

}  // namespace hakobi::io
