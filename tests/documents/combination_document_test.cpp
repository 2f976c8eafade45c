// docs/steps.md has the table of what goes with what, as combine() answers.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "format/registry.hpp"
#include "output/combination.hpp"
#include "output/registry.hpp"

namespace hakobi::output {
namespace {

/// Whether steps get to the place, or by which way.
std::string way_to(Asked asked, std::string_view prefix) {
    asked.prefix = prefix;
    asked.place = storage::limits_of(std::string(prefix));
    if (combine(asked).ok()) return "yes";
    asked.stage = "/nvme";
    return combine(asked).ok() ? "over a stage" : "no";
}

/// The columns behind format and method.
std::vector<std::string> cells_of(const format::Format* format, const MethodEntry* method) {
    const Asked plain{.format = format, .method = method, .place = storage::limits_of("run")};
    const auto yes_or_no = [](bool is_allowed) { return std::string(is_allowed ? "yes" : "no"); };
    const auto with = [&](auto change) {
        Asked asked = plain;
        change(asked);
        return yes_or_no(combine(asked).ok());
    };
    return {yes_or_no(method->why_not_hidden == nullptr),
            with([](Asked& asked) {
                asked.steps_per_file = 4;
                asked.insists_on_steps = true;
            }),
            with([](Asked& asked) { asked.codec = filter::Codec::zstd; }),
            with([](Asked& asked) { asked.overview = true; }),
            with([](Asked& asked) { asked.stage = "/nvme"; }),
            way_to(plain, "s3://bucket/run"),
            way_to(plain, "rados:pool/run")};
}

std::string line_of(const std::vector<std::string>& cells) {
    std::string line = "|";
    for (const std::string& cell : cells) line += " " + cell + " |";
    return line + "\n";
}

/// Methods that go with the same are in one row.
std::string table() {
    const std::vector<std::string> head = {
        "format", "method", "hidden", "`steps_per_file`", "compression", "overview", "stage", "S3", "RADOS"};
    std::string text = line_of(head) + line_of(std::vector<std::string>(head.size(), "---"));
    for (const format::Format* format : format::formats()) {
        std::vector<std::pair<std::string, std::vector<std::string>>> rows;
        for (const MethodEntry& method : methods()) {
            if (method.makes == Makes::nothing) continue;
            const std::vector<std::string> cells = cells_of(format, &method);
            const std::string name = "`" + std::string(method.name) + "`";
            if (const auto same = std::ranges::find(rows, cells, [](const auto& row) { return row.second; });
                same != rows.end()) {
                same->first += ", " + name;
            } else {
                rows.emplace_back(name, cells);
            }
        }
        for (const auto& [names, cells] : rows) {
            std::vector<std::string> row = {"`" + std::string(format->name()) + "`", names};
            row.insert(row.end(), cells.begin(), cells.end());
            text += line_of(row);
        }
    }
    return text;
}

TEST(StepsDocument, HasTheTableOfWhatGoesWithWhat) {
    std::ifstream file(HAKOBI_SOURCE_DIR "/docs/steps.md");
    std::ostringstream page;
    page << file.rdbuf();
    EXPECT_NE(page.str().find("\n\n" + table() + "\n"), std::string::npos)
        << "docs/steps.md, \"What goes with what\", is to have:\n\n"
        << table();
}

}  // namespace
}  // namespace hakobi::output
