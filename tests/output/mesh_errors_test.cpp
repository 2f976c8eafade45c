// Errors of a mesh or a field on it: one error on all ranks, and earlier steps whole. Also reading meshes
// back.
#include <functional>

#include "mesh_fixture.hpp"

namespace hakobi::test {
namespace {

class MeshTest : public RanksTest {
  protected:
    /// A whole step, then one that rank 0 spoils: what end_step throws.
    void expect_refused(const std::function<void(RankMesh&, Mesh&)>& spoil, ErrorCode code,
                        const std::string& part_of_text) {
        Output out = Output::create(
            comm, folder + "/run",
            {.method = "root", .format = "vtkhdf", .asynchronous = false, .if_exists = IfExists::replace});
        RankMesh mine(comm.rank(), comm.size(), 0);
        std::vector<Values> kept;
        out.begin_step(0);
        out.put_mesh(mine.mesh(Motion::changes));
        put_mesh_fields(out, mine, 0, kept);
        out.end_step();
        out.begin_step(1);
        Mesh mesh = mine.mesh(Motion::changes);
        if (is_rank_0()) spoil(mine, mesh);
        out.put_mesh(mesh);
        const Error error = error_of([&] { out.end_step(); });
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_EQ(error.rank(), 0);
        EXPECT_NE(std::string(error.what()).find(part_of_text), std::string::npos) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error));
        out.close();
        if (is_rank_0()) {
            EXPECT_EQ(names_in(folder), std::vector<std::string>{"run_000000.hdf"});
        }
        barrier();
    }
};

TEST_F(MeshTest, RefusesCellsThatNamePointsWhichTheRankHasNot) {
    expect_refused(
        [](RankMesh& mine, Mesh& mesh) {
            mine.connectivity.back() = 999;
            mesh.connectivity = std::span<const std::int64_t>(mine.connectivity);
        },
        ErrorCode::invalid_argument, "names point 999");
    expect_refused(
        [](RankMesh& mine, Mesh& mesh) {
            mine.connectivity[3] = -1;
            mesh.connectivity = std::span<const std::int64_t>(mine.connectivity);
        },
        ErrorCode::invalid_argument, "cell 0 names point -1");
}

TEST_F(MeshTest, RefusesOffsetsThatDoNotFit) {
    expect_refused(
        [](RankMesh& mine, Mesh& mesh) {
            mine.offsets[1] = 7;  // a hexahedron of seven points
            mesh.offsets = std::span<const std::int64_t>(mine.offsets);
        },
        ErrorCode::invalid_argument, "cell 0 is of type 12, which has 8 points");
    expect_refused(
        [](RankMesh& mine, Mesh& mesh) {
            std::swap(mine.offsets[1], mine.offsets[2]);
            mesh.offsets = std::span<const std::int64_t>(mine.offsets);
        },
        ErrorCode::invalid_argument, "its offsets say 16");
    expect_refused(
        [](RankMesh& mine, Mesh& mesh) {
            mine.offsets[0] = 1;
            mesh.offsets = std::span<const std::int64_t>(mine.offsets);
        },
        ErrorCode::invalid_argument, "begin with 1");
    expect_refused(
        [](RankMesh& mine, Mesh& mesh) {
            mine.connectivity.push_back(0);
            mesh.connectivity = std::span<const std::int64_t>(mine.connectivity);
        },
        ErrorCode::invalid_argument, "its offsets end with");
    expect_refused(
        [](RankMesh&, Mesh& mesh) {
            mesh.types = mesh.types.subspan(1);
            mesh.ghosts = {};
        },
        ErrorCode::invalid_argument, "offsets");
}

TEST_F(MeshTest, RefusesTypesThatVtkOrTheFormatDoNotKnow) {
    expect_refused(
        [](RankMesh& mine, Mesh& mesh) {
            mine.types[1] = 200;
            mesh.types = mine.types;
        },
        ErrorCode::invalid_argument, "VTK does not know");
    expect_refused(
        [](RankMesh& mine, Mesh& mesh) {
            mine.types[1] = 42;
            mesh.types = mine.types;
        },
        ErrorCode::unsupported, "polyhedron");
}

TEST_F(MeshTest, RefusesFieldsOfAnotherLengthAndStepsWithoutMesh) {
    for (const bool has_mesh : {true, false}) {
        Output out = Output::create(comm, folder + "/run",
                                    {.method = "root", .format = "vtkhdf", .if_exists = IfExists::replace});
        const RankMesh mine(comm.rank(), comm.size(), 0);
        const std::vector<double> values(static_cast<std::size_t>(mine.num(On::cells)) + 1);
        out.begin_step(0);
        if (has_mesh) out.put_mesh(mine.mesh(Motion::fixed));
        out.put({.name = "p", .data = std::span<const double>(values), .on = On::cells});
        const Error error = error_of([&] { out.end_step(); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        EXPECT_NE(std::string(error.what()).find(has_mesh ? "values, and the mesh" : "no mesh"),
                  std::string::npos)
            << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error));
        out.close();
    }
}

