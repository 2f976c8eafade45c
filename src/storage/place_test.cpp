// The contract of a place, held against each kind: a folder, a bucket (its objects in this process's memory),
// and storage that keeps nothing.
#include "storage/place.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "storage/objects.hpp"
#include "storage/objects/object_files.hpp"

namespace hakobi::storage {
namespace {

namespace fs = std::filesystem;

class PlaceTest : public ::testing::TestWithParam<std::string> {
  protected:
    PlaceTest() {
        fs::create_directory(folder_);
        if (GetParam() == "bucket") {
            set_bucket("//place-test", open_objects("memory:place-test." + unique_).value());
            place_ = open_place("s3://place-test/run");
        } else {
            place_ = open_place((fs::path(folder_) / "run").string());
        }
        EXPECT_TRUE(place_->make_folder("", false).ok());
        EXPECT_TRUE(place_->make_folder("eta", true).ok());
    }
    ~PlaceTest() override { fs::remove_all(folder_); }

    static std::vector<std::byte> bytes(std::string_view text) {
        const auto all = std::as_bytes(std::span(text));
        return {all.begin(), all.end()};
    }
    [[nodiscard]] std::string text_in(const std::string& inside) const {
        const Result<std::optional<WholeObject>> found = place_->get(inside);
        EXPECT_TRUE(found.ok()) << found.status().text();
        if (!found.ok() || !found.value()) return "none";
        return {reinterpret_cast<const char*>(found.value()->bytes.data()), found.value()->bytes.size()};
    }
    [[nodiscard]] std::string file(std::string_view text) const {
        std::string path = folder_ + "/from";
        std::ofstream(path) << text;
        return path;
    }

    std::string unique_ =
        std::to_string(::getpid()) + "." + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::string folder_ = fs::temp_directory_path() / ("hakobi-place-" + std::to_string(::getpid()));
    PlacePtr place_;
};

TEST_P(PlaceTest, GetsWhatWasPutLast) {
    EXPECT_EQ(text_in("eta/c.0"), "none");
    ASSERT_TRUE(place_->put("eta/c.0", bytes("first"), false).ok());
    ASSERT_TRUE(place_->put("eta/c.0", bytes("second!"), true).ok());
    EXPECT_EQ(text_in("eta/c.0"), "second!");
    EXPECT_EQ(place_->size_of("eta/c.0").value(), 7);
    EXPECT_EQ(place_->size_of("eta/c.1").value(), std::nullopt);
}

TEST_P(PlaceTest, ListsAndRemoves) {
    ASSERT_TRUE(place_->put("eta/a", bytes("1"), false).ok());
    ASSERT_TRUE(place_->put("eta/b", bytes("2"), false).ok());
    const Result<std::vector<Listed>> listed = place_->list("eta");
    ASSERT_TRUE(listed.ok()) << listed.status().text();
    std::vector<std::string> names;
    for (const Listed& each : listed.value()) names.push_back(each.name);
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
    ASSERT_TRUE(place_->remove("eta/a").ok());
    EXPECT_TRUE(place_->remove("eta/a").ok());  // gone already
    EXPECT_TRUE(place_->remove_folder("eta").ok());
    EXPECT_EQ(text_in("eta/b"), "2");  // what is not empty stays
    ASSERT_TRUE(place_->remove("eta/b").ok());
    EXPECT_TRUE(place_->remove_folder("eta").ok());
}

TEST_P(PlaceTest, ReplacesWhatItKnows) {
    std::string version;
    ASSERT_TRUE(place_->replace("zarr.json", bytes("one"), version, false).ok());
    ASSERT_TRUE(place_->replace("zarr.json", bytes("two"), version, false).ok());
    EXPECT_EQ(place_->version_of("zarr.json").value(), version);
    EXPECT_EQ(text_in("zarr.json"), "two");
    EXPECT_EQ(place_->put_new("zarr.json", bytes("new")).code(), ErrorCode::exists);
    EXPECT_TRUE(place_->put_new("marker", bytes("new")).ok());
    EXPECT_EQ(text_in("marker"), "new");
    std::string none;
    const Status late = place_->replace("zarr.json", bytes("three"), none, false);
    EXPECT_EQ(late.code(), place_->limits().is_on_objects ? ErrorCode::exists : ErrorCode::ok) << late.text();
}

TEST_P(PlaceTest, TakesAWholeFile) {
    const std::string from = file("values");
    const auto at_once = [](std::int64_t) { return true; };
    ASSERT_TRUE(place_->put_file(from, 6, "eta/c.2", false, at_once).ok());
    EXPECT_EQ(text_in("eta/c.2"), "values");
    EXPECT_TRUE(fs::exists(from));
    EXPECT_GE(place_->file_limit().value().bytes, 6);
    if (!place_->limits().is_on_objects) return;
    EXPECT_EQ(place_->put_file(from, 6, "eta/c.2", false, at_once, {.only_if_absent = true}).code(),
              ErrorCode::exists);
}

INSTANTIATE_TEST_SUITE_P(All, PlaceTest, ::testing::Values("folder", "bucket"),
                         [](const auto& each) { return each.param; });

TEST(PlaceOfAPath, SaysWhatItIs) {
    EXPECT_TRUE(limits_of("a/run").has_system_names);
    EXPECT_TRUE(limits_of("posix:run").has_system_names);
    EXPECT_FALSE(limits_of("memory:run").has_system_names);
    EXPECT_FALSE(limits_of("memory:run").keeps_names);
    EXPECT_TRUE(limits_of("s3://bucket/run").is_on_objects);
    EXPECT_FALSE(limits_of("s3://bucket/run").takes_ranges);
    EXPECT_TRUE(limits_of("rados:pool/run").is_on_objects);
    EXPECT_TRUE(limits_of("rados:pool/run").takes_ranges);
    EXPECT_FALSE(limits_of("a/s3:run").is_on_objects);
    EXPECT_EQ(open_place_of("a/run").place->path(), "a");
    EXPECT_EQ(open_place_of("run").place->path(), ".");
    EXPECT_EQ(open_place_of("/run").place->path(), "/");
    EXPECT_EQ(open_place_of("s3://bucket/run").place->path(), "s3://bucket");
    EXPECT_EQ(open_place_of("s3://bucket/run").name, "run");
    EXPECT_EQ(open_place_of("posix:run").place->path(), ".");
    EXPECT_EQ(open_place_of("posix:run").name, "run");
    EXPECT_EQ(open_place_of("rados:pool").place->path(), "rados:pool");
}

TEST(FolderPlace, NobodyIsLedOutOfIt) {
    const std::string folder = fs::temp_directory_path() / ("hakobi-place-out-" + std::to_string(::getpid()));
    fs::create_directories(folder + "/run");
    fs::create_directory_symlink("..", folder + "/run/eta");
    const PlacePtr place = open_place(folder + "/run");
    EXPECT_FALSE(place->put("eta/zarr.json", std::as_bytes(std::span("x")), false).ok());
    EXPECT_FALSE(place->put("../zarr.json", std::as_bytes(std::span("x")), false).ok());
    EXPECT_FALSE(fs::exists(folder + "/zarr.json"));
    fs::remove_all(folder);
}

}  // namespace
}  // namespace hakobi::storage
