#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

#include "measure/command_line.hpp"
#include "transfer.hpp"

namespace hakobi::bench {
namespace {

constexpr int most_under_way = 64;

/// Parses "mpi,mpi:4".
Result<std::vector<HypercrossbarOptions::Contender>> contenders_of(const std::string& text) {
    const auto known = transfer_names();
    std::vector<HypercrossbarOptions::Contender> result;
    for (const std::string& word : CLI::detail::split(text, ',')) {
        const std::size_t colon = word.find(':');
        HypercrossbarOptions::Contender contender{.name = word.substr(0, colon)};
        if (std::find(known.begin(), known.end(), contender.name) == known.end())
            return Status(ErrorCode::invalid_argument, "--contenders: there is no '" + contender.name + "'");
        if (colon != std::string::npos &&
            (!CLI::detail::lexical_cast(word.substr(colon + 1), contender.num_under_way) ||
             contender.num_under_way < 1 || contender.num_under_way > most_under_way))
            return Status(ErrorCode::invalid_argument,
                          "--contenders " + word + ": 1 to 64 messages are under way");
        result.push_back(std::move(contender));
    }
    return result;
}

Status check(const HypercrossbarOptions& options, int num_ranks) {
    const auto wrong = [](const std::string& text) { return Status(ErrorCode::invalid_argument, text); };
    if (num_ranks < 2) return wrong("give at least 2 ranks: a node and its partners");
    for (const std::int64_t bytes : options.sizes) {
        if (bytes % 8 != 0) return wrong("--sizes " + std::to_string(bytes) + " is no multiple of 8");
        if (options.row_bytes > 0 && bytes % options.row_bytes != 0)
            return wrong("--sizes " + std::to_string(bytes) + " is no multiple of --row-bytes");
    }
    if (options.row_bytes % 8 != 0) return wrong("--row-bytes is no multiple of 8");
    for (const int num : options.dimensions)
        if (num < 1 || num >= num_ranks)
            return wrong("--dimensions " + std::to_string(num) + ": there are " +
                         std::to_string(num_ranks - 1) + " partners");
    return {};
}

}  // namespace

Way way_of(const std::string& name) {
    return name == "send" ? Way::send : name == "receive" ? Way::receive : Way::both;
}

Result<HypercrossbarOptions> parse_hypercrossbar_options(int argc, const char* const* argv, int num_ranks,
                                                         std::string& help) {
    HypercrossbarOptions options;
    CLI::App app{
        "Measures how much of its links a node fills when it sends, receives, or does both in several "
        "dimensions "
        "at once. Rank 0 is the node, rank d its partner in dimension d. `hakobi bench hypercrossbar` makes "
        "the "
        "links.",
        "hakobi-bench-hypercrossbar"};
    app.add_option("--payload-mb-s", options.payload_mb_s,
                   "MB/s that a link carries one way, for percentages (default: none)")
        ->check(CLI::PositiveNumber);
    app.add_option("--seconds", options.seconds, "length of a sample at that rate")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--sizes", options.sizes, "bytes of a message; a comma list")
        ->delimiter(',')
        ->check(CLI::Range(16, 1 << 30));
    app.add_option("--row-bytes", options.row_bytes,
                   "bytes of a message that lie together in memory, 0: all of it")
        ->check(CLI::Range(0, 1 << 30));
    app.add_option("--dimensions", options.dimensions,
                   "over how many links at once; a comma list (default: 1 to all)")
        ->delimiter(',');
    app.add_option("--ways", options.ways, "send, receive, both; a comma list")
        ->delimiter(',')
        ->check(CLI::IsMember({"send", "receive", "both"}));
    std::string contenders = "mpi,mpi:4,halo,buffer-arrays";
    app.add_option(
           "--contenders", contenders,
           "a comma list of mpi, mpi-packed, mpi-rows (plain MPI), halo, buffer-arrays; mpi:4 has four "
           "messages under way at once on each link and way")
        ->capture_default_str();
    app.add_option("--samples", options.samples, "of each case and contender")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--late-us", options.late_us, "so late do the partners come to every message")
        ->check(CLI::Range(0, 1000000));
    app.add_option(
           "--histogram", options.num_histogram,
           "time so many messages one by one, alone and alternating with computing, and print how their "
           "MB/s spread")
        ->check(CLI::Range(1, 10000000));
    app.add_option("--json", options.json_path, "append records (JSON lines) to this file");
    auto asked = measure::parsed(app, argc, argv);
    if (!asked.ok()) return asked.status();
    help = std::move(asked).value();
    if (!help.empty()) return options;
    auto parsed = contenders_of(contenders);
    if (!parsed.ok()) return parsed.status();
    options.contenders = std::move(parsed).value();
    if (Status status = check(options, num_ranks); !status.ok()) return status;
    if (options.dimensions.empty()) {
        options.dimensions.resize(static_cast<std::size_t>(num_ranks - 1));
        std::iota(options.dimensions.begin(), options.dimensions.end(), 1);
    }
    return options;
}

}  // namespace hakobi::bench
