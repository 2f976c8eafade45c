#include "store/maintenance.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "store/store_folder.hpp"

namespace hakobi::store {
namespace {

namespace fs = std::filesystem;

void archive_step(Store& store, int step, int num_fields, int seed) {
    for (int level = 0; level < num_fields; ++level) {
        store.archive(weather_key(step, level, 130), field_of(8000, seed + level));
    }
    store.flush();
}

TEST(Consolidate, IsSafeBesideAWriterAndReplacesNothing) {
    const StoreFolder folder;
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

TEST(Wipe, RemovesPartsAndWholeFilesAlsoForReadersThatAreOpen) {
    for (const bool is_consolidated : {false, true}) {
        const StoreFolder folder;
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
        WipePlan plan = plan_wipe(opened, reader.list("step=1/2"));
        EXPECT_EQ(plan.num_fields, 10);
        EXPECT_EQ(plan.whole_files.size(), 1U);
        EXPECT_EQ(plan.parts.size(), 1U);
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

TEST(Move, TakesAWholeStoreOrSomeFields) {
    const StoreFolder folder, other, third;
    {
        Store store = Store::open(folder.path(), {.schema = "weather"});
        archive_step(store, 1, 5, 1);
        archive_step(store, 2, 5, 2);
        EXPECT_EQ(folder.code_of([&] { move_store(Folder::open(folder.path(), ""), other.path()); }),
                  ErrorCode::exists);
    }
    move_store(Folder::open(folder.path(), ""), other.path());
    EXPECT_FALSE(fs::exists(folder.path()));
    Store moved = Store::open(other.path());
    EXPECT_EQ(moved.list().size(), 10);
    EXPECT_EQ(move_fields(moved, "step=2", third.path()), 5);
    EXPECT_EQ(moved.list().size(), 5);
    const Store target = Store::open(third.path());
    EXPECT_EQ(target.list().size(), 5);
    EXPECT_EQ(target.retrieve(weather_key(2, 3, 130)), field_of(8000, 5));
}

TEST(Move, CrossesFileSystems) {
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

TEST(Follow, FindsEachFlushOnce) {
    const StoreFolder folder;
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

/// What one member's job writes: three steps of four fields; its exit status.
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
TEST(Ensemble, OfFiftyJobsAtOnceIsWholeAndEachMemberIsFound) {
    const StoreFolder folder;
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
