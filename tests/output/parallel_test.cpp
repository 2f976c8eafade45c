// The method `parallel`: many collective writes (of a few bytes, which stand for 1 GiB), and hints.
#include "output/parallel.hpp"
#include "fixture.hpp"
#include "format/netcdf4/netcdf4.hpp"
#include "mpi/mpi_file.hpp"
#include "output/held_field.hpp"
#include "series/step_file.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

class ParallelTest : public RanksTest {};

class Rounds : public RanksTest {
  protected:
    /// Writes the step of one field as Output does it, and compares the file with the reference.
    void expect_reference(output::Method& method, std::int64_t number, const TestField& field,
                          bool are_regions_new) {
        const Values values(0, field, number, field.block_of(field.global, comm.size(), comm.rank()));
        series::Step step{.place = storage::open_place(folder),
                          .path = folder + "/run.nc",
                          .part_path = folder + "/run.nc.part",
                          .description = {.title = {},
                                          .time_units = "s",
                                          .time = 0.25 * static_cast<double>(number),
                                          .axes = {},
                                          .fields = {{.name = field.name,
                                                      .units = "m",
                                                      .long_name = {},
                                                      .standard_name = {},
                                                      .type = field.type,
                                                      .global = field.global,
                                                      .fill_value = format::default_fill(field.type)}}},
                          .layout = {},
                          .parts = {},
                          .are_regions_new = are_regions_new};
        step.layout = format::netcdf4().lay_out(step.description).value();
        const std::int64_t element_bytes = format::bytes_of(field.type);
        step.parts = {output::part_of({{values.block(), values.bytes().data(),
                                        output::packed_strides(values.block().count, element_bytes)}},
                                      element_bytes, step.layout.offsets_bytes[0])};
        if (is_rank_0()) {
            fs::remove(step.part_path);
            EXPECT_TRUE(
                series::create_file(step.part_path, step.layout.metadata, step.layout.file_bytes).ok());
        }
        barrier();
        const mpi::Agreed agreed = method.write(step);
        EXPECT_TRUE(agreed.status.ok()) << agreed.status.text();
        barrier();
        if (is_rank_0()) {
            EXPECT_TRUE(bytes_of_file(step.part_path) == reference_file({}, number, {field}, comm.size()));
        }
        barrier();
    }
};

TEST_F(Rounds, AreCountedAnewWhenTheSameBlocksHaveAWiderType) {
    auto made = output::make_parallel({.comm = comm, .options = {}, .round_bytes = 512});
    ASSERT_TRUE(made.ok());
    output::Method& method = *made.value();
    TestField field{"eta", ValueType::int32, {128 * comm.size()}, even_blocks};
    expect_reference(method, 0, field, true);
    field.type = ValueType::float64;
    expect_reference(method, 1, field, true);
    expect_reference(method, 2, field, false);
    field.type = ValueType::float32;
    expect_reference(method, 3, field, true);
}

TEST_F(Rounds, ThatDoNotTakeAllValuesAreAnError) {
    const std::string path = folder + "/file";
    if (is_rank_0()) std::ofstream(path) << "";
    barrier();
    std::unique_ptr<mpi::MpiFile> file;
    ASSERT_TRUE(mpi::MpiFile::open(comm, path, {}, file).ok());
    const std::vector<std::int64_t> values(64, 7);
    const Region mine = Region::contiguous(512 * comm.rank(), 512);
    const Region memory =
        Region::contiguous(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(values.data())), 512);
    EXPECT_TRUE(file->write_region_all(mine, memory, 2, 256).ok());
    EXPECT_EQ(file->write_region_all(mine, memory, 1, 256).code(), ErrorCode::internal);
    EXPECT_TRUE(file->close_all().ok());
}

TEST_F(ParallelTest, APathMayHaveColons) {
    const std::vector<TestField> fields = {{"eta", ValueType::float64, {23, 37}, even_blocks}};
    const std::string files = folder + "/T12:00";
    for (const std::string& prefix : {files, "ufs:" + files}) {
        Output out = Output::create(comm, prefix, {.method = "parallel", .if_exists = IfExists::replace});
        write_step(out, comm, 0, fields);
        out.close();
        barrier();
        EXPECT_TRUE(bytes_of_file(files + "_000000.nc") == reference_file({}, 0, fields, comm.size()))
            << prefix;
        barrier();
    }
}

TEST_F(ParallelTest, AHintThatMpiDoesNotTakeLeavesNoFileOpen) {
    const auto num_open = [] { return names_in("/proc/self/fd").size(); };
    const auto fail_once = [&] {
        Output out =
            Output::create(comm, folder + "/run", {.method = "parallel", .hints = {{"cb_nodes", ""}}});
        const Error error = error_of([&] {
            out.begin_step(0);
            out.end_step();
        });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        out.close();
    };
    fail_once();
    const std::size_t before = num_open();
    for (int i = 0; i < 5; ++i) fail_once();
    EXPECT_EQ(num_open(), before);
}

}  // namespace
}  // namespace hakobi::test
