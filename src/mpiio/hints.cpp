#include "mpiio/hints.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "io/hint_table.hpp"
#include "io/layout_choice.hpp"
#include "mpiio/info.hpp"
#include "mpiio/report.hpp"
#include "mpiio/storage_share.hpp"
#include "storage/posix_layout.hpp"

namespace hakobi::mpiio {
namespace {

/// Hints of the engine, and names that look like ours: those are warned about.
bool is_ours(std::string_view name) {
    return name.starts_with("hakobi_") ||
           std::ranges::any_of(io::hint_table(), [&](const io::Hint& hint) { return hint.name == name; });
}

constexpr std::array<std::string_view, 4> of_layout = {"striping_unit", "striping_factor", "start_iodevice",
                                                       "overstriping_ratio"};

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

io::EngineOptions options_of(const Hints& given, std::vector<std::string>& said) {
    std::vector<std::string> unread;
    Result<io::EngineOptions> options = io::engine_options({}, said);
    if (!options.ok()) {
        unread.push_back(options.status().text() +
                         "; no hint is used, neither of the environment nor of the program");
        options = io::EngineOptions{};
    } else if (!given.empty()) {
        Hints hints;
        for (const auto& hint : given) {
            std::vector<std::string> ignored;
            const Result<io::EngineOptions> alone = io::engine_options({hint}, ignored);
            if (alone.ok()) {
                hints.insert(hint);
            } else {
                unread.push_back(alone.status().text() + "; this hint of the program is not used");
            }
        }
        said.clear();
        options = io::engine_options(hints, said);
    }
    said.insert(said.end(), unread.begin(), unread.end());
    return std::move(options).value();
}

io::EngineOptions local_options(const OpenFile& file, bool speaks) {
    std::vector<std::string> said;
    Hints hints = file.engine_side.hints;
    if (const auto hosts = hints.find("cb_config_list"); hosts != hints.end()) {
        std::vector<std::string> ignored;
        const Result<io::EngineOptions> alone = io::engine_options({*hosts}, ignored);
        if (!alone.ok()) {  // a list of hosts is right, for ROMIO
            if (speaks) explain(file, alone.status().text() + "; only the MPI library uses it");
            hints.erase(hosts);
        }
    }
    io::EngineOptions options = options_of(hints, said);
    if (options.hidden == "auto") {  // rank 0's holds
        options.hidden = is_hiding_worthwhile() ? "write" : "off";
        if (speaks && options.hidden == "off")
            explain(file, "not hidden: so far storage has taken less than a hundredth of the run");
    }
    if (speaks) {
        for (const std::string& line : said) warn(line);
    }
    return options;
}

void add_layout_to_info(const FileFacts& facts, MPI_Info info) {
    if (facts.descriptor.get() < 0) return;
    for (const auto& [name, value] : io::hints_of(storage::posix_layout_at(facts.opened_path())))
        PMPI_Info_set(info, name.c_str(), value.c_str());
}

void add_to_info(const io::EngineOptions& options, MPI_Info info) {
    for (const auto& [name, value] : io::hints_of(options)) {
        const bool is_open = value == "0";  // to be chosen when the engine opens: the library's value stays
        // The file's own values are in its layout. PnetCDF lays variables out by striping_unit: where that is
        // only an alignment of ours, the file's bytes would depend on whether the drop-in is there.
        const bool is_of_layout = std::ranges::find(of_layout, std::string_view(name)) != of_layout.end();
        if (!is_open && !is_of_layout && value.size() < MPI_MAX_INFO_VAL)
            PMPI_Info_set(info, name.c_str(), value.c_str());
    }
}

}  // namespace hakobi::mpiio
