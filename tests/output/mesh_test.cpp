// The contract of every output method with formats of meshes: the same bytes for the same ranks, whatever
// becomes of the mesh.
#include "mesh_fixture.hpp"
#include "series/step_file.hpp"
#include "series/steps_reader.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

class EveryMeshWay : public RanksTest, public ::testing::WithParamInterface<Way> {
  protected:
    [[nodiscard]] std::string file(int step) const { return file_name(GetParam().format, step); }
    [[nodiscard]] std::string mesh_file(int step) const { return file(step) + ".mesh"; }
    [[nodiscard]] OutputOptions way(OutputOptions options = {}) const {
        options.method = GetParam().method;
        options.format = GetParam().format;
        return options;
    }
    void expect_file(const std::string& name, const std::vector<char>& reference) {
        EXPECT_TRUE(bytes_of_file(folder + "/" + name) == reference) << name;
    }
    /// Four steps of a fixed mesh that is put anew in the third.
    void expect_fixed(OutputOptions options) {
        options = way(std::move(options));
        Output out = Output::create(comm, folder + "/run", options);
        for (std::int64_t step = 0; step < 4; ++step) {
            const std::int64_t mesh_step = step < 2 ? 0 : 2;
            const RankMesh mine(comm.rank(), comm.size(), mesh_step);
            std::vector<Values> kept;
            out.begin_step(0.5 * static_cast<double>(step));
            if (step == mesh_step) out.put_mesh(mine.mesh(Motion::fixed));
            put_mesh_fields(out, mine, step, kept);
            out.end_step();
            placed.end_step();
        }
        out.close();
        if (is_rank_0()) {
            EXPECT_EQ(names_in(folder), (std::vector<std::string>{file(0), mesh_file(0), file(1), file(2),
                                                                  mesh_file(2), file(3)}));
            for (std::int64_t step = 0; step < 4; ++step) {
                const std::int64_t mesh_step = step < 2 ? 0 : 2;
                ReferenceMesh reference(comm.size(), mesh_step);
                const std::string linked = mesh_file(static_cast<int>(mesh_step));
                reference.add_counts(linked);
                reference.add_points(linked);
                reference.add_cells(linked);
                reference.add_fields(step);
                const double time = 0.5 * static_cast<double>(step);
                expect_file(file(static_cast<int>(step)), reference.file(options, time));
                if (step != mesh_step) continue;
                ReferenceMesh mesh(comm.size(), step);
                mesh.add_counts("");
                mesh.add_points("");
                mesh.add_cells("");
                expect_file(linked, mesh.file(options, time));
            }
        }
        barrier();
    }
};

TEST_P(EveryMeshWay, WritesAFixedMeshOnceAndLinksToIt) {
    expect_fixed({.title = "a mesh", .time_units = "days since 2000-01-01", .calendar = "360_day"});
}

TEST_P(EveryMeshWay, WritesTheSameSyncedNotHiddenAndThroughSmallBuffers) {
    expect_fixed({.sync = true});
    if (is_rank_0()) fs::remove_all(folder);
    barrier();
    expect_fixed({.asynchronous = false, .writer_stride = 3, .buffer_bytes = 4096});
}

TEST_P(EveryMeshWay, WritesTheSameFromSeveralNodes) {
    setenv("HAKOBI_RANKS_PER_NODE", "2", 1);
    Comm nodes = Comm::duplicate(MPI_COMM_WORLD);
    unsetenv("HAKOBI_RANKS_PER_NODE");
    std::swap(comm, nodes);
    expect_fixed({});
    std::swap(comm, nodes);
    nodes.free();
}

TEST_P(EveryMeshWay, WritesThePointsOfAMovingMeshInEveryStep) {
    const OutputOptions options = way();
    Output out = Output::create(comm, folder + "/run", options);
    write_moving_steps(out, comm, 3);
    out.close();
    if (is_rank_0()) {
        EXPECT_EQ(names_in(folder), (std::vector<std::string>{file(0), mesh_file(0), file(1), file(2)}));
        for (const auto& [name, bytes] : files_of_moving_steps(options, comm.size(), 3))
            expect_file(name, bytes);
    }
    barrier();
}

