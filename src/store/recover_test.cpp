// The contents of a store after a kill, a full disk, and damage.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "storage/faulty.hpp"
#include "store/maintenance.hpp"
#include "store/store_folder.hpp"

namespace hakobi::store {
namespace {

namespace fs = std::filesystem;

// The size of a field tells nothing about its place: neighbours differ.
int size_of(int number) {
    return 1 + (number * 7919) % 40'000;
}
Key key_of(int number) {
    return weather_key(number / 100, number % 100, 130);
}

/// Writes until it is killed; the file `progress` has the number of fields whose flush has returned.
[[noreturn]] void write_until_killed(const std::string& path, const std::string& progress) {
    try {
        Store store = Store::open(path, {.schema = "weather", .num_buffers = 2, .buffer_bytes = 1 << 20});
        const int file = ::open(progress.c_str(), O_WRONLY | O_CREAT, 0600);
        for (int number = 0;; ++number) {
            store.archive(key_of(number), field_of(size_of(number), number));
            if (number % 7 != 6) continue;
            store.flush();
            const int count = number + 1;
            if (::pwrite(file, &count, sizeof count, 0) != sizeof count) ::_exit(3);
        }
    } catch (...) {
        ::_exit(4);
    }
}

int progress_of(const std::string& path) {
    int count = 0;
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&count), sizeof count);
    return count;
}

std::string verify_after_a_kill(const StoreFolder& folder, int num_flushed) {
    // Before the store's marker is written there is no store.
    if (!Folder::is_there(folder.path())) return num_flushed == 0 ? "" : "no store, but flushed fields";

    const auto verify = [&](const Store& store, const Listing& fields) -> std::string {
        if (fields.size() < num_flushed)
            return "lost: " + std::to_string(fields.size()) + " of " + std::to_string(num_flushed);
        if (fields.size() % 7 != 0) return "a part of a flush is there";
        std::string problem;
        store.retrieve(fields, [&](const FieldInfo& info, std::span<const std::byte> bytes) {
            const int number = std::stoi(std::string(info.key.get("step"))) * 100 +
                               std::stoi(std::string(info.key.get("levelist")));
            const auto wanted = field_of(size_of(number), number);
            if (!std::equal(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()))
                problem = "torn: " + info.key.text();
        });
        return problem;
    };
    const Folder opened = Folder::open(folder.path(), "");
    {
        const Store store = Store::open(folder.path());
        if (std::string problem = verify(store, store.list()); !problem.empty()) return problem;
    }
    const CheckReport before = check(opened, true, 2);
    if (!before.problems.empty()) return before.problems[0];
    const RecoverReport report = recover(opened, {});
    if (!report.left.empty()) return report.left[0];
    CheckReport after_recovery = check(opened, true, 2);
    // A temporary file that is younger than two seconds is left: it may be a new writer's.
    std::erase_if(after_recovery.orphans,
                  [](const std::string& text) { return text.ends_with("a temporary file"); });
    if (!after_recovery.orphans.empty()) return after_recovery.orphans[0];
    const Store store = Store::open(folder.path());
    const Listing fields = store.list();
    std::int64_t data_bytes = 0;
    for (const WriterFiles& writer : opened.contents().writers) {
        for (const Extent& extent : opened.place().data_extents(writer.stem))
            data_bytes += extent.length_bytes;
    }
    if (data_bytes != fields.total_bytes())
        return "orphan bytes: " + std::to_string(data_bytes - fields.total_bytes());
    return verify(store, fields);
}

std::string kill_one_writer(const std::string& base, std::chrono::microseconds after) {
    const StoreFolder folder(base, is_server(base)), files;
    const std::string progress = files.path() + ".progress";
    const pid_t child = ::fork();
    if (child == 0) write_until_killed(folder.path(), progress);
    std::this_thread::sleep_for(after);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    const int num_flushed = progress_of(progress);
    fs::remove(progress);
    if (!WIFSIGNALED(status))
        return "the writer ended by itself, with " + std::to_string(WEXITSTATUS(status));
    // A server may still be about to carry out what the dead process asked it for.
    if (is_server(base)) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return in_child([&] {
        std::string problem = verify_after_a_kill(folder, num_flushed);
        if (is_server(base)) remove_store(folder.path());
        return problem;
    });
}

// HAKOBI_STORE_KILLS sets how many; tests/store/kills runs 200.
class StoreAfterAKill : public AtEachPlace {};
HAKOBI_AT_EACH_PLACE(StoreAfterAKill);

TEST_P(StoreAfterAKill, HasEveryFlushedFieldAndNoOrphanByte) {
    const char* const asked = std::getenv("HAKOBI_STORE_KILLS");
    const int num_kills = asked != nullptr ? std::atoi(asked) : 20;
    std::mt19937 random(static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()));
    // A server takes longer to be found.
    std::uniform_int_distribution<int> delay_us(0, is_server(GetParam()) ? 400'000 : 60'000);
    for (int i = 0; i < num_kills; ++i) {
        const std::chrono::microseconds after(delay_us(random));
        ASSERT_EQ(kill_one_writer(GetParam(), after), "")
            << "kill " << i << ", after " << after.count() << " us";
    }
}

