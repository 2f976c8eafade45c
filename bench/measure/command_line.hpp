#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/status.hpp"
#include "measure/repetition.hpp"

namespace hakobi::measure {

/// The options of the repetition rule. `what` is what the budget is for: a case, a row.
inline void add_rule_options(CLI::App& app, RepetitionRule& rule, const std::string& what = "case") {
    app.add_option("--width", rule.relative_width, "asked width of the median's 95 % interval, relative")
        ->check(CLI::Range(1e-4, 10.0))
        ->capture_default_str();
    app.add_option("--budget", rule.budget_s,
                   "seconds for one " + what + " at most; what is wider then is marked")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str();
    app.add_option("--samples", rule.min_samples, "samples of each contender at least")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
}

/// Parses a command line. Returns the help where that is asked for, and the program has nothing else to do;
/// else "". invalid_argument with one line.
[[nodiscard]] inline Result<std::string> parsed(CLI::App& app, int argc, const char* const* argv) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return app.help();
    } catch (const CLI::ParseError& error) {
        return Status(ErrorCode::invalid_argument, error.what());
    }
    return std::string();
}

}  // namespace hakobi::measure
