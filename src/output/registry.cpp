#include "output/registry.hpp"

#include <algorithm>
#include <array>

#include "base/nearest.hpp"
#include "format/registry.hpp"
#include "output/automatic.hpp"
#include "output/collect.hpp"
#include "output/none.hpp"
#include "output/parallel.hpp"
#include "output/per_process.hpp"
#include "output/pipelined.hpp"

namespace hakobi {
namespace output {
namespace {

constexpr std::array entries = {
    MethodEntry{"none", make_none, Makes::nothing},
    MethodEntry{"per-process", make_per_process, Makes::pieces, nullptr, "pieces need folders"},
    MethodEntry{"root", make_root},
    MethodEntry{"parallel", make_parallel, Makes::step_file,
                "MPI's collective file calls return when the values are stored", "MPI-IO knows no such files",
                true},
    MethodEntry{"pipelined", make_pipelined},
    MethodEntry{"writers", make_writers},
};

constexpr auto names = [] {
    std::array<std::string_view, entries.size()> result;
    std::transform(entries.begin(), entries.end(), result.begin(),
                   [](const MethodEntry& entry) { return entry.name; });
    return result;
}();

const MethodEntry* find(std::string_view name) {
    const auto* entry =
        std::find_if(entries.begin(), entries.end(), [&](const MethodEntry& e) { return e.name == name; });
    return entry == entries.end() ? nullptr : entry;
}

}  // namespace

std::span<const MethodEntry> methods() {
    return entries;
}

Result<const MethodEntry*> find_method(std::string_view name) {
    static constexpr MethodEntry automatic{"auto", make_automatic};
    if (name == automatic.name) return &automatic;
    if (const MethodEntry* entry = find(name)) return entry;
    std::string text = "unknown output method '" + std::string(name) + "'";
    std::array<std::string_view, names.size() + 1> candidates = {"auto"};
    std::copy(names.begin(), names.end(), candidates.begin() + 1);
    const std::string nearest = nearest_name(name, candidates);
    if (!nearest.empty()) {
        text += ": did you mean '" + nearest + "'?";
    } else {
        text += "; there are auto";
        for (const std::string_view candidate : names) text += ", " + std::string(candidate);
    }
    return Status(ErrorCode::invalid_argument, std::move(text));
}

}  // namespace output

std::span<const std::string_view> v0::output_methods() {
    return output::names;
}

std::span<const std::string_view> v0::output_formats() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> result;
        for (const format::Format* format : format::formats()) result.push_back(format->name());
        return result;
    }();
    return names;
}

}  // namespace hakobi
