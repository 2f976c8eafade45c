// The names of a series taken apart, and the states of a step's file: no file is touched.
#include "series/names.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace hakobi::series {
namespace {

using Form = Name::Form;
constexpr std::uint64_t token = 0x0123456789abcdef;

struct Row {
    std::string rest;  // behind the prefix
    Kind kind;
    Form form = Form::final;
    std::int64_t step = -1;
    std::string extension = "";
};

std::vector<Row> all_kinds() {
    return {
        {"_000012.nc", Kind::step, Form::final, 12, ".nc"},
        {"_000012.nc.0123456789abcdef.part", Kind::step, Form::part, 12, ".nc"},
        {"_000012.nc.0123456789abcdef.whole", Kind::step, Form::whole, 12, ".nc"},
        {"_1234567.zarr", Kind::step, Form::final, 1'234'567, ".zarr"},
        {"_000012.hdf.mesh", Kind::mesh, Form::final, 12, ".hdf"},
        {"_000012.hdf.mesh.0123456789abcdef.part", Kind::mesh, Form::part, 12, ".hdf"},
        {"_000012.nc.overview.zip", Kind::overview, Form::final, 12, ".nc"},
        {"_000012.nc.overview.zip.0123456789abcdef.part", Kind::overview, Form::part, 12, ".nc"},
        {"_000012.nc.commit.0123456789abcdef.part", Kind::commit, Form::part, 12, ".nc"},
        {"_000012.nc.pieces", Kind::pieces, Form::final, 12, ".nc"},
        {"_000012.nc.pieces.gathered", Kind::pieces, Form::gathered, 12, ".nc"},
        {"_000012.hdf.mesh.pieces", Kind::mesh_pieces, Form::final, 12, ".hdf"},
        {"_000012.hdf.mesh.pieces.gathered", Kind::mesh_pieces, Form::gathered, 12, ".hdf"},
        {".series.nc", Kind::view, Form::final, -1, ".nc"},
        {".series.nc.0123456789abcdef.part", Kind::view, Form::part, -1, ".nc"},
        {".series.000256.nc", Kind::chapter, Form::final, 256, ".nc"},
        {".zarr", Kind::store, Form::final, -1, ".zarr"},
        {".staged", Kind::marker},
        {".staged.0123456789abcdef.part", Kind::marker, Form::part},
        {".0123456789abcdef.stage", Kind::stage},
        {".lock", Kind::lock},
    };
}

TEST(SeriesNames, EachKindIsFoundWhateverThePrefix) {
    for (const std::string prefix : {"run", "/data/run", "./a_b.c/run", "run_7", "run.nc", "run.series",
                                     "r.staged", "s3://bucket/run", "joined:/stage/run"}) {
        for (const Row& row : all_kinds()) {
            for (const Name& name : {parse(prefix + row.rest), parse(prefix + row.rest, prefix)}) {
                SCOPED_TRACE(prefix + row.rest);
                EXPECT_EQ(name.kind, row.kind);
                EXPECT_EQ(name.form, row.form);
                EXPECT_EQ(name.prefix, prefix);
                EXPECT_EQ(name.step, row.step);
                EXPECT_EQ(name.extension, row.extension);
                EXPECT_EQ(name.token, name.is_temporary() || row.kind == Kind::stage ? token : 0);
            }
        }
    }
}

TEST(SeriesNames, OtherNamesAreNone) {
    for (const char* path :
         {"", "run", "run.nc", "run_12.nc", "run_0000012.nc", "run_000012", "run_000012.ncx", "run_00001a.nc",
          "run_99999999999999999999.nc", "run.series", "run.0123456789ABCDEF.stage", "run.stage", ".staged",
          ".lock", "run_000012.nc/x"})
        EXPECT_EQ(parse(path).kind, Kind::none) << path;
    for (const char* behind : {".txt", ".commit", ".part", ".0123456789abcdef", ".0123456789abcdef.part.part",
                               ".123456789abcdef.part", ".pieces.0123456789abcdef.part", ".mesh.commit"}) {
        const Name name = parse(std::string("run_000012.nc") + behind);
        EXPECT_EQ(name.kind, Kind::other) << behind;
        EXPECT_EQ(name.step, 12);
        EXPECT_FALSE(name.is_temporary());
    }
}

TEST(SeriesNames, AnotherSeriesIsNotThisOne) {
    EXPECT_EQ(parse("run2_000012.nc", "run").kind, Kind::none);
    EXPECT_EQ(parse("run_a_000012.nc", "run").kind, Kind::none);
    EXPECT_EQ(parse("run_000012.zarr", "run").kind, Kind::step);
    EXPECT_EQ(parse("run_000012.zarr", "run_000012").kind, Kind::store);
}

TEST(SeriesNames, PiecesOfAFileOfNoSeriesAreKnown) {
    const Name name = parse("/data/ocean.nc.pieces");
    EXPECT_EQ(name.kind, Kind::pieces);
    EXPECT_EQ(name.step, -1);
    EXPECT_EQ(parse("mesh.hdf.mesh.pieces.gathered").kind, Kind::mesh_pieces);
    EXPECT_EQ(file_of_pieces("/data/ocean.nc.pieces"), "/data/ocean.nc");
    EXPECT_EQ(folder_of_gathered(gathered_folder("a.nc.pieces")), "a.nc.pieces");
}

TEST(SeriesNames, WhatIsMadeIsFoundAgain) {
    const std::string path = step_path("a/run", 7, ".nc");
    EXPECT_EQ(path, "a/run_000007.nc");
    EXPECT_EQ(parse(part_path(path, 0xfeed)).token, 0xfeedU);
    EXPECT_EQ(parse(whole_path(part_path(path, 1))).form, Form::whole);
    EXPECT_EQ(parse(pieces_folder(path)).kind, Kind::pieces);
    EXPECT_EQ(parse(view_path("a/run", ".nc")).kind, Kind::view);
    EXPECT_EQ(parse(chapter_path("a/run", 2048, ".nc")).step, 2048);
    EXPECT_EQ(parse(lock_path("a/run")).kind, Kind::lock);
    EXPECT_EQ(parse(marker_path("a/run")).prefix, "a/run");
    EXPECT_EQ(staged_prefix("/nvme//", "a/run", token), "/nvme/run.0123456789abcdef.stage/run");
    EXPECT_EQ(series_on_stage("/nvme/run.0123456789abcdef.stage"), "/nvme/run.0123456789abcdef.stage/run");
    EXPECT_EQ(series_on_stage("nvme/run.0123456789abcdef.stage"), "");
    EXPECT_EQ(series_on_stage("/nvme/run.0123456789abcdef.part"), "");
}

constexpr FileState states[] = {FileState::absent, FileState::part, FileState::stored,
                                FileState::whole,  FileState::cut,  FileState::named};
constexpr Event events[] = {Event::make, Event::store, Event::call_whole,
                            Event::cut,  Event::name,  Event::discard};

TEST(StepFileStates, WhatIsStoredComesToItsNameFromWhereverItStands) {
    for (FileState state : {FileState::stored, FileState::whole, FileState::cut}) {
        int num_events = 0;
        while (const std::optional<Event> event = to_complete(state)) {
            ASSERT_LT(num_events++, 3);
            state = next(state, *event).value();
        }
        EXPECT_EQ(state, FileState::named);
    }
    for (const FileState state : {FileState::absent, FileState::part, FileState::named})
        EXPECT_FALSE(to_complete(state));
}

TEST(StepFileStates, OnlyAStoredFileGetsAName) {
    const std::set<std::pair<FileState, Event>> naming = {{FileState::stored, Event::name},
                                                          {FileState::cut, Event::name}};
    for (const FileState state : states) {
        for (const Event event : events) {
            const std::optional<FileState> to = next(state, event);
            EXPECT_EQ(to == FileState::named, naming.contains({state, event}));
            EXPECT_TRUE(to != FileState::stored || event == Event::store);
            EXPECT_TRUE(to != FileState::absent || event == Event::discard);
        }
    }
}

TEST(StepFileStates, AnEventComesInOneStateOnlyBeforeTheName) {
    for (const Event event : {Event::make, Event::store, Event::call_whole, Event::cut}) {
        int num = 0;
        for (const FileState state : states) num += next(state, event) ? 1 : 0;
        EXPECT_EQ(num, 1);
    }
}

}  // namespace
}  // namespace hakobi::series
