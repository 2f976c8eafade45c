#include <gtest/gtest.h>

#include <cstdlib>
#include <hakobi/error.hpp>
#include <optional>

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
                                         Setting{"datatype", 1}),
                         [](const auto& param) {
                             return std::string(param.param.path) + "_" +
                                    std::to_string(param.param.ranks_per_node) + "_a_node";
                         });

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
