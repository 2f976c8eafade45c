#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "base/nearest.hpp"
#include "io/hint_table.hpp"
#include "io/hints_file.hpp"
#include "io/options.hpp"
#include "io/policy.hpp"
#include "mpi/messages.hpp"

namespace hakobi::io {

std::optional<std::int64_t> parsed_bytes(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return {};
    const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
    int shift = 0;
    if (suffix.size() > 1) return {};
    if (suffix.size() == 1) {
        const std::string_view units = "kKmMgG";
        const auto at = units.find(suffix[0]);
        if (at == std::string_view::npos) return {};
        shift = 10 * (static_cast<int>(at) / 2 + 1);
    }
    if (value > (std::numeric_limits<std::int64_t>::max() >> shift)) return {};
    return value << shift;
}

namespace {

constexpr int most_aggregators = 1 << 20;  // of a node: all ranks
constexpr int most_servers = 65534;        // as Lustre numbers them

Status bad_value(const std::string& name, const std::string& value, const std::string& wanted) {
    return {ErrorCode::invalid_argument, "hint " + name + ": '" + value + "' is not " + wanted};
}

constexpr std::int64_t gib = std::int64_t{1} << 30;
using Name = const std::string&;
using Value = const std::string&;

template <std::int64_t highest>
Result<std::int64_t> bytes(Name name, Value value) {
    const std::optional<std::int64_t> found = parsed_bytes(value);
    if (found && *found <= highest) return *found;
    return bad_value(name, value, "a number of bytes from 0 to " + std::to_string(highest));
}

template <int highest>
Result<int> count(Name name, Value value) {
    const std::optional<std::int64_t> found = parsed_bytes(value);
    if (found && *found <= highest) return static_cast<int>(*found);
    return bad_value(name, value, "a number from 0 (chosen) to " + std::to_string(highest));
}

/// A number, or -1: any (of servers), all of them.
template <int highest>
Result<int> count_or_any(Name name, Value value) {
    if (value == "-1") return -1;
    const std::optional<std::int64_t> found = parsed_bytes(value);
    if (found && *found <= highest) return static_cast<int>(*found);
    return bad_value(name, value, "a number from -1 to " + std::to_string(highest));
}

constexpr std::array<std::string_view, 2> layouts = {"auto", "folder"};
Result<double> seconds(Name name, Value value) {
    double found = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), found);
    if (error == std::errc() && end == value.data() + value.size() && found >= 0 && found <= 1e9)
        return found;
    return bad_value(name, value, "a number of seconds from 0 (no limit) to 1e9");
}

constexpr std::array<std::string_view, 3> accesses = {"threads", "uring", "posix"};
constexpr std::array<std::string_view, 3> shuffles = {"auto", "always", "never"};
constexpr std::array<std::string_view, 2> carriers = {"auto", "library"};
constexpr std::array<std::string_view, 4> hidings = {"off", "write", "close", "auto"};
constexpr std::array<std::string_view, 2> treatments = {"auto", "untouched"};
constexpr std::array<std::string_view, 3> romio_switch = {"automatic", "enable", "disable"};
constexpr std::array<std::string_view, 6> yes_and_no = {"true", "false", "1", "0", "enable", "disable"};

template <const auto& words>
Result<std::string> word(Name name, Value value) {
    std::string wanted = "one of";
    for (const std::string_view known : words) {
        if (known == value) return value;
        wanted.append(" ").append(known);
    }
    return bad_value(name, value, wanted);
}

Result<bool> yes(Name name, Value value) {
    Result<std::string> found = word<yes_and_no>(name, value);
    if (!found.ok()) return found.status();
    return value == "true" || value == "1" || value == "enable";
}

std::string text_of(std::int64_t value) {
    return std::to_string(value);
}
std::string text_of(int value) {
    return std::to_string(value);
}
std::string text_of(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}
std::string text_of(const std::string& value) {
    return value;
}
std::string text_of(bool value) {
    return value ? "true" : "false";
}

