#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <hakobi/block.hpp>
#include <hakobi/error.hpp>

#include "base/nearest.hpp"
#include "contender.hpp"
#include "measure/command_line.hpp"

namespace hakobi::bench {
namespace {

constexpr std::string_view default_contenders[] = {"neighbor-alltoallw", "datatypes",     "packed",
                                                   "phases-datatypes",   "phases-packed", "hakobi",
                                                   "hakobi-own-memory"};

Status check(const HaloOptionsOfBench& options) {
    const auto known = halo_contender_names();
    for (const std::string& name : options.contenders) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string near = nearest_name(name, known);
        return {ErrorCode::invalid_argument,
                "no contender '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?")};
    }
    for (const int num : options.directions) {
        if (num < 1 || num > options.num_dims) {
            return {ErrorCode::invalid_argument, "--directions go from 1 to the grid's " +
                                                     std::to_string(options.num_dims) + " dimensions"};
        }
    }
    for (const std::int64_t extent : options.extents) {
        if (extent < options.ghost) {
            return {ErrorCode::invalid_argument, "an extent of " + std::to_string(extent) +
                                                     " has fewer elements than " +
                                                     std::to_string(options.ghost) + " ghosts"};
        }
    }
    return {};
}

}  // namespace

Result<std::vector<HaloCase>> HaloOptionsOfBench::cases(int num_ranks) const {
    std::vector<int> grid = ranks;
    if (grid.empty()) {
        const std::vector<std::int64_t> global(static_cast<std::size_t>(num_dims), 1 << 20);
        grid = dims_of_ranks(global, num_ranks);
    }
    int num_places = 1;
    for (const int num : grid) num_places *= num;
    if (num_places != num_ranks || grid.size() != static_cast<std::size_t>(num_dims)) {
        return Status(ErrorCode::invalid_argument, "--grid needs " + std::to_string(num_dims) +
                                                       " numbers whose product is the " +
                                                       std::to_string(num_ranks) + " ranks");
    }
    std::vector<HaloCase> all;
    for (const std::int64_t extent : extents) {
        for (const std::string& layout : layouts) {
            for (const int num : directions.empty() ? std::vector<int>{num_dims} : directions) {
                for (const std::string& way : ways) {
                    all.push_back({.extent = extent,
                                   .num_components = num_components,
                                   .components_first = layout == "first",
                                   .ghost = ghost,
                                   .ranks = grid,
                                   .is_periodic = !is_open,
                                   .corners = !faces_only,
                                   .num_directions = num,
                                   .is_both_ways = way == "both"});
                }
            }
        }
    }
    return all;
}

Result<HaloOptionsOfBench> parse_halo_options(int argc, const char* const* argv) {
    HaloOptionsOfBench options;
    std::string grid;
    CLI::App app{
        "Measures the exchange of ghost layers between the ranks of a grid: this library's ways and plain "
        "MPI's, in "
        "turn, every ghost compared.",
        "hakobi-bench-halo"};
    app.add_option("--extent", options.extents, "elements of a rank's block in each dimension; a comma list")
        ->delimiter(',')
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option("--components", options.num_components, "doubles in each element")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option(
           "--layout", options.layouts,
           "components last (fastest: an array of structures) or first (one array each); a comma list")
        ->delimiter(',')
        ->check(CLI::IsMember({"first", "last"}))
        ->capture_default_str();
    app.add_option("--ghost", options.ghost, "layers of ghosts")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--dims", options.num_dims, "dimensions of the grid")
        ->check(CLI::Range(1, 4))
        ->capture_default_str();
    app.add_option("--grid", grid, "ranks in each dimension, as 2x1x1 (default: the smallest surfaces)");
    app.add_option("--directions", options.directions,
                   "in how many of the grid's dimensions, from the first on, there are ghosts; a comma list "
                   "(default: "
                   "all)")
        ->delimiter(',');
    app.add_option("--ways", options.ways, "both, or one: ghosts below only; a comma list")
        ->delimiter(',')
        ->check(CLI::IsMember({"one", "both"}))
        ->capture_default_str();
    app.add_flag("--open", options.is_open, "the grid is not periodic");
    app.add_flag("--faces-only", options.faces_only, "no edges and corners");
    app.add_option("--contenders", options.contenders,
                   "a comma list of neighbor-alltoallw, datatypes, packed, phases-datatypes, phases-packed "
                   "(plain MPI), "
                   "hakobi, hakobi-own-memory, hakobi-direct, -deposit, -cma, -staged, -packed, -parts, "
                   "-datatype; ghex "
                   "where this is built with it")
        ->delimiter(',');
    app.add_flag("--hot", options.is_hot, "do not empty the caches before each exchange");
    app.add_flag("--explain", options.explain, "print how each neighbour is reached");
    app.add_option("--histogram", options.num_histogram,
                   "time so many exchanges one by one, alone and alternating with computing, and print how "
                   "they spread")
        ->check(CLI::Range(1, 10000000));
    measure::add_rule_options(app, options.rule);
    app.add_option("--json", options.json_path, "append records (JSON lines) to this file");
    auto help = measure::parsed(app, argc, argv);
    if (!help.ok()) return help.status();
    options.help_text = std::move(help).value();
    if (!options.help_text.empty()) return options;
    if (options.contenders.empty())
        options.contenders.assign(std::begin(default_contenders), std::end(default_contenders));
    for (const std::string& part :
         grid.empty() ? std::vector<std::string>{} : CLI::detail::split(grid, 'x')) {
        int num = 0;
        if (!CLI::detail::lexical_cast(part, num) || num < 1)
            return Status(ErrorCode::invalid_argument, "--grid " + grid + ": write it as 2x1x1");
        options.ranks.push_back(num);
    }
    if (Status status = check(options); !status.ok()) return status;
    return options;
}

}  // namespace hakobi::bench
