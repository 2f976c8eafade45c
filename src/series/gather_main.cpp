// hakobi-gather: what `per-process` does at the end of a run, for a run that had none. No MPI is started.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <hakobi/error.hpp>
#include <hakobi/gather.hpp>
#include <string>

#include "overview/statistics.hpp"

namespace {

std::string json_line(const std::string& state, const std::string& file, const std::string& reason) {
    using hakobi::overview::json;
    return R"({"file": )" + (file.empty() ? "null" : json(file)) + R"(, "state": )" + json(state) +
           R"(, "reason": )" + json(reason) + "}";
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int bad_input = 2, some_incomplete = 1;
    CLI::App app(
        "Makes NetCDF files of the pieces that a killed run with the output method per-process left.\n"
        "Exit status: 0 all sets of pieces were complete, or there were none beside whole steps, 1 some were "
        "not, their file holds something else, "
        "or "
        "others are at work on them, and are left as they are, 2 an error.",
        program_invocation_short_name);
    std::string path;
    bool is_json = false;
    app.add_flag("--json", is_json, "JSON lines, one for a file that was made and for what is left as it is");
    app.add_option("path", path, "a *.pieces folder, or a folder that holds such folders")->required();
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
        return bad_input;
    }
    try {
        const hakobi::GatherResult result = hakobi::gather_pieces(path);
        for (const std::string& file : result.files) {
            const std::string line = is_json ? json_line("gathered", file, "") : file;
            std::printf("%s\n", line.c_str());
        }
        for (const std::string& reason : result.incomplete) {
            if (is_json) std::printf("%s\n", json_line("left", "", reason).c_str());
            std::fprintf(stderr, "%s: not gathered: %s\n", program_invocation_short_name, reason.c_str());
        }
        return result.incomplete.empty() ? 0 : some_incomplete;
    } catch (const hakobi::Error& error) {
        std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
        return bad_input;
    }
}
