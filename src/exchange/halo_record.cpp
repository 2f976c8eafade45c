#include "exchange/halo_record.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/classic_locale.hpp"
#include "base/nearest.hpp"
#include "exchange/halo_paths.hpp"

namespace hakobi::exchange {
namespace {

constexpr double most_timeout_s = 1e9;

Status invalid_record(const std::string& text) {
    return {ErrorCode::invalid_argument, "Halo::plan: " + text};
}

const char* name_of(std::size_t word) {
    static constexpr const char* heads[] = {"the number of dimensions", "corners", "path", "timeout_s",
                                            "the number of fields"};
    if (word < 5) return heads[word];
    word -= 5;
    if (word < 2 * most_halo_dims) return "ghosts";
    word -= 2 * most_halo_dims;
    if (word < most_halo_dims) return "ranks";
    return word < 2 * most_halo_dims ? "is_periodic" : "the fields' element sizes or components";
}

}  // namespace

Result<Wishes> Wishes::of(const HaloOptions& options) {
    const ClassicLocale classic;
    const auto names = path_names();
    std::string path = options.path;
    const char* const named = std::getenv("HAKOBI_HALO_PATH");
    if (path == "auto" && named != nullptr && *named != '\0') path = named;
    Wishes wishes{.timeout_s = options.timeout_s};
    const char* const timeout = std::getenv("HAKOBI_HALO_TIMEOUT_S");
    if (wishes.timeout_s == 0 && timeout != nullptr && *timeout != '\0') {
        char* end = nullptr;
        wishes.timeout_s = std::strtod(timeout, &end);
        if (*end != '\0')
            return invalid_record("HAKOBI_HALO_TIMEOUT_S is '" + std::string(timeout) +
                                  "', no number of seconds");
    }
    if (!(wishes.timeout_s >= 0 && wishes.timeout_s <= most_timeout_s))
        return invalid_record("timeout_s is not between 0 and 10^9");
    if (path == "auto") return wishes;
    const auto at = std::find(names.begin(), names.end(), path);
    if (at == names.end()) {
        const std::string near = nearest_name(path, names);
        return invalid_record("no path '" + path + "'" +
                              (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    wishes.path = static_cast<int>(at - names.begin());
    return wishes;
}

GridRecord GridRecord::of(const HaloGrid& grid, std::span<const HaloField> fields, bool corners,
                          const Wishes& wishes, Place where) {
    const auto num_dims = grid.extents.size();
    GridRecord record;
    auto& words = record.words;
    words = {static_cast<std::int64_t>(num_dims), corners, wishes.path,
             static_cast<std::int64_t>(wishes.timeout_s * 1e6), static_cast<std::int64_t>(fields.size())};
    for (std::size_t d = 0; d < most_halo_dims; ++d) {
        words.push_back(d < num_dims ? grid.ghosts[d].low : 0);
        words.push_back(d < num_dims ? grid.ghosts[d].high : 0);
    }
    for (std::size_t d = 0; d < most_halo_dims; ++d) words.push_back(d < num_dims ? grid.ranks[d] : 0);
    for (std::size_t d = 0; d < most_halo_dims; ++d)
        words.push_back(d < num_dims && !grid.is_periodic.empty() && grid.is_periodic[d]);
    std::uint64_t sizes = 0;  // of all fields, mixed (FNV)
    for (const HaloField& field : fields) {
        for (const std::int64_t value : {field.element_bytes, field.num_components})
            sizes = (sizes ^ static_cast<std::uint64_t>(value)) * 0x100000001b3ULL;
    }
    words.push_back(static_cast<std::int64_t>(sizes));
    for (std::size_t d = 0; d < most_halo_dims; ++d) words.push_back(d < num_dims ? grid.extents[d] : 0);
    words.push_back(static_cast<std::int64_t>(where));
    return record;
}

Status check_equal(std::span<const std::int64_t> all, int num_ranks) {
    for (std::size_t r = 1; r < static_cast<std::size_t>(num_ranks); ++r) {
        for (std::size_t w = 0; w < GridRecord::num_equal; ++w) {
            const std::int64_t theirs = all[r * GridRecord::num_words + w];
            if (theirs == all[w]) continue;
            return invalid_record(std::string(name_of(w)) + " of rank " + std::to_string(r) +
                                  (w + 1 < GridRecord::num_equal
                                       ? " (" + std::to_string(theirs) + ") differ from rank 0's (" +
                                             std::to_string(all[w]) + ")"
                                       : " differ from rank 0's"));
        }
    }
    return {};
}

}  // namespace hakobi::exchange
