#include "storage/layout.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "units.hpp"

namespace hakobi::storage {
namespace {

TEST(Layout, OfNothingHasNoServers) {
    const Layout none;
    EXPECT_FALSE(none.is_striped());
    EXPECT_EQ(none.server_of(0), -1);
    EXPECT_EQ(none.stripe_at(5).end_bytes, Layout::no_end);
    EXPECT_EQ(none.num_servers(), 0);
    EXPECT_EQ(none.stripe_bytes(), 0);
    EXPECT_EQ(none.text(), "no stripes");
}

TEST(Layout, PlainStripesGoRoundTheServers) {
    const Layout layout = Layout::plain({mib, 3, {7, 2, 9}});
    EXPECT_EQ(layout.server_of(0), 7);
    EXPECT_EQ(layout.server_of(mib - 1), 7);
    EXPECT_EQ(layout.server_of(mib), 2);
    EXPECT_EQ(layout.server_of(5 * mib + 1), 9);
    EXPECT_EQ(layout.server_of(-1), -1);
    const Stripe stripe = layout.stripe_at(4 * mib + 17);
    EXPECT_EQ(stripe.begin_bytes, 4 * mib);
    EXPECT_EQ(stripe.end_bytes, 5 * mib);
    EXPECT_EQ(stripe.object, 1);
    EXPECT_EQ(layout.num_servers(), 3);
    EXPECT_EQ(layout.text(), "3 stripes of 1 MiB on servers 7, 2, 9");
}

TEST(Layout, OfAnyServerNumbersHasAText) {
    constexpr int highest = std::numeric_limits<int>::max();
    EXPECT_EQ(Layout::plain({mib, 3, {highest, -highest - 1, 0}}).text(),
              "3 stripes of 1 MiB on servers 2147483647, -2147483648, 0");
}

TEST(Layout, ServersThatAreNotKnownAreNumbered) {
    const Layout layout = Layout::plain({mib, 4});
    EXPECT_EQ(layout.server_of(6 * mib), 2);
    EXPECT_EQ(layout.num_servers(), 4);
    EXPECT_EQ(layout.text(), "4 stripes of 1 MiB");
}

TEST(Layout, OverstripedServersHaveSeveralStripes) {
    const Layout known = Layout::plain({mib, 6, {0, 1, 2, 0, 1, 2}});
    EXPECT_EQ(known.num_servers(), 3);
    EXPECT_EQ(known.server_of(4 * mib), 1);
    EXPECT_EQ(known.text(), "6 stripes of 1 MiB, overstriped on servers 0, 1, 2, 0, 1, 2");
    const Layout counted = Layout::plain({.stripe_bytes = mib, .num_stripes = 6, .stripes_per_server = 2});
    EXPECT_EQ(counted.num_servers(), 3);
    EXPECT_EQ(counted.server_of(4 * mib), 1);
    EXPECT_EQ(counted.text(), "6 stripes of 1 MiB, overstriped on 3 servers");
}

TEST(Layout, ACompositeStripesEachPartFromTheFilesBegin) {
    const Layout layout{{{0, 4 * mib, {mib, 1, {5}}}, {4 * mib, Layout::no_end, {2 * mib, 3, {1, 2, 3}}}}};
    EXPECT_TRUE(layout.is_composite());
    EXPECT_EQ(layout.server_of(3 * mib), 5);
    EXPECT_EQ(layout.server_of(4 * mib), 3);  // stripe 2 of the file, not stripe 0 of the part
    EXPECT_EQ(layout.server_of(6 * mib), 1);
    EXPECT_EQ(layout.num_stripes(), 3);
    EXPECT_EQ(layout.stripe_bytes(), 2 * mib);
    EXPECT_EQ(layout.text(),
              "composite: to 4 MiB: 1 stripe of 1 MiB on server 5; from 4 MiB: 3 stripes of 2 MiB on servers "
              "1 to 3");
}

TEST(Layout, BehindALimitedCompositeNothingIsKnown) {
    const Layout layout{{{0, 4 * mib, {mib, 2, {5, 6}}}}};
    EXPECT_EQ(layout.server_of(4 * mib - 1), 6);
    EXPECT_EQ(layout.server_of(4 * mib), -1);
    EXPECT_EQ(layout.part_at(4 * mib), nullptr);
}

TEST(Layout, AStripeEndsWithItsPart) {
    const Layout layout{{{0, 3 * mib, {2 * mib, 1, {0}}}, {3 * mib, Layout::no_end, {4 * mib, 2, {0, 1}}}}};
    EXPECT_EQ(layout.stripe_at(5 * mib / 2).end_bytes, 3 * mib);
    EXPECT_EQ(layout.stripe_at(3 * mib).begin_bytes, 3 * mib);
    EXPECT_EQ(layout.stripe_at(Layout::no_end - 1).end_bytes, Layout::no_end);
}

TEST(Layout, LimitedObjectsFollowEachOtherOnServersThatAreNotKnown) {
    const Layout layout = Layout::plain({.stripe_bytes = mib, .num_stripes = 2, .object_bytes = 4 * mib});
    EXPECT_EQ(layout.stripe_at(7 * mib).object, 1);
    EXPECT_EQ(layout.stripe_at(8 * mib).object, 2);
    EXPECT_EQ(layout.stripe_at(17 * mib).object, 5);
    EXPECT_EQ(layout.server_of(0), -1);
    EXPECT_EQ(layout.num_servers(), 0);
    EXPECT_EQ(layout.text(), "2 stripes of 1 MiB, in objects of 4 MiB");
}

TEST(Layout, IsEqualByValue) {
    EXPECT_EQ(Layout::plain({mib, 2, {0, 1}}), Layout::plain({mib, 2, {0, 1}}));
    EXPECT_NE(Layout::plain({mib, 2, {0, 1}}), Layout::plain({mib, 2, {1, 0}}));
    EXPECT_NE(Layout::plain({mib, 2}), Layout());
}

}  // namespace
}  // namespace hakobi::storage
