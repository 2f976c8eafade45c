#include "store/schema.hpp"

#include <gtest/gtest.h>

#include "store/store_folder.hpp"

namespace hakobi::store {
namespace {

std::string parse_error(std::string_view text) {
    const auto schema = Schema::parse(text, "rules");
    return schema.ok() ? "" : schema.status().text();
}

std::string split_error(const Schema& schema, std::string_view key) {
    SplitKey split;
    const Status status = schema.split(Key::parse(key), split);
    return status.text();
}

TEST(Schema, NamesLineAndColumnOfAMistake) {
    EXPECT_EQ(parse_error(""),
              "rules:1:1: no rule: [dataset keywords [collocation keywords [field keywords]]]");
    EXPECT_EQ(parse_error("step: Stp;\n[a [b [c]]]"),
              "rules:1:7: no type is called 'Stp': did you mean 'Step'?");
    EXPECT_EQ(parse_error("[a, b\n  [c\n    [d, d]]]"),
              "rules:3:9: the keyword d stands twice in this bracket (field level)");
    EXPECT_EQ(parse_error("[a [b [c]]"), "rules:1:1: this bracket is not closed");
    EXPECT_EQ(parse_error("[a [b]]"),
              "rules:1:6: no inner bracket: a rule has three levels, [dataset [collocation [field]]]");
    EXPECT_EQ(parse_error("[a [b [c [d]]]]"),
              "rules:1:10: a fourth level: a rule has three, [dataset [collocation [field]]]");
    EXPECT_EQ(parse_error("[a [b [c]]] ]"), "rules:1:13: expected '[', found ']'");
    EXPECT_EQ(parse_error("a: Integer\n[a [b [c]]]"),
              "rules:2:1: expected ';' after the type of a, found '['");
    EXPECT_EQ(parse_error("[a b [b [c]]]"),
              "rules:1:4: expected ',', '[' or ']' after the keyword a, found 'b'");
    EXPECT_EQ(parse_error("date: Date;\n[date=2026-13-01 [b [c]]]").substr(0, 11), "rules:2:7: ");
}

// The forms that FDB's own schemas have: grouped rules, typed and removed keywords, substitutes, lists of
// values, comments.
constexpr std::string_view fdb_like = R"(
# comment [ not a rule ]
param:      Param;
step:       Step;
date:       Date;
levelist:   Double;
expver:     Expver;
time:       Time;
number:     Integer;

[ class=ti/s2, expver, stream, date, time, model
	[ origin, type, levtype, hdate?
        [ step, number?, levelist?, param ]]
]
[ class, expver, stream=oper/dcda, date, time, domain?g

       [ type=im/sim
               [ step?0, ident, instrument, param:ParamID ]]

       [ type, levtype, grid-   # taken, not kept
               [ step, levelist?, param ]]
]
[ class, expver, stream=mnth, domain
       [ type=cl, levtype
               [ date: ClimateMonthly, time, levelist?, param ]]]
[ class=d1, expver, date: Year
       [ date: Month, levtype
               [ date: Date, param ]]]
)";

TEST(Schema, ReadsTheFormsOfFdb) {
    auto schema = Schema::parse(fdb_like, "fdb");
    ASSERT_TRUE(schema.ok()) << schema.status().text();
    EXPECT_EQ(schema.value().rules().size(), 5U);
    SplitKey split;
    const auto key = Key::parse(
        "class=od,expver=1,stream=oper,date=2026-01-05,time=6,type=fc,levtype=pl,grid=1/"
        "1,step=024,levelist=500.0,param=130.128");
    ASSERT_TRUE(schema.value().split(key, split).ok()) << schema.value().split(key, split).text();
    EXPECT_EQ(split.values[0], (std::vector<std::string>{"od", "0001", "oper", "20260105", "0600", "g"}));
    EXPECT_EQ(split.values[1], (std::vector<std::string>{"fc", "pl"}));
    EXPECT_EQ(split.values[2], (std::vector<std::string>{"24", "500", "130"}));
    const auto climate = Key::parse("class=d1,expver=1,date=20260105,levtype=sfc,param=2t");
    ASSERT_TRUE(schema.value().split(climate, split).ok());
    EXPECT_EQ(split.values[0], (std::vector<std::string>{"d1", "0001", "2026"}));
    EXPECT_EQ(split.values[1], (std::vector<std::string>{"1", "sfc"}));
    EXPECT_EQ(split.values[2], (std::vector<std::string>{"20260105", "167"}));
}

TEST(Schema, SaysWhatIsWrongWithAKey) {
    const auto schema = Schema::parse(shipped_schema("weather"), "weather").value();
    constexpr std::string_view rest =
        "class=od,expver=1,stream=oper,date=20260105,time=0,type=fc,levtype=pl,step=1,";
    EXPECT_EQ(split_error(schema, std::string(rest) + "parm=130"),
              "the schema has no keyword 'parm': did you mean 'param' (field level)?");
    EXPECT_NE(split_error(schema, rest.substr(0, rest.size() - 1))
                  .find("the keyword param is missing (field level)"),
              std::string::npos);
    EXPECT_NE(
        split_error(schema,
                    "class=od,expver=1,stream=oper,date=20261305,time=0,type=fc,levtype=pl,step=1,param=t")
            .find("date='20261305' is no Date: YYYYMMDD or YYYY-MM-DD (dataset level)"),
        std::string::npos);
    const auto fdb = Schema::parse(fdb_like, "fdb").value();
    EXPECT_NE(
        split_error(
            fdb, "class=od,expver=1,stream=opr,date=20260105,time=6,type=fc,levtype=pl,grid=1,step=0,param=1")
            .find("stream=opr is none of oper dcda (dataset level): did you mean oper?"),
        std::string::npos);
}

TEST(Schema, ShippedOnesAreRight) {
    for (const std::string_view name : {"weather", "flow", "lattice"}) {
        EXPECT_TRUE(Schema::parse(shipped_schema(name), name).ok()) << name;
    }
}

TEST(Values, HaveOneForm) {
    const auto form = [](ValueType type, std::string_view value) {
        const auto result = canonical(type, value, ValueSource::field);
        return result.ok() ? result.value() : "!";
    };
    EXPECT_EQ(form(ValueType::integer, "007"), "7");
    EXPECT_EQ(form(ValueType::integer, "7.5"), "!");
    EXPECT_EQ(form(ValueType::real, "1e3"), "1000");
    EXPECT_EQ(form(ValueType::real, "0.50"), "0.5");
    EXPECT_EQ(form(ValueType::real, "nan"), "!");
    EXPECT_EQ(form(ValueType::date, "2024-02-29"), "20240229");
    EXPECT_EQ(form(ValueType::date, "20230229"), "!");
    EXPECT_EQ(form(ValueType::time, "18:30"), "1830");
    EXPECT_EQ(form(ValueType::time, "6"), "0600");
    EXPECT_EQ(form(ValueType::time, "2460"), "!");
    EXPECT_EQ(form(ValueType::step, "00-024"), "0-24");
    EXPECT_EQ(form(ValueType::step, "90m"), "90m");
    EXPECT_EQ(form(ValueType::step, "120m"), "2");
    EXPECT_EQ(form(ValueType::step, "x"), "!");
    EXPECT_EQ(form(ValueType::param, "T"), "130");
    EXPECT_EQ(form(ValueType::param, "140229"), "140229");
    EXPECT_EQ(form(ValueType::param, "229.140"), "140229");
    EXPECT_EQ(form(ValueType::param, "own"), "own");
    EXPECT_EQ(form(ValueType::year_month, "20260105"), "202601");
    EXPECT_EQ(form(ValueType::climate_daily, "20260105"), "0105");
    EXPECT_EQ(form(ValueType::first3, "abcdef"), "abc");
}

TEST(Values, AreOrderedAsNumbersThenTexts) {
    EXPECT_TRUE(value_less("6", "12"));
    EXPECT_TRUE(value_less("0-6", "0-24"));
    EXPECT_TRUE(value_less("90m", "2"));
    EXPECT_TRUE(value_less("1", "90m"));
    EXPECT_TRUE(value_less("45s", "1m"));
    EXPECT_TRUE(value_less("0-30m", "0-1"));
    EXPECT_TRUE(value_less("900", "a"));
    EXPECT_TRUE(value_less("", "a"));
    EXPECT_FALSE(value_less("a", "a"));
}

}  // namespace
}  // namespace hakobi::store
