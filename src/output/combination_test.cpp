// The whole table of what goes with what: each cell is allowed, or refused by a sentence.
#include "output/combination.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "format/registry.hpp"
#include "output/registry.hpp"

namespace hakobi::output {
namespace {

constexpr const char* methods_by_kind[] = {"pipelined", "parallel", "per-process", "none"};
constexpr const char* prefixes[] = {"run", "memory:run", "rados:pool/run", "s3://bucket/run"};

/// Calls `see` with each cell and with what becomes of it.
void for_each_cell(const std::function<void(const Asked&, const Result<Combination>&)>& see) {
    for (const format::Format* format : format::formats())
        for (const char* method : methods_by_kind)
            for (const char* prefix : prefixes)
                for (const int steps : {1, 4})
                    for (const bool insists : {false, true})
                        for (const filter::Codec codec : {filter::Codec::none, filter::Codec::zstd})
                            for (const bool overview : {false, true})
                                for (const char* stage : {"", "/nvme"})
                                    for (const int num_nodes : {1, 2}) {
                                        const Asked asked{.format = format,
                                                          .method = find_method(method).value(),
                                                          .prefix = prefix,
                                                          .place = storage::limits_of(prefix),
                                                          .steps_per_file = steps,
                                                          .insists_on_steps = insists,
                                                          .compression = "zstd",
                                                          .codec = codec,
                                                          .overview = overview,
                                                          .stage = stage,
                                                          .num_nodes = num_nodes};
                                        see(asked, combine(asked));
                                    }
}

TEST(Combination, EachCellIsAllowedOrRefusedByASentence) {
    int num_allowed = 0, num_refused = 0;
    for_each_cell([&](const Asked&, const Result<Combination>& found) {
        ++(found.ok() ? num_allowed : num_refused);
        if (found.ok()) return;
        EXPECT_EQ(found.status().code(), ErrorCode::unsupported);
        EXPECT_GT(found.status().text().size(), 20U);
        EXPECT_FALSE(found.status().text().ends_with('.'));
    });
    EXPECT_GT(num_allowed, 0);
    EXPECT_GT(num_refused, 0);
}

TEST(Combination, AnOverviewIsOfAPlainNetcdfFileOfTheFileSystem) {
    for_each_cell([](const Asked& asked, const Result<Combination>& found) {
        if (!found.ok() || !asked.overview || asked.method->makes == Makes::nothing) return;
        EXPECT_EQ(asked.format->name(), "netcdf4");
        EXPECT_EQ(asked.method->makes, Makes::step_file);
        EXPECT_EQ(asked.codec, filter::Codec::none);
        EXPECT_TRUE(asked.place.has_system_names);
        EXPECT_EQ(found.value().steps_per_file, 1);
    });
}

TEST(Combination, AStageTakesFilesOfOneStepFromOneNode) {
    for_each_cell([](const Asked& asked, const Result<Combination>& found) {
        if (!found.ok()) return;
        EXPECT_EQ(found.value().stage, asked.method->makes == Makes::nothing ? "" : asked.stage);
        if (found.value().stage.empty()) return;
        EXPECT_EQ(asked.num_nodes, 1);
        EXPECT_EQ(found.value().steps_per_file, 1);
        EXPECT_EQ(asked.method->makes, Makes::step_file);
    });
}

TEST(Combination, WhatIsPutWholeGoesOverAStage) {
    for_each_cell([](const Asked& asked, const Result<Combination>& found) {
        if (!found.ok() || asked.method->makes == Makes::nothing) return;
        EXPECT_TRUE(asked.place.takes_ranges || !found.value().stage.empty());
        if (asked.format->store() == nullptr) return;
        EXPECT_TRUE(asked.place.has_system_names ||
                    (asked.place.is_on_objects && !found.value().stage.empty()));
    });
}

TEST(Combination, FoldersAndMpiIoAreOfAFileSystem) {
    for_each_cell([](const Asked& asked, const Result<Combination>& found) {
        if (!found.ok() || asked.method->why_system_names == nullptr) return;
        // A place that keeps nothing is refused with all methods, when it is claimed.
        EXPECT_TRUE(asked.place.has_system_names || !asked.place.keeps_names || !found.value().stage.empty());
    });
}

TEST(Combination, TheEnvironmentsStepsNeverRefuse) {
    for_each_cell([](const Asked& asked, const Result<Combination>& found) {
        if (asked.insists_on_steps || asked.steps_per_file == 1 || !asked.stage.empty()) return;
        Asked without = asked;
        without.steps_per_file = 1;
        EXPECT_EQ(found.ok(), combine(without).ok());
    });
}

TEST(Combination, NothingWrittenGoesWithAllButACodecThatTheFormatLacks) {
    for_each_cell([](const Asked& asked, const Result<Combination>& found) {
        if (asked.method->makes != Makes::nothing) return;
        EXPECT_EQ(found.ok(), check_codec(*asked.format, asked.codec).ok());
    });
}

}  // namespace
}  // namespace hakobi::output
