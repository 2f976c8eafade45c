#include "output/hiding.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/available_memory.hpp"
#include "mpi/messages.hpp"
#include "output/method.hpp"

namespace hakobi::output {
namespace {

constexpr std::int64_t chosen_bytes = 256 << 20;
constexpr std::int64_t least_chosen_bytes = 16 << 20;
// Of what is free when the output is made: the program has most of its memory by then, but not all.
constexpr std::int64_t share_of_available = 8;

}  // namespace

Result<std::optional<bool>> asked_hiding(const OutputOptions& options) {
    if (options.asynchronous) return options.asynchronous;
    const char* const given = std::getenv("HAKOBI_ASYNCHRONOUS");
    const std::string_view value = given != nullptr ? given : "";
    if (value.empty()) return std::optional<bool>();
    if (value == "1") return std::optional<bool>(true);
    if (value == "0") return std::optional<bool>(false);
    return Status(ErrorCode::invalid_argument,
                  "HAKOBI_ASYNCHRONOUS is '" + std::string(value) + "': give 1 or 0");
}

Hiding choose_hiding(const Comm& comm, const MethodEntry& entry, const OutputOptions& options) {
    Hiding hiding;
    // The least of all nodes: the maximum of what is taken away.
    std::int64_t most_missing[] = {-available_memory_bytes()};
    mpi::all_max(comm, most_missing);
    const std::int64_t available_bytes = -most_missing[0];
    hiding.cores = own_cores();
    mpi::node_bit_or(comm, std::as_writable_bytes(std::span(&hiding.cores, 1)));

    hiding.is_bound_given = options.asynchronous_bytes > 0;
    hiding.node_bytes = hiding.is_bound_given ? options.asynchronous_bytes
                                              : std::min(chosen_bytes, available_bytes / share_of_available);
    if (entry.why_not_hidden != nullptr) {
        hiding.why_not = entry.why_not_hidden;
    } else if (options.asynchronous) {
        hiding.is_on = *options.asynchronous;
        if (!hiding.is_on) hiding.why_not = "it is switched off";
        if (!hiding.is_bound_given) hiding.node_bytes = std::max(hiding.node_bytes, least_chosen_bytes);
    } else if (!hiding.is_bound_given && hiding.node_bytes < least_chosen_bytes) {
        hiding.why_not =
            "only " + std::to_string(available_bytes >> 20) + " MiB of memory are free on a node";
    } else {
        hiding.is_on = true;
    }
    return hiding;
}

std::string text_of(const MethodEntry& entry, const Method& method, const Hiding& hiding) {
    std::string text(method.name().empty() ? entry.name : method.name());
    if (const std::string why = method.why(); !why.empty()) text += " (auto: " + why + ")";
    if (hiding.is_on && !method.is_hiding()) return text + ", not hidden: that is cheaper";
    if (!method.writes()) return text + ": nothing is written";
    if (!hiding.is_on) return text + ", not hidden: " + hiding.why_not;
    return text + ", hidden: steps are stored while the program goes on, with copies of at most " +
           std::to_string(hiding.node_bytes >> 20) + " MiB on a node";
}

}  // namespace hakobi::output
