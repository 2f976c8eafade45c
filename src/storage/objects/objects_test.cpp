// The contract of objects.hpp, held against every store.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "storage/file.hpp"
#include "storage/objects/objects_contract.hpp"

namespace hakobi::storage::contract {
namespace {

using Bytes = std::vector<std::byte>;

class ObjectsContract : public ::testing::TestWithParam<Store> {};

Bytes read_all(Objects& objects, const std::string& name) {
    const Result<ObjectFacts> facts = objects.facts(name);
    EXPECT_TRUE(facts.ok()) << facts.status().text();
    if (!facts.ok()) return {};
    Bytes bytes(static_cast<std::size_t>(facts.value().size_bytes));
    const Result<std::int64_t> got = objects.get(name, 0, bytes);
    EXPECT_TRUE(got.ok()) << got.status().text();
    EXPECT_EQ(got.ok() ? got.value() : -1, std::ssize(bytes));
    return bytes;
}

std::vector<std::string> names_of(const Listing& listing) {
    std::vector<std::string> names;
    for (const ListedObject& each : listing.objects) names.push_back(each.name);
    return names;
}

using Names = std::vector<std::string>;

TEST_P(ObjectsContract, ReadsBackWhatWasPut) {
    OpenedStore store(GetParam());
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{1}, std::size_t{100'003}, std::size_t{3} << 20}) {
        const Bytes bytes = bytes_of(length, static_cast<unsigned>(length));
        const Status put = store->put("a/object", bytes);
        ASSERT_TRUE(put.ok()) << put.text();
        EXPECT_EQ(read_all(*store.again(), "a/object"), bytes) << length;
    }
}

TEST_P(ObjectsContract, ReadsRangesAndStopsAtTheEnd) {
    OpenedStore store(GetParam());
    const Bytes bytes = bytes_of(10'000, 1);
    ASSERT_TRUE(store->put("object", bytes).ok());
    Bytes into(5'000, std::byte{0xee});
    ASSERT_EQ(store->get("object", 1'234, into).value(), 5'000);
    EXPECT_TRUE(std::equal(into.begin(), into.end(), bytes.begin() + 1'234));
    std::ranges::fill(into, std::byte{0xee});
    ASSERT_EQ(store->get("object", 9'000, into).value(), 1'000);
    EXPECT_TRUE(std::equal(into.begin(), into.begin() + 1'000, bytes.begin() + 9'000));
    EXPECT_EQ(into[1'000], std::byte{0xee}) << "touched a byte that the object does not have";
    EXPECT_EQ(store->get("object", 10'000, into).value(), 0);
    EXPECT_EQ(store->get("object", 1 << 20, into).value(), 0);
    EXPECT_EQ(store->get("object", 5, {}).value(), 0);
    EXPECT_EQ(store->get("object", -1, into).status().code(), ErrorCode::invalid_argument);
}

TEST_P(ObjectsContract, ReplacesOnlyTheVersionThatItIsToldOf) {
    OpenedStore store(GetParam());
    const Bytes first = bytes_of(100, 1), second = bytes_of(120, 2), third = bytes_of(90, 3);
    const Result<std::string> made = store->replace("group", first, "");
    ASSERT_TRUE(made.ok()) << made.status().text();
    EXPECT_EQ(made.value(), store->facts("group").value().version);
    EXPECT_EQ(store->replace("group", second, "").status().code(), ErrorCode::exists);
    const Result<std::string> replaced = store->replace("group", second, made.value());
    ASSERT_TRUE(replaced.ok()) << replaced.status().text();
    EXPECT_NE(replaced.value(), made.value());
    EXPECT_EQ(replaced.value(), store->facts("group").value().version);
    EXPECT_EQ(store->replace("group", third, made.value()).status().code(), ErrorCode::exists);
    EXPECT_EQ(read_all(*store.again(), "group"), second);
    ASSERT_TRUE(store->remove("group").ok());
    EXPECT_EQ(store->replace("group", third, replaced.value()).status().code(), ErrorCode::exists);
    EXPECT_EQ(store->facts("group").status().code(), ErrorCode::not_found);
}

TEST_P(ObjectsContract, OfThoseWhoReplaceOneVersionOneSucceeds) {
    OpenedStore store(GetParam());
    constexpr int num_threads = 4, num_rounds = 5;
    std::string version = store->replace("group", bytes_of(50, 0), "").value();
    for (int round = 0; round < num_rounds; ++round) {
        std::atomic<int> num_done = 0;
        std::array<Result<std::string>, num_threads> results{std::string(), std::string(), std::string(),
                                                             std::string()};
        {
            std::vector<std::jthread> threads;
            for (int t = 0; t < num_threads; ++t) {
                threads.emplace_back([&, t] {
                    const auto seed = static_cast<unsigned>(1 + round * num_threads + t);
                    results[static_cast<std::size_t>(t)] =
                        store.again()->replace("group", bytes_of(50, seed), version);
                });
            }
        }
        for (const Result<std::string>& result : results) {
            const ErrorCode code = result.status().code();
            EXPECT_TRUE(result.ok() || code == ErrorCode::exists) << result.status().text();
            if (result.ok()) version = result.value();
            num_done += result.ok() ? 1 : 0;
        }
        EXPECT_EQ(num_done, 1) << "in round " << round;
    }
}

TEST_P(ObjectsContract, AnEmptyObjectIsThere) {
    OpenedStore store(GetParam());
    ASSERT_TRUE(store->put("empty", {}).ok());
    Bytes into(10);
    EXPECT_EQ(store->get("empty", 0, into).value(), 0);
    EXPECT_EQ(store->facts("empty").value().size_bytes, 0);
}

TEST_P(ObjectsContract, AMissingObjectIsNotFound) {
    OpenedStore store(GetParam());
    Bytes into(10);
    EXPECT_EQ(store->get("missing", 0, into).status().code(), ErrorCode::not_found);
    EXPECT_EQ(store->facts("missing").status().code(), ErrorCode::not_found);
    EXPECT_NE(store->facts("missing").status().text().find("missing"), std::string::npos);
    EXPECT_TRUE(store->remove("missing").ok());
}

TEST_P(ObjectsContract, ARemovedObjectIsGone) {
    OpenedStore store(GetParam());
    ASSERT_TRUE(store->put("a/b", bytes_of(10, 1)).ok());
    ASSERT_TRUE(store->put("a/c", bytes_of(10, 1)).ok());
    ASSERT_TRUE(store->remove("a/b").ok());
    EXPECT_EQ(store->facts("a/b").status().code(), ErrorCode::not_found);
    EXPECT_EQ(names_of(store->list({}).value()), Names({"a/c"}));
}

TEST_P(ObjectsContract, PuttingReplacesTheWholeObject) {
    OpenedStore store(GetParam());
    ASSERT_TRUE(store->put("object", bytes_of(5'000, 1)).ok());
    const ObjectFacts before = store->facts("object").value();
    ASSERT_TRUE(store->put("object", bytes_of(100, 2)).ok());
    EXPECT_EQ(read_all(*store, "object"), bytes_of(100, 2));
    EXPECT_NE(store->facts("object").value().version, before.version);
}

TEST_P(ObjectsContract, OnlyTheFirstConditionalPutCreates) {
    OpenedStore store(GetParam());
    ASSERT_TRUE(store->put("object", bytes_of(10, 1), {.only_if_absent = true}).ok());
    const Status second = store->put("object", bytes_of(10, 2), {.only_if_absent = true});
    EXPECT_EQ(second.code(), ErrorCode::exists) << second.text();
    EXPECT_EQ(read_all(*store, "object"), bytes_of(10, 1));
}

TEST_P(ObjectsContract, OfRacingConditionalPutsJustOneSucceeds) {
    OpenedStore store(GetParam());
    for (int round = 0; round < 5; ++round) {
        std::atomic<int> num_ok = 0, num_exists = 0, winner = -1;
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                const ObjectsPtr own = store.again();
                const Status status =
                    own->put("r" + std::to_string(round), bytes_of(1'000, static_cast<unsigned>(t)),
                             {.only_if_absent = true});
                if (status.ok()) winner = t;
                EXPECT_TRUE(status.ok() || status.code() == ErrorCode::exists) << status.text();
                num_ok += status.ok();
                num_exists += status.code() == ErrorCode::exists;
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(num_ok, 1);
        EXPECT_EQ(num_exists, 3);
        EXPECT_EQ(read_all(*store, "r" + std::to_string(round)),
                  bytes_of(1'000, static_cast<unsigned>(winner)));
    }
}

TEST_P(ObjectsContract, FactsTellSizeVersionAndTime) {
    OpenedStore store(GetParam());
    const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
    ASSERT_TRUE(store->put("object", bytes_of(12'345, 1)).ok());
    const ObjectFacts facts = store->facts("object").value();
    EXPECT_EQ(facts.size_bytes, 12'345);
    EXPECT_FALSE(facts.version.empty());
    EXPECT_NEAR(static_cast<double>(facts.modified_ns), static_cast<double>(now_ns), 60e9);
    EXPECT_EQ(store->facts("object").value().version, facts.version);
}

TEST_P(ObjectsContract, AReplacedObjectIsNotReadByItsOldVersion) {
    OpenedStore store(GetParam());
    ASSERT_TRUE(store->put("object", bytes_of(1'000, 1)).ok());
    const std::string version = store->facts("object").value().version;
    Bytes into(10);
    EXPECT_EQ(store->get("object", 0, into, {.version = version}).value(), 10);
    ASSERT_TRUE(store->put("object", bytes_of(1'000, 2)).ok());
    const Status changed = store->get("object", 500, into, {.version = version}).status();
    EXPECT_EQ(changed.code(), ErrorCode::io);
    EXPECT_NE(changed.text().find("replaced"), std::string::npos) << changed.text();
    // An object of the same size and content is another one where the store counts; nobody's bytes are wrong
    // then.
}

TEST_P(ObjectsContract, ListsByNameFromPrefixDelimiterAndStart) {
    OpenedStore store(GetParam());
    for (const char* name : {"b/2", "a", "b/1", "b/c/1", "b/c/2", "bb", "d/x", "b/é ü+%&=?"})
        ASSERT_TRUE(store->put(name, bytes_of(3, 1)).ok()) << name;
    const auto list = [&](const ListMode& mode) { return store.again()->list(mode).value(); };
    EXPECT_EQ(names_of(list({})), Names({"a", "b/1", "b/2", "b/c/1", "b/c/2", "b/é ü+%&=?", "bb", "d/x"}));
    EXPECT_EQ(names_of(list({.prefix = "b/"})), Names({"b/1", "b/2", "b/c/1", "b/c/2", "b/é ü+%&=?"}));
    const Listing top = list({.delimiter = "/"});
    EXPECT_EQ(names_of(top), Names({"a", "bb"}));
    EXPECT_EQ(top.prefixes, Names({"b/", "d/"}));
    const Listing below = list({.prefix = "b/", .delimiter = "/"});
    EXPECT_EQ(names_of(below), Names({"b/1", "b/2", "b/é ü+%&=?"}));
    EXPECT_EQ(below.prefixes, Names({"b/c/"}));
    EXPECT_EQ(names_of(list({.start_after = "b/c/1"})), Names({"b/c/2", "b/é ü+%&=?", "bb", "d/x"}));
    EXPECT_TRUE(list({.prefix = "nothing"}).objects.empty());
    EXPECT_TRUE(list({}).is_whole);
}

TEST_P(ObjectsContract, ALongListingComesInPieces) {
    OpenedStore store(GetParam());
    Names all;
    for (int i = 0; i < 25; ++i) {
        all.push_back("n" + std::to_string(100 + i));
        ASSERT_TRUE(store->put(all.back(), {}).ok());
    }
    Names found;
    for (int i = 0; i < 10; ++i) {
        const Listing part =
            store->list({.start_after = found.empty() ? "" : found.back(), .max_entries = 7}).value();
        for (const std::string& name : names_of(part)) found.push_back(name);
        if (part.is_whole) break;
        EXPECT_EQ(part.objects.size(), 7U);
    }
    EXPECT_EQ(found, all);
}

TEST_P(ObjectsContract, NamesThatAreKeptAreListedLikeOthers) {
    OpenedStore store(GetParam());
    ASSERT_TRUE(store->put("holder", bytes_of(10, 1)).ok());
    store->keep_names("log/", "holder");
    // More than Ceph tells at once.
    const int num_names = store->abilities().kind == "rados" ? 1'100 : 20;
    Names all;
    for (int i = 0; i < num_names; ++i) {
        all.push_back("log/" + std::to_string(10'000 + i));
        ASSERT_TRUE(store->put(all.back(), bytes_of(3, 1), {.only_if_absent = i % 2 == 0}).ok());
    }
    ASSERT_TRUE(store->put("beside", {}).ok());
    ASSERT_TRUE(store->remove(all.back()).ok());
    all.pop_back();
    EXPECT_EQ(store->put(all[0], {}, {.only_if_absent = true}).code(), ErrorCode::exists);
    EXPECT_EQ(read_all(*store, "holder"), bytes_of(10, 1));
    const ObjectsPtr kept = store.again();
    kept->keep_names("log/", "holder");
    for (const ObjectsPtr& objects : {kept, store.again()}) {
        EXPECT_EQ(names_of(objects->list({.prefix = "log/"}).value()), all);
        EXPECT_EQ(names_of(objects->list({.prefix = "log/1000"}).value()),
                  Names(all.begin(), all.begin() + 10));
        EXPECT_EQ(
            names_of(objects->list({.prefix = "log/", .start_after = all[3], .max_entries = 2}).value()),
            Names({all[4], all[5]}));
    }
}

TEST_P(ObjectsContract, NamesOutsideTheRootAreNotListed) {
    OpenedStore store(GetParam());
    const ObjectsPtr beside = open_objects(store.root() + "2").value();
    ASSERT_TRUE(beside->put("object", {}).ok());
    EXPECT_TRUE(store->list({}).value().objects.empty());
    EXPECT_EQ(store->facts("object").status().code(), ErrorCode::not_found);
    ASSERT_TRUE(beside->remove("object").ok());
}

TEST_P(ObjectsContract, RefusesNamesThatNotAllStoresTake) {
    OpenedStore store(GetParam());
    for (const std::string& name :
         {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("a/../b"),
          std::string("./a"), std::string("a\nb"), std::string("\xff"), std::string(901, 'x'),
          std::string(".hakobi-new/a")}) {
        const Status status = store->put(name, {});
        EXPECT_EQ(status.code(), ErrorCode::invalid_argument) << name << ": " << status.text();
    }
    const std::string odd = "a b/..c/$&'()*+,;=@[]~!{}^`|\\\"<>#%?:/.d";
    ASSERT_TRUE(store->put(odd, bytes_of(10, 3)).ok());
    EXPECT_EQ(read_all(*store, odd), bytes_of(10, 3));
    EXPECT_EQ(names_of(store->list({}).value()), Names({odd}));
}

TEST_P(ObjectsContract, ThreadsUseOneStoreAtOnce) {
    OpenedStore store(GetParam());
    std::atomic<int> num_wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 10; ++i) {
                const std::string name = "t" + std::to_string(t) + "/" + std::to_string(i);
                const Bytes bytes = bytes_of(20'000, static_cast<unsigned>(t * 100 + i));
                Bytes into(bytes.size());
                num_wrong += !store->put(name, bytes).ok();
                const Result<std::int64_t> got = store->get(name, 0, into);
                num_wrong += !got.ok() || into != bytes;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(num_wrong, 0);
    EXPECT_EQ(store->list({}).value().objects.size(), 40U);
}

/// The smallest length of a part that is not the last.
std::size_t part_bytes(Objects& objects) {
    return static_cast<std::size_t>(std::max<std::int64_t>(1'000, objects.abilities().min_part_bytes));
}

/// One whose beginning was repeated, since the answer was lost, may be there beside it.
bool has_upload(Objects& objects, const std::string& prefix, const std::string& id) {
    const std::vector<OpenUpload> open = objects.uploads(prefix).value();
    return std::ranges::any_of(
        open, [&](const OpenUpload& each) { return each.id == id && each.name == "object"; });
}

TEST_P(ObjectsContract, AnUploadIsWholeWhenItIsComplete) {
    OpenedStore store(GetParam());
    if (store->abilities().max_parts == 0) {
        EXPECT_EQ(store->begin_upload("object").status().code(), ErrorCode::unsupported);
        GTEST_SKIP() << "has no uploads";
    }
    const std::size_t length = part_bytes(*store);
    const std::string id = store->begin_upload("object").value();
    std::vector<std::thread> threads;
    std::atomic<int> num_wrong = 0;
    for (const int number : {3, 1, 2}) {  // by several threads and, as it were, processes
        threads.emplace_back([&, number] {
            const Bytes bytes = bytes_of(number == 3 ? 777 : length, static_cast<unsigned>(number));
            num_wrong += !store.again()->put_part("object", id, number, bytes).ok();
        });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(num_wrong, 0);
    EXPECT_EQ(store->facts("object").status().code(), ErrorCode::not_found);
    EXPECT_TRUE(has_upload(*store.again(), "obj", id));
    EXPECT_FALSE(has_upload(*store.again(), "other", id));
    const auto parts = store.again()->parts("object", id).value();
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[2].size_bytes, 777);
    const Status completed = store->complete_upload("object", id, parts, {});
    ASSERT_TRUE(completed.ok()) << completed.text();
    Bytes whole = bytes_of(length, 1);
    for (const Bytes& more : {bytes_of(length, 2), bytes_of(777, 3)})
        whole.insert(whole.end(), more.begin(), more.end());
    EXPECT_EQ(read_all(*store, "object"), whole);
    EXPECT_FALSE(has_upload(*store, "", id));
    EXPECT_EQ(store->parts("object", id).status().code(), ErrorCode::not_found);
}

TEST_P(ObjectsContract, AnUploadSparesWhatHasTheName) {
    OpenedStore store(GetParam());
    if (store->abilities().max_parts == 0) GTEST_SKIP() << "has no uploads";
    ASSERT_TRUE(store->put("object", bytes_of(10, 1)).ok());
    const std::string id = store->begin_upload("object").value();
    const std::vector<UploadedPart> parts = {store->put_part("object", id, 1, bytes_of(500, 2)).value()};
    EXPECT_EQ(store->complete_upload("object", id, parts, {.only_if_absent = true}).code(),
              ErrorCode::exists);
    EXPECT_EQ(read_all(*store, "object"), bytes_of(10, 1));
    ASSERT_TRUE(store->abort_upload("object", id).ok());
    EXPECT_FALSE(has_upload(*store, "", id));
    EXPECT_TRUE(store->abort_upload("object", id).ok());
    EXPECT_EQ(store->put_part("object", id, 1, bytes_of(500, 2)).status().code(), ErrorCode::not_found);
}

TEST_P(ObjectsContract, AnObjectIsReadAsAFile) {
    OpenedStore store(GetParam());
    if (store->abilities().kind != "s3") GTEST_SKIP() << "has files of its own";
    ASSERT_TRUE(store->put("folder/object", bytes_of(10'000, 1)).ok());
    const std::string path = store.root() + "/folder/object";
    FilePtr file = open_file(path, {}).value();
    EXPECT_EQ(file->size_bytes().value(), 10'000);
    EXPECT_FALSE(file->abilities().has_ranges);
    Bytes into(5'000);
    ASSERT_EQ(file->read_at(into, 7'000).value(), 3'000);
    EXPECT_TRUE(std::equal(into.begin(), into.begin() + 3'000, bytes_of(10'000, 1).begin() + 7'000));
    EXPECT_EQ(list_folder(store.root() + "/folder").value().size(), 1U);
    EXPECT_EQ(list_folder(store.root() + "/none").status().code(), ErrorCode::not_found);
    EXPECT_EQ(open_file(path, {.write = true}).status().code(), ErrorCode::unsupported);
    EXPECT_EQ(open_file(path + "2", {}).status().code(), ErrorCode::not_found);
    ASSERT_TRUE(store->put("folder/object", bytes_of(10'000, 2)).ok());
    EXPECT_EQ(file->read_at(into, 0).status().code(), ErrorCode::io) << "bytes of another object";
}

class RangesContract : public ::testing::TestWithParam<Store> {};

TEST_P(RangesContract, RangesAreWrittenInPlace) {
    OpenedStore store(GetParam());
    RangedObjects* const ranged = store->ranged();
    if (ranged == nullptr) GTEST_SKIP() << "objects are written whole";
    ASSERT_TRUE(ranged->write("object", 1'000, bytes_of(500, 1)).ok());
    ASSERT_TRUE(ranged->write("object", 1'100, bytes_of(100, 2)).ok());
    Bytes expected(1'500);
    std::ranges::copy(bytes_of(500, 1), expected.begin() + 1'000);
    std::ranges::copy(bytes_of(100, 2), expected.begin() + 1'100);
    EXPECT_EQ(read_all(*store.again(), "object"), expected);
    ASSERT_TRUE(ranged->resize("object", 1'050).ok());
    ASSERT_TRUE(ranged->resize("object", 1'200).ok());
    std::fill(expected.begin() + 1'050, expected.end(), std::byte{0});
    expected.resize(1'200);
    EXPECT_EQ(read_all(*store, "object"), expected);
}

TEST_P(RangesContract, ANumberIsRaisedByMany) {
    OpenedStore store(GetParam());
    RangedObjects* const ranged = store->ranged();
    if (ranged == nullptr) GTEST_SKIP() << "objects are written whole";
    EXPECT_EQ(ranged->number("object").status().code(), ErrorCode::not_found);
    const Status raised = ranged->raise_number("object", 5);
    ASSERT_TRUE(raised.ok()) << raised.text();
    ASSERT_TRUE(ranged->raise_number("object", 3).ok());
    EXPECT_EQ(ranged->number("object").value(), 5);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            const ObjectsPtr own = store.again();
            for (int i = 0; i < 20; ++i)
                EXPECT_TRUE(own->ranged()->raise_number("object", i * 100'000'000'000 + t).ok());
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ranged->number("object").value(), 1'900'000'000'003);
    ASSERT_TRUE(ranged->write("written", 0, bytes_of(10, 1)).ok());
    EXPECT_EQ(ranged->number("written").value(), 0);
    ASSERT_TRUE(ranged->raise_number("written", 4).ok());
    EXPECT_EQ(ranged->number("written").value(), 4);
    ASSERT_TRUE(store->put("written", bytes_of(3, 2)).ok());
    EXPECT_EQ(ranged->number("written").value(), 4);
    ASSERT_TRUE(ranged->set_number("object", 7).ok());
    EXPECT_EQ(ranged->number("object").value(), 7);
}

const auto name_of_store = [](const auto& param_info) { return param_info.param.name; };
INSTANTIATE_TEST_SUITE_P(All, ObjectsContract, ::testing::ValuesIn(stores()), name_of_store);
INSTANTIATE_TEST_SUITE_P(All, RangesContract, ::testing::ValuesIn(stores()), name_of_store);

}  // namespace
}  // namespace hakobi::storage::contract
