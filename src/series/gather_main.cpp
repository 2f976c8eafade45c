// hakobi-gather: what `per-process` does at the end of a run, for a run that had none. No MPI is started.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <hakobi/error.hpp>
#include <hakobi/gather.hpp>
#include <string>

int main(int argc, char** argv) {
    constexpr int bad_input = 2, some_incomplete = 1;
    CLI::App app(
        "Makes NetCDF files of the pieces that a killed run with the output method per-process left.\n"
        "Exit status: 0 all sets of pieces were complete, or there were none beside whole steps, 1 some were "
        "not, their file holds something else, "
        "or "
        "others are at work on them, and are left as they are, 2 an error.",
        "hakobi-gather");
    std::string path;
    app.add_option("path", path, "a *.pieces folder, or a folder that holds such folders")->required();
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "hakobi-gather: %s\n", error.what());
        return bad_input;
    }
    try {
        const hakobi::GatherResult result = hakobi::gather_pieces(path);
        for (const std::string& file : result.files) std::printf("%s\n", file.c_str());
        for (const std::string& reason : result.incomplete) {
            std::fprintf(stderr, "hakobi-gather: not gathered: %s\n", reason.c_str());
        }
        return result.incomplete.empty() ? 0 : some_incomplete;
    } catch (const hakobi::Error& error) {
        std::fprintf(stderr, "hakobi-gather: %s\n", error.what());
        return bad_input;
    }
}
