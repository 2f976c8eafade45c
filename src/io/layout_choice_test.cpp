#include "io/layout_choice.hpp"

#include <gtest/gtest.h>

#include "units.hpp"

namespace hakobi::io {
namespace {

using storage::Layout;
using storage::LayoutFacts;
using storage::LayoutWish;

LayoutFacts lustre(int num_servers, Layout folder = Layout::plain({mib, 1})) {
    return {.file_system = "lustre",
            .num_servers = num_servers,
            .of_folder = std::move(folder),
            .unit_bytes = 64 << 10,
            .overstripes = true,
            .has_first_server = true};
}
LayoutFacts cephfs() {
    return {.file_system = "cephfs",
            .of_folder = Layout::plain({.stripe_bytes = 4 * mib, .num_stripes = 1, .object_bytes = 4 * mib}),
            .unit_bytes = 64 << 10,
            .spreads_objects = true};
}

TEST(LayoutChoice, NothingIsAskedOfAStorageWithoutLayouts) {
    EngineOptions options;
    options.striping_factor = 8;
    const LayoutChoice choice = choose_layout(options, {}, 4, 0);
    EXPECT_FALSE(choice.wish);
    EXPECT_TRUE(choice.remarks.empty());
    EXPECT_EQ(choice.why, "");
}

TEST(LayoutChoice, AutoGivesEachNodeAsManyStripes) {
    const auto stripes = [](int nodes, int servers) {
        return choose_layout({}, lustre(servers), nodes, 0).wish.value_or(LayoutWish()).num_stripes;
    };
    EXPECT_EQ(stripes(1, 100), 4);
    EXPECT_EQ(stripes(3, 100), 12);
    EXPECT_EQ(stripes(128, 1000), 512);
    EXPECT_EQ(stripes(128, 100), 100);
    EXPECT_EQ(stripes(1, 2), 2);
    EXPECT_EQ(stripes(8, 1), 0);  // as the folder has
    EXPECT_EQ(choose_layout({}, lustre(100), 128, 0).why, "chosen for 128 nodes, on all 100 servers");
}

TEST(LayoutChoice, AutoGivesASmallFileFewerStripes) {
    EXPECT_EQ(choose_layout({}, lustre(100), 64, gib).wish->num_stripes, 64);
    EXPECT_EQ(choose_layout({}, lustre(1000), 64, 100 * gib).wish->num_stripes, 256);
    EXPECT_EQ(choose_layout({}, lustre(100), 64, 100 * mib).wish->num_stripes, 6);
    EXPECT_FALSE(choose_layout({}, lustre(100), 64, 20 * mib).wish);
}

TEST(LayoutChoice, AutoLeavesALayoutThatDoesAsWell) {
    EXPECT_FALSE(choose_layout({}, lustre(100, Layout::plain({mib, 32})), 8, 0).wish);
    const Layout composite{{{0, gib, {mib, 1}}, {gib, Layout::no_end, {4 * mib, 32}}}};
    EXPECT_FALSE(choose_layout({}, lustre(100, composite), 8, 0).wish);
    const std::optional<LayoutWish> wish = choose_layout({}, lustre(100, composite), 64, 0).wish;
    ASSERT_TRUE(wish);
    EXPECT_EQ(*wish, (LayoutWish{.num_stripes = 100, .stripe_bytes = 4 * mib}));
}

TEST(LayoutChoice, AutoLeavesAFoldersOwnLayout) {
    LayoutFacts facts = lustre(100);
    facts.is_folders_own = true;
    EXPECT_FALSE(choose_layout({}, facts, 64, 0).wish);
    EngineOptions asked;
    asked.striping_factor = 2;
    EXPECT_EQ(choose_layout(asked, facts, 64, 0).wish->num_stripes, 2);
}

TEST(LayoutChoice, AutoLeavesWhatItDoesNotKnowOrNeed) {
    EXPECT_FALSE(choose_layout({}, lustre(0), 64, 0).wish);
    EXPECT_FALSE(choose_layout({}, cephfs(), 64, 0).wish);
    EngineOptions folder;
    folder.layout = "folder";
    EXPECT_FALSE(choose_layout(folder, lustre(100), 64, 0).wish);
}

TEST(LayoutChoice, HintsAreObeyed) {
    EngineOptions options;
    options.striping_factor = 5;
    options.striping_unit_bytes = 4 * mib;
    options.start_iodevice = 2;
    options.overstriping_ratio = 3;
    const LayoutChoice choice = choose_layout(options, lustre(9), 1, 0);
    EXPECT_EQ(choice.wish, (LayoutWish{15, true, 5, 4 * mib, 2}));
    EXPECT_TRUE(choice.remarks.empty());
    EXPECT_EQ(choice.why, "asked for by hints");
}

TEST(LayoutChoice, WhatAHintLeavesOutIsTheFolders) {
    EngineOptions options;
    options.striping_unit_bytes = 2 * mib;
    EXPECT_EQ(choose_layout(options, lustre(9, Layout::plain({mib, 3})), 8, 0).wish,
              (LayoutWish{.num_stripes = 3, .stripe_bytes = 2 * mib}));
}

TEST(LayoutChoice, AllServersAreAllOfThem) {
    EngineOptions options;
    options.striping_factor = -1;
    EXPECT_EQ(choose_layout(options, lustre(9), 1, 0).wish->num_stripes, 9);
    EXPECT_EQ(choose_layout(options, lustre(0), 1, 0).wish->num_stripes, LayoutWish::all);
    EXPECT_EQ(choose_layout(options, cephfs(), 1, 0).wish->num_stripes, 1);
}

TEST(LayoutChoice, WhatCannotBeObeyedToTheLetterIsSaid) {
    EngineOptions options;
    options.striping_factor = 64;
    options.striping_unit_bytes = 100000;
    options.start_iodevice = 8;
    const LayoutChoice choice = choose_layout(options, lustre(8), 1, 0);
    EXPECT_EQ(choice.wish, (LayoutWish{.num_stripes = 8, .stripe_bytes = 131072}));
    EXPECT_EQ(choice.remarks,
              (std::vector<std::string>{
                  "striping_unit=100000: stripes are multiples of 65536 bytes there; 131072 it is",
                  "striping_factor=64: the file system has 8 servers",
                  "start_iodevice=8: servers are numbered from 0 to 7; the file system chooses one"}));
    EngineOptions many;
    many.striping_factor = 1000;
    many.overstriping_ratio = 4;
    EXPECT_EQ(choose_layout(many, lustre(1000), 1, 0).wish->num_stripes, 2000);
    EXPECT_EQ(choose_layout(many, lustre(1000), 1, 0).remarks.size(), 1U);
}

TEST(LayoutChoice, CephFsHasNoPlacesToChoose) {
    EngineOptions options;
    options.striping_factor = 3;
    options.overstriping_ratio = 2;
    options.start_iodevice = 1;
    const LayoutChoice choice = choose_layout(options, cephfs(), 1, 0);
    EXPECT_EQ(choice.wish, (LayoutWish{.num_stripes = 3, .stripe_bytes = 4 * mib}));
    EXPECT_EQ(choice.remarks.size(), 2U);
}

TEST(LayoutChoice, ALayoutIsSaidInHints) {
    EXPECT_TRUE(hints_of(Layout()).empty());
    const Hints hints = hints_of(Layout::plain({mib, 6, {4, 5, 6, 4, 5, 6}}));
    EXPECT_EQ(hints, (Hints{{"striping_factor", "3"},
                            {"striping_unit", "1048576"},
                            {"overstriping_ratio", "2"},
                            {"start_iodevice", "4"}}));
    const Layout ceph = Layout::plain({.stripe_bytes = mib, .num_stripes = 3, .object_bytes = 4 * mib});
    EXPECT_EQ(hints_of(ceph).at("striping_factor"), "3");
}

}  // namespace
}  // namespace hakobi::io
