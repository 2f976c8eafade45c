// Cases that only a store on object storage meets: answers that are lost, listings that lie, objects that
// change, and writers that only seem dead.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>

#include "store/index_reader.hpp"
#include "store/maintenance.hpp"
#include "store/store_folder.hpp"
#include "store/writer.hpp"

namespace hakobi::store {
namespace {

namespace fs = std::filesystem;

/// Objects in a folder of which one call fails, or lies.
class Unreliable final : public storage::Objects {
  public:
    enum class Fault { none, not_done, done_but_not_told, exists_by_an_earlier_try };
    explicit Unreliable(storage::ObjectsPtr objects) : objects_(std::move(objects)) {}

    /// The fault of a `put` whose name contains `faulty_name`, once.
    Fault fault = Fault::none;
    std::string faulty_name;
    /// Names that a listing does not show, so many times, and names that it shows though they are gone.
    std::function<bool(const std::string&)> is_hidden;
    int num_hiding = 1'000'000;
    std::vector<std::string> shown;

    Status put(const std::string& name, std::span<const std::byte> bytes,
               const storage::PutMode& mode) override {
        const bool is_meant = fault != Fault::none && name.find(faulty_name) != std::string::npos;
        if (!is_meant) return objects_->put(name, bytes, mode);
        const Fault now = std::exchange(fault, Fault::none);
        const Status lost(ErrorCode::io, name + ": no answer");
        if (now == Fault::not_done) return lost;
        const Status status = objects_->put(name, bytes, mode);
        if (!status.ok() || now == Fault::done_but_not_told) return lost;
        return objects_->put(name, bytes, mode);
    }
    Result<std::string> replace(const std::string& name, std::span<const std::byte> bytes,
                                const std::string& version) override {
        return objects_->replace(name, bytes, version);
    }
    Result<std::int64_t> get(const std::string& name, std::int64_t offset, std::span<std::byte> into,
                             const storage::GetMode& mode) override {
        return objects_->get(name, offset, into, mode);
    }
    Result<storage::ObjectFacts> facts(const std::string& name) override { return objects_->facts(name); }
    Result<storage::Listing> list(const storage::ListMode& mode) override {
        auto listing = objects_->list(mode);
        if (!listing.ok()) return listing;
        std::vector<storage::ListedObject>& objects = listing.value().objects;
        if (is_hidden && num_hiding > 0) {
            --num_hiding;
            std::erase_if(objects,
                          [&](const storage::ListedObject& object) { return is_hidden(object.name); });
        }
        for (const std::string& name : shown) {
            if (name.starts_with(mode.prefix)) objects.push_back({name, {}});
        }
        std::ranges::sort(objects, {}, &storage::ListedObject::name);
        return listing;
    }
    Status remove(const std::string& name) override { return objects_->remove(name); }
    [[nodiscard]] const storage::ObjectAbilities& abilities() const noexcept override {
        return objects_->abilities();
    }
    [[nodiscard]] const std::string& root() const noexcept override { return objects_->root(); }

  private:
    storage::ObjectsPtr objects_;
};

class StoreOnObjects : public ::testing::Test {
  protected:
    StoreOnObjects()
        : objects_(std::make_shared<Unreliable>(objects_of(path_.path()))),
          folder_(Folder::open_at(make_object_place(path_.path(), objects_), schema_text("weather"),
                                  "weather")) {}