// flock's locks are shared by fork.
TEST(StoreAfterFork, AChildThatLivesKeepsNoDeadWriterAlive) {
    const StoreFolder folder;
    std::array<int, 2> ends{}, begun{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    ASSERT_EQ(::pipe(begun.data()), 0);
    const pid_t owner = ::fork();
    if (owner == 0) {
        Store store = Store::open(folder.path(), {.schema = "weather"});
        store.archive(key_of(1), field_of(100, 1));
        store.flush();
        if (::fork() == 0) {
            char none = 0;
            (void)!::write(begun[1], &none, 1);
            ::close(ends[1]);
            ::_exit(static_cast<int>(::read(ends[0], &none, 1)));  // until the test is over
        }
        ::kill(::getpid(), SIGKILL);
    }
    ::close(ends[0]);
    ::waitpid(owner, nullptr, 0);
    char none = 0;
    ASSERT_EQ(::read(begun[0], &none, 1), 1);  // what a fork does in the child is done
    const Folder opened = Folder::open(folder.path(), "");
    ASSERT_EQ(opened.contents().writers.size(), 1U);
    EXPECT_TRUE(opened.place().is_over(opened.contents().writers[0]));
    EXPECT_TRUE(recover(opened, {}).left.empty());
    EXPECT_EQ(Store::open(folder.path()).list().size(), 1);
    for (const int end : {ends[1], begun[0], begun[1]}) ::close(end);
}

TEST(StoreAfterFork, AChildEndsNothing) {
    const StoreFolder folder;
    Store store = Store::open(folder.path(), {.schema = "weather"});
    store.archive(key_of(1), field_of(100, 1));
    EXPECT_EQ(in_child([&]() -> std::string {
                  const std::string told =
                      StoreFolder::text_of([&] { store.archive(key_of(2), field_of(100, 2)); });
                  store.close();
                  { const Store taken = std::move(store); }
                  return told;
              }),
              "this process was forked, and the store's writer is its parent's: open the store here");
    EXPECT_EQ(in_child([&]() -> std::string {
                  Store own = Store::open(folder.path());
                  own.archive(key_of(3), field_of(100, 3));
                  own.close();
                  return "";
              }),
              "");
    store.archive(key_of(4), field_of(100, 4));
    store.flush();
    store.close();
    EXPECT_EQ(Store::open(folder.path()).list().size(), 2);
}

std::string only_file(const std::string& path, const std::string& extension) {
    for (const auto& entry : fs::directory_iterator(path)) {
        if (entry.path().extension() == extension) return entry.path().string();
    }
    return "";
}

void flip_bit(const std::string& path, std::int64_t offset) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(offset);
    const int byte = file.get();
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 0x10));
}

/// Three flushes of four fields each, by a writer that is gone.
void write_three_flushes(const std::string& path) {
    Store store = Store::open(path, {.schema = "weather"});
    for (int number = 0; number < 12; ++number) {
        store.archive(key_of(number), field_of(1000, number));
        if (number % 4 == 3) store.flush();
    }
    store.close();
}

TEST(DamagedStore, TellsEveryFlippedBitOfTheIndexAndNeverLies) {
    const StoreFolder folder;
    write_three_flushes(folder.path());
    const std::string index = only_file(folder.path(), ".index");
    const auto size = static_cast<std::int64_t>(fs::file_size(index));
    for (std::int64_t offset = 0; offset < size; offset += 3) {
        flip_bit(index, offset);
        const Folder opened = Folder::open(folder.path(), "");
        bool is_told = false;
        try {
            const CheckReport report = check(opened, false, 1);
            is_told = !report.problems.empty();
            const Store store = Store::open(folder.path());
            store.retrieve(store.list(), [&](const FieldInfo& info, std::span<const std::byte> bytes) {
                const int number = std::stoi(std::string(info.key.get("levelist")));
                EXPECT_EQ(std::vector(bytes.begin(), bytes.end()), field_of(1000, number));
            });
            // Nothing that was flushed is cut off for a damaged record.
            (void)recover(opened, {});
        } catch (const Error&) {
            is_told = true;  // the header says "newer"
        }
        EXPECT_TRUE(is_told) << "byte " << offset << " of " << size;
        flip_bit(index, offset);
        ASSERT_EQ(Store::open(folder.path()).list().size(), 12) << offset;
    }
}

TEST(DamagedStore, ListsWhatATruncatedIndexStillSays) {
    const StoreFolder folder;
    write_three_flushes(folder.path());
    const std::string index = only_file(folder.path(), ".index");
    std::int64_t before = 12;
    for (auto size = static_cast<std::int64_t>(fs::file_size(index)) - 1; size >= 0; size -= 5) {
        fs::resize_file(index, static_cast<std::uintmax_t>(size));
        const Store store = Store::open(folder.path());
        const std::int64_t count = store.list().size();
        EXPECT_TRUE(count % 4 == 0 && count <= before) << count;
        before = count;
        store.retrieve(store.list(), [](const FieldInfo&, std::span<const std::byte>) {});
    }
    EXPECT_EQ(before, 0);
}

