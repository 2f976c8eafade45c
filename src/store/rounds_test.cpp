// Writers, maintenance and a reader at the same time, all of them processes of their own, any of which is
// killed: whatever the order, no flushed field is lost and no old value returns.
//
// A field's value is its version, which its only writer counts up. Versions are known to all processes
// (shared memory):
//  - flushed: the latest whose flush has returned; sought: the latest handed to archive;
//  - seen: the latest that anybody has listed in a place; wiped: the latest that a wipe was about to remove
//    there.
// At every look a place shows of a field nothing, or a version not older than one seen there before. In the
// end each field's latest flushed version is somewhere, or a wipe has seen it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <random>
#include <thread>

#include "store/maintenance.hpp"
#include "store/store_folder.hpp"

namespace hakobi::store {
namespace {

namespace fs = std::filesystem;

constexpr int num_writers = 3, num_steps = 4, num_fields = num_writers * num_steps, num_places = 3;
using Version = std::atomic<int>;

struct Shared {
    Version flushed[num_fields], sought[num_fields];
    Version seen[num_places][num_fields], wiped[num_places][num_fields];
    std::atomic<bool> is_wrong;
    char text[512];

    void raise(Version& version, int to) {
        for (int now = version; now < to && !version.compare_exchange_weak(now, to);) {
        }
    }
    void tell(const std::string& what) {
        if (is_wrong.exchange(true)) return;
        std::strncpy(text, what.c_str(), sizeof text - 1);
    }
};

Key key_of(int field) {
    return {{"case", "c"},
            {"run", "r"},
            {"variable", "v" + std::to_string(field / num_steps)},
            {"step", std::to_string(field % num_steps)}};
}
int field_of(const Key& key) {
    return std::stoi(std::string(key.get("variable").substr(1))) * num_steps +
           std::stoi(std::string(key.get("step")));
}
/// Its version, and then bytes that tell it from others; sizes differ, so that files have blocks to give
/// back.
std::vector<std::byte> value_of(int field, int version) {
    std::vector<std::byte> bytes(
        sizeof version + static_cast<std::size_t>((field * 37 + version * 911) % 9000),
        static_cast<std::byte>(field + version));
    std::memcpy(bytes.data(), &version, sizeof version);
    return bytes;
}

class Round {
  public:
    Round(const std::string& base, std::mt19937& random, Shared& shared)
        : folder_(base, is_server(base)), random_(random), shared_(shared) {
        // The second place is on another file system where there is one.
        const bool is_elsewhere = base.empty() && fs::is_directory("/dev/shm") && random_() % 2 == 0;
        places_ = {
            folder_.path() + ".0",
            (is_elsewhere ? "/dev/shm/hakobi-rounds." + std::to_string(::getpid()) : folder_.path()) + ".1",
            folder_.path() + ".target"};
        (void)in_child([&] {
            (void)Store::open(places_[0], {.schema = "flow"});
            return std::string();
        });
    }
    ~Round() {
        if (!is_server(places_[0])) remove();
    }

