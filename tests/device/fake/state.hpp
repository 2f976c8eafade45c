#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "driver.hpp"

// The state that the parts of the fake driver share.
namespace fake {

using Clock = std::chrono::steady_clock;
constexpr std::size_t page = 4096;
inline std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page - 1) / page * page;
}

/// Memory that programs see without access, and where the driver accesses it.
struct Allocation {
    char *seen = nullptr, *own = nullptr;
    std::size_t bytes = 0;
    int device = 0;
    bool is_managed = false;
    int times_opened = 0;  // 0: of this process
    Handle handle{};
};

/// Memory of the host.
struct Registered {
    std::size_t bytes = 0;
    int device = 0;
    bool is_mapped = false;
};

/// Work that a stream was given.
struct Ticket {
    std::atomic<bool> is_done = false;
    void finish() {
        is_done = true;
        is_done.notify_all();
    }
    void wait() const { is_done.wait(false); }
};
using Tickets = std::vector<std::shared_ptr<Ticket>>;

/// Copies of one direction take turns.
struct Engine {
    std::mutex mutex;
    Clock::time_point free_at{};
};

struct Stream {
    int device = 0;
    bool waits_for_default = false, is_captured = false;
    std::mutex mutex;
    std::condition_variable is_given;
    std::deque<std::function<void()>> work;
    bool is_ended = false;
    std::shared_ptr<Ticket> last;
};

struct Event {
    int device = 0;
    std::shared_ptr<Ticket> ticket;
};

struct Device {
    int fd = -1;
    char *seen = nullptr, *own = nullptr;
    std::map<std::size_t, std::size_t> used;  // offset, bytes with the guard
    std::size_t next = 0;                     // where the search begins: freed memory is reused late
    std::array<Engine, 2> engines;            // to the host, from the host
    std::array<std::shared_ptr<Stream>, 2> defaults;
};

/// Never destroyed: streams may still run when the process ends.
struct State {
    std::mutex mutex;
    bool is_up = false;
    std::atomic<bool> is_down = false, is_broken = false;
    std::atomic<std::int64_t> num_copies = 0, num_waits = 0, num_launches = 0;
    std::vector<std::unique_ptr<Device>> devices;
    std::map<const char*, Allocation> allocations;  // by where they are seen
    std::map<const char*, Registered> registered;
    std::map<Stream*, std::shared_ptr<Stream>> streams;
    std::set<Event*> events;
};
inline State& the() {
    static State& state = *new State;
    return state;
}

/// The element of a map by begin whose [begin, begin + bytes) has the address, or its end.
template <class Map, class Bytes>
auto containing(Map& map, const char* address, Bytes bytes) {
    auto found = map.upper_bound(address);
    if (found == map.begin()) return map.end();
    --found;
    return address < found->first + bytes(found->second) ? found : map.end();
}
inline auto find_allocation(const char* address) {
    return containing(the().allocations, address,
                      [](const Allocation& allocation) { return allocation.bytes; });
}
inline auto find_registered(const char* address) {
    return containing(the().registered, address, [](const Registered& range) { return range.bytes; });
}

/// A new stream and its thread. the().mutex is held.
std::shared_ptr<Stream> add_stream(int device, bool waits_for_default);
/// Gives a stream work, after what the rules of default streams say. the().mutex is held.
std::shared_ptr<Ticket> give(Stream* stream, std::function<void()> work);
/// Whether the device is still well after what passes before each copy.
[[nodiscard]] bool may_begin();
/// Keeps the caller until a copy of so many bytes would have ended, had it begun now.
void take_time(Engine& engine, std::size_t bytes, const std::function<void()>& copy);

}  // namespace fake
