#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <hakobi/store.hpp>
#include <string>
#include <vector>

#include "device/program.hpp"
#include "store/store_folder.hpp"

namespace hakobi {
namespace {

using store::field_of;
using store::name_of_base;
using store::store_bases;
using store::StoreFolder;
using store::weather_key;

class StoreAt : public store::AtEachPlace {};
HAKOBI_AT_EACH_PLACE(StoreAt);

TEST_P(StoreAt, GivesBackWhatWasArchivedAndFlushed) {
    const StoreFolder folder(GetParam());
    Store writer = Store::open(folder.path(), {.schema = "weather"});
    for (int step = 0; step <= 24; step += 6) {
        for (const int param : {130, 131, 132}) {
            writer.archive(weather_key(step, 500, param), field_of(1000 + step, param), "bytes");
        }
    }
    writer.flush();
    const Store reader = Store::open(folder.path());
    EXPECT_EQ(reader.list().size(), 15);
    const Listing some = reader.list("param=t/u,step=0/to/24/by/12");
    ASSERT_EQ(some.size(), 6);
    int count = 0;
    reader.retrieve(some, [&](const FieldInfo& info, std::span<const std::byte> bytes) {
        const int step = std::stoi(std::string(info.key.get("step")));
        const int param = std::stoi(std::string(info.key.get("param")));
        EXPECT_EQ(std::vector(bytes.begin(), bytes.end()), field_of(1000 + step, param));
        EXPECT_EQ(info.form, "bytes");
        EXPECT_EQ(info.key, some[count].key);
        ++count;
    });
    EXPECT_EQ(count, 6);
    EXPECT_EQ(reader.retrieve(weather_key(6, 500, 131)), field_of(1006, 131));
}

TEST_P(StoreAt, RefusesMemoryOfADevice) {
    const StoreFolder folder(GetParam());
    Store writer = Store::open(folder.path(), {.schema = "weather"});
    const device_test::Array<std::byte> on_device(field_of(1000, 1));
    try {
        writer.archive(weather_key(0, 500, 130), {on_device.data(), on_device.size()});
        FAIL() << "archived";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
        EXPECT_NE(std::string(error.what()).find("archive takes memory of the host"), std::string::npos)
            << error.what();
    }
    writer.archive(weather_key(0, 500, 130), on_device.values());
    writer.flush();
    EXPECT_EQ(writer.retrieve(weather_key(0, 500, 130)), field_of(1000, 1));
}

TEST_P(StoreAt, ShowsNothingBeforeTheFlushAndAllAfterIt) {
    const StoreFolder folder(GetParam());
    Store writer = Store::open(folder.path(), {.schema = "weather"});
    const Store reader = Store::open(folder.path());
    writer.archive(weather_key(0, 500, 130), field_of(10, 1));
    EXPECT_EQ(reader.list().size(), 0);
    writer.archive(weather_key(0, 500, 131), field_of(10, 2));
    writer.flush();
    EXPECT_EQ(reader.list().size(), 2);
    writer.archive(weather_key(0, 500, 132), field_of(10, 3));
    EXPECT_EQ(reader.list().size(), 2);
    writer.close();
    EXPECT_EQ(reader.list().size(), 2);
    EXPECT_EQ(Store::open(folder.path()).list().size(), 2);
}

TEST_P(StoreAt, GivesTheLatestOfReplacedFieldsAndListsAllOnRequest) {
    const StoreFolder folder(GetParam());
    Store first = Store::open(folder.path(), {.schema = "weather", .writer = "first"});
    Store second = Store::open(folder.path(), {.writer = "second"});
    const Key key = weather_key(0, 500, 130);
    first.archive(key, field_of(100, 1));
    first.flush();
    second.archive(key, field_of(100, 2));
    second.flush();
    EXPECT_EQ(first.retrieve(key), field_of(100, 2));
    first.archive(key, field_of(50, 3));
    first.archive(key, field_of(60, 4));  // twice in one flush: the later call counts
    first.flush();
    EXPECT_EQ(second.retrieve(key), field_of(60, 4));
    EXPECT_EQ(second.list().size(), 1);
    const Listing all = second.list("", {.with_replaced = true});
    ASSERT_EQ(all.size(), 4);
    EXPECT_FALSE(all[0].is_replaced);
    EXPECT_EQ(all[0].length_bytes, 60);
    for (int i = 1; i < 4; ++i) EXPECT_TRUE(all[i].is_replaced);
}

TEST_P(StoreAt, SyncsDataAndIndexOnceAFlushAndTheFolderOnce) {
    const StoreFolder folder(GetParam());
    Store writer = Store::open(folder.path(), {.schema = "weather"});
    for (int step = 0; step < 3; ++step) {
        for (int param = 1; param < 50; ++param)
            writer.archive(weather_key(step, 500, param), field_of(3000, param));
        writer.flush();
        writer.flush();  // with nothing new it does nothing
    }
    const StoreCounters counters = writer.counters();
    EXPECT_EQ(counters.num_flushes, 3);
    EXPECT_EQ(counters.num_data_syncs, 3);
    EXPECT_EQ(counters.num_index_syncs, 3);
    EXPECT_EQ(counters.num_directory_syncs, 1);
    EXPECT_LT(counters.index_bytes, 100 * counters.num_fields);
}

TEST_P(StoreAt, ReadsPartOfAField) {
    const StoreFolder folder(GetParam());
    Store store = Store::open(folder.path(), {.schema = "weather"});
    store.archive(weather_key(0, 500, 130), field_of(5000, 1));
    store.archive(weather_key(0, 500, 131), field_of(5000, 2));
    store.flush();
    const Listing fields = store.list("param=131");
    std::vector<std::byte> part(100);
    store.read(fields[0], 4900, part);
    const auto whole = field_of(5000, 2);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 4900));
    EXPECT_THROW(store.read(fields[0], 4901, part), Error);
}

