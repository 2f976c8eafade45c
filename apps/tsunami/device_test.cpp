// Fields on a GPU: the same state and the same files as without one, on 1 to 3 ranks.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "run.hpp"
#include "simulation.hpp"

namespace hakobi::tsunami {
namespace {

const std::string data = HAKOBI_TSUNAMI_SOURCE_DATA;

Options around_japan() {
    Options options;
    options.region = {.west = 135, .east = 162, .south = 25, .north = 50};
    options.resolution_arcmin = 40;
    options.hours = 0.5;
    options.num_steps_out = 2;
    options.state_every = 1;
    options.seafloor = data + "/north_pacific_etopo5.nc";
    options.rupture = data + "/rupture_tohoku_2011.json";
    return options;
}

std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class World : public ::testing::Test {
  protected:
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    void TearDown() override { comm.free(); }
};

TEST_F(World, OnAGpuTheStateIsTheSameToTheBit) {
    Inputs inputs = read_inputs(comm, around_japan().seafloor, around_japan().rupture, "", "");
    inputs.rupture.subfaults.resize(20);
    std::array<std::uint64_t, 2> checksums{};
    for (const bool is_on_device : {false, true}) {
        Options options = around_japan();
        options.is_on_device = is_on_device;
        Simulation simulation(comm, options, inputs);
        simulation.advance_to(2000, [] {});
        checksums[is_on_device ? 1 : 0] = simulation.checksum();
        EXPECT_EQ(simulation.gpu() != nullptr, is_on_device);
    }
    EXPECT_EQ(checksums[0], checksums[1]);
}

TEST_F(World, OnAGpuTheFilesHaveTheSameBytesByEachMethod) {
    for (const char* method : {"pipelined", "root", "per-process"}) {
        SCOPED_TRACE(method);
        std::array<char, 32> folder{"/tmp/tsunami_device_XXXXXX"};
        if (comm.rank() == 0) {
            ASSERT_NE(mkdtemp(folder.data()), nullptr);
        }
        MPI_Bcast(folder.data(), static_cast<int>(folder.size()), MPI_CHAR, 0, comm.handle());
        const std::filesystem::path place(folder.data());
        for (const bool is_on_device : {false, true}) {
            Options options = around_japan();
            options.output.method = method;
            options.is_on_device = is_on_device;
            options.is_single_precision = true;
            options.prefix = place / (is_on_device ? "device" : "host");
            run(comm, options);
        }
        MPI_Barrier(comm.handle());
        if (comm.rank() != 0) continue;
        for (const char* step : {"_000000.nc", "_000001.nc"}) {
            const std::string host = bytes_of(place / ("host" + std::string(step)));
            EXPECT_FALSE(host.empty());
            EXPECT_TRUE(host == bytes_of(place / ("device" + std::string(step)))) << step;
        }
        std::filesystem::remove_all(place);
    }
}

}  // namespace
}  // namespace hakobi::tsunami
