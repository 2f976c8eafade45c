#include <gtest/gtest.h>

#include <cstdlib>

#include <hakobi/error.hpp>
#include <hakobi/halo.hpp>
#include <hakobi/shared_array.hpp>
#include <string>
#include <vector>

namespace hakobi {
namespace {

class HaloErrors : public testing::Test {
  protected:
    HaloErrors() { grid_ = {{4, 4}, {{1, 1}, {1, 1}}, {comm_.size(), 1}, {true, true}}; }
    ~HaloErrors() override { comm_.free(); }
    /// The text of the Error that planning must throw, on every rank alike.
    std::string refused(const HaloGrid& grid, const HaloOptions& options = {},
                        std::int64_t element_bytes = 8) {
        const HaloField field = HaloField::dense(values_.data(), grid_, element_bytes);
        try {
            (void)Halo::plan(comm_, grid, std::span(&field, 1), options);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            return error.what();
        }
        ADD_FAILURE() << "planned";
        return "";
    }
    [[nodiscard]] bool is_last() const { return comm_.rank() == comm_.size() - 1; }

    Comm comm_ = Comm::duplicate(MPI_COMM_WORLD);
    HaloGrid grid_;
    std::vector<double> values_ = std::vector<double>(1000);
};

TEST_F(HaloErrors, FewerElementsThanGhosts) {
    HaloGrid grid = grid_;
    if (is_last()) grid.extents[0] = 0;
    const std::string text = refused(grid);
    EXPECT_NE(text.find("rank " + std::to_string(comm_.size() - 1) + " has 0 elements"), std::string::npos)
        << text;
}

TEST_F(HaloErrors, RanksThatDoNotFormTheGrid) {
    HaloGrid grid = grid_;
    grid.ranks = {comm_.size(), 2};
    EXPECT_NE(refused(grid).find("a grid of"), std::string::npos);
}

TEST_F(HaloErrors, PlansThatDifferBetweenRanks) {
    if (comm_.size() == 1) GTEST_SKIP() << "one rank differs from nobody";
    HaloGrid grid = grid_;
    if (is_last()) grid.ghosts[1].high = 2;
    EXPECT_NE(refused(grid).find("ghosts of rank"), std::string::npos);
    EXPECT_NE(refused(grid_, {.corners = !is_last()}).find("corners of rank"), std::string::npos);
    EXPECT_NE(refused(grid_, {}, is_last() ? 4 : 8).find("element sizes"), std::string::npos);
    HaloGrid lines = grid_;
    lines.ranks = {1, comm_.size()};
    if (is_last()) lines.extents[0] = 5;
    EXPECT_NE(refused(lines).find("beside it"), std::string::npos);
}

TEST_F(HaloErrors, NamesThatAreNone) {
    EXPECT_NE(refused(grid_, {.path = "diract"}).find("did you mean 'direct'?"), std::string::npos);
}

TEST_F(HaloErrors, ATimeLimitThatIsNoNumber) {
    for (const char* text : {"abc", "2m", "-1"}) {
        setenv("HAKOBI_HALO_TIMEOUT_S", text, 1);
        const std::string error = refused(grid_);
        unsetenv("HAKOBI_HALO_TIMEOUT_S");
        EXPECT_NE(error.find(*text == '-' ? "timeout_s" : std::string("HAKOBI_HALO_TIMEOUT_S is '") + text),
                  std::string::npos)
            << error;
    }
}

TEST_F(HaloErrors, CallsOutOfTurnBreakNothing) {
    const HaloField field = HaloField::dense(values_.data(), grid_, 8);
    Halo halo = Halo::plan(comm_, grid_, std::span(&field, 1));
    EXPECT_THROW(halo.wait(), Error);
    halo.start();
    EXPECT_THROW(halo.start(), Error);
    halo.wait();
    halo.exchange();
}

TEST_F(HaloErrors, PlanningLeavesGhostsAsTheyWere) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<double>(i);
    const HaloField field = HaloField::dense(values_.data(), grid_, 8);
    Halo halo = Halo::plan(comm_, grid_, std::span(&field, 1));
    for (std::size_t i = 0; i < values_.size(); ++i) ASSERT_EQ(values_[i], static_cast<double>(i));
}

}  // namespace
}  // namespace hakobi
