// Fields on a GPU: the same bits as with plain MPI, on every way of cutting a lattice among 1 to 3 ranks.
#include <gtest/gtest.h>

#include "generate.hpp"
#include "setting_test.hpp"
#include "wilson.hpp"

namespace hakobi::lattice {
namespace {

struct Results {
    double plaquette;
    std::vector<double> mult;  ///< of this rank's sites
};

Results compute(const Comm& comm, const Extents& global, const RankGrid& grid, std::string_view exchange) {
    Setting setting(comm, global, grid, exchange);
    make_hot(setting.gauge, 11);
    setting.gauge.update();
    Results results{.plaquette = measure(setting.gauge, comm, setting.add_up).plaquette, .mult = {}};
    Wilson wilson(*setting.exchange, setting.gauge, {.kappa = 0.125});
    Spinor source(*setting.exchange, setting.geometry), mult(*setting.exchange, setting.geometry);
    fill_normal(source, 13);
    for (int round = 0; round < 3; ++round) {  // an exchange is planned once and used again
        wilson.apply(source, mult);
        wilson.apply(mult, source);
    }
    source.for_sites(-1, [&](std::int32_t s) {
        results.mult.insert(results.mult.end(), source.site(s), source.site(s) + 24);
    });
    return results;
}

class WorldOnAGpu : public World {};

TEST_F(WorldOnAGpu, OnAGpuResultsHaveTheBitsThatTheyHaveWithout) {
    const Extents global{4, 6, 4, 4};
    for (const RankGrid& grid : grids_of(global, comm.size())) {
        SCOPED_TRACE(to_string(grid));
        const Results without = compute(comm, global, grid, "mpi-datatypes");
        const Results with = compute(comm, global, grid, "hakobi-device");
        EXPECT_EQ(with.plaquette, without.plaquette);
        EXPECT_TRUE(with.mult == without.mult);
    }
}

}  // namespace
}  // namespace hakobi::lattice
