#include "simulation.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <hakobi/error.hpp>

#include "state.hpp"

namespace hakobi::tsunami {
namespace {

const std::string data = HAKOBI_TSUNAMI_SOURCE_DATA;

Inputs inputs_of(const Comm& comm) {
    return read_inputs(comm, data + "/north_pacific_etopo5.nc", data + "/rupture_tohoku_2011.json",
                       data + "/gauges_tohoku_2011.json", "");
}

Options around_japan(double resolution_arcmin) {
    Options options;
    options.region = {.west = 135, .east = 162, .south = 25, .north = 50};
    options.resolution_arcmin = resolution_arcmin;
    return options;
}

class World : public ::testing::Test {
  protected:
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Inputs inputs = inputs_of(comm);
    void TearDown() override { comm.free(); }
};

TEST_F(World, TheRealSeaAtRestStaysSoToTheBit) {
    inputs.rupture.subfaults.resize(1);
    inputs.rupture.subfaults[0].slip_m = 0;
    Options options;
    options.resolution_arcmin = 40;
    Simulation simulation(comm, options, inputs);
    simulation.advance_to(3600, [] {});
    EXPECT_GT(simulation.num_steps(), 10);
    const Solver& solver = simulation.solver();
    for (std::int64_t r = 0; r < solver.num_rows(); ++r) {
        for (std::int64_t c = 0; c < solver.num_columns(); ++c) {
            ASSERT_EQ(solver.eta.row(r)[c], std::max(solver.bed.row(r)[c], 0.0));
            ASSERT_EQ(solver.momentum_x.row(r)[c], 0.0);
            ASSERT_EQ(solver.momentum_y.row(r)[c], 0.0);
        }
    }
}

TEST_F(World, TheStateDoesNotDependOnTheNumberOfRanks) {
    inputs.rupture.subfaults.resize(20);  // enough to make waves
    for (const auto boundary : {Boundary::open, Boundary::wall}) {
        Options options = around_japan(40);
        options.boundary = boundary;
        Simulation together(comm, options, inputs);
        Comm self = Comm::duplicate(MPI_COMM_SELF);
        Simulation alone(self, options, inputs);
        for (const double time_s : {300.0, 4000.0, 9000.0}) {
            together.advance_to(time_s, [] {});
            alone.advance_to(time_s, [] {});
            EXPECT_EQ(together.num_steps(), alone.num_steps());
            EXPECT_EQ(together.checksum(), alone.checksum()) << "after " << time_s << " s";
            EXPECT_EQ(together.volume_m3().minus(alone.volume_m3()), 0);
        }
        self.free();
    }
}

TEST_F(World, AStateGoesOnToTheBitOnAnotherNumberOfRanks) {
    inputs.rupture.subfaults.resize(20);
    std::array<char, 32> folder{"/tmp/tsunami_state_XXXXXX"};
    if (comm.rank() == 0) {
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
    }
    MPI_Bcast(folder.data(), static_cast<int>(folder.size()), MPI_CHAR, 0, comm.handle());
    const std::string prefix = std::string(folder.data()) + "/run";
    const Options options = around_japan(40);
    Simulation first(comm, options, inputs);
    State state(first);
    Output output = Output::create(comm, prefix);
    state.define(output);
    for (const double time_s :
         {25.0, 2000.0}) {  // while the ground moves, and when waves have left the region
        first.advance_to(time_s, [] {});
        output.begin_step(time_s);
        state.put(output);
        output.end_step();
    }
    output.close();
    first.advance_to(4000, [] {});
    Comm self = Comm::duplicate(MPI_COMM_SELF);
    for (const std::int64_t step : {0, 1}) {
        Simulation together(comm, options, inputs), alone(self, options, inputs);
        Input all = Input::open(comm, prefix), own = Input::open(self, prefix);
        EXPECT_EQ(State::last_step(all), 1);
        State(together).restore(all, step);
        State(alone).restore(own, step);
        all.close();
        own.close();
        for (Simulation* restarted : {&together, &alone}) {
            restarted->advance_to(2000, [] {});
            restarted->advance_to(4000, [] {});
            EXPECT_EQ(restarted->num_steps(), first.num_steps());
            EXPECT_EQ(restarted->checksum(), first.checksum());
            EXPECT_EQ(restarted->volume_m3().minus(first.volume_m3()), 0);
        }
        for (std::int64_t r = 0; r < first.solver().num_rows(); ++r) {
            for (std::int64_t c = 0; c < first.solver().num_columns(); ++c)
                ASSERT_EQ(together.solver().eta_max.row(r)[c], first.solver().eta_max.row(r)[c]);
        }
    }
    self.free();
    MPI_Barrier(comm.handle());
    if (comm.rank() == 0) std::filesystem::remove_all(folder.data());
}

TEST_F(World, WaterIsNeitherMadeNorLost) {
    inputs.rupture.subfaults.resize(20);
    for (const auto boundary : {Boundary::open, Boundary::wall}) {
        Options options = around_japan(30);
        options.boundary = boundary;
        Simulation simulation(comm, options, inputs);
        const ExactSum before = simulation.volume_m3();
        simulation.advance_to(3 * 3600, [] {});
        EXPECT_LT(std::abs(simulation.volume_m3().minus(before)) / before.value(), 1e-14);
    }
}

TEST_F(World, TheFirstWaveReachesFourBuoysWithinFivePercentOfTheObservedTime) {
    if (comm.size() != 2) GTEST_SKIP() << "long: run on 2 ranks only";
    Simulation simulation(comm, around_japan(5), inputs);
    GaugeRecorder recorder(inputs.gauges, simulation.grid(), simulation.block());
    simulation.advance_to(1.5 * 3600, [&] { recorder.record(simulation.solver(), simulation.time_s()); });
    const auto records = recorder.gather(comm.handle());
    if (comm.rank() != 0) return;
    ASSERT_EQ(records.size(), 4U);
    for (std::size_t g = 0; g < records.size(); ++g) {
        const double observed_s = 60 * inputs.gauges[g].observed_arrival_min;
        const auto computed_s = arrival_s(records[g]);
        ASSERT_TRUE(computed_s.has_value()) << inputs.gauges[g].name;
        EXPECT_NEAR(*computed_s, observed_s, 0.05 * observed_s) << inputs.gauges[g].name;
    }
}

TEST_F(World, RanksThatDoNotFitTheGridAndRegionsBeyondTheFloorAreRefused) {
    Options options = around_japan(400);  // 4 x 4 cells
    if (comm.size() > 4) {
        EXPECT_THROW(Simulation(comm, options, inputs), Error);
    }
    options.region = {.west = 100, .east = 130, .south = 0, .north = 20};
    EXPECT_THROW(Simulation(comm, options, inputs), Error);
}

}  // namespace
}  // namespace hakobi::tsunami
