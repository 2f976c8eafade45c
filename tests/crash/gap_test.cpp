// Steps on a stage that are whole behind one that is not.
#include <unistd.h>

#include <array>

#include "bucket.hpp"
#include "protocol.hpp"
#include "series/names.hpp"
#include "storage/place.hpp"

namespace hakobi::test {
namespace {

/// A gap of steps on a stage, which no kill leaves: a whole step behind one that is damaged, or half there.
class GapOnAStage : public RanksTest, public ::testing::WithParamInterface<bool> {
  protected:
    /// On rank 0. As a killed run leaves it, whose steps have all stayed on the stage.
    void make(bool is_damaged) const {
        for (const char* below : {"/place", "/stage", bucket_folder}) {
            fs::remove_all(folder + below);
            fs::create_directories(folder + below);
        }
        serve_bucket(folder);
        const std::string stage = folder + "/stage/run.0123456789abcdef.stage";
        Comm alone = Comm::duplicate(MPI_COMM_SELF);
        Output out = Output::create(alone, stage + "/run", {.method = "root", .asynchronous = false});
        for (int step = 0; step < 3; ++step) write_step(out, alone, step, protocol_.fields());
        out.close();
        alone.free();
        fs::remove(stage + "/run.series.nc");
        const std::string first = stage + "/run_000000.nc";
        fs::resize_file(first, 100);
        if (!is_damaged) fs::rename(first, first + ".0123456789abcdef.part");
        std::array<char, 256> node{};
        ASSERT_EQ(::gethostname(node.data(), node.size() - 1), 0);
        const std::string text =
            std::string("hakobi stage\nnode ") + node.data() + "\nfolder " + stage + "\n";
        const storage::PlacedName marker = storage::open_place_of(series::marker_path(prefix()));
        ASSERT_TRUE(marker.place->put_new(marker.name, std::as_bytes(std::span(text))).ok());
    }
    [[nodiscard]] std::string prefix() const { return protocol_.prefix_in(folder); }
    [[nodiscard]] Output create(const Comm& alone, IfExists if_exists) const {
        return Output::create(alone, prefix(), protocol_.next_options(folder, if_exists));
    }
    /// But for logs and locks.
    [[nodiscard]] Files files() const {
        Files files = files_in(folder);
        std::erase_if(files, [](const auto& file) { return file.first.ends_with(".lock"); });
        return files;
    }

    const Protocol protocol_{
        .name = "gap", .format = "netcdf4", .method = "root", .has_stage = true, .is_on_objects = GetParam()};
};

TEST_P(GapOnAStage, KeepsARunOutThatMayNotResumeAndStays) {
    if (!is_rank_0()) return;
    Comm alone = Comm::duplicate(MPI_COMM_SELF);
    for (const bool is_damaged : {false, true}) {
        make(is_damaged);
        const Files before = files();
        for (int tries = 0; tries < 2; ++tries) {
            const Error error = error_of([&] { create(alone, IfExists::fail).close(); });
            EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::exists)) << error.what();
            EXPECT_TRUE(files() == before) << is_damaged;
        }
        const GatherResult result = gather_pieces(prefix());
        EXPECT_EQ(result.files.size(), 2U);
        EXPECT_EQ(result.incomplete.size(), 1U);
        Input in = Input::open(prefix());
        EXPECT_EQ(std::vector(in.steps().begin(), in.steps().end()), (std::vector<std::int64_t>{1, 2}));
        in.close();
    }
    alone.free();
}

/// The part that tells of the gap stays with them, also for who comes after a kill in between.
TEST_P(GapOnAStage, LeavesWholeStepsAndWhatIsBeforeThemToARunThatResumes) {
    if (!is_rank_0()) return;
    Comm alone = Comm::duplicate(MPI_COMM_SELF);
    make(false);
    const Files before = files();
    create(alone, IfExists::resume).close();
    Files left = files();
    for (const auto& [name, bytes] : before) {
        if (name.find(".stage/") == std::string::npos || !name.starts_with("stage/")) continue;
        const auto at = left.find(name);
        EXPECT_TRUE(at != left.end() && at->second == bytes) << name;
    }
    EXPECT_EQ(error_of([&] { Input::open(prefix()).close(); }).code(), ErrorCode::not_found);
    alone.free();
}

INSTANTIATE_TEST_SUITE_P(Places, GapOnAStage, ::testing::Bool(), [](const auto& param) {
    return param.param ? std::string("Objects") : std::string("Files");
});

}  // namespace
}  // namespace hakobi::test
