#include <gtest/gtest.h>

#include <array>

#include "foreign_locale.hpp"
#include "format/calendar.hpp"
#include "format/dimensions.hpp"
#include "format/netcdf4/netcdf4.hpp"
#include "format/registry.hpp"
#include "format/step.hpp"
#include "format/time_units.hpp"

namespace hakobi::format {
namespace {

FieldDescription field(const std::string& name, std::vector<std::int64_t> global,
                       ValueType type = ValueType::float64) {
    return {.name = name,
            .units = "m",
            .long_name = "",
            .standard_name = "",
            .type = type,
            .global = std::move(global)};
}

StepDescription step_of(std::vector<Axis> axes, std::vector<FieldDescription> fields) {
    return {
        .title = "title", .time_units = "s", .time = 3, .axes = std::move(axes), .fields = std::move(fields)};
}

Axis axis(const std::string& name, std::size_t length) {
    return {.name = name, .units = "m", .standard_name = "", .values = std::vector<double>(length, 0.5)};
}

std::vector<std::string> names_of(const Dimensions& dimensions, std::size_t f) {
    std::vector<std::string> names;
    for (const int d : dimensions.of_field[f])
        names.push_back(dimensions.all[static_cast<std::size_t>(d)].name);
    return names;
}

using Names = std::vector<std::string>;

TEST(Dimensions, OfASurfaceFieldAreTheLastAxes) {
    const auto found = dimensions_of(
        step_of({axis("z", 9), axis("y", 4), axis("x", 5)}, {field("a", {4, 5}), field("b", {9, 4, 5})}));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(names_of(found.value(), 0), (Names{"y", "x"}));
    EXPECT_EQ(names_of(found.value(), 1), (Names{"z", "y", "x"}));
}

TEST(Dimensions, SkipAxesThatDoNotFit) {
    const auto found = dimensions_of(step_of({axis("y", 4), axis("x", 5), axis("x_staggered", 6)},
                                             {field("u", {4, 6}), field("h", {4, 5})}));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(names_of(found.value(), 0), (Names{"y", "x_staggered"}));
    EXPECT_EQ(names_of(found.value(), 1), (Names{"y", "x"}));
}

TEST(Dimensions, OfEqualLengthTakeDifferentAxes) {
    const auto found = dimensions_of(step_of({axis("y", 5), axis("x", 5)}, {field("a", {5, 5})}));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(names_of(found.value(), 0), (Names{"y", "x"}));
}

TEST(Dimensions, AnAxisWithoutValuesTakesTheFirstExtent) {
    const auto found = dimensions_of(step_of({axis("y", 0), axis("x", 5), axis("unused", 0)},
                                             {field("a", {7, 5, 3}), field("b", {7, 5, 3})}));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(names_of(found.value(), 1), (Names{"y", "x", "unused"}));
    EXPECT_EQ(found.value().all[0].axis, -1);
    EXPECT_EQ(found.value().all[1].axis, 1);
    EXPECT_FALSE(dimensions_of(step_of({axis("y", 0)}, {field("a", {7}), field("b", {8})})).ok());
}

TEST(Dimensions, AreGuessedOnlyWhereThereIsOneChoice) {
    const std::vector<Axis> axes = {axis("z", 20), axis("y", 20), axis("x", 30)};
    const auto section = dimensions_of(step_of(axes, {field("w", {20, 30})}));
    ASSERT_FALSE(section.ok());
    EXPECT_EQ(section.status().text(),
              "field w of 20 x 30 could have the dimensions (z, x) or (y, x): it must name them (dims)");
    EXPECT_TRUE(
        dimensions_of(step_of(axes, {field("u", {20, 20, 30}), field("column_mean", {20, 20})})).ok());
    EXPECT_FALSE(dimensions_of(step_of(axes, {field("t", {30, 20})})).ok());
    // An axis of known length goes before one that takes any.
    const auto known =
        dimensions_of(step_of({axis("any", 0), axis("y", 4), axis("x", 5)}, {field("a", {4, 5})}));
    ASSERT_TRUE(known.ok());
    EXPECT_EQ(names_of(known.value(), 0), (Names{"y", "x"}));
}

TEST(Dimensions, AreThoseThatAFieldNames) {
    const std::vector<Axis> axes = {axis("z", 20), axis("y", 20), axis("x", 30), axis("any", 0)};
    const auto with_dims = [](FieldDescription one, Names dims) {
        one.dims = std::move(dims);
        return one;
    };
    const auto found = dimensions_of(step_of(
        axes, {with_dims(field("w", {20, 30}), {"z", "x"}), with_dims(field("t", {30, 20}), {"x", "y"}),
               with_dims(field("s", {20, 7}), {"y", "species"}),
               with_dims(field("q", {7, 3}), {"species", "any"})}));
    ASSERT_TRUE(found.ok()) << found.status().text();
    EXPECT_EQ(names_of(found.value(), 0), (Names{"z", "x"}));
    EXPECT_EQ(names_of(found.value(), 1), (Names{"x", "y"}));
    EXPECT_EQ(names_of(found.value(), 2), (Names{"y", "species"}));
    EXPECT_EQ(names_of(found.value(), 3), (Names{"species", "any"}));
    for (const Names& wrong :
         {Names{"z"}, Names{"z", "z"}, Names{"z", "y"}, Names{"z", "time"}, Names{"z", "a b"}})
        EXPECT_FALSE(dimensions_of(step_of(axes, {with_dims(field("w", {20, 30}), wrong)})).ok());
    // One name, one length; a field beside them has dimensions of its own.
    EXPECT_FALSE(
        dimensions_of(step_of({}, {with_dims(field("a", {4}), {"n"}), with_dims(field("b", {5}), {"n"})}))
            .ok());
    const auto mixed = dimensions_of(step_of({}, {with_dims(field("a", {4}), {"n"}), field("b", {4})}));
    ASSERT_TRUE(mixed.ok());
    EXPECT_EQ(names_of(mixed.value(), 1), (Names{"dim_1"}));
}

TEST(Description, TakesAnAxisWithoutValues) {
    EXPECT_TRUE(check_description(step_of({axis("y", 0), axis("x", 5)}, {field("a", {7, 5})})).ok());
    EXPECT_FALSE(check_description(step_of({axis("y", 0), axis("x", 5)}, {field("y", {7, 5})})).ok());
}

TEST(Dimensions, WithoutAxesAreSharedByEqualExtents) {
    const auto found =
        dimensions_of(step_of({}, {field("a", {4, 5}), field("b", {5, 5}), field("c", {5, 4})}));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(names_of(found.value(), 0), (Names{"dim_0", "dim_1"}));
    EXPECT_EQ(names_of(found.value(), 1), (Names{"dim_1", "dim_2"}));
    EXPECT_EQ(names_of(found.value(), 2), (Names{"dim_1", "dim_0"}));
}

TEST(Dimensions, AnExtentThatFitsNoAxisIsNamed) {
    const auto found = dimensions_of(step_of({axis("y", 4), axis("x", 5)}, {field("a", {4, 6})}));
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.status().text(), "field a of 4 x 6: no axis for its extent 6 (axes: y 4, x 5)");
}

TEST(Description, RefusesNamesAndShapesThatAFileCannotHold) {
    const std::vector<std::vector<FieldDescription>> bad = {{field("", {4})},
                                                            {field("a b", {4})},
                                                            {field("1a", {4})},
                                                            {field("a/b", {4})},
                                                            {field("time", {4})},
                                                            {field("x", {4})},
                                                            {field("a", std::vector<std::int64_t>(31, 1))},
                                                            {field("a", {4}), field("a", {4})},
                                                            {field("a", {4, 0})},
                                                            {field("a", {-4})},
                                                            {field("a", {INT64_MAX, 4})}};
    for (const auto& fields : bad) {
        EXPECT_EQ(check_description(step_of({axis("x", 4)}, fields)).code(), ErrorCode::invalid_argument);
    }
    EXPECT_EQ(check_description(step_of({}, {field("dim_0", {4})})).code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(check_description(step_of({axis("x", 4)}, {field("a", {4})})).ok());
}

TEST(Calendar, IsOneOfCfsAndOfADate) {
    EXPECT_TRUE(check_calendar("", "s").ok());
    for (const char* name : {"standard", "gregorian", "proleptic_gregorian", "noleap", "365_day", "all_leap",
                             "366_day", "360_day", "julian"}) {
        EXPECT_TRUE(check_calendar(name, "days since 2000-01-01").ok()) << name;
    }
    const Status misspelt = check_calendar("no_leap", "days since 2000-01-01");
    EXPECT_EQ(misspelt.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(misspelt.text().starts_with("unknown calendar 'no_leap': did you mean 'noleap'?"))
        << misspelt.text();
    EXPECT_NE(check_calendar("moon", "days since 2000-01-01").text().find("known: standard, "),
              std::string::npos);
    EXPECT_EQ(check_calendar("noleap", "s").code(), ErrorCode::invalid_argument);
    StepDescription step = step_of({}, {field("a", {4})});
    step.calendar = "noleap";
    EXPECT_EQ(check_description(step).code(), ErrorCode::invalid_argument);
    step.time_units = "days since 2000-01-01";
    EXPECT_TRUE(check_description(step).ok());
}

TEST(Calendar, HasTwoNamesAndADefault) {
    EXPECT_TRUE(is_same_calendar("noleap", "365_day"));
    EXPECT_TRUE(is_same_calendar("gregorian", "standard"));
    EXPECT_TRUE(is_same_calendar("366_day", "all_leap"));
    EXPECT_FALSE(is_same_calendar("julian", "standard"));
    EXPECT_EQ(calendar_of("days since 2000-01-01", ""), "standard");
    EXPECT_EQ(calendar_of("days since 2000-01-01", "360_day"), "360_day");
    EXPECT_EQ(calendar_of("s", "360_day"), "");
}

std::string wrong_units(const char* units, const char* calendar = "") {
    const Status status = check_time_units("time_units", units, calendar);
    EXPECT_TRUE(status.ok() || status.code() == ErrorCode::invalid_argument) << status.text();
    return status.ok() ? "" : status.text();
}

TEST(TimeUnits, AreReadByCfsRules) {
    for (const char* units : {"s",
                              "m",
                              "1",
                              "weeks",
                              "seconds since 2011-03-11 05:46:24",
                              "days since 2000-01-01",
                              "days since 1-1-1",
                              "hours since 1-1-1 00:00:0.0",
                              "Hours since 2000-1-1",
                              "s since -1-1-1",
                              "days since 2000-02-29",
                              "days since 1900-01-01 00",
                              "min since 2000-01-01 9:30",
                              "seconds since 1992-10-8 15:15:42.5 -6:00",
                              "seconds since 2018-03-01T03:00:00+09:00",
                              "seconds since 2018-03-01 03:00:00 +0900",
                              "seconds since 2018-03-01 03:00:00 +9",
                              "second since 2018-03-01 03:00 GMT",
                              "msec since 2018-03-01T03:00:00Z",
                              "days since 2018-03-01 UTC",
                              "microseconds since 2000-01-01 00:00:00.123456",
                              "  days  since  2000-01-01  "}) {
        EXPECT_EQ(wrong_units(units), "") << units;
    }
}

TEST(TimeUnits, ThatNoReaderCouldReadAreRefused) {
    const std::vector<std::pair<const char*, const char*>> cases = {
        {"days since 2000-00-00", "there is no month 0"},
        {"days since 2000-13-01", "there is no month 13"},
        {"days since 2001-02-30", "February 2001 has 28 days in the calendar standard"},
        {"days since 2000-01-00", "January 2000 has 31 days"},
        {"days since 0000-01-01", "there is no year 0 in the calendar standard"},
        {"days since 1582-10-10", "4 October 1582 is followed by 15 October"},
        {"seconds since yesterday", "is not a date as 2000-01-01"},
        {"seconds since", "in small letters and a date"},
        {"seconds since ", "is not a date"},
        {"days since 2000", "is not a date"},
        {"days since 2000-01", "is not a date"},
        {"days since 20000101", "is not a date"},
        {"days since 2000/01/01", "is not a date"},
        {"days since 2000-001-01", "is not a date"},
        {"days since 2000-01-01 +09:00", "is not a date"},
        {"days since 2000-01-01 00:00:00 UTC x", "is not a date"},
        {"days since 2000-01-01 24:00:00", "a day has no hour 24"},
        {"days since 2000-01-01 23:60", "an hour has no minute 60"},
        {"days since 2000-01-01 23:59:60", "a minute has no second 60"},
        {"days since 2000-01-01 1230", "hours:minutes:seconds"},
        {"days since 2000-01-01 00:00:00.", "hours:minutes:seconds"},
        {"days since 2000-01-01 00:00:00 EST", "'EST' is no time zone"},
        {"days since 2000-01-01 00:00:00 9:00", "'9:00' is no time zone"},
        {"days since 2000-01-01 00:00:00 +25:00", "is no time zone"},
        {"days since 2000-01-01 00:00:00 +5:60", "is no time zone"},
        {"weeks since 2000-01-01", "'weeks' is no unit that readers count from a date"},
        {"H since 2000-01-01", "'H' is no unit"},
        {"years since 2000-01-01", "'years' is no unit"},
        {"months since 2000-01-01", "no months in the calendar standard"},
        {"since 2000-01-01", "a unit, the word 'since'"},
        {"days Since 2000-01-01", "in small letters"},
        {"days\tsince 2000-01-01", "with blanks between"},
        {"days since2000-01-01", "with blanks between"},
        {"days after 2000-01-01", "the word 'since'"},
        {"days @ 2000-01-01", "the word 'since'"},
    };
    for (const auto& [units, why] : cases)
        EXPECT_NE(wrong_units(units).find(why), std::string::npos) << units << ": " << wrong_units(units);
    EXPECT_EQ(wrong_units("days since 2001-02-30"),
              "time_units 'days since 2001-02-30': February 2001 has 28 days in the calendar standard");
}

TEST(TimeUnits, AreThoseOfTheCalendar) {
    struct Case {
        const char *units, *calendar;
        bool is_right;
    };
    const std::vector<Case> cases = {
        {"days since 2001-02-30", "360_day", true},
        {"days since 2001-02-31", "360_day", false},
        {"days since 2001-01-31", "360_day", false},
        {"days since 2000-02-29", "noleap", false},
        {"days since 2000-02-29", "365_day", false},
        {"days since 2001-02-29", "all_leap", true},
        {"days since 1900-02-29", "standard", false},
        {"days since 1900-02-29", "julian", true},
        {"days since 1500-02-29", "standard", true},
        {"days since 1500-02-29", "proleptic_gregorian", false},
        {"days since 0000-01-01", "noleap", true},
        {"days since 0000-01-01", "julian", false},
        {"days since 0000-02-29", "proleptic_gregorian", true},
        {"days since -4-02-29", "julian", false},
        {"days since -5-02-29", "julian", true},
        {"days since 1582-10-10", "proleptic_gregorian", true},
        {"months since 2000-01-01", "360_day", true},
        {"months since 2000-01-01", "noleap", false},
        {"common_years since 2000-01-01", "noleap", true},
        {"common_years since 2000-01-01", "", false},
        {"nanoseconds since 2000-01-01", "", false},
    };
    for (const Case& each : cases)
        EXPECT_EQ(wrong_units(each.units, each.calendar).empty(), each.is_right)
            << each.units << ", " << each.calendar;
}

TEST(TimeUnits, OfAxesAndFieldsAreCheckedToo) {
    StepDescription step = step_of({axis("x", 4)}, {field("a", {4})});
    step.fields[0].units = "weeks since 2000-01-01";
    EXPECT_EQ(check_description(step).code(), ErrorCode::invalid_argument);
    step.fields[0].units = "days since 2000-02-30";
    step.fields[0].attributes = {{"calendar", "360_day"}};
    EXPECT_TRUE(check_description(step).ok());
    step.axes[0].units = "hours since yesterday";
    EXPECT_EQ(check_description(step).code(), ErrorCode::invalid_argument);
}

TEST(Names, HaveAsManyBytesAsEveryReaderTakes) {
    StepDescription step = step_of({axis(std::string(255, 'x'), 4)}, {field(std::string(255, 'a'), {4})});
    step.fields[0].attributes = {{std::string(255, 'b'), "text"}};
    EXPECT_TRUE(check_description(step).ok());
    step.attributes = {{std::string(256, 'b'), "text"}};
    EXPECT_EQ(check_description(step).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(check_description(step_of({}, {field(std::string(256, 'a'), {4})})).code(),
              ErrorCode::invalid_argument);
    EXPECT_EQ(check_description(step_of({axis(std::string(256, 'x'), 4)}, {})).code(),
              ErrorCode::invalid_argument);
}

TEST(Names, AreOfAsciiInEveryLocale) {
    HAKOBI_IN_LOCALE("tr_TR", "ISO-8859-9");
    EXPECT_EQ(check_description(step_of({}, {field("w\xe4rme", {4})})).code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(check_description(step_of({}, {field("IiIi", {4})})).ok());
}

TEST(Description, SurvivesEncodingAndNoOtherBytesDo) {
    StepDescription step =
        step_of({axis("y", 4), axis("x", 5)}, {field("a", {4, 5}), field("b", {4, 5}, ValueType::int32)});
    step.fields[1].dims = {"y", "x"};
    step.calendar = "noleap";
    std::vector<std::byte> bytes = encode_step(step);
    Result<StepDescription> decoded = decode_step(bytes);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(difference(decoded.value(), step), "");
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_EQ(decode_step(std::span(bytes).first(length)).status().code(), ErrorCode::format) << length;
    }
    // Later members stand behind that where they are not empty.
    StepDescription later = step;
    later.read_with = {"mask", "lat"};
    EXPECT_NE(difference(later, step), "");
    EXPECT_EQ(difference(decode_step(encode_step(later)).value(), later), "");
    later.time_attributes = {{"bounds", "time_bnds"}};
    EXPECT_EQ(difference(decode_step(encode_step(later)).value(), later), "");
    // Whatever a damaged byte makes of it: a description or an error, no crash and no huge allocation.
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const std::byte kept = std::exchange(bytes[at], std::byte{0xff});
        (void)decode_step(bytes).ok();
        bytes[at] = kept;
    }
}

TEST(Formats, AreFoundByNameAndHaveExtensionsOfTheirOwn) {
    for (const Format* format : formats()) {
        EXPECT_EQ(find_format(format->name()).value(), format);
        for (const Format* other : formats()) {
            EXPECT_TRUE(other == format || !other->extension().starts_with(format->extension()));
        }
    }
    const auto none = find_format("netcdf3");
    EXPECT_EQ(none.status().code(), ErrorCode::invalid_argument);
    EXPECT_NE(none.status().text().find("did you mean 'netcdf4'?"), std::string::npos)
        << none.status().text();
}

TEST(Formats, HaveTheirPartsAndNoOthers) {
    const auto has = [](const char* name) {
        const Format& format = *find_format(name).value();
        return std::array{format.growing() != nullptr, format.store() != nullptr, format.series() != nullptr};
    };
    EXPECT_EQ(has("netcdf4"), (std::array{true, false, true}));
    EXPECT_EQ(has("vtkhdf"), (std::array{true, false, false}));
    EXPECT_EQ(has("zarr"), (std::array{false, true, false}));
}

TEST(Netcdf4Layout, AlignsLargeFieldsWithFewHolesAndOverlapsNothing) {
    const auto layout =
        netcdf4().lay_out(step_of({}, {field("a", {600, 300}), field("b", {10}),
                                       field("c", {700, 301}, ValueType::float32), field("d", {131072})}));
    ASSERT_TRUE(layout.ok()) << layout.status().text();
    const auto& offsets = layout.value().offsets_bytes;
    ASSERT_EQ(offsets.size(), 4U);
    EXPECT_EQ(offsets[0] % (8 << 10), 0);
    EXPECT_EQ(offsets[3] % (8 << 10), 0);
    std::vector<std::pair<std::int64_t, std::int64_t>> used = {
        {offsets[0], 600 * 300 * 8}, {offsets[1], 80}, {offsets[2], 700 * 301 * 4}, {offsets[3], 131072 * 8}};
    std::sort(used.begin(), used.end());
    for (std::size_t i = 1; i < used.size(); ++i)
        EXPECT_LE(used[i - 1].first + used[i - 1].second, used[i].first);
    EXPECT_GE(layout.value().file_bytes, used.back().first + used.back().second);
    const std::int64_t values_bytes = 600 * 300 * 8 + 80 + 700 * 301 * 4 + 131072 * 8;
    EXPECT_LT(layout.value().file_bytes, values_bytes + values_bytes / 50);
}

TEST(Netcdf4Layout, StartsVeryLargeFieldsAtAMebibyte) {
    const auto layout = netcdf4().lay_out(step_of({}, {field("a", {5000, 5001}), field("b", {5000, 5001})}));
    ASSERT_TRUE(layout.ok()) << layout.status().text();
    for (const std::int64_t offset : layout.value().offsets_bytes) EXPECT_EQ(offset % (1 << 20), 0);
}

TEST(Netcdf4Layout, IsTheSameEachTimeAndAtAnotherTimeButForTheTime) {
    StepDescription step = step_of({axis("y", 40), axis("x", 50)}, {field("a", {40, 50})});
    const auto first = netcdf4().lay_out(step);
    const auto again = netcdf4().lay_out(step);
    step.time = 4711.5;
    const auto later = netcdf4().lay_out(step);
    ASSERT_TRUE(first.ok() && again.ok() && later.ok());
    const auto bytes_of_metadata = [](const Layout& layout) {
        std::vector<std::byte> bytes;
        for (const auto& extent : layout.metadata)
            bytes.insert(bytes.end(), extent.bytes.begin(), extent.bytes.end());
        return bytes;
    };
    EXPECT_EQ(bytes_of_metadata(first.value()), bytes_of_metadata(again.value()));
    EXPECT_NE(bytes_of_metadata(first.value()), bytes_of_metadata(later.value()));
    Layout patched = first.value();
    set_time(patched, 4711.5);
    EXPECT_EQ(bytes_of_metadata(patched), bytes_of_metadata(later.value()));
}

TEST(Netcdf4Layout, KeepsNoByteOfAValueInTheMetadata) {
    // Small fields share pages with what describes them.
    const std::vector<FieldDescription> fields = {field("a", {3}), field("b", {2, 700}), field("c", {})};
    const auto layout = netcdf4().lay_out(step_of({}, fields));
    ASSERT_TRUE(layout.ok()) << layout.status().text();
    for (const auto& extent : layout.value().metadata) {
        const auto end = extent.offset_bytes + std::ssize(extent.bytes);
        for (std::size_t f = 0; f < fields.size(); ++f) {
            const auto begin = layout.value().offsets_bytes[f];
            EXPECT_TRUE(end <= begin || begin + fields[f].size_bytes() <= extent.offset_bytes)
                << fields[f].name << " at " << begin << ", metadata " << extent.offset_bytes << " to " << end;
        }
    }
}

TEST(Netcdf4Layout, OfManyGigabytesHoldsOnlyMetadata) {
    const auto layout =
        netcdf4().lay_out(step_of({}, {field("a", {100000, 100000}), field("b", {3000000000})}));
    ASSERT_TRUE(layout.ok()) << layout.status().text();
    EXPECT_GT(layout.value().file_bytes, 104'000'000'000);
    std::size_t bytes = 0;
    for (const auto& extent : layout.value().metadata) bytes += extent.bytes.size();
    EXPECT_LT(bytes, 100'000U);
}

TEST(Formats, RefuseMoreChunksThanAnIndexCanName) {
    const Format& zarr = *format_with(".zarr");
    EXPECT_TRUE(zarr.check(step_of({}, {field("a", {std::int64_t{1} << 42})})).ok());
    const Status status = zarr.check(step_of({}, {field("a", {std::int64_t{1} << 52})}));
    EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
    EXPECT_NE(status.text().find("field a: it has "), std::string::npos) << status.text();
}

TEST(Netcdf4Layout, OfManyFieldsGoesOn) {
    std::vector<FieldDescription> fields;
    for (int f = 0; f < 300; ++f) fields.push_back(field("f" + std::to_string(f), {8, 8}));
    EXPECT_TRUE(netcdf4().lay_out(step_of({axis("y", 8), axis("x", 8)}, fields)).ok());
}

}  // namespace
}  // namespace hakobi::format
