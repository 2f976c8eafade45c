#pragma once

#include <CLI/CLI.hpp>
#include <hakobi/store.hpp>
#include <string>
#include <vector>

namespace hakobi::store {

/// Adds subcommands to `hakobi-store`; they throw Error, or set `exit_status` (0 in order, 1 not).
void add_reading_commands(CLI::App& app);                      // list, get, where
void add_archiving_commands(CLI::App& app, int& exit_status);  // archive, put, create, schema
void add_maintenance_commands(CLI::App& app, int& exit_status);

/// Arguments of most commands.
struct CommandArguments {
    std::string path;
    std::vector<std::string> items;  ///< the request's parts, as several words
    /// Adds STORE and, unless `takes_request` is false, [REQUEST].
    void add_to(CLI::App& command, bool takes_request = true);
    void add_request_to(CLI::App& command);
    /// The words as one request.
    [[nodiscard]] std::string text() const;
};

/// Prints what reading the indexes passed over, to stderr.
void print_warnings(const Store& store);
/// "1.2 GB"
std::string bytes_text(double bytes);

}  // namespace hakobi::store
