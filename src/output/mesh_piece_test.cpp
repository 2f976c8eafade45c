#include "output/mesh_piece.hpp"

#include <gtest/gtest.h>

#include <array>

namespace hakobi::output {
namespace {

/// A tetrahedron and a triangle on one of its faces.
struct TwoCells {
    std::array<double, 12> points = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    std::array<std::int32_t, 7> connectivity = {1, 2, 3, 4, 1, 2, 3};
    std::array<std::int64_t, 3> offsets = {0, 4, 7};
    std::array<std::uint8_t, 2> types = {10, 5};

    [[nodiscard]] Mesh mesh() const {
        return {.points = std::span<const double>(points),
                .connectivity = std::span<const std::int32_t>(connectivity),
                .offsets = std::span<const std::int64_t>(offsets),
                .types = types,
                .motion = Motion::moves,
                .first_number = 1};
    }
};

TEST(MeshPiece, CountsWhatIsPutAndNumbersPointsFrom0) {
    const TwoCells cells;
    MeshPiece piece;
    EXPECT_FALSE(piece.is_set());
    ASSERT_TRUE(piece.put(cells.mesh(), false).ok());
    EXPECT_TRUE(piece.is_put() && piece.are_points_put());
    EXPECT_EQ(piece.counts().points, 4);
    EXPECT_EQ(piece.counts().cells, 2);
    EXPECT_EQ(piece.counts().ids, 7);
    EXPECT_TRUE(std::ranges::equal(piece.connectivity(), std::array<std::int64_t, 7>{0, 1, 2, 3, 0, 1, 2}));
    EXPECT_EQ(piece.offsets().data(), cells.offsets.data());  // no copy
    EXPECT_EQ(piece.bytes_put(), 12 * 8 + 7 * 8 + 3 * 8 + 2);
}

TEST(MeshPiece, SizesStayWhenAStepBeginsAndWhatWasLentDoesNot) {
    const TwoCells cells;
    MeshPiece piece;
    ASSERT_TRUE(piece.put(cells.mesh(), false).ok());
    piece.begin_step();
    EXPECT_TRUE(piece.is_set());
    EXPECT_FALSE(piece.is_put() || piece.are_points_put());
    EXPECT_TRUE(piece.connectivity().empty() && piece.points().empty());
    EXPECT_EQ(piece.bytes_put(), 0);
    EXPECT_FALSE(piece.put_points(std::span<const double>(cells.points).first(9), false).ok());
    piece.begin_step();
    EXPECT_TRUE(piece.put_points(std::span<const double>(cells.points), false).ok());
    EXPECT_EQ(piece.bytes_put(), 12 * 8);
}

TEST(MeshPiece, SaysWhichCellIsWrong) {
    TwoCells cells;
    cells.connectivity[5] = 5;
    EXPECT_EQ(MeshPiece().put(cells.mesh(), false).text(),
              "the mesh: cell 1 names point 5, and this rank has 4 points, from 1 on");
    cells.connectivity[5] = 2;
    cells.types[0] = 12;
    EXPECT_EQ(MeshPiece().put(cells.mesh(), false).code(), ErrorCode::invalid_argument);
    cells.types[0] = 42;
    EXPECT_EQ(MeshPiece().put(cells.mesh(), false).code(), ErrorCode::unsupported);
}

TEST(MeshPiece, AFieldHasAValueForEachOfItsElements) {
    const TwoCells cells;
    MeshPiece piece;
    const std::array<double, 6> values{};
    const Field on_cells{.name = "p", .data = std::span<const double>(values).first(2), .on = On::cells};
    EXPECT_EQ(piece.block_of(on_cells).status().code(), ErrorCode::invalid_argument);  // no mesh yet
    ASSERT_TRUE(piece.put(cells.mesh(), false).ok());
    ASSERT_TRUE(piece.block_of(on_cells).ok());
    EXPECT_EQ(piece.block_of(on_cells).value().block.count, (std::vector<std::int64_t>{2}));
    Field on_points = on_cells;
    on_points.on = On::points;
    EXPECT_FALSE(piece.block_of(on_points).ok());
    Field vectors = on_cells;
    vectors.components = 3;
    vectors.data = std::span<const double>(values);
    EXPECT_EQ(piece.block_of(vectors).value().block.count, (std::vector<std::int64_t>{2, 3}));
}

}  // namespace
}  // namespace hakobi::output
