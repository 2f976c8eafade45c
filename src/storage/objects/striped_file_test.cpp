// Over memory: the contract of files runs over Ceph (contract.hpp), here is what a kill leaves.
#include "storage/objects/striped_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hakobi::storage {
namespace {

constexpr OpenMode creating = {.read = true, .write = true, .create = true};

StripedPlace new_place() {
    static int number = 0;
    const std::string root = "memory:striped" + std::to_string(++number);
    return {open_objects(root + ".heads").value(), open_objects(root + ".data").value(), "memory"};
}

std::size_t num_objects(Objects& objects) {
    return objects.list({}).value().objects.size();
}

std::vector<std::byte> pattern(std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i) bytes[i] = std::byte(i * 7 % 251 + 1);
    return bytes;
}

TEST(StripedFile, TwoProcessesWriteOneFile) {
    const StripedPlace place = new_place();
    const auto bytes = pattern(3 * stripe_object_bytes + 1'000);
    const std::int64_t half = stripe_object_bytes + 77;
    {
        FilePtr first = open_striped(place, "a/file", creating).value();
        FilePtr second = open_striped(place, "a/file", {.write = true}).value();
        const std::span<const std::byte> all(bytes);
        ASSERT_TRUE(second->write_at(all.subspan(half), half).ok());
        ASSERT_TRUE(first->write_at(all.first(half), 0).ok());
        EXPECT_EQ(first->size_bytes().value(), std::ssize(bytes));
    }
    FilePtr read = open_striped(place, "a/file", {}).value();
    std::vector<std::byte> into(bytes.size());
    EXPECT_EQ(read->read_at(into, 0).value(), std::ssize(bytes));
    EXPECT_EQ(into, bytes);
    EXPECT_EQ(num_objects(*place.data), 5U);
}

TEST(StripedFile, RemovingLeavesNothing) {
    const StripedPlace place = new_place();
    ASSERT_TRUE(
        open_striped(place, "file", creating).value()->write_at(pattern(2 * stripe_object_bytes), 10).ok());
    ASSERT_TRUE(remove_striped(place, "file").ok());
    EXPECT_EQ(num_objects(*place.heads) + num_objects(*place.data), 0U);
}

TEST(StripedFile, ReplacingRemovesWhatWasThere) {
    const StripedPlace place = new_place();
    ASSERT_TRUE(
        open_striped(place, "old", creating).value()->write_at(pattern(100), 3 * stripe_object_bytes).ok());
    ASSERT_TRUE(open_striped(place, "new", creating).value()->write_at(pattern(100), 0).ok());
    ASSERT_TRUE(commit_striped(place, "new", "old", {.replaces = true}).ok());
    EXPECT_EQ(open_striped(place, "old", {}).value()->size_bytes().value(), 100);
    EXPECT_EQ(num_objects(*place.heads), 1U);
    EXPECT_EQ(num_objects(*place.data), 2U);
}

TEST(StripedFile, AKillBetweenTwoNamesLosesNothing) {
    // As commit leaves it where it is killed before the old head is removed.
    const StripedPlace place = new_place();
    ASSERT_TRUE(open_striped(place, "part", creating).value()->write_at(pattern(100), 0).ok());
    std::vector<std::byte> head(200);
    head.resize(static_cast<std::size_t>(place.heads->get("part", 0, head).value()));
    ASSERT_TRUE(commit_striped(place, "part", "whole", {}).ok());
    ASSERT_TRUE(place.heads->put("part", head).ok());
    ASSERT_TRUE(remove_striped(place, "part").ok());
    std::vector<std::byte> into(100);
    EXPECT_EQ(open_striped(place, "whole", {}).value()->read_at(into, 0).value(), 100);
    EXPECT_EQ(into, pattern(100));
    // Killed before the new head was there: the file still has its old name, and goes with it.
    ASSERT_TRUE(place.heads->put("part", head).ok());
    ASSERT_TRUE(place.heads->remove("whole").ok());
    ASSERT_TRUE(remove_striped(place, "part").ok());
    EXPECT_EQ(num_objects(*place.data), 0U);
}

TEST(StripedFile, AFileRemovedBehindOurBackIsAnError) {
    const StripedPlace place = new_place();
    FilePtr file = open_striped(place, "file", creating).value();
    ASSERT_TRUE(file->write_at(pattern(100), 0).ok());
    ASSERT_TRUE(remove_striped(place, "file").ok());
    std::vector<std::byte> into(200);
    EXPECT_EQ(file->read_at(into, 0).status().code(), ErrorCode::io);
}

TEST(StripedFile, AnotherObjectIsNoFile) {
    const StripedPlace place = new_place();
    ASSERT_TRUE(place.heads->put("object", pattern(100)).ok());
    EXPECT_EQ(open_striped(place, "object", {}).status().code(), ErrorCode::format);
    EXPECT_EQ(remove_striped(place, "object").code(), ErrorCode::format);
    EXPECT_EQ(num_objects(*place.heads), 1U);
}

}  // namespace
}  // namespace hakobi::storage