TEST(DamagedStore, NamesFieldsWhoseDataIsGoneOrChanged) {
    const StoreFolder folder;
    write_three_flushes(folder.path());
    const std::string data = only_file(folder.path(), ".data");
    const Folder opened = Folder::open(folder.path(), "");
    EXPECT_TRUE(check(opened, true, 2).problems.empty());
    flip_bit(data, 5500);
    CheckReport report = check(opened, true, 2);
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].find("levelist=5,"), std::string::npos) << report.problems[0];
    EXPECT_EQ(report.num_lost, 1);
    const Store store = Store::open(folder.path());
    EXPECT_EQ(folder.code_of([&] { (void)store.retrieve(key_of(5)); }), ErrorCode::format);
    EXPECT_EQ(store.retrieve(key_of(6)), field_of(1000, 6));
    flip_bit(data, 5500);
    fs::resize_file(data, 10'500);
    report = check(opened, false, 1);
    EXPECT_EQ(report.num_lost, 2);
    EXPECT_EQ(folder.code_of([&] { (void)store.retrieve(key_of(11)); }), ErrorCode::format);
    EXPECT_EQ(store.retrieve(key_of(9)), field_of(1000, 9));
}

TEST(DamagedStore, ReadsTheIndexesWhereTheCatalogueIsDamaged) {
    const StoreFolder folder;
    write_three_flushes(folder.path());
    const Folder opened = Folder::open(folder.path(), "");
    consolidate(opened);
    EXPECT_EQ(Store::open(folder.path()).list().size(), 12);
    for (std::int64_t offset = 0; offset < 200; offset += 11) {
        flip_bit(opened.catalogue_path(), offset);
        const Store store = Store::open(folder.path());
        EXPECT_EQ(store.list().size(), 12);
        EXPECT_FALSE(store.warnings().empty());
        flip_bit(opened.catalogue_path(), offset);
    }
}

TEST(DamagedStore, RefusesANewerVersion) {
    const StoreFolder folder;
    write_three_flushes(folder.path());
    std::ofstream(folder.path() + "/hakobi-store") << "hakobi field store\nformat 99\n";
    EXPECT_EQ(folder.code_of([&] { (void)Store::open(folder.path()); }), ErrorCode::unsupported);
}

// Every write, sync, open and rename of three flushes fails once: what was flushed before stays, the error is
// told, and after close nothing is left over.
TEST(StoreOnAFailingDisk, KeepsEarlierFlushesWhereverItFails) {
    using storage::FileOperation;
    for (const FileOperation operation : {FileOperation::write, FileOperation::sync, FileOperation::open}) {
        std::int64_t num_fired = 0;
        for (std::int64_t nth = 1;; ++nth) {
            const StoreFolder folder;
            (void)Store::open(folder.path(), {.schema = "weather"});
            Store store = Store::open(folder.path(), {.num_buffers = 2, .buffer_bytes = 64 << 10});
            storage::arm_fault({.operation = operation, .nth = nth, .error = ENOSPC});
            int num_flushed = 0;
            ErrorCode code = ErrorCode::ok;
            try {
                for (int number = 0; number < 12; ++number) {
                    store.archive(key_of(number), field_of(30'000, number));
                    if (number % 4 != 3) continue;
                    store.flush();
                    num_flushed = number + 1;
                }
            } catch (const Error& error) {
                code = error.code();
            }
            const bool has_fired = storage::fault_count().has_fired;
            storage::disarm_fault();
            if (!has_fired) break;
            ++num_fired;
            EXPECT_EQ(code, ErrorCode::no_space);
            EXPECT_NE(folder.code_of([&] {
                store.archive(key_of(99), field_of(1, 1));
                store.flush();
            }),
                      ErrorCode::internal);
            store.close();
            const Store reader = Store::open(folder.path());
            EXPECT_GE(reader.list().size(), num_flushed) << nth;
            reader.retrieve(reader.list(), [&](const FieldInfo& info, std::span<const std::byte> bytes) {
                const std::string level(info.key.get("levelist"));
                if (info.length_bytes == 30'000) {
                    EXPECT_EQ(std::vector(bytes.begin(), bytes.end()), field_of(30'000, std::stoi(level)));
                }
            });
            const CheckReport report = check(Folder::open(folder.path(), ""), true, 1);
            EXPECT_TRUE(report.problems.empty() && report.orphans.empty())
                << nth << ": " << (report.problems.empty() ? report.orphans[0] : report.problems[0]);
        }
        EXPECT_GT(num_fired, 1) << static_cast<int>(operation);
    }
}

}  // namespace
}  // namespace hakobi::store