/// A hint that is an option of its own, by the function that reads its value.
template <auto option, auto read>
constexpr Hint hint(std::string_view hint_name) {
    return {hint_name,
            [](Name name, Value value, EngineOptions& options) {
                auto found = read(name, value);
                if (found.ok()) options.*option = std::move(found.value());
                return found.status();
            },
            [](const EngineOptions& options) { return text_of(options.*option); }};
}

// ROMIO's "*:n" (n aggregators a node) and "*:*" (every rank); lists of host names are not taken.
Status set_config_list(const std::string& name, const std::string& value, EngineOptions& options) {
    if (value == "*:*") {
        options.aggregators_per_node = most_aggregators;
        return {};
    }
    if (value.rfind("*:", 0) == 0) {
        const Result<int> found = count<most_aggregators>(name, value.substr(2));
        if (found.ok() && found.value() > 0) {
            options.aggregators_per_node = found.value();
            return {};
        }
    }
    return bad_value(name, value, "'*:n' or '*:*'");
}

// ROMIO's switch of data sieving: the same holes, and the same locks. Enabling it is no order.
Status set_sieving(Name name, Value value, EngineOptions& options) {
    if (value == "disable") options.holes = "untouched";
    return word<romio_switch>(name, value).status();
}

// A row has no `get` where another hint says the same.
constexpr std::array<Hint, 22> table = {{
    hint<&EngineOptions::cb_nodes, count<1 << 24>>("cb_nodes"),
    {"cb_config_list", set_config_list, nullptr},
    hint<&EngineOptions::aggregators_per_node, count<most_aggregators>>("hakobi_aggregators_per_node"),
    hint<&EngineOptions::cb_buffer_bytes, bytes<gib>>("cb_buffer_size"),
    hint<&EngineOptions::depth, count<256>>("hakobi_depth"),
    hint<&EngineOptions::io_threads, count<256>>("hakobi_io_threads"),
    hint<&EngineOptions::access, word<accesses>>("hakobi_access"),
    hint<&EngineOptions::shuffle, word<shuffles>>("hakobi_shuffle"),
    hint<&EngineOptions::striping_unit_bytes, bytes<gib>>("striping_unit"),
    hint<&EngineOptions::striping_factor, count_or_any<most_servers>>("striping_factor"),
    hint<&EngineOptions::start_iodevice, count_or_any<most_servers>>("start_iodevice"),
    hint<&EngineOptions::overstriping_ratio, count<most_servers>>("overstriping_ratio"),
    hint<&EngineOptions::layout, word<layouts>>("hakobi_layout"),
    hint<&EngineOptions::async_budget_bytes, bytes<std::numeric_limits<std::int64_t>::max()>>(
        "hakobi_async_budget"),
    hint<&EngineOptions::holes, word<treatments>>("hakobi_holes"),
    {"romio_ds_write", set_sieving, nullptr},
    hint<&EngineOptions::server_requests, count<256>>("hakobi_server_requests"),
    hint<&EngineOptions::storage_timeout_s, seconds>("hakobi_storage_timeout_s"),
    hint<&EngineOptions::nonblocking, word<carriers>>("hakobi_nonblocking"),
    hint<&EngineOptions::hidden, word<hidings>>("hakobi_hidden"),
    hint<&EngineOptions::direct_io, yes>("hakobi_direct_io"),
    hint<&EngineOptions::profile, yes>("hakobi_profile"),
}};

constexpr std::array<std::string_view, 19> without_effect = {
    "access_style",         "cb_block_size",  "chunked",       "chunked_item",       "chunked_size",
    "collective_buffering", "file_perm",      "filename",      "ind_rd_buffer_size", "ind_wr_buffer_size",
    "io_node_list",         "nb_proc",        "num_io_nodes",  "romio_cb_alltoall",  "romio_cb_pfr",
    "romio_cb_read",        "romio_cb_write", "romio_ds_read", "romio_no_indep_rw"};

