#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/output.hpp>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "base/thread.hpp"

namespace hakobi::output {

/// Whether output is hidden (end_step returns once values are copied, and they are stored while the program
/// goes on), and with how much memory. Equal on all ranks but for the cores.
struct Hidden {
    bool is_on = false;
    std::int64_t node_bytes = 0;  ///< copies of values that wait on one node
    bool is_bound_given = false;  ///< the caller named node_bytes
    CoreSet cores = {};           ///< where this node's ranks, and so its I/O threads, may run
    std::string why_not = {};     ///< where it is off: the reason
};

/// Returns the wish of the caller, else of HAKOBI_ASYNCHRONOUS (1 or 0); nothing where neither has one.
/// Local.
Result<std::optional<bool>> asked_hidden(const OutputOptions& options);

/// Whether output is hidden. `why_not`: why the method cannot hide it, or null. On where nothing speaks
/// against it and memory allows, unless the options say no. Collective over `comm`, after
/// the ranks have agreed on the options, with what asked_hidden returned in them.
Hidden choose_hidden(const Comm& comm, const char* why_not, const OutputOptions& options);

}  // namespace hakobi::output
