#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "base/nearest.hpp"
#include "measure/command_line.hpp"

namespace hakobi::bench {
namespace {

constexpr std::int64_t largest_message = std::int64_t{64} << 20;

/// 0 and 8 B to 64 MiB: every power of two where the caches end, coarser elsewhere.
std::vector<std::int64_t> default_sizes() {
    std::vector<std::int64_t> sizes{0, 8, 64, 512};
    for (std::int64_t bytes = 1 << 10; bytes <= 4 << 20; bytes *= 2) sizes.push_back(bytes);
    sizes.push_back(16 << 20);
    sizes.push_back(largest_message);
    return sizes;
}

/// A comma list of sizes, or "64:1M" for the powers of two from one to the other.
Result<std::vector<std::int64_t>> parse_sizes(const std::string& text) {
    std::vector<std::int64_t> sizes;
    for (const std::string& part : CLI::detail::split(text, ',')) {
        const std::size_t colon = part.find(':');
        auto first = parse_bytes(part.substr(0, colon));
        if (!first.ok()) return first.status();
        auto last = colon == std::string::npos ? first : parse_bytes(part.substr(colon + 1));
        if (!last.ok()) return last.status();
        if (last.value() > largest_message || first.value() > last.value()) {
            return Status(ErrorCode::invalid_argument, "sizes go from 0 to 64M, the smaller first: " + part);
        }
        for (std::int64_t bytes = first.value(); bytes <= last.value();
             bytes = std::max<std::int64_t>(1, bytes * 2)) {
            sizes.push_back(bytes);
        }
    }
    if (sizes.empty()) return Status(ErrorCode::invalid_argument, "--sizes names no size");
    return sizes;
}

Result<std::vector<std::string>> parse_patterns(const std::string& text) {
    const auto known = pattern_names();
    if (text == "all") return std::vector<std::string>(known.begin(), known.end());
    std::vector<std::string> patterns;
    for (const std::string& name : CLI::detail::split(text, ',')) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            const std::string near = nearest_name(name, known);
            return Status(
                ErrorCode::invalid_argument,
                "no pattern '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
        }
        patterns.push_back(name);
    }
    return patterns;
}

struct Texts {
    std::string patterns = "pingpong,sendrecv", sizes, window, cache, consume = "after";
    bool hot_only = false, cold_only = false, tell_apart = false, no_hwloc = false;
};

Status interpret(const Texts& texts, Options& options) {
    auto patterns = parse_patterns(texts.patterns);
    if (!patterns.ok()) return patterns.status();
    options.patterns = std::move(patterns).value();
    options.sizes = default_sizes();
    if (!texts.sizes.empty()) {
        auto sizes = parse_sizes(texts.sizes);
        if (!sizes.ok()) return sizes.status();
        options.sizes = std::move(sizes).value();
    }
    for (const auto& [text, value] :
         {std::pair{&texts.window, &options.window_bytes}, {&texts.cache, &options.cache_bytes}}) {
        if (text->empty()) continue;
        auto bytes = parse_bytes(*text);
        if (!bytes.ok()) return bytes.status();
        if (bytes.value() <= 0)
            return {ErrorCode::invalid_argument, "--window and --cache need a positive size"};
        *value = bytes.value();
    }
    if (texts.hot_only && texts.cold_only)
        return {ErrorCode::invalid_argument, "--hot and --cold exclude each other"};
    if (texts.hot_only) options.bufferings = {Buffering::hot};
    if (texts.cold_only) options.bufferings = {Buffering::cold};
    if (texts.tell_apart) {
        options.bufferings.push_back(Buffering::cold_huge);
        options.bufferings.push_back(Buffering::first_touch);
    }
    if (texts.consume == "timed" &&
        std::find(options.patterns.begin(), options.patterns.end(), "put") != options.patterns.end()) {
        return {ErrorCode::invalid_argument,
                "--consume timed: the target of 'put' does not know within the time that data has come"};
    }
    for (double number : {options.rule.relative_width, options.rule.budget_s, options.sampling.sample_s}) {
        if (!std::isfinite(number)) {
            return {ErrorCode::invalid_argument, "--width, --budget and --sample-time need a number"};
        }
    }
    options.sampling.consume = texts.consume == "timed" ? Consume::timed : Consume::after;
    options.use_hwloc = !texts.no_hwloc;
    return {};
}

}  // namespace

