// Several steps of a mesh in one file: what a file a step says is the measure of everything that is read
// back.
#include "mesh_fixture.hpp"

namespace hakobi::test {
namespace {

constexpr Motion motions[] = {Motion::fixed, Motion::moves, Motion::changes};

class SeveralMeshes : public RanksTest {
  protected:
    /// Steps first to last - 1; a fixed mesh is put in the first one, and again where `again` says so.
    void write(const std::string& prefix, OutputOptions options, Motion motion, std::int64_t first,
               std::int64_t last, std::int64_t again = -1) {
        options.format = "vtkhdf";
        options.time_units = "days since 2000-01-01";
        options.calendar = "360_day";
        options.attributes = {{"institution", "tests"}};
        Output out = Output::create(comm, prefix, options);
        for (std::int64_t step = first; step < last; ++step) {
            const std::int64_t mesh_step =
                motion == Motion::fixed ? again >= 0 && step >= again ? again : 0 : step;
            const RankMesh mine(comm.rank(), comm.size(), mesh_step);
            const double level = 0.5 * static_cast<double>(step);
            std::vector<Values> kept;
            out.begin_step(level);
            if (step == first || motion == Motion::changes || (motion == Motion::fixed && step == again)) {
                out.put_mesh(mine.mesh(motion));
            } else if (motion == Motion::moves) {
                out.put_points(std::span<const double>(mine.points));
            }
            put_mesh_fields(out, mine, step, kept);
            out.put({.name = "level", .units = "1", .data = std::span(&level, 1)});
            out.end_step();
        }
        out.close();
        MPI_Barrier(comm.handle());
    }

    [[nodiscard]] static std::vector<std::byte> values_of(Input& in, const InputField& field,
                                                          std::int64_t step) {
        const format::ValueType type = format::value_type_of(field.type).value();
        std::int64_t num = 1;
        for (const std::int64_t extent : field.shape) num *= extent;
        std::vector<std::byte> bytes(static_cast<std::size_t>(num * format::bytes_of(type)));
        visit(type, [&]<class T>(T) {
            in.read({.name = field.name,
                     .step = step,
                     .block = {field.shape, std::vector<std::int64_t>(field.shape.size(), 0), field.shape},
                     .data = std::span(reinterpret_cast<T*>(bytes.data()), static_cast<std::size_t>(num))});
        });
        return bytes;
    }

