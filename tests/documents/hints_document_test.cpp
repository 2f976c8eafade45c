// docs/hints.md against the engine: every name is there, every name there is known, defaults are what they
// are said to be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "io/engine.hpp"
#include "io/hint_table.hpp"
#include "io/policy.hpp"
#include "mpi/agree.hpp"

namespace hakobi {
namespace {

const std::filesystem::path source_folder = HAKOBI_SOURCE_DIR;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file.is_open()) << path;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The part of docs/hints.md below the heading `title`, up to the next one.
std::string section(const std::string& title) {
    const std::string text = text_of(source_folder / "docs/hints.md");
    const auto begin = text.find("\n## " + title + "\n");
    EXPECT_NE(begin, std::string::npos) << title;
    return text.substr(begin + 1, text.find("\n## ", begin + 1) - begin - 1);
}

/// Rows of a section's table: cells without blanks around them, and without backquotes where they are one
/// quoted word.
std::vector<std::vector<std::string>> rows(const std::string& title) {
    std::vector<std::vector<std::string>> result;
    std::istringstream lines(section(title));
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("| `", 0) != 0) continue;
        std::vector<std::string> cells;
        std::istringstream parts(line.substr(1));
        for (std::string cell; std::getline(parts, cell, '|');)
            cells.push_back(std::regex_replace(cell, std::regex("^ +| +$"), ""));
        result.push_back(cells);
    }
    EXPECT_FALSE(result.empty()) << title;
    return result;
}

bool is_quoted(const std::string& cell) {
    return cell.size() > 2 && cell.front() == '`' && cell.find('`', 1) == cell.size() - 1;
}
std::string unquoted(const std::string& cell) {
    return is_quoted(cell) ? cell.substr(1, cell.size() - 2) : cell;
}

std::set<std::string> found_in(const std::string& text, const char* pattern) {
    std::set<std::string> result;
    const std::regex expression(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
        result.insert((*at)[1]);
    return result;
}

std::set<std::string> names_in(const std::string& title) {
    std::set<std::string> names;
    for (const auto& row : rows(title)) names.insert(unquoted(row[0]));
    return names;
}

class HintsDocument : public testing::Test {
  protected:
    // The user's own hints are none of the document's business.
    void SetUp() override {
        unsetenv("HAKOBI_HINTS");
        unsetenv("HAKOBI_HINTS_FILE");
    }
};

TEST_F(HintsDocument, HasEveryHintOfTheEngineAndNoOther) {
    std::set<std::string> known;
    for (const io::Hint& hint : io::hint_table()) known.emplace(hint.name);
    EXPECT_EQ(names_in("Hints of the engine"), known);
}

TEST_F(HintsDocument, SaysTheDefaults) {
    const Hints defaults = io::hints_of({});
    for (const auto& row : rows("Hints of the engine")) {
        const std::string name = unquoted(row[0]);
        const auto found = defaults.find(name);
        EXPECT_EQ(unquoted(row[1]), found == defaults.end() ? "" : found->second) << name;
        std::vector<std::string> warnings;
        if (!row[1].empty() && row[1] != "`0`") {  // chosen is what is left out
            EXPECT_TRUE(io::engine_options({{name, unquoted(row[1])}}, warnings).ok()) << name;
        }
        EXPECT_TRUE(warnings.empty()) << name;
    }
}

TEST_F(HintsDocument, SaysWhatIsChosenWhereTheDefaultIsZero) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("hakobi_hints_document_" + std::to_string(comm.size()));
    if (comm.rank() == 0) std::ofstream{path};
    mpi::agree_or_throw(comm, {});
    std::vector<std::string> warnings;
    std::unique_ptr<io::Engine> engine;
    io::Engine::open(comm, {path.string(), true}, io::engine_options({}, warnings).value(), engine)
        .throw_if_error();
    Hints in_force = io::hints_of(engine->options());
    engine->close().throw_if_error();
    if (comm.rank() == 0) std::filesystem::remove(path);
    for (const auto& row : rows("Hints of the engine")) {
        const std::string name = unquoted(row[0]);
        if (is_quoted(row[2])) {
            EXPECT_EQ(unquoted(row[2]), in_force[name]) << name;
        }
        EXPECT_EQ(row[1] == "`0`", !row[2].empty()) << name << ": 0 means chosen, and then it is said what";
    }
}

TEST_F(HintsDocument, ListsTheHintsWithoutEffect) {
    const auto table = io::hints_without_effect();
    const std::set<std::string> known(table.begin(), table.end());
    EXPECT_EQ(found_in(section("Hints without effect"), "`(\\w+)`"), known);
    for (const std::string& name : known) {
        std::vector<std::string> warnings;
        EXPECT_TRUE(io::engine_options({{name, "anything"}}, warnings).ok()) << name;
        EXPECT_TRUE(warnings.empty()) << name;
    }
}

TEST_F(HintsDocument, HasEveryThreshold) {
    std::vector<std::vector<std::string>> known;
    for (const io::Threshold& each : io::thresholds())
        known.push_back({"`hakobi_policy_" + std::string(each.name) + "`",
                         "`" + std::to_string(io::Policy().*each.value) + "`",
                         "`" + std::to_string(each.without) + "`", std::string(each.rows)});
    EXPECT_EQ(rows("Thresholds"), known);
}

}  // namespace
}  // namespace hakobi
