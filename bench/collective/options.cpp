#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <hakobi/error.hpp>

namespace hakobi::bench {
namespace {

/// "name=4M" with its bytes in digits: the MPI library stops reading at the unit, and would take four bytes.
std::string in_digits(const std::string& hint, const CLI::Validator& as_bytes) {
    const std::size_t at = hint.find('=');
    std::string value = at != std::string::npos ? hint.substr(at + 1) : "";
    try {
        return as_bytes(value).empty() && !value.empty() ? hint.substr(0, at + 1) + value : hint;
    } catch (const CLI::ParseError&) {
        return hint;  // no size
    }
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv, bool is_speaker) {
    CommandLine line;
    Options& options = line.options;
    CLI::App app{
        "Collective I/O of a distributed array: the engine, the MPI library, and the limit in the same "
        "minute",
        "hakobi-bench-collective"};
    const auto as_bytes = CLI::AsSizeValue(false);
    std::uint64_t bytes = static_cast<std::uint64_t>(options.bytes), piece = 512, cb = 0;
    std::string access = "threads", operation = "both", compare, file;
    app.add_option("--pattern", options.pattern, "block3d, tile2d, cyclic, lattice4d or contiguous")
        ->capture_default_str();
    app.add_option("--size", bytes, "bytes of the file, about (256M)")->transform(as_bytes);
    app.add_option("--piece", piece, "bytes of a piece of the cyclic pattern")
        ->transform(as_bytes)
        ->capture_default_str();
    app.add_option("--dir", options.folder, "folder of the file")
        ->capture_default_str()
        ->check(CLI::ExistingDirectory);
    app.add_option("--operation", operation, "write, read or both")
        ->capture_default_str()
        ->check(CLI::IsMember({"write", "read", "both"}));
    app.add_option("--access", access,
                   "file access of the engine: threads, uring, posix; several with commas")
        ->capture_default_str();
    app.add_option("--cb", cb, "bytes of a collective buffer; 0: chosen")->transform(as_bytes);
    app.add_option("--depth", options.depth, "collective buffers in flight; 0: chosen");
    app.add_option("--aggregators", options.aggregators, "aggregators in all; 0: chosen");
    app.add_option("--io-threads", options.io_threads, "I/O threads of an aggregator; 0: chosen");
    app.add_option("--hint", options.hints, "name=value for the engine; may be repeated");
    app.add_option("--compare", compare, "mpi-io: the linked MPI library's collectives in the same run");
    app.add_option("--mpi-hint", options.mpi_hints,
                   "name=value for the MPI library (a size's unit is spelt out); may be repeated");
    app.add_option("--mpi-io-name", options.mpi_io_name, "what to call it in the table")
        ->capture_default_str();
    app.add_option("--skew", options.skew_s, "seconds that the last rank comes late to each call");
    app.add_option("--pause", options.pause_s,
                   "seconds that the last rank stands still within each --pause-every, during calls")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--pause-every", options.pause_every_s, "seconds from one pause to the next")
        ->check(CLI::PositiveNumber);
    app.add_option("--limit", options.limit_gb_s,
                   "GB/s that the storage can do at best, where it is known (a model); else the floor");
    app.add_option("--floor-ranks", options.floor_ranks, "ranks that move the floor's blocks")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_option("--budget", options.budget_s, "seconds for all samples")->capture_default_str();
    app.add_option("--min-samples", options.min_samples, "samples of each contender at least")
        ->capture_default_str();
    app.add_option("--max-samples", options.max_samples, "and at most")->capture_default_str();
    app.add_option("--file", file,
                   "what a write meets: a new file each time (fresh, the default) or the same one "
                   "(kept)")
        ->check(CLI::IsMember({"fresh", "kept"}));
    app.add_flag("--drop-cache", options.is_cache_dropped,
                 "drop the file from the page cache before each read");
    app.add_flag("--sync", options.is_synced, "count fsync as part of a write");
    app.add_flag("--no-verify", options.is_unverified, "do not compare the bytes (for profiling)");
    app.add_option("--json", options.json, "append records (JSON lines) to this file");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int code = is_speaker ? app.exit(error) : error.get_exit_code();
        line.exit_status = code == 0 ? 0 : 2;
        return line;
    }
    if (options.pause_s > 0 && options.pause_every_s <= options.pause_s)
        throw Error(ErrorCode::invalid_argument, "--pause needs a --pause-every that is longer");
    options.bytes = static_cast<std::int64_t>(bytes);
    for (std::string& hint : options.mpi_hints) hint = in_digits(hint, as_bytes);
    options.piece_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(piece));
    options.cb_bytes = static_cast<std::int64_t>(cb);
    options.operations =
        operation == "both" ? std::vector<std::string>{"write", "read"} : std::vector<std::string>{operation};
    options.is_file_kept = file == "kept";
    options.accesses = CLI::detail::split(access, ',');
    if (!compare.empty()) options.compare = CLI::detail::split(compare, ',');
    for (const std::string& rival : options.compare) {
        if (rival != "mpi-io")
            throw Error(ErrorCode::invalid_argument,
                        "--compare " + rival + ": only mpi-io can be compared with");
    }
    return line;
}

}  // namespace hakobi::bench
