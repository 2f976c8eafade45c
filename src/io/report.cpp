#include "io/report.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/classic_locale.hpp"
#include "base/clock.hpp"
#include "io/node_buffers.hpp"
#include "mpi/messages.hpp"

namespace hakobi::io {
namespace {

bool is_set(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && std::strcmp(value, "") != 0 && std::strcmp(value, "0") != 0;
}

constexpr double mib = 1024.0 * 1024.0;

/// The name that a file will have: without the end of a temporary one, ".0123456789abcdef.part".
std::string final_name(std::string path) {
    constexpr std::string_view end = ".part";
    constexpr std::size_t num_digits = 16;
    if (!path.ends_with(end) || path.size() < end.size() + num_digits + 1) return path;
    const std::string_view token =
        std::string_view(path).substr(path.size() - end.size() - num_digits, num_digits);
    if (token.find_first_not_of("0123456789abcdef") != std::string_view::npos) return path;
    return path.substr(0, path.size() - end.size() - num_digits - 1);
}

/// Whether this was not yet said of another file whose name differs in digits alone: what holds for the steps
/// of a series is said of the first.
bool is_news(const std::string& path, const std::string& text) {
    static std::map<std::string, std::string>
        said;  // text with the names' pattern -> the file of which it was said
    std::string pattern = path + '\n';
    std::ranges::replace_if(
        pattern, [](unsigned char c) { return std::isdigit(c) != 0; }, '#');
    if (said.size() > 1000) said.clear();
    return said.try_emplace(pattern + text, path).first->second == path;
}

}  // namespace

Explainer::Explainer(int rank, std::string path)
    : is_on_(rank == 0 && is_set("HAKOBI_EXPLAIN")),
      tells_late_(is_set("HAKOBI_EXPLAIN")),
      path_(final_name(std::move(path))) {}

void Explainer::storage(const storage::Abilities& abilities, const storage::Layout& layout) const {
    tell("on " + words_of(abilities) + (layout.is_striped() ? "; " + layout.text() : ""));
}

void Explainer::tell(const std::string& text) const {
    std::string last;
    if (is_on_) say(last, text, "");
}

void Explainer::warn(const std::string& text) const {
    std::string last;
    say(last, text, "");
}

void Explainer::say(std::string& last, const std::string& text, const std::string& details) const {
    if (text == last) return;
    last = text;
    if (!is_news(path_, text)) return;
    std::fprintf(stderr, "hakobi: %s: %s%s\n", path_.c_str(), text.c_str(), details.c_str());
}

void Explainer::path(const Choice& choice, const RequestTotals& totals, bool is_write) {
    if (!is_on_ || choice.path == Path::nothing) return;
    const char* const how = choice.path == Path::own_pieces ? "directly, rank by rank"
                            : choice.path == Path::mailbox  ? "through the leader's mailboxes"
                                                            : "by the shuffle";
    char details[160];
    const ClassicLocale classic;
    std::snprintf(
        details, sizeof details, " (%lld ranks with data, %.3f MiB, pieces of %lld bytes or more on average)",
        static_cast<long long>(totals.num_ranks_with_data), static_cast<double>(totals.size_bytes) / mib,
        static_cast<long long>(totals.smallest_mean_piece_bytes));
    say(last_path_, std::string(is_write ? "writing " : "reading ") + how + ": " + text_of(choice.why),
        details);
}

void Explainer::alone(Why why, bool is_write, std::int64_t size_bytes) {
    if (!is_on_) return;
    say(last_path_,
        std::string(is_write ? "writing" : "reading") + " without meeting other ranks: " + text_of(why),
        " (" + std::to_string(size_bytes) + " bytes of this rank)");
}

void Explainer::phase(const Domains& domains, const NodeBuffers& buffers, const EngineOptions& options,
                      bool is_involved) {
    if (!is_on_ || !is_involved) return;
    char text[512], how[160];
    const ClassicLocale classic;
    const double node_bytes =
        static_cast<double>(buffers.cb_bytes) * buffers.depth *
        (static_cast<double>(buffers.aggregators.size()) + (buffers.staging != nullptr ? 1 : 0));
    if (domains.is_by_server()) {
        std::snprintf(how, sizeof how, "in stripes by server, at most %d requests in flight for each",
                      options.server_requests);
    } else {
        std::snprintf(how, sizeof how, "aligned to %lld bytes",
                      static_cast<long long>(options.striping_unit_bytes));
    }
    std::snprintf(text, sizeof text,
                  "%d aggregator%s, %lld cycles of %.3f MiB %s, %d buffers each, access '%s' with at most %d "
                  "threads; %.1f MiB of collective buffers on this node",
                  domains.num_domains, domains.num_domains == 1 ? "" : "s",
                  static_cast<long long>(domains.num_cycles), static_cast<double>(domains.cycle_bytes) / mib,
                  how, buffers.rings.total(), options.access.c_str(), options.io_threads, node_bytes / mib);
    say(last_phase_, text, "");
}

void Explainer::servers(const ServerWatch& watch) {
    if (!tells_late_) return;
    if (const std::string text = words_of_late(watch.times(now_s())); !text.empty())
        say(last_late_, text, "");
}

namespace {

void print_profile(const std::string& path, const std::vector<EngineCounters>& ranks) {
    std::fprintf(stderr, "hakobi profile of %s (seconds; storage is summed over I/O threads)\n",
                 path.c_str());
    std::fprintf(stderr, "%5s %8s %8s %8s %10s %9s %9s %9s %9s %9s %9s %9s %10s %8s %10s\n", "rank", "calls",
                 "direct", "cycles", "MiB", "pieces", "call", "plan", "copy", "buffers", "peers", "storage",
                 "stored MiB", "messages", "sent MiB");
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const EngineCounters& c = ranks[rank];
        std::fprintf(
            stderr,
            "%5zu %8lld %8lld %8lld %10.2f %9lld %9.4f %9.4f %9.4f %9.4f %9.4f %9.4f %10.2f %8lld %10.2f\n",
            rank, static_cast<long long>(c.calls), static_cast<long long>(c.direct_calls),
            static_cast<long long>(c.cycles), static_cast<double>(c.user_bytes) / mib,
            static_cast<long long>(c.pieces), c.call_s, c.plan_s, c.copy_s, c.wait_buffer_s, c.wait_peer_s,
            c.storage_s, static_cast<double>(c.storage_bytes) / mib, static_cast<long long>(c.messages),
            static_cast<double>(c.message_bytes) / mib);
    }
}

// Calls are collective: the i-th of one rank is the i-th of all.
void print_calls(const std::vector<std::vector<CallProfile>>& ranks, std::int64_t num_calls) {
    constexpr std::size_t most_lines = 20;
    std::size_t known = ranks.front().size();
    for (const auto& rank : ranks) known = std::min(known, rank.size());
    std::fprintf(stderr,
                 "%5s %6s %10s %9s %9s %9s %9s %9s  (of the ranks: MiB summed, seconds of the slowest)\n",
                 "call", "", "MiB", "seconds", "GB/s", "copy", "buffers", "peers");
    for (std::size_t i = 0; i < std::min(known, most_lines); ++i) {
        CallProfile all = ranks.front()[i];
        all.bytes = 0;
        for (const auto& rank : ranks) {
            const CallProfile& one = rank[i];
            all.bytes += one.bytes;
            all.is_direct = std::max(all.is_direct, one.is_direct);
            all.end_s = std::max(all.end_s, all.start_s + one.end_s - one.start_s);
            all.copy_s = std::max(all.copy_s, one.copy_s);
            all.wait_buffer_s = std::max(all.wait_buffer_s, one.wait_buffer_s);
            all.wait_peer_s = std::max(all.wait_peer_s, one.wait_peer_s);
        }
        const double seconds = all.end_s - all.start_s;
        std::fprintf(stderr, "%5zu %6s %10.2f %9.4f %9.3f %9.4f %9.4f %9.4f%s\n", i,
                     all.is_write != 0 ? "write" : "read", static_cast<double>(all.bytes) / mib, seconds,
                     1e-9 * static_cast<double>(all.bytes) / std::max(seconds, 1e-9), all.copy_s,
                     all.wait_buffer_s, all.wait_peer_s, all.is_direct != 0 ? "  direct" : "");
    }
    const auto shown = static_cast<std::int64_t>(std::min(known, most_lines));
    if (num_calls > shown)
        std::fprintf(stderr, "      %lld more calls\n", static_cast<long long>(num_calls - shown));
}

/// Servers of files with stripes, the slowest first; nothing where none were watched.
void print_servers(const std::vector<ServerTimes>& servers) {
    constexpr std::size_t most_lines = 20;
    if (servers.empty()) return;
    std::vector<ServerTimes> sorted = servers;
    std::ranges::sort(sorted, std::ranges::greater{}, &ServerTimes::longest_s);
    const std::vector<ServerTimes> late = late_of(servers);
    std::fprintf(stderr, "%7s %9s %10s %9s %9s %9s  (seconds of a request; until the last one)\n", "server",
                 "requests", "MiB", "mean", "longest", "until");
    for (const ServerTimes& each : std::span(sorted).first(std::min(most_lines, sorted.size()))) {
        const bool is_late = std::ranges::find(late, each.server, &ServerTimes::server) != late.end();
        std::fprintf(stderr, "%7s %9lld %10.2f %9.4f %9.4f %9.4f%s\n",
                     each.server < 0 ? "-" : std::to_string(each.server).c_str(),
                     static_cast<long long>(each.num_requests), static_cast<double>(each.num_bytes) / mib,
                     each.mean_s(), each.longest_s, each.until_s, is_late ? "  late" : "");
    }
    if (sorted.size() > most_lines)
        std::fprintf(stderr, "        %zu more servers, none slower\n", sorted.size() - most_lines);
}

/// The trace is a whole JSON array after each call: what the files of one run add goes before its end.
void write_trace(const std::vector<std::vector<std::byte>>& lines) {
    constexpr std::string_view end = "\n]\n";
    const std::string path = Timeline::wanted_path();
    const auto refuse = [&](const char* why) {
        std::fprintf(stderr, "hakobi: cannot write the trace %s: %s\n", path.c_str(), why);
    };
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    std::FILE* file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "r+");
    if (file == nullptr) return refuse(std::strerror(errno));
    ::flock(descriptor, LOCK_EX);  // where it is refused, runs at the same time may mix theirs
    std::string text = "[\n";
    if (::lseek(descriptor, 0, SEEK_END) > 0) {
        char last[end.size()];
        std::fseek(file, -static_cast<long>(end.size()), SEEK_END);
        if (std::fread(last, 1, end.size(), file) != end.size() ||
            std::string_view(last, end.size()) != end) {
            std::fclose(file);
            return refuse("what is there is no trace of this version: remove it");
        }
        std::fseek(file, -static_cast<long>(end.size()), SEEK_END);
        text = ",\n";
    }
    for (const auto& rank : lines) text.append(reinterpret_cast<const char*>(rank.data()), rank.size());
    text.resize(text.rfind(','));  // of the last line
    text += end;
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !is_written) refuse(std::strerror(errno));
}

}  // namespace

