#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <hakobi/block.hpp>
#include <hakobi/output.hpp>

#include "base/nearest.hpp"
#include "halo.hpp"
#include "measure/command_line.hpp"

namespace hakobi::bench {
namespace {

Status check(const DeviceOptions& options) {
    const auto known = device_halo_names();
    for (const std::string& name : options.halo_contenders) {
        if (std::ranges::find(known, name) != known.end()) continue;
        const std::string near = nearest_name(name, known);
        return {ErrorCode::invalid_argument,
                "no contender '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?")};
    }
    for (const std::int64_t row : options.rows) {
        if (row % 8 != 0)
            return {ErrorCode::invalid_argument,
                    "--rows: " + std::to_string(row) + " is no multiple of 8 bytes"};
    }
    if (options.copy_bytes < 8)
        return {ErrorCode::invalid_argument, "--copy-size: at least 8 bytes are needed"};
    return {};
}

}  // namespace

bool DeviceOptions::has(const std::string& part) const {
    return std::ranges::find(parts, part) != parts.end();
}

Result<std::vector<HaloCase>> DeviceOptions::halos(int num_ranks) const {
    std::vector<int> ranks = grid;
    const std::vector<std::int64_t> large(3, std::int64_t{1} << 20);
    if (ranks.empty()) ranks = dims_of_ranks(large, num_ranks);
    int num_places = 1;
    for (const int num : ranks) num_places *= num;
    if (num_places != num_ranks || ranks.size() != 3) {
        return Status(ErrorCode::invalid_argument,
                      "--grid needs 3 numbers whose product is the " + std::to_string(num_ranks) + " ranks");
    }
    std::vector<HaloCase> all;
    for (const std::int64_t extent : halo_extents)
        all.push_back({.extent = extent, .num_components = 1, .ghost = 1, .ranks = ranks});
    return all;
}

Result<DeviceOptions> parse_device_options(int argc, const char* const* argv) {
    DeviceOptions options;
    options.put.method = "pipelined";
    CLI::App app{
        "Measures copies to and from a device, output from its memory and halos in it, each beside its floor "
        "and "
        "what programs write by hand, in turn, every value compared.",
        "hakobi-bench-device"};
    const auto as_bytes = CLI::AsSizeValue(false);
    app.add_option("--part", options.parts, "copies, put, halo, hidden (a program's run); a comma list")
        ->delimiter(',')
        ->check(CLI::IsMember({"copies", "put", "halo", "hidden"}))
        ->capture_default_str();
    auto copy_bytes = static_cast<std::uint64_t>(options.copy_bytes);
    app.add_option("--copy-size", copy_bytes, "copies: bytes of a rank (64M)")->transform(as_bytes);
    std::vector<std::uint64_t> rows(options.rows.begin(), options.rows.end());
    app.add_option("--rows", rows, "copies: bytes of a row; a comma list (64,512,4K,64K)")
        ->delimiter(',')
        ->transform(as_bytes)
        ->check(CLI::Range(std::uint64_t{8}, std::uint64_t{1} << 30));
    app.add_option("--put-extent", options.put.extent,
                   "put, hidden: doubles of a rank's cube in each dimension")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option("--put-ghost", options.put_ghosts,
                   "put, hidden: layers of ghosts around it in memory; a comma list, of which `hidden` takes "
                   "the last")
        ->delimiter(',')
        ->check(CLI::Range(0, 64))
        ->capture_default_str();
    app.add_option(
           "--dir", options.folders,
           "put, hidden: where a folder is made for the files; a comma list (default: the system's for "
           "temporary files)")
        ->delimiter(',');
    app.add_option("--method", options.put.method, "put, hidden: the output method")->capture_default_str();
    app.add_flag("--sync", options.put.is_synced, "put: a step counts as written when it is on the disk");
    app.add_option("--steps", options.hidden.num_steps, "hidden: steps of the run")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    app.add_option("--compute", options.hidden.compute_s, "hidden: seconds between two steps")
        ->check(CLI::Range(0.0, 3600.0))
        ->capture_default_str();
    app.add_option("--halo-extent", options.halo_extents,
                   "halo: doubles of a rank's cube in each dimension; a comma list")
        ->delimiter(',')
        ->check(CLI::Range(1, 2048))
        ->capture_default_str();
    std::string grid;
    app.add_option("--grid", grid,
                   "halo: ranks in each dimension, as 2x1x1 (default: the smallest surfaces)");
    app.add_option(
           "--contenders", options.halo_contenders,
           "halo: a comma list of mpi-pinned, -phases, -packed, -aware, -kernel, -kernel-aware (plain MPI), "
           "hakobi, hakobi-ipc, -aware, -staged, -packed, -stream, -arrays (default: all that the MPI "
           "library "
           "and the driver can)")
        ->delimiter(',');
    app.add_flag("--hot", options.is_hot, "do not empty the host's caches before each sample");
    app.add_flag("--explain", options.explain, "print how the library does it");
    measure::add_rule_options(app, options.rule);
    app.add_option("--json", options.json_path, "append records (JSON lines) to this file");
    auto help = measure::parsed(app, argc, argv);
    if (!help.ok()) return help.status();
    options.help_text = std::move(help).value();
    if (!options.help_text.empty()) return options;
    options.copy_bytes = static_cast<std::int64_t>(copy_bytes);
    options.rows.assign(rows.begin(), rows.end());
    if (options.halo_contenders.empty())
        options.halo_contenders.assign(device_halo_names().begin(), device_halo_names().end());
    for (const std::string& part :
         grid.empty() ? std::vector<std::string>{} : CLI::detail::split(grid, 'x')) {
        int num = 0;
        if (!CLI::detail::lexical_cast(part, num) || num < 1)
            return Status(ErrorCode::invalid_argument, "--grid " + grid + ": write it as 2x1x1");
        options.grid.push_back(num);
    }
    if (Status status = check(options); !status.ok()) return status;
    return options;
}

}  // namespace hakobi::bench
