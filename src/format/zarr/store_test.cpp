#include "format/zarr/store.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "format/registry.hpp"
#include "storage/joined.hpp"

namespace hakobi::format::zarr {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A folder with a series' group, to which steps of one small field are added.
class ZarrStore : public ::testing::Test {
  protected:
    ZarrStore() {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder =
            fs::current_path() / ("zarr." + std::string(test->name()) + "." + std::to_string(::getpid()));
        fs::create_directory(folder);
        store = folder / "run.zarr";
    }
    ~ZarrStore() override { fs::remove_all(folder); }

    static FieldDescription field(const std::string& name, bool is_static = false) {
        return {.name = name,
                .units = "m",
                .long_name = {},
                .standard_name = {},
                .type = ValueType::float64,
                .global = {2, 3},
                .is_static = is_static};
    }
    static StepDescription step_of(double time, std::vector<FieldDescription> fields) {
        return {.title = {}, .time_units = "s", .time = time, .axes = {}, .fields = std::move(fields)};
    }
    /// Every byte of the values is `byte`.
    Status add(std::int64_t number, const StepDescription& step, const Adding& how = {}, char byte = '0') {
        const std::string members = folder / "members";
        const Result<Layout> layout = find_format("zarr").value()->lay_out(step);
        fs::remove_all(members);
        Status status = storage::make_joined(members, layout.value().members);
        for (std::size_t m = 0; m < layout.value().members.size(); ++m) {
            const fs::path member = storage::member_path(members, m);
            std::ofstream(member, std::ios::in) << std::string(fs::file_size(member), byte);
        }
        return status.ok() ? add_step(members, *storage::open_place(store), number, step, how) : status;
    }
    void change(const std::function<void(Json&)>& by, const std::string& name = "zarr.json") const {
        Json document = json(name);
        by(document);
        std::ofstream(store / name) << document.dump();
    }
    [[nodiscard]] Json json(const std::string& name = "zarr.json") const {
        return Json::parse(std::ifstream(store / name));
    }
    /// In no folder of the store, and with names that the store's own files have.
    [[nodiscard]] fs::path precious() const {
        fs::create_directories(folder / "precious/eta");
        for (const char* name : {"zarr.json", "c.0.0.0", "c.txt"})
            std::ofstream(folder / "precious/eta" / name) << "precious";
        return folder / "precious/eta";
    }
    static bool is_whole(const fs::path& precious) {
        for (const char* name : {"zarr.json", "c.0.0.0", "c.txt"}) {
            std::string text;
            std::ifstream(precious / name) >> text;
            if (text != "precious") return false;
        }
        return std::distance(fs::directory_iterator(precious), {}) == 3;
    }
    /// That no call reads, makes, changes or removes anything by way of what the group says now.
    void expect_refused() {
        EXPECT_FALSE(read_stored(storage::open_place(store), 0).ok());
        EXPECT_FALSE(add(1, step_of(1, {field("eta")})).ok());
        EXPECT_FALSE(mend(*storage::open_place(store)).ok());
        EXPECT_FALSE(remove_store(*storage::open_place(store)).ok());
    }

    fs::path folder, store;
};

TEST_F(ZarrStore, NamesThatLeadOutOfItAreNotFollowed) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    const fs::path outside = precious();
    const std::string whole = json().dump();
    for (const std::string& name :
         {std::string("../precious/eta"), outside.string(), std::string("eta/../../precious/eta"),
          std::string(".."), std::string("."), std::string()}) {
        std::ofstream(store / "zarr.json") << whole;
        change([&](Json& root) {
            Json& arrays = root["consolidated_metadata"]["metadata"];
            arrays[name] = arrays["eta"];
        });
        EXPECT_EQ(read_group(*storage::open_place(store)).status().code(), ErrorCode::format) << name;
        expect_refused();
        EXPECT_TRUE(is_whole(outside)) << name;
    }
}

TEST_F(ZarrStore, LinkedFoldersOfArraysAreNotFollowed) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    const fs::path outside = precious();
    fs::remove_all(store / "eta");
    fs::create_directory_symlink(outside, store / "eta");
    expect_refused();
    EXPECT_TRUE(is_whole(outside));
}