bool is_profile_wanted(const EngineOptions& options) {
    return options.profile || is_set("HAKOBI_PROFILE");
}

void CallLog::add(bool is_write, double start_s, double end_s, const EngineCounters& before,
                  const EngineCounters& after) {
    if (!is_on_ || calls_.size() >= max_calls) return;
    calls_.push_back({is_write ? 1 : 0, after.user_bytes - before.user_bytes,
                      after.direct_calls > before.direct_calls ? 1 : 0, start_s, end_s,
                      after.copy_s - before.copy_s, after.wait_buffer_s - before.wait_buffer_s,
                      after.wait_peer_s - before.wait_peer_s});
}

void Account::report(const Comm& comm, const std::string& path) {
    const ClassicLocale classic;
    if (wants.profile) {
        const auto all =
            mpi::gather(comm, {reinterpret_cast<const std::byte*>(&counters), sizeof counters}, 0);
        std::vector<EngineCounters> ranks(all.size());
        for (std::size_t r = 0; r < all.size(); ++r) std::memcpy(&ranks[r], all[r].data(), sizeof counters);
        const auto logs = mpi::gather(comm, std::as_bytes(std::span(call_log.calls())), 0);
        if (comm.rank() == 0) {
            print_profile(path, ranks);
            std::vector<std::vector<CallProfile>> by_rank;
            for (const auto& bytes : logs) {
                by_rank.emplace_back(bytes.size() / sizeof(CallProfile));
                if (!bytes.empty()) std::memcpy(by_rank.back().data(), bytes.data(), bytes.size());
            }
            print_calls(by_rank, ranks[0].calls);
        }
        const std::vector<ServerTimes> own = servers ? servers->times(now_s()) : std::vector<ServerTimes>();
        const auto times = mpi::gather(comm, std::as_bytes(std::span(own)), 0);
        if (comm.rank() == 0) {
            std::vector<ServerTimes> of_all;
            for (const auto& bytes : times) {
                const std::size_t first = of_all.size();
                of_all.resize(first + bytes.size() / sizeof(ServerTimes));
                if (!bytes.empty()) std::memcpy(&of_all[first], bytes.data(), bytes.size());
            }
            print_servers(summed(of_all));
        }
    }
    if (wants.trace) {
        const std::string lines = timeline.to_json_lines(comm.rank());
        const auto all =
            mpi::gather(comm, {reinterpret_cast<const std::byte*>(lines.data()), lines.size()}, 0);
        if (comm.rank() == 0) write_trace(all);
        timeline.clear();
    }
}

}  // namespace hakobi::io
