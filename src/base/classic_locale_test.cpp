#include "base/classic_locale.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/timeline.hpp"
#include "foreign_locale.hpp"

namespace hakobi {
namespace {

std::string printed(double number) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", number);
    return text.data();
}

TEST(ClassicLocale, HasADecimalPointWhileItExists) {
    HAKOBI_IN_LOCALE("de_DE");
    ASSERT_EQ(printed(1.5), "1,50");
    {
        const ClassicLocale classic;
        EXPECT_EQ(printed(1.5), "1.50");
        EXPECT_EQ(std::strtod("2.5", nullptr), 2.5);
        const ClassicLocale within;
        EXPECT_EQ(printed(1.5), "1.50");
    }
    EXPECT_EQ(printed(1.5), "1,50");
}

TEST(Timeline, IsJsonInEveryLocale) {
    HAKOBI_IN_LOCALE("de_DE");
    ::setenv("HAKOBI_TRACE", "trace.json", 1);
    Timeline timeline;
    ::unsetenv("HAKOBI_TRACE");
    timeline.add({.name = "store", .row = 1, .start_s = 1.5, .end_s = 1.625, .number = 3});
    const std::string lines = timeline.to_json_lines(0);
    EXPECT_NE(lines.find(R"("ts":1500000.000,"dur":125000.000,"args":{"cycle":3})"), std::string::npos)
        << lines;
}

}  // namespace
}  // namespace hakobi
