#include "storage/ceph_layout.hpp"

#include <gtest/gtest.h>

namespace hakobi::storage {
namespace {

TEST(CephLayout, IsReadFromItsAttribute) {
    const Layout layout =
        ceph::layout_of("stripe_unit=1048576 stripe_count=3 object_size=4194304 pool=cephfs_data");
    EXPECT_EQ(layout, Layout::plain({.stripe_bytes = 1 << 20, .num_stripes = 3, .object_bytes = 4 << 20}));
    EXPECT_EQ(layout.num_servers(), 0);
}

TEST(CephLayout, IsNoneWhereTheValueIsNot) {
    for (const char* value : {"", "stripe_unit=", "stripe_unit=1048576 stripe_count=3",
                              "pool=stripe_unit=", "stripe_unit=-4 stripe_count=3 object_size=1",
                              "stripe_unit=99999999999999999999 stripe_count=1 object_size=1"})
        EXPECT_FALSE(ceph::layout_of(value).is_striped()) << value;
}

TEST(CephLayout, AWishKeepsWhatItDoesNotName) {
    const Layout folder = Layout::plain({.stripe_bytes = 1 << 20, .num_stripes = 3, .object_bytes = 8 << 20});
    EXPECT_EQ(ceph::value_of({.num_stripes = 5}, folder),
              "stripe_unit=1048576 stripe_count=5 object_size=8388608");
    EXPECT_EQ(ceph::value_of({.stripe_bytes = 2 << 20}, {}),
              "stripe_unit=2097152 stripe_count=1 object_size=4194304");
}

TEST(CephLayout, ObjectsHoldWholeStripes) {
    EXPECT_EQ(ceph::value_of({.stripe_bytes = 3 << 20}, {}),
              "stripe_unit=3145728 stripe_count=1 object_size=6291456");
    EXPECT_EQ(ceph::value_of({.stripe_bytes = 16 << 20}, {}),
              "stripe_unit=16777216 stripe_count=1 object_size=16777216");
}

}  // namespace
}  // namespace hakobi::storage
