// Several steps in one file: the same bytes from every method and number of ranks, values that are read back,
// and what begins a new file.
#include <unistd.h>

#include "fixture.hpp"
#include "lowered_limit.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

const std::vector<TestField> plain = {{"eta", ValueType::float64, {23, 37}, uneven_rows},
                                      {"u", ValueType::float32, {5, 23, 37}, backward_columns},
                                      {"large", ValueType::int32, {301, 503}, even_blocks}};
const std::vector<TestField> compressed = {{"h", ValueType::float64, {401, 703}, uneven_rows},
                                           {"w", ValueType::float32, {17, 101, 233}, backward_columns},
                                           {"mask", ValueType::int8, {41, 3}, even_blocks}};
class SeveralSteps : public RanksTest {
  protected:
    void write(const Comm& on, const std::string& prefix, OutputOptions options, int first, int last,
               const std::vector<TestField>& fields = plain) {
        options.time_units = "days since 2000-01-01";
        Output out = Output::create(on, prefix, std::move(options));
        for (int step = first; step <= last; ++step) write_step(out, on, step, fields);
        out.close();
        MPI_Barrier(on.handle());
    }

    /// Every element of every step, read by all ranks in blocks that are not those that were written.
    void expect_values(const std::string& prefix, int num_steps,
                       const std::vector<TestField>& fields = plain) {
        barrier();
        Input in = Input::open(comm, prefix);
        ASSERT_EQ(std::ssize(in.steps()), num_steps);
        for (int step = 0; step < num_steps; ++step) {
            EXPECT_EQ(in.steps()[static_cast<std::size_t>(step)], step);
            EXPECT_EQ(in.times()[static_cast<std::size_t>(step)], 0.25 * step);
            for (std::size_t f = 0; f < fields.size(); ++f) expect_field(in, step, f, fields[f]);
        }
        in.close();
    }

    void expect_field(Input& in, int step, std::size_t f, const TestField& field) {
        const Block block = even_blocks(field.global, comm.size(), comm.size() - 1 - comm.rank());
        const Values right(f, field, step, block);
        std::vector<std::byte> read(right.bytes().size());
        visit(field.type, [&]<class T>(T) {
            in.read({.name = field.name,
                     .step = step,
                     .block = block,
                     .data = std::span(reinterpret_cast<T*>(read.data()), read.size() / sizeof(T))});
        });
        EXPECT_TRUE(read == right.bytes()) << field.name << " of step " << step;
    }

    [[nodiscard]] std::vector<std::string> names() const { return names_in(folder); }
};

TEST_F(SeveralSteps, HaveTheSameBytesFromEveryMethodAndNumberOfRanks) {
    if (is_rank_0()) {
        const Comm self = Comm::duplicate(MPI_COMM_SELF);
        write(self, folder + "/one/run", {.method = "root", .asynchronous = false, .steps_per_file = 3}, 0,
              4);
    }
    for (const std::string& method : methods_without_pieces) {
        for (const bool hidden : {false, true}) {
            if (hidden && method == "parallel") continue;
            const std::string name = method + (hidden ? "-hidden" : "");
            write(comm, folder + "/" + name + "/run",
                  {.method = method, .asynchronous = hidden, .steps_per_file = 3}, 0, 4);
            if (!is_rank_0()) continue;
            EXPECT_EQ(names_in(folder + "/" + name),
                      (std::vector<std::string>{"run_000000.nc", "run_000003.nc"}));
            for (const char* file : {"/run_000000.nc", "/run_000003.nc"}) {
                EXPECT_TRUE(bytes_of_file(folder + "/" + name + file) ==
                            bytes_of_file(folder + "/one" + file))
                    << name << file;
            }
        }
    }
}

TEST_F(SeveralSteps, OfCompressedFieldsHaveTheSameBytesAndTheirValues) {
    if (is_rank_0()) {
        const Comm self = Comm::duplicate(MPI_COMM_SELF);
        write(
            self, folder + "/one/run",
            {.method = "root", .compression = "deflate", .asynchronous = false, .steps_per_file = all_steps},
            0, 3, compressed);
    }
    for (const char* method : {"pipelined", "root", "parallel"}) {
        write(comm, folder + "/" + method + "/run",
              {.method = method, .compression = "deflate", .steps_per_file = all_steps}, 0, 3, compressed);
        if (is_rank_0()) {
            EXPECT_TRUE(bytes_of_file(folder + "/" + method + "/run_000000.nc") ==
                        bytes_of_file(folder + "/one/run_000000.nc"))
                << method;
        }
    }
    expect_values(folder + "/pipelined/run", 4, compressed);
}

