#include "format/hdf5/sparse_image.hpp"

#include <gtest/gtest.h>

#include "format/hdf5/placement.hpp"

namespace hakobi::format {
namespace {

std::vector<std::byte> ones(std::size_t length) {
    return std::vector<std::byte>(length, std::byte{1});
}

TEST(SparseImage, IsZerosWhereNothingWasWritten) {
    SparseImage image;
    image.write(8190, ones(4));  // over a page's border
    std::vector<std::byte> read = ones(12288);
    image.read(2048, read);
    for (std::int64_t at = 0; at < std::ssize(read); ++at) {
        const bool is_written = 2048 + at >= 8190 && 2048 + at < 8194;
        ASSERT_EQ(read[static_cast<std::size_t>(at)], std::byte{is_written}) << at;
    }
    EXPECT_EQ(image.size_bytes(), 8194);
}

TEST(SparseImage, JoinsNeighbouringPagesAndEndsAtItsSize) {
    SparseImage image;
    image.write(std::int64_t{1} << 40, ones(1));
    image.write(4096, ones(1));
    image.write(0, ones(1));
    std::vector<Extent> extents = image.extents();
    ASSERT_EQ(extents.size(), 2U);
    EXPECT_EQ(extents[0].offset_bytes, 0);
    EXPECT_EQ(extents[0].bytes.size(), 8192U);
    EXPECT_EQ(extents[1].offset_bytes, std::int64_t{1} << 40);
    EXPECT_EQ(extents[1].bytes.size(), 1U);
    image.set_size(4100);
    extents = image.extents();
    ASSERT_EQ(extents.size(), 1U);
    EXPECT_EQ(extents[0].bytes.size(), 4100U);
}

TEST(SparseImage, TellsOnceAndInOrderWhatIsSomebodyElses) {
    SparseImage image;
    image.leave(5000, 1000);
    image.leave(100, 8);
    EXPECT_EQ(image.size_bytes(), 6000);
    EXPECT_TRUE(image.extents().empty());
    EXPECT_EQ(image.take_left(), (std::vector<std::int64_t>{5000, 100}));
    EXPECT_TRUE(image.take_left().empty());
}

TEST(Placement, GivesExpectedDataTheirPlacesAndMetadataTheNext) {
    Placement placement(4096);
    placement.expect(80, 512);
    placement.expect(16, 1024);
    EXPECT_EQ(placement.take_expected(16), -1) << "others are expected first";
    EXPECT_EQ(placement.take_expected(80), 512);
    EXPECT_TRUE(placement.is_any_expected());
    EXPECT_EQ(placement.take_expected(16), 1024);
    EXPECT_EQ(placement.take_expected(16), -1);
    EXPECT_EQ(placement.allocate(3), 4096);
    EXPECT_EQ(placement.allocate(8), 4104);
    EXPECT_EQ(placement.end_bytes(), 4112);
}

}  // namespace
}  // namespace hakobi::format
