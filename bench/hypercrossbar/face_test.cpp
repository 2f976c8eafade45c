#include "face.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hakobi::bench {
namespace {

/// Copies one rank's own elements into the other's ghosts.
void send(Face& from, Face& to) {
    for (std::int64_t row = 0; row < from.num_rows(); ++row)
        std::copy_n(from.own() + row * from.pitch_words(), from.row_words(),
                    to.ghosts() + row * to.pitch_words());
}

TEST(Face, HoldsWhatTheOtherRankHasFilled) {
    for (const Way way : {Way::send, Way::both}) {
        Face low(4096, 512, true, way), high(4096, 512, false, way == Way::send ? Way::receive : Way::both);
        low.fill(3, 0);
        high.fill(3, 1);
        send(low, high);
        EXPECT_TRUE(high.holds(3, 0));
        EXPECT_FALSE(high.holds(4, 0));
        EXPECT_FALSE(high.holds(3, 1));
        high.ghosts()[high.pitch_words() + 5] ^= 1;  // a word in the middle
        EXPECT_FALSE(high.holds(3, 0));
        if (way == Way::send) continue;
        send(high, low);
        EXPECT_TRUE(low.holds(3, 1));
    }
}

TEST(Face, HasNoGapsInOneRowOneWay) {
    Face face(4096, 0, true, Way::send);
    EXPECT_EQ(face.num_rows(), 1);
    EXPECT_EQ(face.bytes(), 4096);
    EXPECT_EQ(face.row_words(), 512);
}

}  // namespace
}  // namespace hakobi::bench