    void archive(Writer& writer, int step, int level, int seed) const {
        SplitKey split;
        folder_.schema().split(weather_key(step, level, 130), split).throw_if_error();
        writer.archive(split, "", field_of(5000, seed));
    }
    void archive_step(Writer& writer, int step) const {
        for (int level = 0; level < 4; ++level) archive(writer, step, level, 10 * step + level);
        writer.flush();
    }
    [[nodiscard]] std::int64_t num_fields() const { return Store::open(path_.path()).list().size(); }
    /// Every field that is listed has the bytes that it was given.
    void expect_right_values() const {
        const Store store = Store::open(path_.path());
        store.retrieve(store.list(), [](const FieldInfo& info, std::span<const std::byte> bytes) {
            const int seed = 10 * std::stoi(std::string(info.key.get("step"))) +
                             std::stoi(std::string(info.key.get("levelist")));
            EXPECT_EQ(std::vector(bytes.begin(), bytes.end()), field_of(5000, seed));
        });
    }
    void expect_in_order() const {
        const CheckReport report = check(folder_, true, 2);
        EXPECT_TRUE(report.problems.empty()) << report.problems[0];
        EXPECT_TRUE(report.orphans.empty()) << report.orphans[0];
    }
    /// Names that begin so, sorted.
    [[nodiscard]] std::vector<std::string> names(const std::string& prefix) const {
        std::vector<std::string> found = object_names(path_.path());
        std::erase_if(found, [&](const std::string& name) { return !name.starts_with(prefix); });
        std::ranges::sort(found);
        return found;
    }
    [[nodiscard]] std::vector<std::byte> bytes_of(const std::string& name) const {
        std::vector<std::byte> bytes(1 << 20);
        bytes.resize(static_cast<std::size_t>(objects_->get(name, 0, bytes, {}).value()));
        return bytes;
    }
    void put(const std::string& name, const std::vector<std::byte>& bytes) const {
        ASSERT_TRUE(objects_->put(name, bytes, {}).ok());
    }
    /// As if nothing had been put for an hour.
    void age() const {
        const auto then = fs::file_time_type::clock::now() - std::chrono::hours(1);
        for (const std::string& name : object_names(path_.path())) {
            fs::last_write_time(path_.path().substr(8) + "/" + name, then);
        }
    }

