// Every cell of the table of what goes with what (output/combination.hpp, docs/steps.md) writes the reference
// bytes: `make test` takes cells that have all pairs of settings, and all cells with HAKOBI_CASES.
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "mesh_fixture.hpp"
#include "output/combination.hpp"
#include "output/registry.hpp"

namespace hakobi::test {
namespace {

constexpr int num_steps = 4;
constexpr std::array<std::int64_t, 3> files_of_steps = {1, 3, all_steps};
constexpr std::array<const char*, 3> compressions = {"none", "deflate", "zstd"};

/// Small and large, of which compression makes chunks.
const std::vector<TestField> fields = {{"eta", format::ValueType::float64, {23, 37}, uneven_rows},
                                       {"u", format::ValueType::float32, {5, 23, 37}, backward_columns},
                                       {"inner", format::ValueType::int32, {101, 103}, inner_blocks}};

/// A choice of each setting: format, method, steps of a file, compression, and what is on or off.
struct Cell {
    enum Setting { format, method, steps, compression, hidden, overview, stage, sync, num_settings };
    std::array<std::size_t, num_settings> choices{};

    [[nodiscard]] const format::Format& of_format() const { return *format::formats()[choices[format]]; }
    [[nodiscard]] bool has(Setting setting) const { return choices[setting] != 0; }
    [[nodiscard]] OutputOptions options(const std::string& on_stage) const {
        OutputOptions made{.method = writing_methods()[choices[method]],
                           .format = std::string(of_format().name()),
                           .compression = compressions[choices[compression]],
                           .sync = has(sync),
                           .asynchronous = has(hidden),
                           .steps_per_file = files_of_steps[choices[steps]],
                           .overview = has(overview)};
        if (has(stage)) made.hints["hakobi_stage"] = on_stage;
        return made;
    }
    [[nodiscard]] bool is_allowed() const {
        const output::MethodEntry* entry = output::find_method(writing_methods()[choices[method]]).value();
        if (has(hidden) && entry->why_not_hidden != nullptr) return false;
        const std::string compressed = compressions[choices[compression]];
        return output::combine({.format = &of_format(),
                                .method = entry,
                                .prefix = "run",
                                .place = storage::limits_of("run"),
                                .steps_per_file = files_of_steps[choices[steps]],
                                .insists_on_steps = true,
                                .compression = compressed,
                                .codec = filter::parse_filters(compressed, 0).value().codec,
                                .overview = has(overview),
                                .stage = has(stage) ? "/stage" : ""})
            .ok();
    }
    [[nodiscard]] std::string name() const {
        const OutputOptions made = options("");
        std::string text = made.method + ", " + made.format + ", " + made.compression + ", " +
                           std::to_string(made.steps_per_file) + " steps a file";
        for (const auto& [setting, word] :
             {std::pair(hidden, ", hidden"), {overview, ", overview"}, {stage, ", stage"}, {sync, ", sync"}})
            if (has(setting)) text += word;
        return text;
    }
};

std::vector<Cell> allowed_cells() {
    const std::array<std::size_t, Cell::num_settings> num = {format::formats().size(),
                                                             writing_methods().size(),
                                                             files_of_steps.size(),
                                                             compressions.size(),
                                                             2,
                                                             2,
                                                             2,
                                                             2};
    std::vector<Cell> cells;
    for (Cell cell;;) {
        if (cell.is_allowed()) cells.push_back(cell);
        std::size_t s = 0;
        while (s < num.size() && ++cell.choices[s] == num[s]) cell.choices[s++] = 0;
        if (s == num.size()) return cells;
    }
}

using Pairs = std::set<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>>;

Pairs pairs_of(const Cell& cell) {
    Pairs pairs;
    for (std::size_t a = 0; a < cell.choices.size(); ++a)
        for (std::size_t b = a + 1; b < cell.choices.size(); ++b)
            pairs.emplace(a, cell.choices[a], b, cell.choices[b]);
    return pairs;
}

/// Some of the cells, which have every pair of choices that any has.
std::vector<Cell> pairwise(const std::vector<Cell>& cells) {
    std::vector<Pairs> of_cells;
    Pairs missing;
    for (const Cell& cell : cells) missing.merge(Pairs(of_cells.emplace_back(pairs_of(cell))));
    std::vector<Cell> taken;
    while (!missing.empty()) {
        const auto num_new = [&](const Pairs& pairs) {
            return std::ranges::count_if(pairs, [&](const auto& pair) { return missing.contains(pair); });
        };
        const auto best = std::ranges::max_element(of_cells, {}, num_new);
        for (const auto& pair : *best) missing.erase(pair);
        taken.push_back(cells[static_cast<std::size_t>(best - of_cells.begin())]);
    }
    return taken;
}

class CombinationsTest : public RanksTest {
  protected:
    void write(const std::string& to, const OutputOptions& options) {
        Output out = Output::create(comm, to + "/run", options);
        if (format::find_format(options.format).value()->holds_meshes()) {
            write_moving_steps(out, comm, num_steps);
        } else {
            for (std::int64_t step = 0; step < num_steps; ++step) write_step(out, comm, step, fields);
        }
        out.close();
        barrier();
    }

