#include "mpiio/hints.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "io/hint_table.hpp"
#include "mpiio/info.hpp"
#include "mpiio/report.hpp"

namespace hakobi::mpiio {
namespace {

/// Hints of the engine, and names that look like ours: those are warned about.
bool is_ours(std::string_view name) {
    return name.starts_with("hakobi_") ||
           std::ranges::any_of(io::hint_table(), [&](const io::Hint& hint) { return hint.name == name; });
}

void warn(const std::string& text) {
    std::fprintf(stderr, "hakobi: %s\n", text.c_str());
}

}  // namespace

Hints hints_of_info(MPI_Info info) {
    return info_entries(info, is_ours);
}

void take_hints(OpenFile& file, MPI_Info info) {
    if (file.engine_side.engine() != nullptr || info == MPI_INFO_NULL) return;
    Hints hints = hints_of_info(info);
    hints.merge(file.engine_side.hints);
    file.engine_side.hints = std::move(hints);
}

io::EngineOptions local_options(const OpenFile& file, bool speaks) {
    std::vector<std::string> warnings, unread;
    Result<io::EngineOptions> options = io::engine_options({}, warnings);
    Hints hints;
    if (!options.ok()) {
        unread.push_back(options.status().text() +
                         "; no hint is used, neither of HAKOBI_HINTS nor of the program");
        options = io::EngineOptions{};
    } else if (!file.engine_side.hints.empty()) {
        for (const auto& hint : file.engine_side.hints) {
            std::vector<std::string> ignored;
            const Result<io::EngineOptions> alone = io::engine_options({hint}, ignored);
            if (alone.ok()) {
                hints.insert(hint);
            } else if (hint.first == "cb_config_list") {  // a list of hosts is right, for ROMIO
                if (speaks) explain(file, alone.status().text() + "; only the MPI library uses it");
            } else {
                unread.push_back(alone.status().text() + "; this hint of the program is not used");
            }
        }
        warnings.clear();
        options = io::engine_options(hints, warnings);
    }
    warnings.insert(warnings.end(), unread.begin(), unread.end());
    if (speaks) {
        for (const std::string& warning : warnings) warn(warning);
    }
    return std::move(options).value();
}

void add_to_info(const io::EngineOptions& options, MPI_Info info) {
    for (const auto& [name, value] : io::hints_of(options)) {
        const bool is_open = value == "0";  // to be chosen when the engine opens: the library's value stays
        // PnetCDF lays a file's variables out by it: its bytes would depend on whether the drop-in is there.
        const bool shapes_files = name == "striping_unit";
        if (!is_open && !shapes_files && value.size() < MPI_MAX_INFO_VAL)
            PMPI_Info_set(info, name.c_str(), value.c_str());
    }
}

}  // namespace hakobi::mpiio