TEST_F(ZarrStore, RemovingItTakesItsOwnFilesAndNoOthers) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    for (const char* name : {"c.txt", "c.0.x", "zarr.json.bak", "cc"})
        std::ofstream(store / "eta" / name) << "mine";
    std::ofstream(store / "eta/c.7.0.0.part") << "of a killed run";
    ASSERT_TRUE(remove_store(*storage::open_place(store)).ok());
    EXPECT_EQ(std::distance(fs::directory_iterator(store / "eta"), {}), 4);
    EXPECT_FALSE(fs::exists(store / "time"));
}

TEST_F(ZarrStore, AttributesOfOthersStay) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    change([](Json& root) {
        root["attributes"]["doi"] = "10.1000/1";
        root["attributes"]["source"] = "somebody";
        root["licence"] = {{"name", "CC0"}};
        root["consolidated_metadata"]["metadata"]["eta"]["attributes"]["checked_by"] = Json::array({"me", 2});
        root["consolidated_metadata"]["metadata"]["time"]["attributes"]["bounds"] = "time_bnds";
    });
    // As zarr-python writes documents: in an order of its own.
    change([](Json& root) {
        Json& eta = root["consolidated_metadata"]["metadata"]["eta"];
        const Json type = eta["data_type"];
        eta.erase("data_type");
        eta["storage_transformers"] = Json::array();
        eta["data_type"] = type;
    });
    change([](Json& eta) { eta["attributes"]["seen"] = true; }, "eta/zarr.json");
    ASSERT_TRUE(mend(*storage::open_place(store)).ok());
    ASSERT_TRUE(add(1, step_of(1, {field("eta")})).ok());
    const Json root = json();
    EXPECT_EQ(root["attributes"]["doi"], "10.1000/1");
    EXPECT_NE(root["attributes"]["source"], "somebody");  // the run's own
    EXPECT_EQ(root["licence"]["name"], "CC0");
    const Json arrays = root["consolidated_metadata"]["metadata"];
    EXPECT_EQ(arrays["eta"]["attributes"]["checked_by"], Json::array({"me", 2}));
    EXPECT_EQ(arrays["eta"]["attributes"]["seen"], true);
    EXPECT_EQ(arrays["eta"]["attributes"]["units"], "m");
    EXPECT_EQ(arrays["time"]["attributes"]["bounds"], "time_bnds");
    EXPECT_EQ(json("eta/zarr.json"), arrays["eta"]);
    EXPECT_EQ(arrays["eta"]["shape"], Json::array({2, 2, 3}));
}

TEST_F(ZarrStore, MendingWhatIsWholeChangesNothing) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta"), field("mask", true)})).ok());
    const auto before = fs::last_write_time(store / "eta/zarr.json"),
               root = fs::last_write_time(store / "zarr.json");
    ASSERT_TRUE(mend(*storage::open_place(store)).ok());
    EXPECT_EQ(fs::last_write_time(store / "eta/zarr.json"), before);
    EXPECT_EQ(fs::last_write_time(store / "zarr.json"), root);
}

TEST_F(ZarrStore, AStepOfAnotherTimeIsNotReplaced) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    EXPECT_EQ(add(0, step_of(7, {field("eta")})).code(), ErrorCode::exists);
    EXPECT_EQ(add(0, step_of(0, {field("eta")}), {.is_new = true}).code(), ErrorCode::exists);
    EXPECT_TRUE(add(0, step_of(0, {field("eta")})).ok());  // a try whose answer was lost
    EXPECT_EQ(read_group(*storage::open_place(store)).value()->times, std::vector<double>{0});
}

TEST_F(ZarrStore, FieldsFindTheirCoordinatesInEarlierSteps) {
    FieldDescription t = field("t");
    t.coordinates = {"lat"};
    EXPECT_EQ(add(0, step_of(0, {t})).code(), ErrorCode::invalid_argument);
    ASSERT_TRUE(add(0, step_of(0, {t, field("lat", true)})).ok());
    EXPECT_TRUE(add(1, step_of(1, {t})).ok());
    t.coordinates = {"lat", "lon"};
    const Status unknown = add(2, step_of(2, {t}));
    EXPECT_EQ(unknown.code(), ErrorCode::invalid_argument);
    EXPECT_NE(unknown.text().find("its coordinates name lon"), std::string::npos) << unknown.text();
    const Result<std::unique_ptr<StoredFields>> fields = fields_in(*storage::open_place(store));
    ASSERT_TRUE(fields.ok());
    EXPECT_EQ(fields.value()->take(step_of(2, {t})).code(), ErrorCode::invalid_argument);
    t.coordinates = {"lat"};
    EXPECT_TRUE(fields.value()->take(step_of(2, {t})).ok());
}

