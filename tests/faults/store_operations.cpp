// hakobi_store, and what the program hakobi-store does to a store: each call on a store in a folder, on one
// of objects, and on those of servers that are there (store_bases).
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>
#include <span>

#include "capi/guard.hpp"
#include "operations.hpp"
#include "store/maintenance.hpp"
#include "store/store_folder.hpp"

namespace hakobi::test {
namespace {

namespace fs = std::filesystem;

constexpr int num_levels = 3, field_bytes = 20'000;

std::string key_of(int step, int level) {
    return store::weather_key(step, level, 130).text();
}
std::vector<std::byte> bytes_of(int step, int level) {
    return store::field_of(field_bytes, 10 * step + level);
}

/// A store at `path`, with the fields of the steps 0 and 1 from the beginning on.
class StoreRun {
  public:
    explicit StoreRun(std::string path) : path(std::move(path)) {}
    ~StoreRun() {
        free();
        if (store::is_server(path) && !is_kept) store::remove_store(path);
    }
    StoreRun(const StoreRun&) = delete;
    StoreRun& operator=(const StoreRun&) = delete;

    const std::string path;
    hakobi_store* store = nullptr;
    hakobi_listing* listing = nullptr;
    int num_received = 0;
    bool is_kept = false;  ///< somebody else removes it

    int open() {
        auto options = HAKOBI_INIT(hakobi_store_options);
        options.schema = "weather";
        options.num_buffers = 2;
        options.buffer_bytes = 1 << 16;
        options.num_threads = 2;
        return hakobi_store_open(path.c_str(), &options, &store);
    }
    int archive(int step) {
        for (int level = 0; level < num_levels; ++level) {
            const auto& [key, bytes] = field_at(step, level);
            const int code =
                hakobi_store_archive(store, key.c_str(), bytes.data(), std::ssize(bytes), nullptr);
            if (code != HAKOBI_OK) return code;
        }
        return HAKOBI_OK;
    }
    int flush() { return hakobi_store_flush(store); }
    int list() {
        hakobi_listing_free(listing);
        listing = nullptr;
        return hakobi_store_list(store, "", nullptr, &listing);
    }
    int describe() {
        auto info = HAKOBI_INIT(hakobi_field_info);
        const char* keywords = nullptr;
        const int code = hakobi_listing_keywords(listing, &keywords);
        return code == HAKOBI_OK ? hakobi_listing_get(listing, 0, &info) : code;
    }
    int retrieve() {
        num_received = 0;
        return hakobi_store_retrieve(
            store, listing,
            [](void* context, int64_t, const void*, int64_t) { ++*static_cast<int*>(context); },
            &num_received);
    }
    int retrieve_one() {
        auto& [key, bytes] = field_at(0, 1);
        const int code = hakobi_store_retrieve_one(store, key.c_str(), bytes.data(), std::ssize(bytes));
        return code == HAKOBI_OK && !is_right(bytes, 0, 1, 0) ? HAKOBI_INTERNAL : code;
    }
    int read() {
        std::array<std::byte, 100> bytes{};
        const int code = hakobi_store_read(store, listing, 0, 50, bytes.data(), std::ssize(bytes));
        return code == HAKOBI_OK && !is_right(bytes, 0, 0, 50) ? HAKOBI_INTERNAL : code;
    }
    int close() { return store != nullptr ? hakobi_store_close(store) : HAKOBI_OK; }
    void free() {
        hakobi_listing_free(listing);
        hakobi_store_free(store);
        listing = nullptr;
        store = nullptr;
    }
    /// Opens it and flushes the fields of the first steps.
    std::string fill() {
        std::string failed = error_of("open", open());
        for (int step = 0; failed.empty() && step < 2; ++step) {
            failed += error_of("archive", archive(step));
            failed += error_of("flush", flush());
        }
        return failed;
    }

