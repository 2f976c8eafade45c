#include "output/hidden.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/available_memory.hpp"
#include "mpi/messages.hpp"

namespace hakobi::output {
namespace {

constexpr std::int64_t chosen_bytes = 256 << 20;
constexpr std::int64_t least_chosen_bytes = 16 << 20;
// The share of the memory that is free when the output is made: the program has most of its memory by then,
// but not all.
constexpr std::int64_t share_of_available = 8;

}  // namespace

Result<std::optional<bool>> asked_hidden(const OutputOptions& options) {
    if (options.hidden.on) return options.hidden.on;
    const char* const given = std::getenv("HAKOBI_ASYNCHRONOUS");
    const std::string_view value = given != nullptr ? given : "";
    if (value.empty()) return std::optional<bool>();
    if (value == "1") return std::optional<bool>(true);
    if (value == "0") return std::optional<bool>(false);
    return Status(ErrorCode::invalid_argument,
                  "HAKOBI_ASYNCHRONOUS is '" + std::string(value) + "': give 1 or 0");
}

Hidden choose_hidden(const Comm& comm, const char* why_not, const OutputOptions& options) {
    Hidden hidden;
    // The least of all nodes: the maximum of what is taken away.
    std::int64_t most_missing[] = {-available_memory_bytes()};
    mpi::all_max(comm, most_missing);
    const std::int64_t available_bytes = -most_missing[0];
    hidden.cores = own_cores();
    mpi::node_bit_or(comm, std::as_writable_bytes(std::span(&hidden.cores, 1)));

    hidden.is_bound_given = options.hidden.bytes > 0;
    hidden.node_bytes = hidden.is_bound_given ? options.hidden.bytes
                                              : std::min(chosen_bytes, available_bytes / share_of_available);
    if (why_not != nullptr) {
        hidden.why_not = why_not;
    } else if (options.hidden.on) {
        hidden.is_on = *options.hidden.on;
        if (!hidden.is_on) hidden.why_not = "it is switched off";
        if (!hidden.is_bound_given) hidden.node_bytes = std::max(hidden.node_bytes, least_chosen_bytes);
    } else if (!hidden.is_bound_given && hidden.node_bytes < least_chosen_bytes) {
        hidden.why_not =
            "only " + std::to_string(available_bytes >> 20) + " MiB of memory are free on a node";
    } else {
        hidden.is_on = true;
    }
    return hidden;
}

}  // namespace hakobi::output
