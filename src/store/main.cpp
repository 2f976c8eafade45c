// hakobi-store: what `hakobi store …` runs, under that name. No MPI is started. Exit status: 0; 1 what was
// looked at is not in order; 2 an error.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <hakobi/error.hpp>
#include <string>

#include "store/commands.hpp"

namespace {

/// The command as the user has typed it: "hakobi store put", or "hakobi-store put".
std::string words_of(int argc, char** argv) {
    const std::string name = program_invocation_short_name;
    return argc > 1 && argv[1][0] != '-' ? name + " " + argv[1] : name;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int bad_input = 2;
    CLI::App app("Works on a field store: a folder of fields that are found by meaning.",
                 program_invocation_short_name);
    app.require_subcommand(1);
    const std::string words = words_of(argc, argv);
    int exit_status = 0;
    hakobi::store::add_reading_commands(app);
    hakobi::store::add_archiving_commands(app, exit_status);
    hakobi::store::add_maintenance_commands(app, exit_status);
    try {
        app.parse(argc, argv);
        if (std::fflush(stdout) != 0) throw hakobi::Error(hakobi::ErrorCode::io, "cannot write the output");
        return exit_status;
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "%s: %s\n", words.c_str(), error.what());
        return bad_input;
    } catch (const hakobi::Error& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s: %s\n", words.c_str(), error.what());
        return bad_input;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", words.c_str(), error.what());
        return bad_input;
    }
}