  private:
    struct Field {
        std::string key;
        std::vector<std::byte> bytes;
    };
    /// Kept until the store is gone.
    Field& field_at(int step, int level) {
        const OwnMemory own;
        return kept_.emplace_back(key_of(step, level), bytes_of(step, level));
    }
    static bool is_right(std::span<const std::byte> bytes, int step, int level, std::ptrdiff_t offset) {
        const OwnMemory own;
        const std::vector<std::byte> whole = bytes_of(step, level);
        return std::equal(bytes.begin(), bytes.end(), whole.begin() + offset);
    }
    std::deque<Field> kept_;
};

/// The fields of a store that is opened anew, as 10 x step + level; what is wrong with it.
std::set<int> fields_in(const std::string& path, std::string& wrong) {
    std::set<int> found;
    try {
        const Store store = Store::open(path);
        for (int step = 0; step < 4; ++step) {
            for (int level = 0; level < num_levels; ++level) {
                const Listing listing = store.list(key_of(step, level), {.is_strict = false});
                if (listing.size() == 0) continue;
                found.insert(10 * step + level);
                if (store.retrieve(store::weather_key(step, level, 130)) != bytes_of(step, level))
                    wrong += "a field has wrong bytes; ";
            }
        }
        // A wipe that could not be synced may leave a damaged record: `check` names it, `recover` cuts it.
        for (const std::string& problem : store::check(store::Folder::open(path, ""), true, 1).problems)
            if (problem.find("/wipe.") == std::string::npos) wrong += problem + "; ";
    } catch (const std::exception& error) {
        wrong += std::string("opening the store: ") + error.what();
    }
    return found;
}

std::string expect_steps(const std::string& path, const std::set<int>& steps) {
    std::string wrong;
    std::set<int> expected;
    for (const int step : steps)
        for (int level = 0; level < num_levels; ++level) expected.insert(10 * step + level);
    const std::set<int> found = fields_in(path, wrong);
    if (found != expected)
        wrong += std::to_string(found.size()) + " fields are there, not " + std::to_string(expected.size());
    return wrong;
}

/// A call on an open store, and whether it writes.
struct StoreCall {
    std::string name;
    std::function<int(StoreRun&)> before, run;
    bool is_writing = false;
};

const std::vector<StoreCall> store_calls = {
    {"open", [](StoreRun& run) { return run.free(), HAKOBI_OK; }, [](StoreRun& run) { return run.open(); }},
    {"archive", {}, [](StoreRun& run) { return run.archive(2); }, true},
    {"flush", [](StoreRun& run) { return run.archive(2); }, [](StoreRun& run) { return run.flush(); }, true},
    {"first_archive", [](StoreRun& run) { return run.free(), run.open(); },
     [](StoreRun& run) { return run.archive(2); }, true},
    {"close", [](StoreRun& run) { return run.archive(2); }, [](StoreRun& run) { return run.close(); }, true},
    {"list", {}, [](StoreRun& run) { return run.list(); }},
    {"describe", [](StoreRun& run) { return run.list(); }, [](StoreRun& run) { return run.describe(); }},
    {"retrieve", [](StoreRun& run) { return run.list(); },
     [](StoreRun& run) {
         const int code = run.retrieve();
         return code == HAKOBI_OK && run.num_received != 2 * num_levels ? HAKOBI_INTERNAL : code;
     }},
    {"retrieve_one", {}, [](StoreRun& run) { return run.retrieve_one(); }},
    {"read", [](StoreRun& run) { return run.list(); }, [](StoreRun& run) { return run.read(); }}};

/// Everything that was flushed is there afterwards; a reading call works again, and a new writer.
std::string end_call(StoreRun& run, const StoreCall& call, int code) {
    std::string wrong;
    std::set<int> steps = {0, 1};
    if (code != HAKOBI_OK && !call.is_writing) wrong += error_of("the call again", call.run(run));
    const bool is_archived = call.is_writing && call.name != "close" && code == HAKOBI_OK;
    if (is_archived && run.flush() == HAKOBI_OK) steps.insert(2);
    std::string ignored;
    if (fields_in(run.path, ignored).size() == 3 * num_levels) steps.insert(2);  // the flush had worked
    wrong += expect_steps(run.path, steps);
    (void)run.close();
    run.free();
    wrong += error_of("opening again", run.open());
    if (run.store == nullptr) return wrong;
    wrong += error_of("archiving again", run.archive(3));
    wrong += error_of("flushing again", run.flush());
    wrong += error_of("closing", run.close());
    steps.insert(3);
    return wrong + expect_steps(run.path, steps);
}

std::string path_at(const World& world, const std::string& base) {
    static int number = 0;
    const std::string name = "/store" + std::to_string(++number);
    return store::is_server(base) ? base + "/" + std::to_string(::getpid()) + name
                                  : base + world.trial + name;
}

std::string suffix_of(const std::string& base) {
    return base.empty() ? "" : "_on_" + base.substr(0, base.find(':'));
}

Operation calling(const std::string& base, const StoreCall& call) {
    const auto begin = [base, &call](World& world) {
        const auto run = std::make_shared<StoreRun>(path_at(world, base));
        std::string failed = run->fill();
        if (call.before) failed += error_of("before", call.before(*run));
        return Trial{[run, &call] { return call.run(*run); },
                     [run, &call, failed](int code, bool) { return failed + end_call(*run, call, code); }};
    };
    return {.name = "store_" + call.name + suffix_of(base),
            .begin = begin,
            .is_collective = false,
            .is_local = true,
            .cleans_later = true};
}

/// Something that is done to a store, whose writer is dead, and its steps afterwards. It is done again after
/// an error.
struct Maintenance {
    std::string name;
    std::function<void(const std::string& path, const std::string& target)> run;
    std::set<int> left = {0, 1}, moved = {};
};

const std::vector<Maintenance> maintenances = {
    {"consolidate", [](const auto& path, const auto&) { store::consolidate(store::Folder::open(path, "")); }},
    {"check",
     [](const auto& path, const auto&) {
         if (!store::check(store::Folder::open(path, ""), true, 2).problems.empty())
             throw Error(ErrorCode::format, "the check finds problems");
     }},
    {"recover",
     [](const auto& path, const auto&) { (void)store::recover(store::Folder::open(path, ""), {}); }},
    {"wipe",
     [](const auto& path, const auto&) {
         const Listing fields = Store::open(path).list("step=1", {.with_replaced = true, .is_strict = false});
         store::wipe(store::Folder::open(path, ""), store::plan_wipe(fields));
     },
     {0}},
    {"wipe_all",
     [](const auto& path, const auto&) {
         const store::Folder folder = store::Folder::open(path, "");
         store::wipe(folder, store::plan_wipe(Store::open(path).list("", {.with_replaced = true})));
         (void)store::remove_emptied(folder);
     },
     {}},
    {"move_fields",
     [](const auto& path, const auto& target) {
         const Store source = Store::open(path);
         (void)store::move_fields(source, source.list("step=1", {.with_replaced = true, .is_strict = false}),
                                  target);
     },
     {0},
     {1}},
    {"move_store",
     [](const auto& path, const auto& target) {
         if (store::Folder::is_there(path)) store::move_store(store::Folder::open(path, ""), target);
     },
     {},
     {0, 1}}};

Operation maintaining(const std::string& base, const Maintenance& work) {
    const auto begin = [base, &work](World& world) {
        const std::string path = path_at(world, base), target = path + ".moved";
        std::string failed;
        {
            StoreRun run(path);
            run.is_kept = true;
            failed = run.fill();
            failed += error_of("archive", run.archive(2));
            failed += error_of("close", run.close());
        }
        const auto run = [&work, path, target] { return capi::guarded([&] { work.run(path, target); }); };
        const auto finish = [=, &work](int code, bool) {
            std::string wrong = failed;
            if (code != HAKOBI_OK) {
                // Nothing is lost on the way.
                std::string ignored;
                std::set<int> found;
                for (const std::string& at : {path, target})
                    if (store::Folder::is_there(at)) found.merge(fields_in(at, wrong));
                for (const int step : work.left)
                    for (int level = 0; level < num_levels; ++level)
                        if (!found.contains(10 * step + level)) wrong += "a field is lost by an error; ";
                wrong += error_of("again", run());
            }
            const bool is_left = !work.left.empty() || work.moved.empty();
            if (is_left) wrong += expect_steps(path, work.left);
            if (!work.moved.empty()) wrong += expect_steps(target, work.moved);
            for (const std::string& at : {path, target})
                if (store::is_server(at)) store::remove_store(at);
            return wrong;
        };
        return Trial{run, finish};
    };
    return {.name = "store_" + work.name + suffix_of(base),
            .begin = begin,
            .is_collective = false,
            .is_local = true,
            .cleans_later = true};
}

}  // namespace

std::vector<Operation> store_operations() {
    std::vector<Operation> operations;
    for (const std::string& base : store::store_bases()) {
        for (const StoreCall& call : store_calls) operations.push_back(calling(base, call));
        for (const Maintenance& work : maintenances) operations.push_back(maintaining(base, work));
    }
    return operations;
}

}  // namespace hakobi::test