TEST_F(ZarrStore, TakesNoStepWhoseStaticFieldsWereLost) {
    StepDescription later = step_of(1, {field("eta")});
    later.read_with = {"mask"};
    const Status refused = add(1, later);
    EXPECT_EQ(refused.code(), ErrorCode::invalid_argument);
    EXPECT_NE(refused.text().find("the static field mask"), std::string::npos) << refused.text();
    EXPECT_FALSE(fs::exists(store));
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    EXPECT_EQ(add(1, later).code(), ErrorCode::invalid_argument);
    ASSERT_TRUE(add(1, step_of(1, {field("eta"), field("mask", true)})).ok());
    EXPECT_TRUE(add(2, {.title = {},
                        .time_units = "s",
                        .time = 2,
                        .axes = {},
                        .fields = later.fields,
                        .read_with = {"mask"}})
                    .ok());
}

TEST_F(ZarrStore, AStaticFieldKeepsItsValues) {
    StepDescription step = step_of(0, {field("eta"), field("mask", true)});
    ASSERT_TRUE(add(0, step, {}, 'a').ok());
    step.time = 1;
    EXPECT_TRUE(add(1, step, {}, 'a').ok());
    step.time = 2;
    const Status refused = add(2, step, {}, 'b');
    EXPECT_EQ(refused.code(), ErrorCode::invalid_argument) << refused.text();
    EXPECT_EQ(read_group(*storage::open_place(store)).value()->times.size(), 2U);
    std::string mask;
    std::ifstream(store / "mask/c.0.0") >> mask;
    EXPECT_EQ(mask, std::string(48, 'a'));
}

/// Who has put it, or compared it, needs no second look: what is in its place is not even read.
TEST_F(ZarrStore, AStaticFieldOfTheSameValuesIsNeitherReadNorPutAgain) {
    const fs::path mask = store / "mask/c.0.0";
    const auto step = [&](double time) { return step_of(time, {field("eta"), field("mask", true)}); };
    for (const bool is_carried : {false, true}) {
        fs::remove_all(store);
        LeftStore mine, later;
        const auto how = [&](LeftStore& left) {
            return Adding{
                .pace = is_carried ? storage::Pace([](std::int64_t) { return true; }) : storage::Pace(),
                .left = &left};
        };
        ASSERT_TRUE(add(0, step(0), how(mine), 'a').ok());
        const auto put_at = fs::last_write_time(mask) - std::chrono::hours(1);
        fs::last_write_time(mask, put_at);
        ASSERT_TRUE(add(1, step(1), {}, 'a').ok());
        ASSERT_TRUE(add(2, step(2), how(later), 'a').ok());
        EXPECT_EQ(fs::last_write_time(mask), put_at);
        fs::resize_file(mask, 3);
        EXPECT_EQ(add(3, step(3), {}, 'a').code(), ErrorCode::format);
        for (LeftStore* left : {&mine, &later}) {
            const std::int64_t number = left == &mine ? 3 : 4;
            const Status added = add(number, step(static_cast<double>(number)), how(*left), 'a');
            EXPECT_TRUE(added.ok()) << added.text();
            EXPECT_FALSE(fs::exists(folder / "members"));
        }
        EXPECT_EQ(fs::file_size(mask), 3U);
        EXPECT_FALSE(add(5, step(5), how(mine), 'b').ok());
        // Another program has removed it all.
        fs::remove_all(store);
        ASSERT_TRUE(add(0, step(0), how(later), 'a').ok());
        EXPECT_EQ(fs::file_size(mask), 48U);
    }
}

TEST_F(ZarrStore, AFolderThatLacksAFileIsDamaged) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    const StepDescription step = step_of(1, {field("eta")});
    const std::string members = folder / "members";
    const Result<Layout> layout = find_format("zarr").value()->lay_out(step);
    ASSERT_TRUE(storage::make_joined(members, layout.value().members).ok());
    fs::remove(storage::member_path(members, 0));
    const Status added = add_step(members, *storage::open_place(store), 1, step, {});
    EXPECT_EQ(added.code(), ErrorCode::format) << added.text();
}

