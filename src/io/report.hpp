#pragma once

#include <hakobi/comm.hpp>
#include <string>
#include <tuple>

#include "base/timeline.hpp"
#include "io/engine.hpp"
#include "io/plan.hpp"

namespace hakobi::io {

struct NodeBuffers;

/// Says on stderr, on rank 0, what the engine decides and why, when HAKOBI_EXPLAIN=1; each decision once until it changes.
class Explainer {
  public:
    Explainer() = default;
    Explainer(int rank, std::string path);
    void road(const RoadChoice& choice, const RequestTotals& totals, bool is_write);
    void phase(const Domains& domains, const NodeBuffers& buffers, const EngineOptions& options, bool is_involved);

  private:
    bool is_on_ = false;
    std::string path_;
    std::string last_road_, last_phase_;
};

/// Collective: the table of counters on rank 0's stderr where it is asked for (hakobi_profile, HAKOBI_PROFILE=1), and
/// the trace that HAKOBI_TRACE names.
void report_at_close(const Comm& comm, const std::string& path, const EngineOptions& options, const EngineCounters& counters,
                     Timeline& timeline);

}  // namespace hakobi::io
