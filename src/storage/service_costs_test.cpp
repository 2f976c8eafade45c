#include "storage/service_costs.hpp"

#include <gtest/gtest.h>

namespace hakobi::storage {
namespace {

constexpr bool write = true, read = false, from_memory = true, not_from_memory = false;

void complete(ServiceCosts& costs, bool is_write, ServiceCosts::Cost truth, int times,
              std::int64_t num_accesses, std::int64_t num_bytes) {
    for (int i = 0; i < times; ++i) {
        costs.completed(is_write, num_accesses, num_bytes,
                        truth.of(static_cast<double>(num_accesses), static_cast<double>(num_bytes)));
    }
}

TEST(ServiceCosts, WithoutAccessesAGuessTellsMemoryFromOtherStorage) {
    const ServiceCosts costs;
    EXPECT_LT(costs.of(write, from_memory).access_s, 1e-5);
    EXPECT_GT(costs.of(write, not_from_memory).access_s, 5e-5);
}

TEST(ServiceCosts, AccessesOfTwoLengthsTellBothCosts) {
    const ServiceCosts::Cost disk{2e-3, 2e-9};
    ServiceCosts costs;
    complete(costs, write, disk, 4, 1, 4 << 20);
    complete(costs, write, disk, 4, 100, 51200);
    const ServiceCosts::Cost found = costs.of(write, not_from_memory);
    EXPECT_NEAR(found.access_s, disk.access_s, 0.05 * disk.access_s);
    EXPECT_NEAR(found.byte_s, disk.byte_s, 0.1 * disk.byte_s);
}

TEST(ServiceCosts, DirectionsAreApart) {
    ServiceCosts costs;
    complete(costs, read, {5e-3, 1e-9}, 8, 10, 4096);
    EXPECT_LT(costs.of(write, not_from_memory).access_s, 2e-4);
    EXPECT_GT(costs.of(read, not_from_memory).access_s, 3e-3);
}

TEST(ServiceCosts, LargeAccessesAloneTellTheBandwidthAndLeaveTheGuessOfTheRest) {
    ServiceCosts costs;
    complete(costs, write, {0, 0.4e-9}, 8, 1, 4 << 20);
    const ServiceCosts::Cost found = costs.of(write, from_memory);
    EXPECT_NEAR(found.byte_s, 0.4e-9, 0.05e-9);
    EXPECT_LT(found.access_s, 4e-6);
}

TEST(ServiceCosts, OlderAccessesAreForgotten) {
    ServiceCosts costs;
    complete(costs, write, {1e-2, 1e-9}, 20, 50, 51200);
    complete(costs, write, {1e-5, 1e-9}, 60, 50, 51200);
    EXPECT_LT(costs.of(write, not_from_memory).access_s, 1e-4);
}

TEST(ServiceCosts, AnAccessIsNeverFree) {
    ServiceCosts costs;
    for (const std::int64_t length : {1 << 20, 2 << 20, 4 << 20})
        costs.completed(write, 1, length, 3e-9 * static_cast<double>(length) - 1e-3);
    EXPECT_GE(costs.of(write, not_from_memory).access_s, 50e-6);
    EXPECT_GE(costs.of(write, from_memory).access_s, 0.5e-6);
}

TEST(ServiceCosts, NoCostIsNegative) {
    ServiceCosts costs;
    costs.completed(write, 1, 1 << 20, 1e-3);
    costs.completed(write, 1, 2 << 20, 1e-3);
    costs.completed(write, 100, 4096, 1e-7);
    const ServiceCosts::Cost found = costs.of(write, from_memory);
    EXPECT_GE(found.access_s, 0);
    EXPECT_GE(found.byte_s, 0);
}

}  // namespace
}  // namespace hakobi::storage