TEST_F(MeshTest, RefusesAFieldThatIsWrongOnOneRank) {
    struct Wrong {
        On on;
        std::int64_t more_values, components;
        const char* text;
    };
    for (const Wrong& wrong :
         {Wrong{On::points, 1, 1, "values, and the mesh"}, Wrong{On::points, -1, 1, "values, and the mesh"},
          Wrong{On::cells, 0, 2, "of 2 components each"}, Wrong{On::cells, 0, 0, "components"}}) {
        Output out = Output::create(
            comm, folder + "/run",
            {.method = "root", .format = "vtkhdf", .asynchronous = false, .if_exists = IfExists::replace});
        const RankMesh mine(comm.rank(), comm.size(), 0);
        const std::vector<double> values(2 * static_cast<std::size_t>(mine.num(wrong.on)) + 1);
        const std::int64_t num = mine.num(wrong.on) + (is_rank_0() ? wrong.more_values : 0);
        out.begin_step(0);
        out.put_mesh(mine.mesh(Motion::fixed));
        out.put({.name = "p",
                 .data = std::span<const double>(values.data(), static_cast<std::size_t>(num)),
                 .on = wrong.on,
                 .components = is_rank_0() ? wrong.components : 1});
        const Error error = error_of([&] { out.end_step(); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        EXPECT_NE(std::string(error.what()).find(wrong.text), std::string::npos) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error));
        out.close();
        barrier();
        if (is_rank_0()) {
            EXPECT_EQ(names_in(folder), std::vector<std::string>());
        }
        barrier();
    }
}

TEST_F(MeshTest, MayHaveNoCellsOnAnyRank) {
    Output out = Output::create(comm, folder + "/run", {.format = "vtkhdf"});
    out.begin_step(0);
    out.put_mesh({.points = std::span<const double>(),
                  .connectivity = std::span<const std::int64_t>(),
                  .offsets = std::span<const std::int64_t>(),
                  .types = {}});
    out.put({.name = "p", .data = std::span<const double>(), .on = On::cells});
    out.end_step();
    out.close();
    Input in = Input::open(comm, folder + "/run");
    EXPECT_EQ(in.mesh().num_cells, 0);
    EXPECT_EQ(in.mesh().num_pieces, comm.size());
    const MeshPart part = in.read_mesh();
    EXPECT_TRUE(part.points.empty() && part.types.empty() && part.connectivity.empty());
    EXPECT_EQ(part.offsets, std::vector<std::int64_t>{0});
    EXPECT_EQ(in.field("p").shape, std::vector<std::int64_t>{0});
    in.close();
}

/// Written by all ranks, read by all and by the first alone.
TEST_F(MeshTest, IsReadBackOnAnotherNumberOfRanks) {
    const RankMesh mine(comm.rank(), comm.size(), 0);
    std::vector<Values> kept;
    for (const bool resumes : {false, true}) {
        Output out =
            Output::create(comm, folder + "/run",
                           {.format = "vtkhdf", .if_exists = resumes ? IfExists::resume : IfExists::fail});
        kept.clear();
        out.begin_step(resumes ? 2 : 1);
        out.put_mesh(mine.mesh(Motion::fixed));
        put_mesh_fields(out, mine, 0, kept);
        out.end_step();
        out.close();
    }
    barrier();
    const auto check = [&](Input& in, bool is_alone) {
        EXPECT_EQ(in.times()[1], 2.0);
        EXPECT_EQ(in.time_units(), "s");
        const InputMesh mesh = in.mesh();
        EXPECT_EQ(mesh.num_pieces, comm.size());
        EXPECT_TRUE(mesh.has_ghosts);
        const MeshPart part = in.read_mesh();
        const auto num = std::ssize(part.types);
        std::vector<double> p(static_cast<std::size_t>(num));
        in.read({.name = "p", .block = {{mesh.num_cells}, {part.first_cell}, {num}}, .data = std::span(p)});
        std::int64_t cells = num;
        if (!is_alone) MPI_Allreduce(MPI_IN_PLACE, &cells, 1, MPI_INT64_T, MPI_SUM, comm.handle());
        EXPECT_EQ(cells, mesh.num_cells);
        // The pieces one after the other, numbered as one.
        std::vector<double> points;
        std::vector<std::int64_t> connectivity;
        std::vector<double> values;
        for (std::int64_t r = part.first_piece; r < part.first_piece + part.num_pieces; ++r) {
            const RankMesh piece(static_cast<int>(r), comm.size(), 0);
            const std::int64_t first = std::ssize(points) / 3;
            points.insert(points.end(), piece.points.begin(), piece.points.end());
            for (const std::int64_t id : piece.connectivity) connectivity.push_back(first + id);
            const Values of_piece = values_on_mesh(0, mesh_fields[0], 0, piece);
            const Field::Data data = of_piece.data();
            const auto span = std::get<std::span<const double>>(data);
            values.insert(values.end(), span.begin(), span.end());
        }
        EXPECT_EQ(part.points, points);
        EXPECT_EQ(part.connectivity, connectivity);
        EXPECT_EQ(part.offsets.back(), std::ssize(connectivity));
        EXPECT_EQ(p, values);
        EXPECT_EQ(in.field("U").shape, (std::vector<std::int64_t>{mesh.num_cells, 3}));
        EXPECT_EQ(in.field("T").on, On::points);
    };
    Input in = Input::open(comm, folder + "/run");
    check(in, false);
    in.close();
    if (is_rank_0()) {
        Input alone = Input::open(folder + "/run");
        check(alone, true);
    }
    barrier();
}

}  // namespace
}  // namespace hakobi::test
