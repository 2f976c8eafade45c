#include "store/maintenance.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "store/gate.hpp"
#include "store/store_folder.hpp"
#include "store/writer.hpp"

namespace hakobi::store {
namespace {

namespace fs = std::filesystem;

class Consolidate : public AtEachPlace {};
class Wipe : public AtEachPlace {};
class Move : public AtEachPlace {};
class Follow : public AtEachPlace {};
class Ensemble : public AtEachPlace {};
HAKOBI_AT_EACH_PLACE(Consolidate);
HAKOBI_AT_EACH_PLACE(Wipe);
HAKOBI_AT_EACH_PLACE(Move);
HAKOBI_AT_EACH_PLACE(Follow);
HAKOBI_AT_EACH_PLACE(Ensemble);

void archive_step(Store& store, int step, int num_fields, int seed) {
    for (int level = 0; level < num_fields; ++level) {
        store.archive(weather_key(step, level, 130), field_of(8000, seed + level));
    }
    store.flush();
}

TEST_P(Consolidate, IsSafeBesideAWriterAndReplacesNothing) {
    const StoreFolder folder(GetParam());
    Store writer = Store::open(folder.path(), {.schema = "weather"});
    const Folder opened = Folder::open(folder.path(), "");
    for (int step = 0; step < 4; ++step) {
        archive_step(writer, step, 10, step);
        consolidate(opened);
        archive_step(writer, 10 + step, 10, step);  // after the catalogue
        archive_step(writer, 0, 1, 50 + step);      // replaces what the catalogue has
        const Store reader = Store::open(folder.path());
        EXPECT_EQ(reader.list().size(), 20 * (step + 1));
        EXPECT_EQ(reader.retrieve(weather_key(0, 0, 130)), field_of(8000, 50 + step));
        EXPECT_EQ(reader.list("", {.with_replaced = true}).size(), 20 * (step + 1) + step + 1);
        EXPECT_TRUE(reader.warnings().empty());
    }
    // In order of steps as numbers.
    const Listing all = Store::open(folder.path()).list("levelist=0");
    for (int i = 1; i < all.size(); ++i)
        EXPECT_LT(std::stoi(all[i - 1].key.text().substr(all[i - 1].key.text().find("step=") + 5)),
                  std::stoi(all[i].key.text().substr(all[i].key.text().find("step=") + 5)));
}

TEST_P(Wipe, RemovesPartsAndWholeFilesAlsoForReadersThatAreOpen) {
    for (const bool is_consolidated : {false, true}) {
        const StoreFolder folder(GetParam());
        Store alive = Store::open(folder.path(), {.schema = "weather", .writer = "alive"});
        {
            Store dead = Store::open(folder.path(), {.writer = "dead"});
            archive_step(dead, 1, 5, 1);
        }
        archive_step(alive, 2, 5, 2);
        archive_step(alive, 3, 5, 3);
        const Folder opened = Folder::open(folder.path(), "");
        if (is_consolidated) consolidate(opened);
        const Store reader = Store::open(folder.path());
        EXPECT_EQ(reader.list().size(), 15);
        WipePlan plan = plan_wipe(reader.list("step=1/2"));
        EXPECT_EQ(plan.num_fields, 10);
        EXPECT_EQ(plan.parts.size(), 2U);
        wipe(opened, plan);
        for (const Store* store : {&reader, static_cast<const Store*>(&alive)}) {
            const Listing left = store->list();
            EXPECT_EQ(left.size(), 5);
            EXPECT_EQ(store->retrieve(weather_key(3, 4, 130)), field_of(8000, 7));
            EXPECT_EQ(folder.code_of([&] { (void)store->retrieve(weather_key(2, 0, 130)); }),
                      ErrorCode::not_found);
        }
        EXPECT_EQ(Store::open(folder.path()).list().size(), 5);
        archive_step(alive, 2, 5, 9);  // what was wiped may come again
        EXPECT_EQ(reader.list().size(), 10);
        const CheckReport report = check(opened, true, 2);
        EXPECT_TRUE(report.problems.empty()) << report.problems[0];
    }
}

// Nobody may remove fields flushed after the look that a wipe or a move goes by, even if their writer is dead
// by then.
TEST_P(Wipe, LeavesWhatWasFlushedAfterTheLook) {
    const StoreFolder folder(GetParam());
    Store writer = Store::open(folder.path(), {.schema = "weather"});
    archive_step(writer, 1, 5, 1);
    const Store reader = Store::open(folder.path());
    const Listing look = reader.list("step=1", {.with_replaced = true});
    archive_step(writer, 2, 5, 2);
    writer.close();
    wipe(Folder::open(folder.path(), ""), plan_wipe(look));
    EXPECT_EQ(reader.list().size(), 5);
    EXPECT_EQ(Store::open(folder.path()).retrieve(weather_key(2, 4, 130)), field_of(8000, 6));
}

TEST_P(Wipe, LeavesASmallFieldBetweenLargeOnesWhole) {
    const StoreFolder folder(GetParam());
    Store store = Store::open(folder.path(), {.schema = "weather"});
    const int sizes[] = {20'000, 100, 20'000};
    for (int step = 0; step < 3; ++step)
        store.archive(weather_key(step, 500, 130), field_of(sizes[step], step));
    store.flush();
    wipe(Folder::open(folder.path(), ""), plan_wipe(store.list("step=0/2")));
    EXPECT_EQ(store.retrieve(weather_key(1, 500, 130)), field_of(100, 1));
}

TEST_P(Wipe, DeletesEmptiedFilesAndItsOwnRecordWhenTheirWriterIsDead) {
    const StoreFolder folder(GetParam());
    Store alive = Store::open(folder.path(), {.schema = "weather"});
    archive_step(alive, 1, 5, 1);
    const Folder opened = Folder::open(folder.path(), "");
    wipe(opened, plan_wipe(alive.list()));
    consolidate(opened);  // of groups without a field
    ASSERT_TRUE(opened.place().remove("catalogue").ok());
    EXPECT_NE(names_in(folder.path()), "hakobi-store schema ");
    alive.close();
    const RecoverReport report = recover(opened, {});
    EXPECT_EQ(report.actions.size(), 1U);
    EXPECT_EQ(names_in(folder.path()), "hakobi-store schema ");
}

// A wipe that was killed behind its record, which removes all of its fields: what it left is no field of
// anybody.
TEST_P(Wipe, BringsNoOldValueBackWhereItIsKilledBehindItsRecord) {
    const StoreFolder folder(GetParam()), kept(GetParam());
    const auto file_of = [](const std::string& path) {
        return path.substr(path.starts_with("objects:") ? 8 : 0);
    };
    if (!fs::is_directory(fs::path(file_of(kept.path())).parent_path()))
        GTEST_SKIP() << "a server has no copies";
    for (const int seed : {1, 2}) {
        Store store = Store::open(folder.path(), {.schema = "weather"});
        archive_step(store, 1, 3, seed);
    }
    fs::copy(file_of(folder.path()), file_of(kept.path()), fs::copy_options::recursive);
    const Folder opened = Folder::open(folder.path(), "");
    wipe(opened, plan_wipe(Store::open(folder.path()).list("", {.with_replaced = true})));
    EXPECT_EQ(names_in(folder.path()), "hakobi-store schema ");
    // The record again, and of the files any part.
    IndexFile index(Folder::open(kept.path(), ""), "wipe", true, IndexFile::Kind::records_of_others);
    std::vector<Wiped> wiped;
    const WipePlan plan = plan_wipe(Store::open(kept.path()).list("", {.with_replaced = true}));
    for (const WipePlan::Part& part : plan.parts) {
        wiped.push_back({part.id, {}});
        for (const Extent& extent : part.extents) wiped.back().offsets.push_back(extent.offset_bytes);
    }
    ASSERT_EQ(wiped.size(), 2U);
    Record record;
    const std::vector<std::byte> payload = encode_wipe(wiped);
    record.kind = RecordKind::wipe;
    record.payload = payload;
    ASSERT_TRUE(index.append(std::span(&record, 1), true).ok());
    EXPECT_EQ(Store::open(kept.path()).list().size(), 0);
    const std::vector<WriterFiles> writers = Folder::open(kept.path(), "").contents().writers;
    ASSERT_TRUE(Folder::open(kept.path(), "").place().remove_log(writers[1].stem).ok());
    EXPECT_EQ(Store::open(kept.path()).list().size(), 0);
    consolidate(Folder::open(kept.path(), ""));
    EXPECT_EQ(Store::open(kept.path()).list().size(), 0);
}

TEST_P(Move, TakesAWholeStoreOrSomeFields) {
    const StoreFolder folder(GetParam()), other(GetParam()), third(GetParam());
    {
        Store store = Store::open(folder.path(), {.schema = "weather"});
        archive_step(store, 1, 5, 1);
        archive_step(store, 2, 5, 2);
        EXPECT_EQ(folder.code_of([&] { move_store(Folder::open(folder.path(), ""), other.path()); }),
                  ErrorCode::exists);
        EXPECT_EQ(folder.code_of([&] { move_store(Folder::open(folder.path(), ""), "gs://bucket/store"); }),
                  ErrorCode::unsupported);
    }
    move_store(Folder::open(folder.path(), ""), other.path());
    EXPECT_FALSE(Folder::is_there(folder.path()));
    Store moved = Store::open(other.path());
    EXPECT_EQ(moved.list().size(), 10);
    EXPECT_EQ(move_fields(moved, "step=2", third.path()), 5);
    EXPECT_EQ(moved.list().size(), 5);
    const Store target = Store::open(third.path());
    EXPECT_EQ(target.list().size(), 5);
    EXPECT_EQ(target.retrieve(weather_key(2, 3, 130)), field_of(8000, 5));
}

TEST_P(Move, LeavesWhatWasFlushedAfterTheLook) {
    const StoreFolder folder(GetParam()), target(GetParam());
    Store writer = Store::open(folder.path(), {.schema = "weather"});
    archive_step(writer, 1, 5, 1);
    const Store source = Store::open(folder.path());
    const Listing look = source.list("param=130", {.with_replaced = true});
    archive_step(writer, 1, 1, 7);  // replaces one
    archive_step(writer, 2, 5, 2);
    writer.close();
    EXPECT_EQ(move_fields(source, look, target.path()), 5);
    EXPECT_EQ(source.list().size(), 6);
    EXPECT_EQ(source.retrieve(weather_key(1, 0, 130)), field_of(8000, 7));
    EXPECT_EQ(Store::open(target.path()).list().size(), 5);
    // The later one arrives later.
    EXPECT_EQ(move_fields(source, "step=1", target.path()), 1);
    EXPECT_EQ(Store::open(target.path()).retrieve(weather_key(1, 0, 130)), field_of(8000, 7));
}

TEST_P(Move, TakesReplacedValuesAlongAndKeepsTheirOrderAndTimes) {
    for (const bool is_consolidated : {false, true}) {
        const StoreFolder folder(GetParam()), target(GetParam());
        Store writer = Store::open(folder.path(), {.schema = "weather", .writer = "first"});
        const Key key = weather_key(1, 500, 130);
        for (int seed = 1; seed <= 3; ++seed) {
            writer.archive(key, field_of(100, seed));
            writer.archive(key, field_of(100, 10 * seed));  // twice in one flush
            writer.flush();
        }
        if (is_consolidated) consolidate(Folder::open(folder.path(), ""));
        const Store source = Store::open(folder.path());
        const Listing before = source.list("", {.with_replaced = true});
        ASSERT_EQ(before.size(), 6);
        EXPECT_EQ(move_fields(source, "step=1", target.path()), 1);
        EXPECT_EQ(source.list("", {.with_replaced = true}).size(), 0);
        const Store moved = Store::open(target.path());
        EXPECT_EQ(moved.retrieve(key), field_of(100, 30));
        const Listing after = moved.list("", {.with_replaced = true});
        ASSERT_EQ(after.size(), 6);
        for (std::int64_t i = 0; i < 6; ++i) {
            EXPECT_EQ(after[i].checksum, before[i].checksum);
            EXPECT_EQ(after[i].flushed_ns, before[i].flushed_ns);
        }
    }
}

// A move that looked earlier may end later than another one, whose later value then still counts.
TEST_P(Move, HidesNoLaterValueOfTheTarget) {
    const StoreFolder folder(GetParam()), target(GetParam());
    Store writer = Store::open(folder.path(), {.schema = "weather"});
    archive_step(writer, 1, 1, 1);
    Store other = Store::open(target.path(), {.schema = "weather"});
    archive_step(other, 1, 1, 2);
    other.close();
    EXPECT_EQ(move_fields(Store::open(folder.path()), "", target.path()), 1);
    EXPECT_EQ(other.retrieve(weather_key(1, 0, 130)), field_of(8000, 2));
    EXPECT_EQ(other.list("", {.with_replaced = true}).size(), 2);
    EXPECT_EQ(Store::open(folder.path()).list().size(), 0);
}

TEST_P(Move, IsClosedToWritersAndRefusesWhereOneIsAtWork) {
    const StoreFolder folder(GetParam());
    Store early = Store::open(folder.path(), {.schema = "weather", .writer = "early"});
    Store late = Store::open(folder.path(), {.writer = "late"});
    archive_step(early, 1, 1, 1);
    const Folder opened = Folder::open(folder.path(), "");
    EXPECT_EQ(folder.code_of([&] { const Gate gate(opened, "elsewhere"); }), ErrorCode::exists);
    early.close();
    {
        const Gate gate(opened, "elsewhere");
        EXPECT_EQ(folder.code_of([&] { archive_step(late, 2, 1, 1); }), ErrorCode::exists);
        EXPECT_NE(folder.text_of([&] { const Gate other(opened, "there"); }).find("is being moved"),
                  std::string::npos);
        EXPECT_EQ(folder.code_of([&] { wipe(opened, plan_wipe(late.list())); }), ErrorCode::exists);
        EXPECT_EQ(late.list().size(), 1);
    }
    archive_step(late, 2, 1, 1);
    late.close();
    EXPECT_EQ(Store::open(folder.path()).list().size(), 2);
    // A killed move's gate keeps nobody out.
    const pid_t mover = ::fork();
    if (mover == 0) {
        try {
            const Gate gate(opened, "elsewhere");
            ::_exit(0);
        } catch (const Error&) {
            ::_exit(1);
        }
    }
    int status = -1;
    ::waitpid(mover, &status, 0);
    ASSERT_EQ(status, 0);
    ASSERT_NE(names_in(folder.path()).find("moving"), std::string::npos);
    Store third = Store::open(folder.path());
    archive_step(third, 3, 1, 1);
    third.close();
    EXPECT_EQ(recover(opened, {}).actions.size(), 1U);
    EXPECT_EQ(names_in(folder.path()).find("moving"), std::string::npos);
    // A store that was moved under an open object takes no field more.
    Store fourth = Store::open(folder.path());
    ASSERT_TRUE(opened.place().remove(marker_name).ok());
    EXPECT_EQ(folder.code_of([&] { archive_step(fourth, 4, 1, 1); }), ErrorCode::not_found);
}

TEST(MoveOfAFolder, CrossesFileSystems) {
    const StoreFolder folder;
    const std::string target = "/dev/shm/hakobi-store-test." + std::to_string(::getpid());
    if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no second file system";
    {
        Store store = Store::open(folder.path(), {.schema = "weather"});
        archive_step(store, 1, 5, 1);
    }
    move_store(Folder::open(folder.path(), ""), target);
    EXPECT_FALSE(fs::exists(folder.path()));
    EXPECT_EQ(Store::open(target).retrieve(weather_key(1, 3, 130)), field_of(8000, 4));
    fs::remove_all(target);
}

TEST(MoveOfAStore, GoesFromAFolderToObjectsAndBack) {
    const StoreFolder folder, objects("objects:"), back;
    {
        Store store = Store::open(folder.path(), {.schema = "weather"});
        archive_step(store, 1, 5, 1);
        archive_step(store, 1, 1, 9);  // replaces one
    }
    const Listing before = Store::open(folder.path()).list("", {.with_replaced = true});
    move_store(Folder::open(folder.path(), ""), objects.path());
    EXPECT_FALSE(Folder::is_there(folder.path()));
    move_store(Folder::open(objects.path(), ""), back.path());
    EXPECT_EQ(names_in(objects.path()), "");
    const Store moved = Store::open(back.path());
    const Listing after = moved.list("", {.with_replaced = true});
    ASSERT_EQ(after.size(), before.size());
    for (std::int64_t i = 0; i < after.size(); ++i) {
        EXPECT_EQ(after[i].checksum, before[i].checksum);
        EXPECT_EQ(after[i].flushed_ns, before[i].flushed_ns);
    }
    EXPECT_EQ(moved.retrieve(weather_key(1, 0, 130)), field_of(8000, 9));
}

TEST_P(Follow, FindsEachFlushOnce) {
    const StoreFolder folder(GetParam());
    Store first = Store::open(folder.path(), {.schema = "weather", .writer = "first"});
    archive_step(first, 0, 2, 1);
    const Store reader = Store::open(folder.path());
    Follower follower(reader, "levelist=1", false);
    Follower everything(reader, "", true);
    EXPECT_EQ(everything.next().size(), 2);
    EXPECT_EQ(follower.next().size(), 0);
    Store second = Store::open(folder.path(), {.writer = "second"});
    archive_step(second, 1, 3, 1);
    archive_step(first, 2, 3, 1);
    EXPECT_EQ(follower.next().size(), 2);
    EXPECT_EQ(everything.next().size(), 6);
    consolidate(Folder::open(folder.path(), ""));
    archive_step(first, 2, 3, 5);  // replaced fields are new ones, too
    EXPECT_EQ(follower.next().size(), 1);
    EXPECT_EQ(follower.next().size(), 0);
    EXPECT_EQ(everything.next().size(), 3);
}

// A user of small fields: a million of them, of which 30 are wanted.
TEST(ManyFields, AMillionAreListedAndThirtyOfThemFound) {
    const StoreFolder folder;
    constexpr int num_fields = 1'000'000, num_steps = 100;
    {
        Store writer = Store::open(folder.path(), {.schema = "flow", .buffer_bytes = 1 << 20, .sync = false});
        Key key{{"case", "dam"}, {"run", "1"}, {"variable", "eta"}};
        for (int i = 0; i < num_fields; ++i) {
            key.set("step", std::to_string(i / (num_fields / num_steps)));
            key.set("block", std::to_string(i % (num_fields / num_steps)));
            writer.archive(key, std::as_bytes(std::span(&i, 1)));
            if ((i + 1) % 20'000 == 0) writer.flush();
        }
        EXPECT_LT(writer.counters().index_bytes, 20LL * num_fields);
    }
    consolidate(Folder::open(folder.path(), ""));
    const Store reader = Store::open(folder.path());
    EXPECT_EQ(reader.list().size(), num_fields);
    const Listing few = reader.list("step=42,block=100/to/129");
    ASSERT_EQ(few.size(), 30);
    int wanted = 42 * (num_fields / num_steps) + 100;
    reader.retrieve(few, [&](const FieldInfo&, std::span<const std::byte> bytes) {
        int found = 0;
        std::memcpy(&found, bytes.data(), sizeof found);
        EXPECT_EQ(found, wanted++);
    });
}

/// Writes one member's job: three steps of four fields; returns its exit status.
int run_member(const std::string& path, int member) {
    try {
        Store store = Store::open(
            path, {.schema = "weather", .num_buffers = 2, .buffer_bytes = 64 << 10, .sync = false});
        for (int step = 0; step < 3; ++step) {
            for (int level = 0; level < 4; ++level) {
                Key key = weather_key(step, level, 130);
                key.set("number", std::to_string(member));
                store.archive(key, field_of(2000, member * 100 + step * 10 + level));
            }
            store.flush();
        }
        store.close();
        return 0;
    } catch (const Error&) {
        return 1;
    }
}

// Each is a process of its own; all of them find no store and make it.
TEST_P(Ensemble, OfFiftyJobsAtOnceIsWholeAndEachMemberIsFound) {
    const StoreFolder folder(GetParam());
    std::vector<pid_t> jobs;
    for (int member = 0; member < 50; ++member) {
        const pid_t job = ::fork();
        if (job == 0) ::_exit(run_member(folder.path(), member));
        jobs.push_back(job);
    }
    for (const pid_t job : jobs) {
        int status = -1;
        ::waitpid(job, &status, 0);
        EXPECT_EQ(status, 0);
    }
    const Store reader = Store::open(folder.path());
    EXPECT_EQ(reader.list().size(), 600);
    const Listing one = reader.list("number=37,step=2");
    ASSERT_EQ(one.size(), 4);
    int level = 0;
    reader.retrieve(one, [&](const FieldInfo&, std::span<const std::byte> bytes) {
        EXPECT_EQ(std::vector(bytes.begin(), bytes.end()), field_of(2000, 3720 + level++));
    });
    EXPECT_TRUE(check(Folder::open(folder.path(), ""), true, 2).problems.empty());
}

}  // namespace
}  // namespace hakobi::store
