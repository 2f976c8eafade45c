#include "diagnostics/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "diagnostics/cell_method.hpp"

namespace hakobi::diagnostics {
namespace {

Interval parsed(std::string_view every, std::string_view units = "s", std::string_view calendar = "") {
    const Result<Interval> interval = Interval::parse(every, units, calendar);
    EXPECT_TRUE(interval.ok()) << interval.status().text();
    return interval.ok() ? interval.value() : Interval();
}

std::vector<double> ends(const Interval& interval, double begin, int num) {
    std::vector<double> all;
    for (double end = begin; num > 0; --num) all.push_back(end = interval.end_after(end));
    return all;
}

TEST(Interval, TakesTextsOfUsers) {
    EXPECT_TRUE(parsed("").is_each_step());
    EXPECT_TRUE(parsed("step").is_each_step());
    EXPECT_EQ(parsed("10 steps").steps(), 10);
    EXPECT_TRUE(parsed("run").is_run());
    EXPECT_EQ(parsed(" Month ", "days since 2001-01-01").end_after(31), 59);
    EXPECT_EQ(parsed("2 MONTHS ", "days since 2001-01-01 00:00 UTC").end_after(0), 59);
    EXPECT_EQ(parsed("6 Hours").end_after(0), 21600);
    EXPECT_EQ(parsed("60 days", "months since 2000-01-01", "360_day").end_after(0), 2);
    EXPECT_EQ(parsed("6h").end_after(0), 21600);
    EXPECT_EQ(parsed("1 day", "hours").end_after(0), 24);
    EXPECT_DOUBLE_EQ(parsed("30min", "days since 2000-01-01").end_after(0), 30.0 / 1440);
    EXPECT_EQ(parsed("0.25", "1").end_after(0), 0.25);
    for (const char* text : {"6 fortnights", "0 steps", "-1h", "1.5 steps", "nan", "inf h", "h6",
                             "1.5 months", "6 h 30 min", "1 day 12h", "common_year", "6 H"}) {
        const Result<Interval> interval = Interval::parse(text, "days since 2000-01-01", "");
        ASSERT_FALSE(interval.ok()) << text;
        EXPECT_NE(interval.status().text().find(text), std::string::npos) << interval.status().text();
    }
    EXPECT_FALSE(Interval::parse("6h", "1", "").ok());
    EXPECT_FALSE(Interval::parse("month", "s", "").ok());
    EXPECT_FALSE(Interval::parse("month", "days since 2000-01-01 00:00 +09:00", "").ok());
}

TEST(Interval, EndsAtMultiplesThoughTimesAreRounded) {
    const Interval interval = parsed("0.3");
    double time = 0;
    int num = 0;
    double end = interval.end_after(0);
    for (int step = 1; step <= 300'000; ++step) {
        time += 0.1;
        ASSERT_EQ(interval.is_end(time, end, 0.1), step % 3 == 0) << step;
        if (step % 3 != 0) continue;
        ++num;
        EXPECT_NEAR(end, 0.3 * num, 1e-9);
        end = interval.end_after(end);
    }
    EXPECT_EQ(ends(parsed("6h"), 3600, 2), (std::vector<double>{21600, 43200}));
    EXPECT_EQ(ends(parsed("6h"), -21600, 3), (std::vector<double>{0, 21600, 43200}));
    EXPECT_TRUE(parsed("6h").is_on_end(21600));
    EXPECT_FALSE(parsed("6h").is_on_end(21000));
}

TEST(Interval, KnowsTheCalendarsMonths) {
    const std::string units = "days since 2000-01-01";
    EXPECT_EQ(ends(parsed("month", units), 0, 4), (std::vector<double>{31, 60, 91, 121}));
    EXPECT_EQ(ends(parsed("month", units, "noleap"), 0, 3), (std::vector<double>{31, 59, 90}));
    EXPECT_EQ(ends(parsed("month", units, "360_day"), 0, 3), (std::vector<double>{30, 60, 90}));
    EXPECT_EQ(ends(parsed("3 months", units), 40, 2), (std::vector<double>{91, 182}));
    EXPECT_EQ(ends(parsed("year", units), 0, 3), (std::vector<double>{366, 731, 1096}));
    EXPECT_EQ(ends(parsed("year", units, "all_leap"), 1, 2), (std::vector<double>{366, 732}));
    EXPECT_EQ(ends(parsed("month", "hours since 1999-12-31 18:00"), 0, 2),
              (std::vector<double>{6, 6 + 31 * 24}));
    EXPECT_EQ(parsed("month", units).end_after(31), 60);
    EXPECT_TRUE(parsed("month", units).is_on_end(60));
    EXPECT_FALSE(parsed("month", units).is_on_end(61));
    // October 1582 has 21 days in the mixed calendar.
    EXPECT_EQ(ends(parsed("month", "days since 1582-10-01"), 0, 2), (std::vector<double>{21, 51}));
    EXPECT_EQ(ends(parsed("month", "days since 1582-10-15"), 0, 2), (std::vector<double>{17, 47}));
    EXPECT_EQ(ends(parsed("month", "days since 1582-10-01", "julian"), 0, 2), (std::vector<double>{31, 61}));
    EXPECT_EQ(ends(parsed("year", "days since 1900-01-01", "proleptic_gregorian"), 0, 1),
              (std::vector<double>{365}));
    EXPECT_EQ(ends(parsed("year", "days since 1900-01-01", "julian"), 0, 1), (std::vector<double>{366}));
    EXPECT_EQ(ends(parsed("month", "days since -0001-12-01", "standard"), 0, 2),
              (std::vector<double>{31, 62}));
}

TEST(CellMethod, HasCfsNames) {
    EXPECT_EQ(parse_cell_method("time: mean").value(), parse_cell_method("mean").value());
    EXPECT_TRUE(parse_cell_method("").value().is_point());
    const CellMethod count = parse_cell_method("count above 300.5").value();
    EXPECT_EQ(attribute_of(count), "time: sum (number of values above 300.5)");
    EXPECT_EQ(units_of(count, "K"), "1");
    const CellMethod variance = parse_cell_method("variance").value();
    EXPECT_EQ(units_of(variance, "K"), "K2");
    EXPECT_EQ(units_of(variance, "m s-1"), "(m s-1)2");
    EXPECT_EQ(units_of(variance, "1"), "1");
    for (const char* text : {"median", "count", "count above x", "count above nan", "Mean", "mean "})
        EXPECT_FALSE(parse_cell_method(text).ok()) << text;
}

}  // namespace
}  // namespace hakobi::diagnostics
