#pragma once

#include "collective/pattern.hpp"
#include "io/policy.hpp"
#include "machine.hpp"

namespace hakobi::bench::scale {

/// Hints that a job may give the engine; 0: the engine's own choice.
struct EngineHints {
    int cb_nodes = 0;
    int depth = io::policy_limits::usual_depth;  ///< hakobi_depth
    int io_threads = 0;                          ///< hakobi_io_threads, of an aggregator
    int server_requests = 0;                     ///< hakobi_server_requests
};

/// The method `pipelined` on a file of `layout`. `is_by_server`: the layout is part of the plan: each stripe
/// is a cycle, and each server is written by as few nodes as can fill it.
[[nodiscard]] Outcome pipelined(const Pattern& pattern, const Job& job, const Machine& machine,
                                const Layout& layout, bool is_by_server, const EngineHints& hints = {});
/// The layout that `pipelined` then asks for.
[[nodiscard]] Layout layout_for(const Job& job, const Machine& machine);

/// `parallel`: the MPI library's two-phase writes in rounds of 16 MiB an aggregator, exchange and access in
/// turn.
[[nodiscard]] Outcome parallel(const Pattern& pattern, const Job& job, const Machine& machine,
                               const Layout& layout);

/// `root` (`stride` as many as there are ranks) and `writers`: every stride-th rank writes for those behind
/// it.
[[nodiscard]] Outcome collected(const Pattern& pattern, const Job& job, const Machine& machine,
                                const Layout& layout, int stride);
/// `per-process`: each rank writes a file of its own, of one stripe.
[[nodiscard]] Outcome per_process(const Pattern& pattern, const Job& job, const Machine& machine);

/// A message in which all ranks learn what all have said, by a tree, there and back.
[[nodiscard]] double meeting_s(const Job& job, const Machine& machine);

}  // namespace hakobi::bench::scale
