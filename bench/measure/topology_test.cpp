#include "measure/topology.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hakobi::measure {
namespace {

/// A machine that hwloc makes up from a description, or the real one for nullptr.
Topology machine(const char* description) {
    setenv("HWLOC_SYNTHETIC", description, 1);
    Topology topology = Topology::load();
    unsetenv("HWLOC_SYNTHETIC");
    return topology;
}

// Two sockets, two core complexes a socket, two cores each with one thread: units 0 to 7.
constexpr const char* two_sockets =
    "pack:2 numa:1 l3:2(size=33554432) l2:2(size=524288) l1d:1(size=32768) core:1 pu:1";

TEST(Topology, KnowsHowFarApartTwoUnitsAre) {
    const Topology topology = machine(two_sockets);
    EXPECT_EQ(topology.num_sockets(), 2);
    EXPECT_EQ(topology.num_core_complexes(), 4);
    EXPECT_EQ(topology.distance("0", "0"), Distance::same_core);
    EXPECT_EQ(topology.distance("0", "1"), Distance::same_core_complex);
    EXPECT_EQ(topology.distance("0", "2"), Distance::same_socket);
    EXPECT_EQ(topology.distance("3", "4"), Distance::other_socket);
}

TEST(Topology, RanksThatMayRoamAreCalledSoUnlessItMakesNoDifference) {
    const Topology topology = machine(two_sockets);
    EXPECT_EQ(topology.distance("0-7", "0-7"), Distance::unbound);
    EXPECT_EQ(topology.distance("0-3", "0-3"), Distance::unbound);  // one socket, which cache?
    EXPECT_EQ(topology.distance("0-1", "0-1"), Distance::same_core_complex);
    EXPECT_EQ(topology.distance("0-3", "4-7"), Distance::other_socket);
    EXPECT_EQ(topology.distance("", "1"), Distance::unbound);
}

TEST(Topology, CacheSizesComeFromTheMachine) {
    const Topology topology = machine(two_sockets);
    EXPECT_EQ(topology.caches().l3_bytes, 33554432);
    EXPECT_EQ(topology.caches().l2_bytes, 524288);
    EXPECT_EQ(topology.caches().l1_bytes, 32768);
    EXPECT_EQ(topology.caches().last_level_bytes(), 33554432);
    EXPECT_EQ(topology.caches().last_level_sharers, 2);
    EXPECT_EQ(topology.cores_in_order().size(), 8U);
    EXPECT_EQ(machine("pack:1 l2:2(size=1048576) core:1 pu:1").caches().last_level_bytes(), 1048576);
}

TEST(Topology, WithoutCachesOnlySocketsTellCoresApart) {
    const Topology topology = machine("pack:2 core:2 pu:1");
    EXPECT_EQ(topology.distance("0", "1"), Distance::same_core_complex);
    EXPECT_EQ(topology.distance("0", "2"), Distance::other_socket);
    EXPECT_EQ(topology.caches().last_level_bytes(), 0);
}

TEST(Topology, CountsCoresOfAList) {
    const Topology topology = machine("pack:1 core:4 pu:2");
    EXPECT_EQ(topology.num_cores_of("0"), 1);
    EXPECT_EQ(topology.num_cores_of("0,1,0-1"), 1);
    EXPECT_EQ(topology.num_cores_of("1-2"), 2);
    EXPECT_EQ(topology.num_cores_of("0-7"), 4);
}

TEST(Topology, WithoutHwlocNothingIsClaimed) {
    const Topology topology = Topology::load(false);
    EXPECT_FALSE(topology.is_known());
    EXPECT_EQ(topology.caches().last_level_bytes(), 0);
    EXPECT_EQ(topology.distance("0", "1"), Distance::unbound);
    EXPECT_EQ(topology.binding(), "");
    EXPECT_FALSE(topology.bind("0"));
    EXPECT_GT(topology.num_units(), 0);
}

TEST(Topology, BindsTheCallingThread) {
    const Topology topology = Topology::load();
    const std::string before = topology.binding();
    if (before.empty() || topology.cores_in_order().empty()) GTEST_SKIP() << "this system binds nothing";
    const std::string core = topology.cores_in_order().front();
    if (!topology.bind(core)) GTEST_SKIP() << "this system refuses to bind";
    EXPECT_EQ(topology.binding(), core);
    EXPECT_FALSE(topology.bind("no list"));
    EXPECT_TRUE(topology.bind(before));
}

}  // namespace
}  // namespace hakobi::measure