Result<std::int64_t> parse_bytes(const std::string& text) {
    const Status no_size(ErrorCode::invalid_argument,
                         "'" + text + "' is no size; write 4096, 64K, 16M or 1G");
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || value < 0) return no_size;
    std::string unit(rest, end);
    std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::toupper(c); });
    std::int64_t scale = 1;
    if (!unit.empty() && unit != "B") {
        const std::size_t power = std::string_view("KMG").find(unit.front());
        const std::string tail = unit.substr(1);
        if (power == std::string_view::npos || !(tail.empty() || tail == "B" || tail == "IB")) return no_size;
        scale = std::int64_t{1} << (10 * (power + 1));
    }
    if (value > (std::int64_t{1} << 50) / scale) return no_size;
    return value * scale;
}

std::string bytes_text(std::int64_t bytes) {
    const char* const units[] = {"B", "KiB", "MiB", "GiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit < 3) {
        value /= 1024;
        ++unit;
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.4g %s", value, units[unit]);
    return text;
}

Result<Options> parse_options(int argc, const char* const* argv) {
    Options options;
    Texts texts;
    // "" is what a shell makes of a variable that is not set.
    const CLI::Validator named([](const std::string& text) { return text.empty() ? "it is empty" : ""; }, "",
                               "");
    CLI::App app{
        "Measures MPI between ranks with hot and with cold buffers, interleaved, every byte verified.",
        "hakobi-bench-mpi"};
    app.add_option("--pattern", texts.patterns,
                   "comma list of pingpong, sendrecv, exchange, bidirectional, allreduce, alltoall, bcast, "
                   "barrier, put, "
                   "get; or all")
        ->capture_default_str();
    app.add_option("--sizes", texts.sizes,
                   "message sizes: 0,8,64K or 1K:4M for powers of two (default: 0 B to 64 MiB)")
        ->check(named);
    app.add_flag("--hot", texts.hot_only, "only hot buffers: the classical benchmark");
    app.add_flag("--cold", texts.cold_only, "only cold buffers");
    app.add_flag("--tell-apart", texts.tell_apart,
                 "add cold buffers on 2 MiB pages (no TLB misses) and buffers touched for the first time "
                 "(page faults)");
    app.add_option("--window", texts.window,
                   "bytes through which cold buffers rotate (default: twice the last-level cache)");
    app.add_option("--cache", texts.cache,
                   "size of the last-level cache, where the machine says a wrong one");
    app.add_flag("--no-hwloc", texts.no_hwloc, "do not ask hwloc: no cache sizes, no placement");
    app.add_option("--place", options.place, "as-launched, same-core-complex, same-socket or other-socket")
        ->check(CLI::IsMember({"as-launched", "same-core-complex", "same-socket", "other-socket"}))
        ->capture_default_str();
    app.add_option("--consume", texts.consume,
                   "received data is read after the clock stops, or within the time: after, timed")
        ->check(CLI::IsMember({"after", "timed"}))
        ->capture_default_str();
    measure::add_rule_options(app, options.rule, "row");
    app.add_option("--sample-time", options.sampling.sample_s, "seconds a sample lasts about")
        ->check(CLI::Range(0.0, 10.0))
        ->capture_default_str();
    app.add_option(
           "--aa", options.num_self_comparisons,
           "compare each buffering with itself so many times and count how often a difference is named")
        ->check(CLI::Range(1, 100000));
    app.add_flag("--funneled", options.is_funneled,
                 "ask MPI for MPI_THREAD_FUNNELED, not SINGLE: what a message costs a program with threads");
    app.add_option("--json", options.json_path, "append records (JSON lines) to this file")->check(named);
    app.add_option("--transport", options.transport,
                   "what moves the bytes, said in the table and in the records");
    auto help = measure::parsed(app, argc, argv);
    if (!help.ok()) return help.status();
    options.help_text = std::move(help).value();
    if (!options.help_text.empty()) return options;
    Status status = interpret(texts, options);
    if (!status.ok()) return status;
    return options;
}

}  // namespace hakobi::bench
