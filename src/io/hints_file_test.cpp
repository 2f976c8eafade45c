#include "io/hints_file.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/options.hpp"

namespace hakobi::io {
namespace {

TEST(HintsFile, HasAHintALineAndComments) {
    const std::string text = "# of 2026\n\n cb_buffer_size = 8M  # bytes\r\nhakobi_depth=4\nhakobi_depth=2";
    const Hints expected = {{"cb_buffer_size", "8M"}, {"hakobi_depth", "2"}};
    EXPECT_EQ(parse_hints_file(text, "tuned").value(), expected);
    EXPECT_TRUE(parse_hints_file("", "tuned").value().empty());
    EXPECT_TRUE(parse_hints_file("# the defaults\n", "tuned").value().empty());
}

TEST(HintsFile, NamesFileAndLineOfWhatCannotBeRead) {
    const auto why = [](const char* text) {
        const Result<Hints> read = parse_hints_file(text, "tuned");
        EXPECT_EQ(read.status().code(), ErrorCode::invalid_argument) << text;
        return read.status().text();
    };
    EXPECT_EQ(why("cb_nodes=2\ncb_buffer_size 8M\n"), "tuned, line 2: 'cb_buffer_size 8M' is not name=value");
    EXPECT_EQ(why("\n=8M"), "tuned, line 2: '=8M' is not name=value");
    EXPECT_EQ(why("hakobi_depth=deep"),
              "tuned, line 1: hint hakobi_depth: 'deep' is not a number from 0 (chosen) to 256");
}

class HintsFileVariable : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("hints_file_test-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override {
        unsetenv("HAKOBI_HINTS");
        unsetenv("HAKOBI_HINTS_FILE");
        std::filesystem::remove_all(folder_);
    }
    /// The variable names a file of that name (a process reads each once) with that text.
    void set_file(const std::string& name, const std::string& text) {
        std::ofstream(folder_ / name) << text;
        setenv("HAKOBI_HINTS_FILE", (folder_ / name).c_str(), 1);
    }

    std::filesystem::path folder_;
    std::vector<std::string> warnings_;
};

TEST_F(HintsFileVariable, IsBelowTheOtherVariableAndTheCallsHints) {
    set_file("order", "cb_nodes=1\nhakobi_depth=2\ncb_buffer_size=1M\n");
    setenv("HAKOBI_HINTS", "hakobi_depth=3;cb_buffer_size=2M", 1);
    const EngineOptions options = engine_options({{"cb_buffer_size", "3M"}}, warnings_).value();
    EXPECT_EQ(options.cb_nodes, 1);
    EXPECT_EQ(options.depth, 3);
    EXPECT_EQ(options.cb_buffer_bytes, 3 << 20);
    EXPECT_TRUE(warnings_.empty());
}

TEST_F(HintsFileVariable, WarnsOfAnUnknownNameAndFailsForABadLine) {
    set_file("unknown", "hakobi_dept=2\n");
    EXPECT_TRUE(engine_options({}, warnings_).ok());
    EXPECT_EQ(warnings_,
              std::vector<std::string>{"unknown hint 'hakobi_dept' (did you mean 'hakobi_depth'?)"});
    set_file("bad", "hakobi_depth\n");
    const Result<EngineOptions> options = engine_options({}, warnings_);
    EXPECT_EQ(options.status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(options.status().text(), "HAKOBI_HINTS_FILE: " + (folder_ / "bad").string() +
                                           ", line 1: 'hakobi_depth' is not name=value");
}

TEST_F(HintsFileVariable, FailsForWhatIsNoFileAndMeansNothingWhereItIsEmpty) {
    for (const std::string name : {"missing", "."}) {
        setenv("HAKOBI_HINTS_FILE", (folder_ / name).c_str(), 1);
        EXPECT_EQ(engine_options({}, warnings_).status().code(), ErrorCode::io) << name;
    }
    setenv("HAKOBI_HINTS_FILE", "", 1);
    EXPECT_TRUE(engine_options({}, warnings_).ok());
}

}  // namespace
}  // namespace hakobi::io
