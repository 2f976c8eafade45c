// A device that breaks while it copies, on one rank.
#include <cstdlib>

#include "device/program.hpp"
#include "output/fixture.hpp"

namespace hakobi::test {
namespace {

using device_test::Array;
using format::ValueType;

const std::vector<TestField> fields = {{"eta", ValueType::float64, {230, 37}, even_blocks}};

class BrokenDevice : public RanksTest {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        // The second copy is the first that Output or Input makes.
        if (comm.rank() == comm.size() - 1) setenv("HAKOBI_FAKE_DEVICE_FAILS_AT", "2", 1);
    }
};

/// The first step that fails is a hidden one, whose writers are others while it copies; then the device is
/// known to be broken.
TEST_F(BrokenDevice, FailsTheStepOnAllRanksAndLeavesEarlierOnes) {
    const std::vector<double> values(230);
    const Array<double> array(values);
    std::vector<std::pair<std::string, Output>> outputs;
    const auto create = [&](const std::string& method) {
        const std::string prefix = folder + "/" + std::to_string(outputs.size()) + "/run";
        outputs.emplace_back(prefix, Output::create(comm, prefix, {.method = method}));
        write_step(outputs.back().second, comm, 0, fields);
    };
    create("pipelined");
    for (const std::string& method : writing_methods()) create(method);
    for (auto& [prefix, out] : outputs) {
        const Error error = error_of([&] {
            out.begin_step(1);
            out.put({.name = "eta",
                     .block = {{230 * comm.size()}, {230 * comm.rank()}, {230}},
                     .data = std::span<const double>(array.data(), 230)});
            out.end_step();
        });
        EXPECT_EQ(error.code(), ErrorCode::io) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        EXPECT_EQ(error.rank(), comm.size() - 1);
        out.close();
        barrier();
        if (is_rank_0()) {
            EXPECT_EQ(names_in(fs::path(prefix).parent_path()), std::vector<std::string>{"run_000000.nc"});
            EXPECT_TRUE(bytes_of_file(prefix + "_000000.nc") == reference_file({}, 0, fields, comm.size()));
        }
        barrier();
    }
}

/// A program of its own: what is broken stays broken.
TEST_F(BrokenDevice, DISABLED_FailsTheReadOnAllRanks) {
    Output out = Output::create(comm, folder + "/run", {});
    write_step(out, comm, 0, fields);
    out.close();
    const Array<double> array(std::vector<double>(230 * 37));
    Input in = Input::open(comm, folder + "/run");
    const Error error =
        error_of([&] { in.read({.name = "eta", .data = std::span(array.data(), array.size())}); });
    EXPECT_NE(error.code(), ErrorCode::ok);
    EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
    std::vector<double> values(230 * 37);
    in.read({.name = "eta", .data = std::span(values), .memory = Memory::host});
    EXPECT_EQ(values[100], static_cast<double>(value_at(0, 0, 100)));
    in.close();
}

}  // namespace
}  // namespace hakobi::test
