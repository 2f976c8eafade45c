#include "storage/objects/faulty_objects.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hakobi::storage {
namespace {

using Kind = ObjectFault::Kind;

ObjectsPtr new_store() {
    static int number = 0;
    return open_objects("memory:faulty" + std::to_string(++number)).value();
}
const std::vector<std::byte> bytes(1'000, std::byte{7});

TEST(FaultyObjects, FailsTheNthOperationOfItsKindOnly) {
    const ObjectsPtr inner = new_store();
    const ObjectsPtr store = with_object_fault(
        inner, {.operation = ObjectOperation::put, .nth = 2, .num_times = 2, .code = ErrorCode::no_space});
    EXPECT_TRUE(store->put("a", bytes).ok());
    EXPECT_EQ(store->put("b", bytes).code(), ErrorCode::no_space);
    EXPECT_EQ(store->put("b", bytes).code(), ErrorCode::no_space);
    EXPECT_EQ(inner->facts("b").status().code(), ErrorCode::not_found);
    EXPECT_TRUE(store->put("b", bytes).ok());
    EXPECT_TRUE(store->facts("b").ok());
}

TEST(FaultyObjects, ALostAnswerHasDoneItsWork) {
    const ObjectsPtr inner = new_store();
    const ObjectsPtr store =
        with_object_fault(inner, {.operation = ObjectOperation::put, .kind = Kind::lost});
    EXPECT_EQ(store->put("a", bytes, {.only_if_absent = true}).code(), ErrorCode::io);
    EXPECT_TRUE(inner->facts("a").ok());
    EXPECT_EQ(store->put("a", bytes, {.only_if_absent = true}).code(), ErrorCode::exists);
}

TEST(FaultyObjects, HalfAnAnswerIsAnError) {
    const ObjectsPtr store =
        with_object_fault(new_store(), {.operation = ObjectOperation::get, .kind = Kind::half});
    ASSERT_TRUE(store->put("a", bytes).ok());
    std::vector<std::byte> into(1'000);
    EXPECT_EQ(store->get("a", 0, into).status().code(), ErrorCode::io);
    EXPECT_EQ(into[499], std::byte{7});
    EXPECT_EQ(into[500], std::byte{0});
    EXPECT_EQ(store->get("a", 0, into).value(), 1'000);
}

TEST(FaultyObjects, AnEventualListingLacksTheLastPuts) {
    const ObjectsPtr store = with_object_fault(
        new_store(), {.operation = ObjectOperation::list, .kind = Kind::old_list, .num_hidden = 2});
    for (const char* name : {"c", "a", "b"}) ASSERT_TRUE(store->put(name, bytes).ok());
    const Listing old = store->list({}).value();
    ASSERT_EQ(old.objects.size(), 1U);
    EXPECT_EQ(old.objects[0].name, "c");
    EXPECT_EQ(store->list({}).value().objects.size(), 3U);
}

}  // namespace
}  // namespace hakobi::storage
