#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "exchange.hpp"

namespace hakobi::lattice {
namespace {

std::string list_of_exchanges() {
    std::string text;
    for (const std::string_view name : exchange_names()) text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

}  // namespace

ParsedOptions parse_options(int argc, char** argv, bool prints) {
    Options options;
    CLI::App app{
        "Lattice QCD: the Wilson Dirac operator on a 4-D lattice of SU(3) links, its ghosts exchanged "
        "between ranks,\n"
        "and conjugate gradients with it. Run it under mpirun.",
        "hakobi-lattice"};
    app.get_formatter()->column_width(34);
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);

    auto* lattice = app.add_option_group("Lattice");
    std::vector<std::int64_t> extents;
    lattice->add_option("--lattice", extents, "sites, each even; default 8,8,8,16, or what the file has")
        ->delimiter(',')
        ->expected(num_directions)
        ->type_name("X,Y,Z,T");
    std::vector<int> grid;
    lattice->add_option("--grid", grid, "ranks in each direction; default: the smallest surfaces")
        ->delimiter(',')
        ->expected(num_directions)
        ->type_name("X,Y,Z,T");
    lattice->add_option("--split", options.split, "the directions over which ranks are spread")
        ->capture_default_str()
        ->type_name("xyzt");
    std::vector<std::string> exchanges;
    lattice
        ->add_option("--exchange", exchanges,
                     "how ghosts travel: " + list_of_exchanges() + ". Several are compared in turns")
        ->delimiter(',')
        ->take_all();

    auto* links = app.add_option_group("Links");
    links->add_option("--start", options.start, "cold, hot, or a NERSC or ILDG file")
        ->capture_default_str()
        ->type_name("FILE");
    links->add_option("--sweeps", options.num_sweeps, "heatbath sweeps over the start")
        ->capture_default_str()
        ->check(CLI::Range(0, 1'000'000));
    links->add_option("--beta", options.beta, "of the Wilson plaquette action")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1000.0));
    links->add_option("--seed", options.seed, "of all random numbers")->capture_default_str();
    links->add_option("--write", options.write_path, "write the links to FILE")->type_name("FILE");
    std::string format = "nersc", precision = "double";
    links->add_option("--format", format, "of the written file")
        ->capture_default_str()
        ->check(CLI::IsMember({"nersc", "ildg"}));
    links->add_option("--precision", precision, "of the written links")
        ->capture_default_str()
        ->check(CLI::IsMember({"single", "double"}));
    links
        ->add_option("--rows", options.write.num_rows,
                     "rows of a link in a NERSC file; 2 leaves the third out")
        ->capture_default_str()
        ->check(CLI::Range(2, 3));

    auto* quark = app.add_option_group("Quark");
    quark->add_option("--kappa", options.quark.kappa, "hopping parameter")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1.0));
    std::string boundary = "antiperiodic";
    quark->add_option("--boundary", boundary, "of the quark in time")
        ->capture_default_str()
        ->check(CLI::IsMember({"periodic", "antiperiodic"}));
    quark->add_option("--tolerance", options.solver.tolerance, "of the propagator's relative residual")
        ->capture_default_str()
        ->check(CLI::Range(1e-15, 1.0));
    quark
        ->add_option("--max-iterations", options.solver.max_iterations,
                     "of conjugate gradients; 0: do not solve")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);

    auto* report = app.add_option_group("Report");
    report->add_option("--mult-time", options.mult_budget_s, "seconds for timing the operator; 0: do not")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0));
    report->add_option("--json", options.json, "append the run's records to FILE, one line an exchange")
        ->type_name("FILE");

    const auto refuse = [prints](const std::string& text) {
        if (prints) std::fprintf(stderr, "hakobi-lattice: %s\n", text.c_str());
        return ParsedOptions{.options = std::nullopt, .exit_status = 2};
    };
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        if (prints) std::fputs(app.help().c_str(), stdout);
        return {.options = std::nullopt, .exit_status = 0};
    } catch (const CLI::ParseError& error) {
        return refuse(error.what());
    }
    if (!extents.empty()) {
        options.extents.emplace();
        std::ranges::copy(extents, options.extents->begin());
    }
    if (!grid.empty()) {
        options.grid.emplace();
        std::ranges::copy(grid, options.grid->begin());
    }
    if (options.split.empty() || options.split.find_first_not_of("xyzt") != std::string::npos) {
        return refuse("--split takes directions out of xyzt, not '" + options.split + "'");
    }
    for (const std::string& name : exchanges) {
        if (std::ranges::find(exchange_names(), name) == exchange_names().end()) {
            return refuse("--exchange: '" + name + "' is not one of " + list_of_exchanges());
        }
        if (std::ranges::find(options.exchanges, name) == options.exchanges.end())
            options.exchanges.push_back(name);
    }
    if (options.exchanges.empty()) options.exchanges.emplace_back(exchange_names().front());
    options.write.format = format == "ildg" ? GaugeFormat::ildg : GaugeFormat::nersc;
    options.write.bytes_per_real = precision == "single" ? 4 : 8;
    options.quark.is_antiperiodic_in_time = boundary == "antiperiodic";
    options.solves = options.solver.max_iterations > 0;
    return {.options = std::move(options)};
}

}  // namespace hakobi::lattice
