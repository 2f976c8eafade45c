#include <gtest/gtest.h>

#include <cstdlib>
#include <hakobi/error.hpp>
#include <optional>
#include <string>
#include <vector>

#include "exchange/halo_fixture.hpp"

namespace hakobi::exchange {
namespace {

struct Setting {
    const char* path;
    int ranks_per_node;
};

class HaloBy : public testing::TestWithParam<Setting> {
  protected:
    void SetUp() override {
        if (GetParam().ranks_per_node > 0)
            setenv("HAKOBI_RANKS_PER_NODE", std::to_string(GetParam().ranks_per_node).c_str(), 1);
        comm_ = Comm::duplicate(MPI_COMM_WORLD);
        unsetenv("HAKOBI_RANKS_PER_NODE");
    }
    void TearDown() override { comm_.free(); }
    Comm comm_;
};

INSTANTIATE_TEST_SUITE_P(Paths, HaloBy,
                         testing::Values(Setting{"auto", 0}, Setting{"auto", 2}, Setting{"direct", 0},
                                         Setting{"deposit", 0}, Setting{"cma", 0}, Setting{"staged", 0},
                                         Setting{"packed", 0}, Setting{"datatype", 0}, Setting{"direct", 2},
                                         Setting{"datatype", 1}, Setting{"parts", 0}, Setting{"parts", 1}),
                         [](const auto& param) {
                             return std::string(param.param.path) + "_" +
                                    std::to_string(param.param.ranks_per_node) + "_a_node";
                         });

/// The measurements of a plan; "" where it had no choice.
std::string measured_by(const Halo& halo) {
    const std::string text = halo.explain();
    const std::size_t at = text.find("measured:");
    return at == std::string::npos ? "" : text.substr(at);
}

int count_of(const std::string& text, const std::string& word) {
    int num = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++num;
    return num;
}

TEST(HaloPlan, MeasuresEachWayToOtherNodesOnce) {
    setenv("HAKOBI_RANKS_PER_NODE", "1", 1);
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    unsetenv("HAKOBI_RANKS_PER_NODE");
    const HaloGrid grid{
        .extents = {100000}, .ghosts = {{20000, 20000}}, .ranks = {comm.size()}, .is_periodic = {}};
    std::vector<double> values(140000, 1.0);
    const HaloField field = HaloField::dense(values.data(), grid, 8);
    const Halo halo = Halo::plan(comm, grid, std::span(&field, 1));
    const std::string measured = measured_by(halo);
    const int expected = comm.size() > 1 ? 1 : 0;  // one rank has no neighbour
    for (const char* const way : {"/parts", "/packed", "/datatype"})
        EXPECT_EQ(count_of(measured, way), expected) << way << " in " << measured;
    comm.free();
}

TEST_P(HaloBy, FillsAllGhostsOfRandomGrids) {
    // Ranks that spin while they wait for a core make planning slow.
    const unsigned num_grids = comm_.size() > 2 ? 6 : 20;
    for (unsigned seed = 1; seed <= num_grids; ++seed) {
        const HaloCase made = HaloCase::random(seed, comm_);
        std::vector<std::optional<HaloValues>> values(made.orders.size());
        std::vector<HaloField> fields;
        for (std::size_t f = 0; f < values.size(); ++f) {
            values[f].emplace(comm_, made, f);
            fields.push_back(values[f]->field());
        }
        Halo halo = Halo::plan(comm_, made.grid, fields, {.corners = made.corners, .path = GetParam().path});
        for (int round = 0; round < 3; ++round) {
            for (auto& value : values) value->fill(round);
            halo.start();
            halo.wait();
            for (std::size_t f = 0; f < values.size(); ++f)
                ASSERT_EQ(values[f]->num_wrong(round), 0)
                    << "seed " << seed << ", field " << f << ", round " << round << "\n"
                    << halo.explain();
        }
    }
}

}  // namespace
}  // namespace hakobi::exchange
