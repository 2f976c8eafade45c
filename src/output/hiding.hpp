#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/output.hpp>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "base/thread.hpp"

namespace hakobi::output {

struct MethodEntry;
class Method;

/// Whether steps drain while the program goes on, and with how much memory; equal on all ranks but for the cores.
struct Hiding {
    bool is_on = false;
    std::int64_t node_bytes = 0;  ///< copies of values that wait on one node
    bool is_bound_given = false;  ///< the caller named node_bytes
    CoreSet cores = {};           ///< where this node's ranks, and so its I/O threads, may run
    std::string why_not = {};     ///< where it is off: the reason
};

/// What the caller, else HAKOBI_ASYNCHRONOUS (1 or 0) asks for; nothing where neither does. Local.
Result<std::optional<bool>> asked_hiding(const OutputOptions& options);

/// Collective over `comm`, after the ranks have agreed on the options and asked_hiding is in them: on where the method can and
/// memory allows, unless `asynchronous` says no.
Hiding choose_hiding(const Comm& comm, const MethodEntry& entry, const OutputOptions& options);

/// "pipelined, hidden: …", for people.
[[nodiscard]] std::string text_of(const MethodEntry& entry, const Method& method, const Hiding& hiding);

}  // namespace hakobi::output