TEST_P(StoreAt, WritesTheSameInLineAndByThreadsAndPadded) {
    for (const bool is_asynchronous : {false, true}) {
        for (const std::int64_t pad_bytes : {0, 4096}) {
            const StoreFolder folder(GetParam());
            Store store = Store::open(folder.path(), {.schema = "weather",
                                                      .asynchronous = is_asynchronous,
                                                      .num_buffers = 2,
                                                      .buffer_bytes = 64 << 10,
                                                      .pad_bytes = pad_bytes,
                                                      .huge_pages = true,
                                                      .direct = pad_bytes > 0});
            // Larger than a buffer, than both, and small ones.
            const int sizes[] = {1, 100'000, 5, 300'000, 70'000};
            for (int param = 0; param < 5; ++param) {
                store.archive(weather_key(0, 500, param), field_of(sizes[param], param));
            }
            store.flush();
            for (int param = 0; param < 5; ++param) {
                EXPECT_EQ(store.retrieve(weather_key(0, 500, param)), field_of(sizes[param], param));
                if (pad_bytes > 0 && GetParam().empty()) {
                    EXPECT_EQ(store.list("param=" + std::to_string(param))[0].offset_bytes % pad_bytes, 0);
                }
            }
        }
    }
}

TEST_P(StoreAt, RefusesWhatItCannotTake) {
    const StoreFolder folder(GetParam());
    EXPECT_EQ(folder.code_of([&] { (void)Store::open(folder.path()); }), ErrorCode::not_found);
    EXPECT_EQ(folder.code_of([&] { (void)Store::open(folder.path(), {.schema = "wether"}); }),
              ErrorCode::not_found);
    for (const char* path : {"gs://bucket/store", "S3://bucket/store", "nfs://server/store", "gs://"}) {
        EXPECT_EQ(folder.code_of([&] { (void)Store::open(path, {.schema = "weather"}); }),
                  ErrorCode::unsupported)
            << path;
    }
    Store store = Store::open(folder.path(), {.schema = "weather", .writer = "me"});
    EXPECT_EQ(folder.code_of([&] { store.archive(weather_key(0, 500, 1), {}); }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(folder.code_of([&] { store.archive(Key::parse("class=od"), field_of(1, 1)); }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(folder.code_of([&] { (void)Store::open(folder.path(), {.schema = "flow"}); }),
              ErrorCode::exists);
    EXPECT_EQ(folder.code_of([&] { (void)store.list("parm=t"); }), ErrorCode::invalid_argument);
    EXPECT_EQ(folder.code_of([&] { (void)store.retrieve(weather_key(0, 500, 130)); }), ErrorCode::not_found);
    store.archive(weather_key(0, 500, 1), field_of(1, 1));
    Store same = Store::open(folder.path(), {.writer = "me"});
    EXPECT_EQ(folder.code_of([&] { same.archive(weather_key(0, 500, 2), field_of(1, 1)); }),
              ErrorCode::exists);
    store.flush();
    EXPECT_EQ(store.list().size(), 1);
}

}  // namespace
}  // namespace hakobi