TEST_P(EveryMeshWay, WritesAllOfAChangingMeshInEveryStep) {
    const OutputOptions options = way();
    Output out = Output::create(comm, folder + "/run", options);
    for (int step = 0; step < 3; ++step) {
        // Ranks change places, and with them the sizes of their parts.
        const RankMesh mine((comm.rank() + step) % comm.size(), comm.size(), step);
        std::vector<Values> kept;
        out.begin_step(step);
        out.put_mesh(mine.mesh(Motion::changes));
        put_mesh_fields(out, mine, step, kept);
        out.end_step();
        placed.end_step();
    }
    out.close();
    if (is_rank_0()) {
        EXPECT_EQ(names_in(folder), (std::vector<std::string>{file(0), file(1), file(2)}));
        ReferenceMesh reference(comm.size(), 0);
        reference.add_counts("");
        reference.add_points("");
        reference.add_cells("");
        reference.add_fields(0);
        expect_file(file(0), reference.file(options, 0));
    }
    barrier();
}

/// Numbers of 32 bits that count from 1, and components that lie apart, give the same file.
TEST_P(EveryMeshWay, TakesNarrowNumbersFromOneAndComponentsApart) {
    const OutputOptions options = way();
    const RankMesh mine(comm.rank(), comm.size(), 0);
    const std::vector<std::int32_t> offsets(mine.offsets.begin(), mine.offsets.end());
    std::vector<std::int32_t> connectivity;
    for (const std::int64_t id : mine.connectivity) connectivity.push_back(static_cast<std::int32_t>(id + 1));
    Mesh mesh = mine.mesh(Motion::changes);
    mesh.offsets = std::span<const std::int32_t>(offsets);
    mesh.connectivity = std::span<const std::int32_t>(connectivity);
    mesh.first_number = 1;
    Output out = Output::create(comm, folder + "/run", options);
    std::vector<Values> kept;
    out.begin_step(0);
    out.put_mesh(mesh);
    kept.reserve(mesh_fields.size());
    std::vector<std::vector<float>> apart;
    for (std::size_t f = 0; f < mesh_fields.size(); ++f) {
        const MeshField& field = mesh_fields[f];
        kept.push_back(values_on_mesh(f, field, 0, mine));
        Field put{.name = field.name,
                  .units = "m",
                  .data = kept.back().data(),
                  .on = field.on,
                  .components = field.components};
        if (field.name == "U") {
            const auto together = std::get<std::span<const float>>(put.data);
            const std::size_t num = together.size() / 3;
            std::vector<float>& values = apart.emplace_back(together.size());
            for (std::size_t i = 0; i < together.size(); ++i) values[i % 3 * num + i / 3] = together[i];
            put.data = std::span<const float>(values);
            put.strides = {1, static_cast<std::int64_t>(num)};
        }
        out.put(placed.field(put));
    }
    out.end_step();
    placed.end_step();
    out.close();
    if (is_rank_0()) {
        ReferenceMesh reference(comm.size(), 0);
        reference.add_counts("");
        reference.add_points("");
        reference.add_cells("");
        reference.add_fields(0);
        expect_file(file(0), reference.file(options, 0));
    }
    barrier();
}

TEST_P(EveryMeshWay, SaysTheSameOfAFileThatIsLikeTheOneBefore) {
    for (const Motion motion : {Motion::changes, Motion::fixed}) {
        Output out = Output::create(comm, folder + "/run", way({.if_exists = IfExists::replace}));
        for (int step = 0; step < 3; ++step) {
            const RankMesh mine(comm.rank(), comm.size(), 0);
            std::vector<Values> kept;
            out.begin_step(step);
            if (step == 0 || motion == Motion::changes) out.put_mesh(mine.mesh(motion));
            put_mesh_fields(out, mine, step, kept);
            out.end_step();
        }
        out.close();
        series::StepsReader reader;
        for (int step = 0; step < 3; ++step) {
            const std::string path = folder + "/" + file(step);
            const Result<format::FoundStep> found = reader.read(path), own = series::read_step(path);
            ASSERT_TRUE(found.ok() && own.ok()) << found.status().text() << own.status().text();
            EXPECT_EQ(found.value().time, step);
            EXPECT_EQ(format::encode_found(found.value()), format::encode_found(own.value()));
        }
        EXPECT_EQ(reader.num_parsed(), motion == Motion::changes ? 1 : 3);  // which look into the mesh's file
        barrier();
    }
}

INSTANTIATE_TEST_SUITE_P(Output, EveryMeshWay, ::testing::ValuesIn(every_way_of_meshes()), name_of_way);

}  // namespace
}  // namespace hakobi::test
