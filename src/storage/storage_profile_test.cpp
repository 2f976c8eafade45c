#include "storage/storage_profile.hpp"

#include <gtest/gtest.h>

namespace hakobi::storage {
namespace {

ServiceSample sample(double asleep_s) {
    return {.is_write = true, .length_bytes = 1 << 20, .wall_s = 1e-3, .asleep_s = asleep_s};
}

TEST(StorageProfile, AFileOpenedLaterBeginsWithWhatItsDeviceTaught) {
    constexpr std::uint64_t device = 0xfeedfacefeedface;
    StorageProfile::of_device(device)->set_service(Service::waits);
    StorageProfile::of_device(device)->observe(3, sample(1e-3));
    EXPECT_EQ(StorageProfile::of_device(device)->service(), Service::waits);
    EXPECT_TRUE(StorageProfile::of_device(device)->blocks(3));
    EXPECT_EQ(StorageProfile::of_device(device + 1)->service(), Service::unknown);
    EXPECT_NE(StorageProfile::of_device(0), StorageProfile::of_device(0)) << "files without a device";
}

TEST(StorageProfile, AccessesOfDifferentLimitsLearnApart) {
    StorageProfile profile;
    EXPECT_EQ(profile.allowed_threads(4, true), 2);  // until the first is over
    for (int i = 0; i < 8; ++i) profile.observe(4, sample(0.9e-3));
    EXPECT_EQ(profile.allowed_threads(4, true), 4);
    EXPECT_EQ(profile.allowed_threads(8, true), 2);
    EXPECT_FALSE(profile.blocks(8));
}

TEST(StorageProfile, WaitsInARowTellSlowStorage) {
    StorageProfile profile;
    profile.observe_in_line(true, 2);
    profile.observe_in_line(false, 2);
    profile.observe_in_line(true, 2);
    EXPECT_EQ(profile.service(), Service::unknown);
    profile.observe_in_line(true, 2);
    EXPECT_EQ(profile.service(), Service::waits);
}

TEST(StorageProfile, WhatPassesThePageCacheWaits) {
    StorageProfile profile;
    profile.observe_bypass(true);
    EXPECT_TRUE(profile.blocks(4));
    profile.observe_bypass(false);
    EXPECT_FALSE(profile.blocks(4));
}

}  // namespace
}  // namespace hakobi::storage