Status set_one(const std::string& name, const std::string& value, EngineOptions& options,
               std::vector<std::string>& warnings) {
    for (const Hint& hint : table) {
        if (hint.name == name) return hint.set(name, value, options);
    }
    Policy policy;
    if (is_threshold(name)) return set_threshold(name, value, policy);
    if (std::find(without_effect.begin(), without_effect.end(), name) != without_effect.end()) return {};
    std::array<std::string_view, table.size()> known;
    std::transform(table.begin(), table.end(), known.begin(), [](const Hint& hint) { return hint.name; });
    std::string text = "unknown hint '" + name + "'";
    if (const std::string nearest = nearest_name(name, known); !nearest.empty())
        text += " (did you mean '" + nearest + "'?)";
    warnings.push_back(std::move(text));
    return {};
}

/// Adds "name=value;name=value".
Status add_hints(std::string_view text, Hints& hints) {
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(';'));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        const auto equals = item.find('=');
        if (item.empty()) continue;
        if (equals == std::string_view::npos)
            return {ErrorCode::invalid_argument, std::string("'").append(item).append("' is not name=value")};
        hints[std::string(item.substr(0, equals))] = item.substr(equals + 1);
    }
    return {};
}

Result<EngineOptions> options_of(const Hints& hints, std::vector<std::string>& warnings) {
    EngineOptions options;
    for (const auto& [name, value] : hints) {
        Status status = set_one(name, value, options, warnings);
        if (!status.ok()) return status;
    }
    return options;
}

}  // namespace

Result<Hints> hints_of_process() {
    Hints hints;
    if (const char* path = std::getenv("HAKOBI_HINTS_FILE"); path != nullptr && *path != '\0') {
        Result<Hints> read = hints_of_file(path);
        if (!read.ok()) return Status(read.status().code(), "HAKOBI_HINTS_FILE: " + read.status().text());
        hints = std::move(read).value();
    }
    if (const char* text = std::getenv("HAKOBI_HINTS")) {
        Status status = add_hints(text, hints);
        if (!status.ok()) return Status(status.code(), "HAKOBI_HINTS: " + status.text());
    }
    return hints;
}

Result<EngineOptions> engine_options(const Hints& hints, std::vector<std::string>& warnings) {
    Result<Hints> of_process = hints_of_process();
    if (!of_process.ok()) return of_process.status();
    Hints in_force = std::move(of_process).value();
    for (const auto& [name, value] : hints) {
        if (is_threshold(name)) {
            warnings.push_back("hint '" + name + "' holds for a process: it belongs in HAKOBI_HINTS");
        } else {
            in_force[name] = value;
        }
    }
    return options_of(in_force, warnings);
}

namespace {

std::string text_of(const EngineOptions& options) {
    std::string text;
    for (const auto& [name, value] : hints_of(options))
        text.append(text.empty() ? "" : ";").append(name).append("=").append(value);
    return text;
}

}  // namespace

std::int64_t fingerprint(const EngineOptions& options) {
    return static_cast<std::int64_t>(std::hash<std::string>()(text_of(options)) >> 2);
}

Result<EngineOptions> options_of_rank_0(const Comm& comm, const EngineOptions& options) {
    const std::string text = text_of(options);
    const auto own = std::as_bytes(std::span(text));
    std::vector<std::byte> bytes(own.begin(), own.end());
    mpi::broadcast(comm, bytes, 0);
    Hints hints;
    std::vector<std::string> warnings;
    Status status = add_hints({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, hints);
    if (status.ok()) {
        Result<EngineOptions> agreed = options_of(hints, warnings);
        if (agreed.ok()) return agreed;
        status = agreed.status();
    }
    return Status(ErrorCode::internal, "rank 0's options: " + status.text());
}

Hints hints_of(const EngineOptions& options) {
    Hints hints;
    for (const Hint& hint : table) {
        if (hint.get != nullptr) hints[std::string(hint.name)] = hint.get(options);
    }
    return hints;
}

std::span<const Hint> hint_table() {
    return table;
}

std::span<const std::string_view> hints_without_effect() {
    return without_effect;
}

}  // namespace hakobi::io
