#include "measure/residency.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace hakobi::measure {
namespace {

class ResidencyTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = ::testing::TempDir() + "hakobi-residency-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        path_ = folder_ + "/data";
    }
    void TearDown() override {
        unlink(path_.c_str());
        rmdir(folder_.c_str());
    }
    void write_bytes(std::size_t bytes) const {
        std::ofstream file(path_, std::ios::binary);
        const std::vector<char> data(bytes, 'x');
        file.write(data.data(), static_cast<std::streamsize>(data.size()));
    }
    std::string folder_, path_;
};

TEST_F(ResidencyTest, AFileJustWrittenIsInTheCacheWhole) {
    write_bytes(3 * 1024 * 1024 + 17);
    const auto residency = page_cache_residency(path_);
    ASSERT_TRUE(residency.ok()) << residency.status().text();
    EXPECT_EQ(residency.value().file_bytes, 3 * 1024 * 1024 + 17);
    EXPECT_EQ(residency.value().cached_bytes, 3 * 1024 * 1024 + 17);
    EXPECT_DOUBLE_EQ(residency.value().cached_share(), 1.0);
    EXPECT_TRUE(residency.value().source == "cachestat" || residency.value().source == "mincore");
}

TEST_F(ResidencyTest, AHoleIsNotCached) {
    write_bytes(0);
    ASSERT_EQ(truncate(path_.c_str(), 8 << 20), 0);
    const auto residency = page_cache_residency(path_);
    ASSERT_TRUE(residency.ok());
    EXPECT_EQ(residency.value().file_bytes, 8 << 20);
    EXPECT_EQ(residency.value().cached_bytes, 0);
}

TEST_F(ResidencyTest, DroppingNeverAddsAndAnEmptyFileIsNothing) {
    write_bytes(1 << 20);
    const auto dropped = drop_from_page_cache(path_);
    ASSERT_TRUE(dropped.ok()) << dropped.status().text();
    EXPECT_LE(dropped.value().cached_bytes, 1 << 20);  // all of it on tmpfs, nothing on a disk
    write_bytes(0);
    EXPECT_EQ(page_cache_residency(path_).value().cached_share(), 0.0);
}

TEST_F(ResidencyTest, SaysWhatIsMissingOrNoFile) {
    EXPECT_EQ(page_cache_residency(path_ + ".missing").status().code(), ErrorCode::not_found);
    EXPECT_EQ(page_cache_residency(folder_).status().code(), ErrorCode::invalid_argument);
}

TEST(Memory, IsKnown) {
    EXPECT_GT(memory_bytes(), 1 << 20);
}

}  // namespace
}  // namespace hakobi::measure