TEST_F(SeveralSteps, AreReadBackByAnyDecomposition) {
    write(comm, folder + "/run", {.method = "pipelined", .steps_per_file = 4}, 0, 9);
    if (is_rank_0()) {
        EXPECT_EQ(names(), (std::vector<std::string>{"run_000000.nc", "run_000004.nc", "run_000008.nc"}));
    }
    expect_values(folder + "/run", 10);
}

TEST_F(SeveralSteps, ThatAreHundredsShareTheIndexOfThoseBefore) {
    const std::vector<TestField> small = {{"s", ValueType::float64, {4, 4}, even_blocks}};
    write(comm, folder + "/run", {.method = "root", .steps_per_file = all_steps}, 0, 529, small);
    expect_values(folder + "/run", 530, small);
    if (is_rank_0()) {
        EXPECT_EQ(names(), (std::vector<std::string>{"run_000000.nc"}));
    }
}

TEST_F(SeveralSteps, GoOnInTheFileOfTheRunThatIsResumed) {
    write(comm, folder + "/run", {.method = "root", .steps_per_file = all_steps}, 0, 2);
    if (is_rank_0()) {  // what a killed run leaves behind the last committed step
        std::ofstream(folder + "/run_000000.nc", std::ios::app | std::ios::binary)
            << std::string(100000, 'x');
    }
    barrier();
    write(comm, folder + "/run",
          {.method = "pipelined", .if_exists = IfExists::resume, .steps_per_file = all_steps}, 3, 5);
    if (is_rank_0()) {
        EXPECT_EQ(names(), (std::vector<std::string>{"run_000000.nc"}));
    }
    expect_values(folder + "/run", 6);
    write(comm, folder + "/run", {.method = "root", .if_exists = IfExists::resume}, 6, 6);
    write(comm, folder + "/run", {.method = "root", .if_exists = IfExists::resume, .steps_per_file = 2}, 7,
          9);
    if (is_rank_0()) {
        EXPECT_EQ(names(), (std::vector<std::string>{"run_000000.nc", "run_000006.nc", "run_000007.nc",
                                                     "run_000009.nc"}));
    }
    expect_values(folder + "/run", 10);
}

TEST_F(SeveralSteps, ThatAreCompressedGoOnInTheFileOfTheRunThatIsResumed) {
    const OutputOptions options{
        .compression = "deflate", .if_exists = IfExists::resume, .steps_per_file = all_steps};
    write(comm, folder + "/run", options, 0, 1, compressed);
    write(comm, folder + "/run", options, 2, 3, compressed);
    if (is_rank_0()) {
        EXPECT_EQ(names(), (std::vector<std::string>{"run_000000.nc"}));
    }
    expect_values(folder + "/run", 4, compressed);
}

// cp -al copies a folder so.
TEST_F(SeveralSteps, LeaveAFileThatHasFurtherNamesAndBeginANewOne) {
    const OutputOptions options{.method = "pipelined", .steps_per_file = all_steps};
    write(comm, folder + "/run", options, 0, 1);
    std::vector<char> before;
    if (is_rank_0()) {
        before = bytes_of_file(folder + "/run_000000.nc");
        fs::create_hard_link(folder + "/run_000000.nc", folder + "/copy");
    }
    OutputOptions next = options;
    next.if_exists = IfExists::resume;
    write(comm, folder + "/run", next, 2, 3);
    expect_values(folder + "/run", 4);
    if (is_rank_0()) {
        EXPECT_TRUE(bytes_of_file(folder + "/copy") == before);
        EXPECT_EQ(names(), (std::vector<std::string>{"copy", "run_000000.nc", "run_000002.nc"}));
    }
    write(comm, folder + "/run", next, 4, 5);  // in the file that this run has alone
    expect_values(folder + "/run", 6);
    if (is_rank_0()) {
        EXPECT_EQ(names().size(), 3U);
    }
}

TEST_F(SeveralSteps, WithOtherFieldsBeginANewFile) {
    Output out = Output::create(comm, folder + "/run", {.steps_per_file = all_steps});
    const std::vector<TestField> fewer = {plain[0]};
    for (int step = 0; step < 2; ++step) write_step(out, comm, step, plain);
    for (int step = 2; step < 4; ++step) write_step(out, comm, step, fewer);
    out.close();
    barrier();
    if (is_rank_0()) {
        EXPECT_EQ(names(), (std::vector<std::string>{"run_000000.nc", "run_000002.nc"}));
    }
    expect_values(folder + "/run", 4, fewer);
}