// The array has one for all of its steps: those before would be read by the new one.
TEST_F(ZarrStore, AFieldsUnitsAndPackingStay) {
    FieldDescription t = field("t");
    t.units = "K";
    t.attributes = {{"scale_factor", 0.5}, {"comment", "first"}};
    ASSERT_TRUE(add(0, step_of(0, {t})).ok());
    t.attributes["comment"] = "second";
    ASSERT_TRUE(add(1, step_of(1, {t})).ok());
    FieldDescription other = t;
    other.units = "degC";
    const Status units = add(2, step_of(2, {other}));
    EXPECT_NE(units.text().find("field t: its attribute units is not that of earlier steps"),
              std::string::npos)
        << units.text();
    other = t;
    other.attributes["scale_factor"] = 0.25;
    EXPECT_EQ(add(2, step_of(2, {other})).code(), ErrorCode::invalid_argument);
    other.attributes.erase("scale_factor");
    EXPECT_EQ(add(2, step_of(2, {other})).code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(add(2, step_of(2, {t})).ok());
}

TEST_F(ZarrStore, ANameStandsForOneThingInAllSteps) {
    FieldDescription t = field("t");
    t.dims = {"y", "x"};
    ASSERT_TRUE(add(0, step_of(0, {t, field("lat", true)})).ok());
    StepDescription with_axis = step_of(1, {t});
    with_axis.axes = {{.name = "lat", .units = {}, .standard_name = {}, .values = {1, 2}}};
    EXPECT_EQ(add(1, with_axis).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(add(1, step_of(1, {t, field("x")})).code(), ErrorCode::invalid_argument);
    FieldDescription along = field("u");
    along.dims = {"lat", "x"};
    EXPECT_EQ(add(1, step_of(1, {along})).code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(add(1, step_of(1, {t})).ok());
}

TEST_F(ZarrStore, TimesAreThereForEveryStepThatItCounts) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    ASSERT_TRUE(add(3000, step_of(5, {field("eta")})).ok());
    const Result<std::optional<Group>> group = read_group(*storage::open_place(store));
    ASSERT_TRUE(group.ok()) << group.status().text();
    EXPECT_EQ(group.value()->times.size(), 3001U);
    EXPECT_EQ(group.value()->times.back(), 5);
    for (const auto num_steps : {std::int64_t{1} << 26, std::int64_t{1} << 32, std::int64_t{1} << 62}) {
        change(
            [&](Json& root) { root["consolidated_metadata"]["metadata"]["time"]["shape"][0] = num_steps; });
        EXPECT_EQ(read_group(*storage::open_place(store)).status().code(), ErrorCode::format);
    }
}

TEST_F(ZarrStore, LengthsAreWholeNumbers) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    const std::string whole = json().dump();
    for (const Json& wrong : {Json(2.5), Json("2"), Json(), Json(-2), Json::array()}) {
        for (const char* name : {"eta", "time"}) {
            std::ofstream(store / "zarr.json") << whole;
            change([&](Json& root) { root["consolidated_metadata"]["metadata"][name]["shape"][0] = wrong; });
            EXPECT_FALSE(read_stored(storage::open_place(store), 0).ok()) << name << wrong;
        }
    }
}

/// Copies and prints of JSON take a part of the stack for each level.
TEST_F(ZarrStore, MetadataOfAnyDepthAreRefusedNotFollowed) {
    ASSERT_TRUE(add(0, step_of(0, {field("eta")})).ok());
    const std::string whole = json().dump(), eta = json("eta/zarr.json").dump();
    constexpr std::size_t depth = 1'000'000;
    const std::string deep = std::string(depth, '[') + std::string(depth, ']');
    std::ofstream(store / "zarr.json") << whole.substr(0, whole.size() - 1) << ",\"deep\":" << deep << "}";
    EXPECT_EQ(read_group(*storage::open_place(store)).status().code(), ErrorCode::format);
    expect_refused();
    // An array's own is mended by the group's.
    std::ofstream(store / "zarr.json") << whole;
    std::ofstream(store / "eta/zarr.json") << deep;
    EXPECT_TRUE(mend(*storage::open_place(store)).ok());
    EXPECT_EQ(json("eta/zarr.json").dump(), eta);
}

}  // namespace
}  // namespace hakobi::format::zarr