    /// Two series say the same of every step.
    void expect_same(const std::string& prefix, const std::string& right) {
        Input in = Input::open(comm, prefix), as = Input::open(comm, right);
        ASSERT_TRUE(std::ranges::equal(in.steps(), as.steps()));
        EXPECT_TRUE(std::ranges::equal(in.times(), as.times()));
        EXPECT_EQ(in.time_units(), as.time_units());
        for (const std::int64_t step : as.steps()) {
            ASSERT_EQ(in.fields(step).size(), as.fields(step).size());
            EXPECT_EQ(in.attributes(step), as.attributes(step));
            for (const InputField& field : as.fields(step)) {
                EXPECT_EQ(in.field(field.name, step).shape, field.shape) << field.name;
                EXPECT_EQ(in.field(field.name, step).attributes, field.attributes) << field.name;
                EXPECT_TRUE(values_of(in, field, step) == values_of(as, field, step))
                    << field.name << " of step " << step;
            }
            const MeshPart mine = in.read_mesh(step), its = as.read_mesh(step);
            EXPECT_EQ(mine.points, its.points) << step;
            EXPECT_EQ(mine.connectivity, its.connectivity);
            EXPECT_EQ(mine.offsets, its.offsets);
            EXPECT_EQ(mine.types, its.types);
            EXPECT_EQ(mine.ghosts, its.ghosts);
        }
        in.close();
        as.close();
        barrier();
    }
    [[nodiscard]] std::vector<std::string> names(const std::string& below) const {
        return names_in(folder + "/" + below);
    }
};

using Names = std::vector<std::string>;

TEST_F(SeveralMeshes, AreReadAsThoseOfAFileAStep) {
    for (const Motion motion : motions) {
        const std::string to = std::to_string(static_cast<int>(motion));
        write(folder + "/own" + to + "/run", {.method = "root"}, motion, 0, 5);
        write(folder + "/all" + to + "/run", {.method = "pipelined", .steps_per_file = all_steps}, motion, 0,
              5);
        write(folder + "/two" + to + "/run", {.method = "root", .steps_per_file = 2}, motion, 0, 5);
        expect_same(folder + "/all" + to + "/run", folder + "/own" + to + "/run");
        expect_same(folder + "/two" + to + "/run", folder + "/own" + to + "/run");
        if (!is_rank_0()) continue;
        EXPECT_EQ(names("all" + to), Names{"run_000000.hdf"});
        Names two = {"run_000000.hdf", "run_000002.hdf", "run_000004.hdf"};
        if (motion != Motion::changes) two.insert(two.begin() + 1, "run_000000.hdf.mesh");
        EXPECT_EQ(names("two" + to), two);
    }
}

TEST_F(SeveralMeshes, HaveTheSameBytesFromEveryMethod) {
    for (const Motion motion : motions) {
        const std::string below = std::to_string(static_cast<int>(motion)) + "-";
        for (const std::string& method : methods_without_pieces) {
            for (const bool hidden : {false, true}) {
                if (hidden && method == "parallel") continue;
                const std::string name = below + method + (hidden ? "-hidden" : "");
                write(folder + "/" + name + "/run",
                      {.method = method, .asynchronous = hidden, .steps_per_file = all_steps}, motion, 0, 4);
                if (!is_rank_0()) continue;
                EXPECT_TRUE(bytes_of_file(folder + "/" + name + "/run_000000.hdf") ==
                            bytes_of_file(folder + "/" + below + "root/run_000000.hdf"))
                    << name;
            }
        }
    }
}

TEST_F(SeveralMeshes, OfAMeshThatIsPutAnewBeginANewFileUnlessItIsTheSame) {
    write(folder + "/own/run", {.method = "root"}, Motion::fixed, 0, 5, 3);
    write(folder + "/all/run", {.method = "root", .steps_per_file = all_steps}, Motion::fixed, 0, 5, 3);
    expect_same(folder + "/all/run", folder + "/own/run");
    write(folder + "/same/run", {.method = "root", .steps_per_file = all_steps}, Motion::fixed, 0, 5, 0);
    if (is_rank_0()) {
        EXPECT_EQ(names("all"), (Names{"run_000000.hdf", "run_000003.hdf"}));
        EXPECT_EQ(names("same"), Names{"run_000000.hdf"});
    }
}

/// A file that begins since the fields are others has no mesh of its own: the one before has it.
TEST_F(SeveralMeshes, WithOtherFieldsLinkToTheMeshOfTheFileBefore) {
    Output out = Output::create(comm, folder + "/run", {.format = "vtkhdf", .steps_per_file = all_steps});
    const RankMesh mine(comm.rank(), comm.size(), 0);
    const std::vector<float> heat(static_cast<std::size_t>(mine.num(On::cells)), 3);
    for (std::int64_t step = 0; step < 4; ++step) {
        out.begin_step(static_cast<double>(step));
        if (step == 0) out.put_mesh(mine.mesh(Motion::fixed));
        out.put({.name = step < 2 ? "heat" : "cold", .data = std::span<const float>(heat), .on = On::cells});
        out.end_step();
    }
    out.close();
    barrier();
    if (is_rank_0()) {
        EXPECT_EQ(names(""), (Names{"run_000000.hdf", "run_000002.hdf"}));
    }
    Input in = Input::open(comm, folder + "/run");
    EXPECT_EQ(in.read_mesh(0).points, in.read_mesh(3).points);
    EXPECT_EQ(in.read_mesh(1).connectivity, in.read_mesh(3).connectivity);
    const std::int64_t num = in.mesh(3).num_cells;
    std::vector<float> read(static_cast<std::size_t>(num));
    in.read({.name = "cold", .step = 3, .block = {{num}, {0}, {num}}, .data = std::span(read)});
    EXPECT_EQ(std::ranges::count(read, 3.0F), num);
    in.close();
}

/// The resumed run's first steps go to the first run's file, and its last ones to a new one, which has no
/// mesh. Points that move, and static scalars, are each file's own.
TEST_F(SeveralMeshes, OfAResumedRunLinkToTheMeshOfTheFileThatTheyGoOnIn) {
    for (const Motion motion : {Motion::fixed, Motion::moves}) {
        const std::string below = std::to_string(static_cast<int>(motion)),
                          prefix = folder + "/" + below + "/run";
        const auto mesh_of = [&](std::int64_t step) {
            return RankMesh(comm.rank(), comm.size(), motion == Motion::fixed ? 0 : step);
        };
        const auto run = [&](std::int64_t first, std::int64_t last, std::int64_t others_from) {
            Output out = Output::create(
                comm, prefix,
                {.format = "vtkhdf", .if_exists = IfExists::resume, .steps_per_file = all_steps});
            for (std::int64_t step = first; step < last; ++step) {
                const RankMesh mine = mesh_of(step);
                const std::vector<float> heat(static_cast<std::size_t>(mine.num(On::cells)), 3);
                const double gamma = step < others_from ? 1.4 : 1.3, beta = 2.5;
                out.begin_step(static_cast<double>(step));
                if (step == first)
                    out.put_mesh(mine.mesh(motion));
                else if (motion == Motion::moves)
                    out.put_points(std::span<const double>(mine.points));
                if (step == first || step == others_from)
                    out.put({.name = "gamma", .data = std::span(&gamma, 1), .is_static = true});
                if (step >= others_from)
                    out.put({.name = "beta", .data = std::span(&beta, 1), .is_static = true});
                out.put({.name = "heat", .data = std::span<const float>(heat), .on = On::cells});
                out.end_step();
            }
            out.close();
            barrier();
        };
        run(0, 2, 9);
        run(2, 6, 4);
        if (is_rank_0()) {
            EXPECT_EQ(names(below), (Names{"run_000000.hdf", "run_000004.hdf"}));
        }
        Input in = Input::open(comm, prefix);
        EXPECT_GT(in.mesh(0).num_points, 0);
        const MeshPart first = in.read_mesh(0);
        for (const std::int64_t step : {1, 2, 3, 4, 5}) {
            const MeshPart mesh = in.read_mesh(step);
            EXPECT_EQ(mesh.connectivity, first.connectivity) << step;
            if (motion == Motion::fixed) {
                EXPECT_EQ(mesh.points, first.points) << step;
            } else if (!first.connectivity.empty()) {
                EXPECT_NE(mesh.points, first.points) << step;
            }
            double gamma = 0;
            in.read({.name = "gamma", .step = step, .data = std::span(&gamma, 1)});
            EXPECT_EQ(gamma, step < 4 ? 1.4 : 1.3) << step;
        }
        double beta = 0;
        in.read({.name = "beta", .step = 5, .data = std::span(&beta, 1)});
        EXPECT_EQ(beta, 2.5);
        in.close();
        barrier();
    }
}

TEST_F(SeveralMeshes, GoOnInTheFileOfTheRunThatIsResumedIfTheMeshIsTheSame) {
    for (const Motion motion : motions) {
        const std::string to = std::to_string(static_cast<int>(motion)),
                          prefix = folder + "/all" + to + "/run";
        write(folder + "/own" + to + "/run", {.method = "root"}, motion, 0, 6);
        write(prefix, {.method = "root", .steps_per_file = all_steps}, motion, 0, 3);
        if (is_rank_0())
            std::ofstream(prefix + "_000000.hdf", std::ios::app | std::ios::binary)
                << std::string(100000, 'x');
        barrier();
        write(prefix, {.method = "pipelined", .if_exists = IfExists::resume, .steps_per_file = all_steps},
              motion, 3, 6);
        expect_same(prefix, folder + "/own" + to + "/run");
        if (is_rank_0()) {
            EXPECT_EQ(names("all" + to), Names{"run_000000.hdf"});
        }
        write(prefix, {.method = "root", .if_exists = IfExists::resume, .steps_per_file = 9}, motion, 6, 8);
        if (is_rank_0()) {
            // A mesh in a file of its own is not the one in the series' first file.
            EXPECT_EQ(names("all" + to),
                      motion == Motion::changes
                          ? Names{"run_000000.hdf"}
                          : (Names{"run_000000.hdf", "run_000006.hdf", "run_000006.hdf.mesh"}));
        }
    }
    write(folder + "/other/run", {.method = "root", .steps_per_file = all_steps}, Motion::fixed, 0, 2);
    write(folder + "/other/run",
          {.method = "root", .if_exists = IfExists::resume, .steps_per_file = all_steps}, Motion::fixed, 2, 4,
          2);
    if (is_rank_0()) {
        EXPECT_EQ(names("other"), (Names{"run_000000.hdf", "run_000002.hdf"}));
    }
}

/// The sizes of the parts change, and with them the file.
TEST_F(SeveralMeshes, OfAMeshOfAnotherSizeBeginANewFile) {
    Output out = Output::create(comm, folder + "/run", {.format = "vtkhdf", .steps_per_file = all_steps});
    for (int step = 0; step < 4; ++step) {
        const int later = step < 2 ? 0 : 2;
        const RankMesh mine(comm.rank() + later, comm.size() + 2 * later, step);
        std::vector<Values> kept;
        out.begin_step(step);
        out.put_mesh(mine.mesh(Motion::changes));
        put_mesh_fields(out, mine, step, kept);
        out.end_step();
    }
    out.close();
    barrier();
    if (is_rank_0()) {
        EXPECT_EQ(names(""), (Names{"run_000000.hdf", "run_000002.hdf"}));
    }
    Input in = Input::open(comm, folder + "/run");
    EXPECT_EQ(std::ssize(in.steps()), 4);
    in.close();
}

TEST_F(SeveralMeshes, WithoutCellsAreFilesLikeAnyOther) {
    const std::vector<double> points = {0, 0, 0, 1, 1, 1};
    const std::vector<double> values = {1.5, 2.5};
    const double none = 0;
    Output out = Output::create(comm, folder + "/run", {.format = "vtkhdf", .steps_per_file = all_steps});
    for (int step = 0; step < 3; ++step) {
        out.begin_step(step);
        if (step == 0) out.put_mesh({.points = std::span<const double>(points)});
        out.put({.name = "c", .data = std::span(&none, 0), .on = On::cells});
        out.put({.name = "v", .data = std::span<const double>(values), .on = On::points});
        out.end_step();
    }
    out.close();
    barrier();
    Input in = Input::open(comm, folder + "/run");
    EXPECT_EQ(std::ssize(in.steps()), 3);
    std::vector<double> read(2);
    in.read({.name = "v", .step = 2, .block = {{2 * comm.size()}, {0}, {2}}, .data = std::span(read)});
    EXPECT_EQ(read, values);
    in.close();
}

}  // namespace
}  // namespace hakobi::test