    StoreFolder path_{"objects:"};
    std::shared_ptr<Unreliable> objects_;
    Folder folder_;
};

TEST_F(StoreOnObjects, HasOneObjectAFlushBesideItsSegmentsAndEndsItsLog) {
    Writer writer(folder_, {});
    for (int step = 0; step < 3; ++step) archive_step(writer, step);
    EXPECT_EQ(names("data/").size(), 3U);
    EXPECT_EQ(names("index/").size(), 4U);
    writer.close();
    EXPECT_EQ(names("index/").size(), 5U);
    const FieldInfo info = Store::open(path_.path()).list("step=2,levelist=1")[0];
    EXPECT_EQ(info.file, path_.path() + "/" + names("data/")[2]);
    EXPECT_EQ(info.offset_bytes, 5000);
    expect_in_order();
}

TEST_F(StoreOnObjects, DividesNoFieldAndGivesALargeOneAnObjectOfItsOwn) {
    Store store = Store::open(path_.path(), {.num_buffers = 2, .buffer_bytes = 1 << 20});
    const int sizes[] = {700'000, 700'000, 3'000'000, 100, 900'000};
    for (int level = 0; level < 5; ++level)
        store.archive(weather_key(0, level, 130), field_of(sizes[level], level));
    store.flush();
    for (int level = 0; level < 5; ++level)
        EXPECT_EQ(store.retrieve(weather_key(0, level, 130)), field_of(sizes[level], level));
    EXPECT_EQ(names("data/").size(), 4U);
}

TEST_F(StoreOnObjects, EndsAWriterThatSeemsDeadAndTellsItSo) {
    Writer writer(folder_, {});
    archive_step(writer, 0);
    age();
    archive(writer, 1, 0, 10);
    const RecoverReport report = recover(folder_, {});
    EXPECT_TRUE(report.left.empty());
    const std::string text = StoreFolder::text_of([&] { writer.flush(); });
    EXPECT_NE(text.find("was ended by a recover or a move"), std::string::npos) << text;
    writer.close();
    EXPECT_EQ(num_fields(), 4);
    expect_right_values();
    expect_in_order();
    Writer another(folder_, {});
    archive_step(another, 1);
    EXPECT_EQ(num_fields(), 8);
}

// Its log is removed with what has ended it: the place of its commit is free again.
TEST_F(StoreOnObjects, TellsAWriterWhoseLogWasRemovedThatItWasEnded) {
    Writer writer(folder_, {});
    archive(writer, 0, 0, 0);
    age();
    (void)recover(folder_, {});
    EXPECT_TRUE(names("index/").empty());
    const std::string text = StoreFolder::text_of([&] { writer.flush(); });
    EXPECT_NE(text.find("was ended by a recover or a move"), std::string::npos) << text;
    (void)StoreFolder::code_of([&] { writer.close(); });
    EXPECT_EQ(num_fields(), 0);
    (void)recover(folder_, {});
    expect_in_order();
}

TEST_F(StoreOnObjects, LeavesAWriterAloneThatHasPutSomethingLately) {
    Writer writer(folder_, {});
    archive_step(writer, 0);
    EXPECT_EQ(recover(folder_, {}).left.size(), 1U);
    archive_step(writer, 1);
    EXPECT_EQ(num_fields(), 8);
}

TEST_F(StoreOnObjects, TakesItsOwnCommitForDoneWhereTheAnswerToAnEarlierTryWasLost) {
    Writer writer(folder_, {});
    archive_step(writer, 0);
    objects_->fault = Unreliable::Fault::exists_by_an_earlier_try;
    objects_->faulty_name = "index/";
    archive_step(writer, 1);
    archive_step(writer, 2);
    writer.close();
    EXPECT_EQ(num_fields(), 12);
    expect_in_order();
}

TEST_F(StoreOnObjects, TearsNoFlushWhereNobodyKnowsWhetherItsCommitIsThere) {
    for (const auto fault : {Unreliable::Fault::not_done, Unreliable::Fault::done_but_not_told}) {
        for (const char* const part : {"index/", "data/"}) {
            const std::int64_t before = num_fields();
            {
                Writer writer(folder_, {.writer = "w"});
                archive_step(writer, 0);
                objects_->fault = fault;
                objects_->faulty_name = part;
                EXPECT_EQ(StoreFolder::code_of([&] { archive_step(writer, 1); }), ErrorCode::io);
                EXPECT_EQ(StoreFolder::code_of([&] { archive_step(writer, 2); }), ErrorCode::failed);
                (void)StoreFolder::code_of([&] { writer.close(); });
            }
            const std::int64_t after = num_fields();
            EXPECT_TRUE(after == 4 || after == 8) << after << " after " << before;
            expect_right_values();
            expect_in_order();
        }
    }
}

TEST_F(StoreOnObjects, FindsACommitThatNoListingShows) {
    Writer writer(folder_, {});
    for (int step = 0; step < 3; ++step) archive_step(writer, step);
    const std::vector<std::string> log = names("index/");
    objects_->is_hidden = [&](const std::string& name) { return name == log[2]; };
    IndexReader index(folder_);
    EXPECT_EQ(index.refreshed()->num_rows(), 12);
    EXPECT_TRUE(index.warnings().empty());
}

TEST_F(StoreOnObjects, PassesOverALogThatAListingStillShows) {
    {
        Writer writer(folder_, {});
        archive_step(writer, 0);
    }
    const std::vector<std::string> log = names("index/");
    Writer writer(folder_, {});
    archive_step(writer, 1);
    for (const std::string& name : log) ASSERT_TRUE(objects_->remove(name).ok());
    objects_->shown = log;
    IndexReader index(folder_);
    EXPECT_EQ(index.refreshed()->num_rows(), 4);
    EXPECT_EQ(index.refreshed()->num_rows(), 4);
}

// A look that finds a log removed may have come before the record that removed it, too.
TEST_F(StoreOnObjects, BringsNoOldValueBackWhereAWipeFallsBetweenTwoLooks) {
    const auto archive_once = [&](int num_levels, int seed) {
        Writer writer(folder_, {});
        for (int level = 0; level < num_levels; ++level) archive(writer, 0, level, seed + level);
        writer.flush();
    };
    archive_once(4, 0);
    archive_once(1, 50);
    const std::vector<std::string> before = names("index/");
    wipe(folder_, plan_wipe(Store::open(path_.path()).list("levelist=0", {.with_replaced = true})));
    std::vector<std::string> removal = names("index/");
    std::erase_if(removal, [&](const std::string& name) { return std::ranges::count(before, name) > 0; });
    ASSERT_GE(removal.size(), 2U);
    // The first look sees only the header of the wipe's own log, and the log of the second writer has gone.
    objects_->is_hidden = [&](const std::string& name) {
        return std::find(removal.begin() + 1, removal.end(), name) != removal.end();
    };
    objects_->num_hiding = 1;
    IndexReader index(folder_);
    EXPECT_EQ(index.refreshed()->num_rows(), 3);
}

TEST_F(StoreOnObjects, TellsACommitThatSomebodyHasRemoved) {
    {
        Writer writer(folder_, {});
        for (int step = 0; step < 3; ++step) archive_step(writer, step);
    }
    const std::vector<std::string> log = names("index/");
    ASSERT_EQ(log.size(), 5U);
    ASSERT_TRUE(objects_->remove(log[2]).ok());
    const Store store = Store::open(path_.path());
    EXPECT_EQ(store.list().size(), 8);
    ASSERT_EQ(store.warnings().size(), 1U);
    EXPECT_NE(store.warnings()[0].find("the fields of one flush or more are lost"), std::string::npos);
    EXPECT_EQ(check(folder_, false, 1).problems.size(), 1U);
    expect_right_values();
    // Its fields' data is kept: somebody may still have the record.
    EXPECT_EQ(recover(folder_, {}).left.size(), 1U);
    EXPECT_EQ(names("data/").size(), 3U);
}

TEST_F(StoreOnObjects, TellsEveryCommitThatSomebodyHasChanged) {
    {
        Writer writer(folder_, {});
        for (int step = 0; step < 3; ++step) archive_step(writer, step);
    }
    for (const std::string& name : names("index/")) {
        const std::vector<std::byte> right = bytes_of(name);
        for (const int change : {0, 1, 2}) {
            std::vector<std::byte> wrong = right;
            if (change == 0) wrong[wrong.size() / 2] ^= std::byte{0x10};
            if (change == 1) wrong.resize(wrong.size() / 2);
            if (change == 2) wrong.insert(wrong.end(), 100, std::byte{7});
            put(name, wrong);
            const bool is_told = StoreFolder::code_of([&] {
                                     const CheckReport report = check(folder_, false, 1);
                                     if (!report.problems.empty() || !report.orphans.empty())
                                         throw Error(ErrorCode::format, "told");
                                 }) != ErrorCode::ok;
            // Bytes added to an object that another one follows belong to no field.
            EXPECT_TRUE(is_told || change == 2) << name << " " << change;
            expect_right_values();
        }
        put(name, right);
        EXPECT_EQ(num_fields(), 12);
    }
}

TEST_F(StoreOnObjects, NamesFieldsWhoseObjectIsGoneOrChanged) {
    Writer writer(folder_, {});
    for (int step = 0; step < 3; ++step) archive_step(writer, step);
    writer.close();
    const std::string name = names("data/")[1];
    const std::vector<std::byte> right = bytes_of(name);
    const Store store = Store::open(path_.path());
    const auto code = [&] {
        return StoreFolder::code_of([&] { (void)store.retrieve(weather_key(1, 3, 130)); });
    };

    std::vector<std::byte> wrong = right;
    wrong[17'000] ^= std::byte{1};
    put(name, wrong);
    EXPECT_EQ(code(), ErrorCode::format);
    EXPECT_EQ(check(folder_, true, 2).num_lost, 1);
    wrong.resize(12'000);
    put(name, wrong);
    EXPECT_EQ(code(), ErrorCode::format);
    EXPECT_EQ(check(folder_, false, 1).num_lost, 2);
    ASSERT_TRUE(objects_->remove(name).ok());
    EXPECT_EQ(code(), ErrorCode::not_found);
    EXPECT_EQ(check(folder_, false, 1).num_lost, 4);
    EXPECT_EQ(store.retrieve(weather_key(2, 3, 130)), field_of(5000, 23));
}

TEST_F(StoreOnObjects, GivesBackTheObjectsInWhichNoFieldIsLeft) {
    Writer writer(folder_, {});
    for (int step = 0; step < 3; ++step) archive_step(writer, step);
    const Store store = Store::open(path_.path());
    wipe(folder_, plan_wipe(store.list("levelist=0/1")));
    EXPECT_EQ(names("data/").size(), 3U);
    wipe(folder_, plan_wipe(store.list("step=1")));
    EXPECT_EQ(names("data/").size(), 2U);
    EXPECT_EQ(check(folder_, true, 2).problems.size(), 0U);
    archive_step(writer, 3);
    writer.close();
    expect_right_values();
    expect_in_order();
    EXPECT_EQ(num_fields(), 8);
}

TEST_F(StoreOnObjects, RefusesAPrefixThatHoldsSomethingElse) {
    const StoreFolder other("objects:");
    ASSERT_TRUE(objects_of(other.path())->put("notes.txt", field_of(10, 1)).ok());
    const std::string text =
        StoreFolder::text_of([&] { (void)Store::open(other.path(), {.schema = "weather"}); });
    EXPECT_NE(text.find("the prefix holds notes.txt"), std::string::npos) << text;
    EXPECT_EQ(StoreFolder::code_of([&] { (void)Store::open(other.path()); }), ErrorCode::not_found);
}

}  // namespace
}  // namespace hakobi::store