TEST_F(SeveralSteps, HaveAStaticFieldOnceAndANewFileWhereItChanges) {
    Output out = Output::create(comm, folder + "/run", {.steps_per_file = all_steps});
    const Block block = even_blocks(std::vector<std::int64_t>{300, 500}, comm.size(), comm.rank());
    const std::vector<double> eta(static_cast<std::size_t>(block.num_elements()), 1.5);
    std::vector<float> depth(static_cast<std::size_t>(block.num_elements()), 10);
    for (int step = 0; step < 4; ++step) {
        if (step == 3 && comm.rank() == comm.size() - 1) depth[0] = 11;
        out.begin_step(step);
        if (step != 1)
            out.put(
                {.name = "depth", .block = block, .data = std::span<const float>(depth), .is_static = true});
        out.put({.name = "eta", .block = block, .data = std::span<const double>(eta)});
        out.end_step();
    }
    out.close();
    barrier();
    if (is_rank_0()) {
        EXPECT_EQ(names(), (std::vector<std::string>{"run_000000.nc", "run_000003.nc"}));
        // Three steps of 1.2 MB, and 0.6 MB once.
        EXPECT_LT(fs::file_size(folder + "/run_000000.nc"), 3 * 1'200'000 + 2 * 600'000);
    }
    Input in = Input::open(comm, folder + "/run");
    float read = 0;
    in.read(
        {.name = "depth", .step = 2, .block = {{300, 500}, {299, 499}, {1, 1}}, .data = std::span(&read, 1)});
    EXPECT_EQ(read, 10);
    in.close();
}

/// Every rank's part has one value, the rank's own, in a block that is another rank's in step 2.
TEST_F(SeveralSteps, BeginANewFileWhereAStaticFieldsBlocksMove) {
    Output out = Output::create(comm, folder + "/run", {.steps_per_file = all_steps});
    const std::vector<std::int64_t> global = {4 * comm.size(), 6};
    const std::vector<std::int32_t> owner(24, comm.rank());
    for (int step = 0; step < 3; ++step) {
        const std::int64_t part = step < 2 ? comm.rank() : comm.size() - 1 - comm.rank();
        out.begin_step(step);
        out.put({.name = "owner",
                 .block = {global, {4 * part, 0}, {4, 6}},
                 .data = std::span(owner),
                 .is_static = true});
        out.end_step();
    }
    out.close();
    barrier();
    Input in = Input::open(comm, folder + "/run");
    for (int step = 0; step < 3; ++step) {
        std::int32_t read = -1;
        in.read(
            {.name = "owner", .step = step, .block = {global, {0, 0}, {1, 1}}, .data = std::span(&read, 1)});
        EXPECT_EQ(read, step < 2 ? 0 : comm.size() - 1);
    }
    in.close();
}

TEST_F(SeveralSteps, GoOnInTheFileOfTheRunThatIsResumedIfItsStaticFieldsAreTheSame) {
    const Block block = even_blocks(std::vector<std::int64_t>{80, 70}, comm.size(), comm.rank());
    const auto run = [&](const std::string& prefix, const std::string& compression, int first, float value) {
        Output out = Output::create(comm, prefix,
                                    {.compression = compression,
                                     .significant_bits = compression == "zstd" ? 12 : 0,
                                     .if_exists = IfExists::resume,
                                     .steps_per_file = all_steps});
        std::vector<float> depth(static_cast<std::size_t>(block.num_elements()), 10.0F / 3);
        if (comm.rank() == comm.size() - 1) depth.back() = value;
        const std::vector<double> eta(depth.size(), first);
        for (int step = first; step < first + 2; ++step) {
            out.begin_step(step);
            out.put(
                {.name = "depth", .block = block, .data = std::span<const float>(depth), .is_static = true});
            out.put({.name = "scale", .data = std::span<const float>(&value, 1), .is_static = true});
            out.put({.name = "eta", .block = block, .data = std::span<const double>(eta)});
            out.end_step();
        }
        out.close();
        barrier();
    };
    const auto last_of = [&](const std::string& prefix, int step) {
        Input in = Input::open(comm, prefix);
        float read = 0, scale = 0;
        in.read({.name = "depth",
                 .step = step,
                 .block = {{80, 70}, {79, 69}, {1, 1}},
                 .data = std::span(&read, 1)});
        in.read({.name = "scale", .step = step, .data = std::span(&scale, 1)});
        in.close();
        EXPECT_EQ(scale, read);
        return read;
    };
    for (const std::string compression : {"none", "zstd"}) {
        const std::string below = folder + "/" + compression, prefix = below + "/run";
        run(prefix, compression, 0, 3);
        run(prefix, compression, 2, 3);
        if (is_rank_0()) {
            EXPECT_EQ(names_in(below), (std::vector<std::string>{"run_000000.nc"}));
        }
        run(prefix, compression, 4, 7);
        if (is_rank_0()) {
            EXPECT_EQ(names_in(below), (std::vector<std::string>{"run_000000.nc", "run_000004.nc"}));
        }
        EXPECT_EQ(last_of(prefix, 3), 3);
        EXPECT_EQ(last_of(prefix, 5), 7);
    }
}

/// mpirun gives the environment to its own node's ranks alone.
TEST_F(SeveralSteps, ByAVariableThatSomeRanksLackAreRefused) {
    if (comm.rank() == 0) setenv("HAKOBI_STEPS_PER_FILE", "all", 1);
    const Error error = error_of([&] { write(comm, folder + "/run", {.method = "root"}, 0, 2); });
    unsetenv("HAKOBI_STEPS_PER_FILE");
    EXPECT_EQ(error.code(), comm.size() > 1 ? ErrorCode::invalid_argument : ErrorCode::ok) << error.what();
}

TEST_F(SeveralSteps, AreRefusedWhereTheyCannotBe) {
    const auto code_of = [&](OutputOptions options) {
        return to_string(error_of([&] { (void)Output::create(comm, folder + "/run", options); }).code());
    };
    EXPECT_EQ(code_of({.steps_per_file = -1}), "invalid_argument");
    EXPECT_EQ(code_of({.format = "zarr", .steps_per_file = 2}), "unsupported");
    EXPECT_EQ(code_of({.method = "per-process", .steps_per_file = 2}), "unsupported");
    EXPECT_EQ(code_of({.steps_per_file = all_steps, .overview = true}), "unsupported");
    setenv("HAKOBI_STEPS_PER_FILE", "0", 1);
    EXPECT_EQ(code_of({}), "invalid_argument");
    setenv("HAKOBI_STEPS_PER_FILE", "all", 1);
    write(comm, folder + "/all", {}, 0, 2);
    write(comm, folder + "/own", {.steps_per_file = 1}, 0, 0);
    Output::create(comm, folder + "/mesh", {.format = "vtkhdf"}).close();
    unsetenv("HAKOBI_STEPS_PER_FILE");
    if (is_rank_0()) {
        EXPECT_EQ(names(), (std::vector<std::string>{"all_000000.nc", "own_000000.nc"}));
    }
}

TEST_F(SeveralSteps, ThatFoundTheNextFilesNameTakenStayWhole) {
    Output out = Output::create(comm, folder + "/run", {.asynchronous = false, .steps_per_file = 2});
    if (is_rank_0()) fs::create_directory(folder + "/run_000002.nc");
    write_step(out, comm, 0, plain);
    write_step(out, comm, 1, plain);
    const Error error = error_of([&] { write_step(out, comm, 2, plain); });
    EXPECT_EQ(to_string(error.code()), "exists") << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    out.close();
    barrier();
    if (is_rank_0()) fs::remove(folder + "/run_000002.nc");
    expect_values(folder + "/run", 2);
}

TEST_F(SeveralSteps, AreNotAddedToAFileThatAnotherProgramHasWrittenTo) {
    Output out = Output::create(comm, folder + "/run", {.asynchronous = false, .steps_per_file = all_steps});
    write_step(out, comm, 0, plain);
    if (is_rank_0()) {  // the end of the file, as a library writes it that has added something
        std::fstream file(folder + "/run_000000.nc", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(28);
        file.put('\7');
    }
    barrier();
    const Error error = error_of([&] { write_step(out, comm, 1, plain); });
    EXPECT_EQ(to_string(error.code()), "exists") << error.what();
    EXPECT_NE(std::string(error.what()).find("another program has written"), std::string::npos)
        << error.what();
    out.close();
}

TEST_F(SeveralSteps, BeforeOneThatFindsNoRoomStayWhole) {
    for (const char* method : {"root", "pipelined"}) {
        const std::string prefix = folder + "/" + method + "/run";
        Output out = Output::create(comm, prefix,
                                    {.method = method, .asynchronous = false, .steps_per_file = all_steps});
        for (int step = 0; step < 2; ++step) write_step(out, comm, step, plain);
        barrier();
        const auto size = fs::file_size(prefix + "_000000.nc");
        barrier();
        {
            const LoweredLimit limit(RLIMIT_FSIZE, size + 100000);
            const Error error = error_of([&] { write_step(out, comm, 2, plain); });
            EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        }
        out.close();
        barrier();
        EXPECT_EQ(fs::file_size(prefix + "_000000.nc"), size);
        expect_values(prefix, 2);
    }
}

}  // namespace
}  // namespace hakobi::test