    /// Rank 0's: that `root` writes, without anything else. Those of one step are what the layout and the
    /// values say.
    const Files& reference(const Cell& cell) {
        const auto [at, is_new] = references_.try_emplace(
            {cell.choices[Cell::format], cell.choices[Cell::steps], cell.choices[Cell::compression]});
        if (!is_new) return at->second;
        OutputOptions options = cell.options("");
        options = {.method = "root",
                   .format = options.format,
                   .compression = options.compression,
                   .asynchronous = false,
                   .steps_per_file = options.steps_per_file};
        const std::string to = folder + "/reference" + std::to_string(references_.size());
        write(to, options);
        if (!is_rank_0()) return at->second;
        at->second = files_in(to);
        if (options.steps_per_file != 1) return at->second;
        if (cell.of_format().holds_meshes()) {
            EXPECT_TRUE(at->second == files_of_moving_steps(options, comm.size(), num_steps));
        } else {
            for (int step = 0; step < num_steps; ++step) {
                EXPECT_TRUE(bytes_of_step(to + "/" + file_name(options.format, step), fields) ==
                            reference_file(options, step, fields, comm.size()))
                    << options.format << ", " << options.compression << ", step " << step;
            }
        }
        return at->second;
    }

    void expect_reference_bytes(const Cell& cell, const std::string& to, const std::string& on_stage) {
        const Files& right = reference(cell);
        write(to, cell.options(on_stage));
        if (!is_rank_0()) return;
        Files found = files_in(to);
        const auto num_overviews =
            std::erase_if(found, [](const auto& file) { return file.first.ends_with(".overview.zip"); });
        EXPECT_EQ(num_overviews, cell.has(Cell::overview) ? num_steps : 0);
        EXPECT_TRUE(found == right);
        EXPECT_TRUE(fs::is_empty(on_stage));
        fs::remove_all(to);
    }

  private:
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Files> references_;
};

TEST_F(CombinationsTest, EachThatIsAllowedWritesTheReferenceBytes) {
    const std::string on_stage = folder + "/stage";
    if (is_rank_0()) fs::create_directory(on_stage);
    barrier();
    const std::vector<Cell> all = allowed_cells();
    const bool takes_all = std::getenv("HAKOBI_CASES") != nullptr;
    int num = 0;
    for (const Cell& cell : takes_all ? all : pairwise(all)) {
        SCOPED_TRACE(cell.name());
        expect_reference_bytes(cell, folder + "/" + std::to_string(num++), on_stage);
        if (has_any_rank_failed()) return;
    }
    if (is_rank_0()) RecordProperty("cells", std::to_string(num) + " of " + std::to_string(all.size()));
}

}  // namespace
}  // namespace hakobi::test
