#include "store/request.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/field_reader.hpp"
#include "store/store_folder.hpp"

namespace hakobi::store {
namespace {

/// A store of steps 0, 6, … 24, levels 500 and 850, parameters t and u, and one field without a level.
class StoreOfFields : public ::testing::Test {
  protected:
    StoreOfFields()
        : store_(Store::open(folder_.path(), {.schema = "weather", .asynchronous = false, .sync = false})) {
        for (int step = 0; step <= 24; step += 6) {
            for (const int level : {500, 850}) {
                for (const int param : {130, 131})
                    store_.archive(weather_key(step, level, param), field_of(8, step));
            }
        }
        store_.archive(
            Key::parse(
                "class=od,expver=1,stream=oper,date=20260102,time=12,type=fc,levtype=sfc,step=0,param=2t"),
            field_of(8, 1));
        store_.flush();
    }
    std::int64_t count(std::string_view request) { return store_.list(request).size(); }
    std::string error(std::string_view request) {
        return StoreFolder::text_of([&] { (void)store_.list(request); });
    }
    StoreFolder folder_;
    Store store_;
};

TEST_F(StoreOfFields, AreSelectedByListsRangesAndStars) {
    EXPECT_EQ(count(""), 21);
    EXPECT_EQ(count("param=t"), 10);
    EXPECT_EQ(count("param=t/131"), 20);
    EXPECT_EQ(count("param=130.128,levelist=500.0"), 5);
    EXPECT_EQ(count("step=0/to/24/by/6"), 21);
    EXPECT_EQ(count("step=0/to/24/by/12"), 13);
    EXPECT_EQ(count("step=6/to/18"), 12);
    EXPECT_EQ(count("step=0/12/to/24/by/6,levelist=500"), 8);
    EXPECT_EQ(count("levelist=500/to/1000"), 20);
    EXPECT_EQ(count("date=2026-01-01/to/20260131"), 21);
    EXPECT_EQ(count("date=20260102,time=12:00"), 1);
    EXPECT_EQ(count("time=0/to/18/by/6"), 21);
    EXPECT_EQ(count("levelist=*,param = 2T"), 1);
    EXPECT_EQ(count("levelist="), 1);
    EXPECT_EQ(count("class=od , expver=1"), 21);
}

// Rules of which one has all keywords of another and more, and a value of every type in its stranger forms.
TEST(ListedLine, IsARequestAndAKeyOfItsFieldAlone) {
    const StoreFolder folder;
    const std::string schema = folder.path() + ".schema";
    std::ofstream(schema)
        << "date: Date; time: Time; step: Step; param: Param; expver: Expver; grid: Grid;\n"
           "level: Double; first: First3; lower: Lowercase; number: Integer; month: Month;\n"
           "[ class, domain?\n"
           "    [ type\n"
           "        [ step, number? ]\n"
           "        [ step, number?, level?, param ]\n"
           "        [ step, number?, level, first?, lower?, grid?, expver?, time? ]]]\n"
           "[ class, date: YearMonth [ type [ date, month?, odd ]]]\n";
    const std::vector<std::string> keys = {
        "class=od,type=an,step=0",
        "class=od,type=an,step=0,number=3",
        "class=od,domain=g,type=an,step=0",
        "class=to,type=by,step=0-24",
        "class=od,type=an,step=0,param=t",
        "class=od,type=an,step=0,param=t,level=500.50",
        "class=od,type=an,step=0,number=3,param=2T",
        "class=od,type=an,step=90m,level=-0.0",
        "class=od,type=an,step=90m,level=1e30,grid=1/1,expver=A,time=6",
        "class=od,type=an,step=90m,level=1e30,first=a b c,lower=AbC",
        "class=od,date=2026-01-05,type=an,odd=a to b",
        "class=od,date=20260105,type=an,month=12,odd=-1",
        "class=od,date=20260105,type=an,odd=\"quoted\" \\ ' \xc3\xa4",
    };
    Store store = Store::open(folder.path(), {.schema = schema, .asynchronous = false, .sync = false});
    for (std::size_t i = 0; i < keys.size(); ++i) store.archive(Key::parse(keys[i]), field_of(8, int(i)));
    store.flush();
    const Listing all = store.list();
    ASSERT_EQ(all.size(), std::ssize(keys));
    for (std::int64_t i = 0; i < all.size(); ++i) {
        std::string line;
        all.append_text(i, line);
        const Listing selected = store.list(line);
        ASSERT_EQ(selected.size(), 1) << line;
        EXPECT_EQ(selected[0].checksum, all[i].checksum) << line;
        EXPECT_EQ(store.retrieve(Key::parse(line)), store.retrieve(all[i].key)) << line;
    }
    for (const char* const value : {"*", "all", "ALL", "a/b", "1/to/5"}) {
        const Key key = Key::parse("class=od,date=20260105,type=an,odd=" + std::string(value));
        EXPECT_NE(
            StoreFolder::text_of([&] { store.archive(key, field_of(8, 1)); }).find("no request could ask"),
            std::string::npos)
            << value;
    }
    Key key = Key::parse("class=od,date=20260105,type=an");
    key.set("odd", " x");
    EXPECT_EQ(StoreFolder::code_of([&] { store.archive(key, field_of(8, 1)); }), ErrorCode::invalid_argument);
    // A misspelt keyword is an error without a value, too.
    EXPECT_EQ(StoreFolder::code_of([&] { store.archive(Key::parse(keys[0] + ",domian="), field_of(8, 1)); }),
              ErrorCode::invalid_argument);
    std::filesystem::remove(schema);
}

TEST_F(StoreOfFields, SayWhatARequestGotWrong) {
    EXPECT_EQ(error("parma=t"),
              "the store's schema has no keyword 'parma': did you mean 'param' (field level)?");
    EXPECT_EQ(error("levtype=pll"), "no field has levtype=pll (collocation level): did you mean pl?");
    EXPECT_EQ(error("step=7"), "no field has step=7 (field level): there are 0 6 12 18 24");
    EXPECT_EQ(error("step=100/to/200"), "no field has step=100/to/200 (field level): there are 0 6 12 18 24");
    EXPECT_NE(error("step=x").find("'x' is no Step"), std::string::npos);
    EXPECT_NE(error("step=x").find("(field level)"), std::string::npos);
    EXPECT_NE(error("step=0/to").find("the range has no end"), std::string::npos);
    EXPECT_NE(error("step=0/to/6/by/0").find("'by' takes a number other than 0"), std::string::npos);
    EXPECT_EQ(error("step=0,step=6"), "the keyword step stands twice in the request");
    EXPECT_EQ(error("step"), "'step' in the request is not keyword=value");
    // Without strictness what is not there selects nothing.
    EXPECT_EQ(store_.list("step=7", {.is_strict = false}).size(), 0);
}

TEST_F(StoreOfFields, AreFoundHoweverManyValuesThereAre) {
    for (int step = 30; step <= 30'000; step += 1)
        store_.archive(weather_key(step, 500, 130), field_of(1, 1));
    store_.flush();
    EXPECT_EQ(count("step=20000/to/20010,param=130"), 11);
    EXPECT_EQ(error("step=40000/to/40010"),
              "no field has step=40000/to/40010 (field level): there are 29976 values, 0 … 30000");
}

TEST_F(StoreOfFields, NothingIsMeantByAWordThatSharesNoLetter) {
    EXPECT_EQ(error("param=q/u"), "no field has param=q (field level): there are 130 131 167");
    EXPECT_EQ(error("param=13"), "no field has param=13 (field level): did you mean 130?");
}

TEST(ReadPlan, JoinsNeighboursAndNoMoreThanAChunk) {
    const std::vector<FieldPlace> fields = {
        {0, 100, 50, 0}, {0, 0, 100, 0}, {0, 400, 10, 0}, {1, 410, 10, 0}, {0, 160, 10, 0}};
    const auto chunks = plan_chunks(fields, 20, 1000);
    ASSERT_EQ(chunks.size(), 3U);
    EXPECT_EQ(chunks[0].fields, (std::vector<std::size_t>{1, 0, 4}));
    EXPECT_EQ(chunks[0].length_bytes, 170);
    EXPECT_EQ(chunks[1].offset_bytes, 400);
    EXPECT_EQ(chunks[2].file, 1U);
    EXPECT_EQ(plan_chunks(fields, 20, 150).size(), 4U);
    EXPECT_TRUE(plan_chunks({}, 20, 100).empty());
}

}  // namespace
}  // namespace hakobi::store
