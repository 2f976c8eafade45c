#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gauge.hpp"

// Settings for the tests that run under an MPI launcher: every way of cutting a lattice into blocks that the
// number of ranks allows, with every exchange.
namespace hakobi::lattice {

inline std::vector<RankGrid> grids_of(const Extents& global, int num_ranks) {
    std::vector<RankGrid> grids;
    for (int x = 1; x <= num_ranks; ++x) {
        for (int y = 1; x * y <= num_ranks; ++y) {
            for (int z = 1; x * y * z <= num_ranks; ++z) {
                const int t = num_ranks / (x * y * z);
                if (x * y * z * t != num_ranks) continue;
                if (x <= global[0] && y <= global[1] && z <= global[2] && t <= global[3]) {
                    grids.push_back({x, y, z, t});
                }
            }
        }
    }
    return grids;
}

// One decomposition with all that lives on it.
struct Setting {
    Setting(const Comm& comm_, const Extents& global, const RankGrid& grid,
            std::string_view exchange_name = "mpi-datatypes")
        : comm(comm_),
          geometry(global, grid, comm.size(), comm.rank()),
          exchange(make_exchange(exchange_name, comm, geometry)),
          gauge(*exchange, geometry),
          sums(comm),
          add_up(sums.function()) {}
    Setting(const Setting&) = delete;
    ~Setting() { sums.free(); }
    Comm comm;
    Geometry geometry;
    std::unique_ptr<Exchange> exchange;
    Gauge gauge;
    ScalarSums sums;
    AddUp add_up;
};

class World : public ::testing::Test {
  protected:
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    void TearDown() override { comm.free(); }

    /// But for the exchange on a GPU, which device_test.cpp has.
    template <class Check>
    void for_every_decomposition(const Extents& global, const Check& check) {
        for (const std::string_view exchange : exchange_names()) {
            if (exchange == "hakobi-device") continue;
            for (const RankGrid& grid : grids_of(global, comm.size())) {
                SCOPED_TRACE(std::string(exchange) + " on " + to_string(grid));
                Setting setting(comm, global, grid, exchange);
                check(setting);
            }
        }
    }
};

}  // namespace hakobi::lattice
