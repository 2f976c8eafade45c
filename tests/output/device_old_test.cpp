// A driver that is too old for the device's memory to be known.
#include <cstdlib>

#include "device/program.hpp"
#include "output/fixture.hpp"

namespace hakobi::test {
namespace {

class OldDriver : public RanksTest {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        if (comm.rank() == comm.size() - 1) setenv("HAKOBI_FAKE_DRIVER_VERSION", "10010", 1);
    }
};

TEST_F(OldDriver, IsOneErrorOnAllRanksThatNamesBothVersions) {
    const device_test::Program program;  // it has loaded the driver
    auto* const memory = program.allocate<double>(64);
    Output out = Output::create(comm, folder + "/run", {});
    const Error error = error_of([&] {
        out.begin_step(0);
        out.put({.name = "eta",
                 .block = {{64 * comm.size()}, {64 * comm.rank()}, {64}},
                 .data = std::span<const double>(memory, 64)});
        out.end_step();
    });
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    EXPECT_NE(std::string(error.what()).find("10.1"), std::string::npos) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    out.close();
    program.release(memory);
}

}  // namespace
}  // namespace hakobi::test