    std::string run() {
        std::vector<pid_t> children;
        for (int writer = 0; writer < num_writers; ++writer) {
            children.push_back(start([this, writer](std::mt19937& random) { write(writer, random); }));
        }
        for (int i = 0; i < 2; ++i) {
            children.push_back(start([this](std::mt19937& random) { maintain(random); }));
        }
        children.push_back(start([this](std::mt19937& random) { read(random); }));
        for (const pid_t child : children) {
            if (random_() % 2 != 0) continue;
            std::this_thread::sleep_for(std::chrono::microseconds(random_() % 15'000));
            ::kill(child, SIGKILL);
        }
        std::string problem;
        for (const pid_t child : children) {
            int status = -1;
            ::waitpid(child, &status, 0);
            if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
                problem = "a process ended by signal " + std::to_string(WTERMSIG(status));
            if (WIFEXITED(status) && WEXITSTATUS(status) != 0) problem = "a process failed";
        }
        if (shared_.is_wrong) return shared_.text;
        if (!problem.empty()) return problem;
        // A server may still be about to carry out what a dead process asked it for.
        if (is_server(places_[0])) std::this_thread::sleep_for(std::chrono::milliseconds(200));
        return in_child([this] {
            std::string found = verify_twice();
            if (is_server(places_[0])) remove();
            return found;
        });
    }

  private:
    std::string verify_twice() {
        std::string problem;
        for (const char* const when : {"before recover", "after recover"}) {
            if (problem = verify(); !problem.empty()) return std::string(when) + ": " + problem;
            for (const std::string& place : places_) {
                if (!is_store(place)) continue;
                const Folder folder = Folder::open(place, "");
                (void)recover(folder, {});
                const CheckReport report = check(folder, true, 1);
                if (!report.problems.empty()) return report.problems[0];
                for (const std::string& orphan : report.orphans) {
                    // One that is younger than two seconds may be a living process's.
                    if (!orphan.ends_with("a temporary file")) return "left over: " + orphan;
                }
            }
        }
        return "";
    }

    static bool is_store(const std::string& place) { return Folder::is_there(place); }
    void remove() const {
        for (const std::string& place : places_) {
            remove_store(place);
            if (!is_on_objects(place)) remove_store(place + ".part");
        }
    }

    pid_t start(const std::function<void(std::mt19937&)>& work) {
        std::mt19937 random(random_());
        const pid_t child = ::fork();
        if (child != 0) return child;
        try {
            work(random);
        } catch (const std::exception& error) {
            shared_.tell(error.what());
            ::_exit(1);
        }
        ::_exit(0);
    }
    /// Fields that another process's move or wipe removes meanwhile cause an error that is reported, and no
    /// more.
    static bool attempt(const std::function<void()>& call) {
        try {
            call();
            return true;
        } catch (const Error& error) {
            if (error.code() == ErrorCode::internal) throw;
            return false;
        } catch (const fs::filesystem_error&) {
            return false;
        }
    }
    int source() const { return is_store(places_[0]) ? 0 : 1; }

    void write(int writer, std::mt19937& random) {
        for (int session = 0; session < 3; ++session) {
            const std::string place = places_[static_cast<std::size_t>(source())];
            (void)attempt([&] {
                Store store = Store::open(place, {.asynchronous = false, .sync = false});
                const int num_flushes = 1 + static_cast<int>(random() % 4);
                for (int flush = 0; flush < num_flushes; ++flush) {
                    std::vector<std::pair<int, int>> versions;
                    for (int step = 0; step < num_steps; ++step) {
                        if (random() % 3 == 0) continue;
                        const int field = writer * num_steps + step;
                        const int version = ++shared_.sought[field];
                        store.archive(key_of(field), value_of(field, version));
                        versions.emplace_back(field, version);
                    }
                    store.flush();
                    for (const auto& [field, version] : versions)
                        shared_.raise(shared_.flushed[field], version);
                    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
                }
                store.close();
            });
        }
    }

    /// Holds a look against what was seen before it, and notes it.
    void look(const Store& store, int place, const std::string& request,
              const std::function<void(const Listing&)>& act = {}) {
        int before[num_fields], found[num_fields] = {};
        for (int field = 0; field < num_fields; ++field) before[field] = shared_.seen[place][field];
        const Listing fields = store.list(request, {.with_replaced = true, .is_strict = false});
        for (std::int64_t i = 0; i < fields.size(); ++i) {
            const FieldInfo info = fields[i];
            const int field = field_of(info.key);
            if (info.is_replaced) continue;
            std::vector<std::byte> bytes(static_cast<std::size_t>(info.length_bytes));
            // A wipe may have taken its bytes since.
            if (!attempt([&] { store.read(info, 0, bytes); })) continue;
            int version = 0;
            std::memcpy(&version, bytes.data(), sizeof version);
            if (bytes == value_of(field, version)) found[field] = version;
        }
        for (int field = 0; field < num_fields; ++field) {
            if (found[field] == 0) continue;
            if (found[field] < before[field]) {
                shared_.tell("an old value: " + key_of(field).text() + " in place " + std::to_string(place) +
                             ": " + std::to_string(found[field]) + " after " + std::to_string(before[field]));
            }
            shared_.raise(shared_.seen[place][field], found[field]);
        }
        if (act) act(fields);
    }

    void read(std::mt19937& random) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(15);
        while (std::chrono::steady_clock::now() < end) {
            const int place = static_cast<int>(random() % num_places);
            if (!is_store(places_[static_cast<std::size_t>(place)])) continue;
            (void)attempt([&] {
                const Store store = Store::open(places_[static_cast<std::size_t>(place)]);
                for (int i = 0; i < 4; ++i) look(store, place, "");
            });
        }
    }

    void maintain(std::mt19937& random) {
        for (int i = 0; i < 5; ++i) {
            const int place = source();
            const std::string& path = places_[static_cast<std::size_t>(place)];
            const std::string request = random() % 2 == 0
                                            ? "variable=v" + std::to_string(random() % num_writers)
                                            : "step=" + std::to_string(random() % num_steps);
            (void)attempt([&] {
                switch (random() % 8) {
                    case 0:
                        wipe_fields(path, place, request);
                        break;
                    case 1:
                    case 2:
                        // Its own look; the target's place is held by `look`.
                        (void)move_fields(Store::open(path), request, places_[2]);
                        break;
                    case 3:
                    case 4:
                        move_store(Folder::open(path, ""), places_[static_cast<std::size_t>(1 - place)]);
                        break;
                    case 5:
                        consolidate(Folder::open(path, ""));
                        break;
                    default:
                        (void)recover(Folder::open(path, ""), {});
                }
            });
        }
    }

    void wipe_fields(const std::string& path, int place, const std::string& request) {
        const Store store = Store::open(path);
        const Listing fields = store.list(request, {.with_replaced = true, .is_strict = false});
        for (std::int64_t i = 0; i < fields.size(); ++i) {
            const FieldInfo info = fields[i];
            std::vector<std::byte> bytes(sizeof(int));
            int version = 0;
            store.read(info, 0, bytes);
            std::memcpy(&version, bytes.data(), sizeof version);
            shared_.raise(shared_.wiped[place][field_of(info.key)], version);
        }
        wipe(Folder::open(path, ""), plan_wipe(fields));
    }

    /// Nobody is at work any more.
    std::string verify() {
        int latest[num_fields] = {};
        for (int place = 0; place < num_places; ++place) {
            if (!is_store(places_[static_cast<std::size_t>(place)])) continue;
            const Store store = Store::open(places_[static_cast<std::size_t>(place)]);
            look(store, place, "");
            store.retrieve(store.list(), [&](const FieldInfo& info, std::span<const std::byte> bytes) {
                int version = 0;
                std::memcpy(&version, bytes.data(), sizeof version);
                const int field = field_of(info.key);
                if (std::vector(bytes.begin(), bytes.end()) != value_of(field, version))
                    shared_.tell("other bytes: " + info.key.text());
                latest[field] = std::max(latest[field], version);
            });
        }
        if (shared_.is_wrong) return shared_.text;
        for (int field = 0; field < num_fields; ++field) {
            int wiped = 0;
            for (const auto& place : shared_.wiped) wiped = std::max<int>(wiped, place[field]);
            if (latest[field] < shared_.flushed[field] && shared_.flushed[field] > wiped) {
                return "lost: " + key_of(field).text() + ": " + std::to_string(latest[field]) + " of " +
                       std::to_string(shared_.flushed[field]);
            }
        }
        return "";
    }

    StoreFolder folder_;
    std::mt19937& random_;
    Shared& shared_;
    std::array<std::string, num_places> places_;
};

class MaintenanceBesideWriters : public AtEachPlace {};
HAKOBI_AT_EACH_PLACE(MaintenanceBesideWriters);

TEST_P(MaintenanceBesideWriters, LosesNothingFlushedAndBringsNothingOldBack) {
    const char* const asked = std::getenv("HAKOBI_STORE_ROUNDS");
    const int num_rounds = asked != nullptr ? std::atoi(asked) : 20;
    const auto seed = static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed());
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    for (int i = 0; i < num_rounds; ++i) {
        std::mt19937 random(seed * 1'000'003 + static_cast<unsigned>(i));
        Shared& shared = *new (memory) Shared();
        ASSERT_EQ(Round(GetParam(), random, shared).run(), "") << "round " << i << " of seed " << seed;
    }
    ::munmap(memory, sizeof(Shared));
}

}  // namespace
}  // namespace hakobi::store
