#include "driver.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "device/copy_list.hpp"

namespace fake {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t page = 4096;

double number(const char* name, double otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtod(text, nullptr) : otherwise;
}
std::size_t whole_pages(std::size_t bytes) {
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

}  // namespace

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

namespace {

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
State& the() {
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
auto find_allocation(const char* address) {
    return containing(the().allocations, address,
                      [](const Allocation& allocation) { return allocation.bytes; });
}
auto find_registered(const char* address) {
    return containing(the().registered, address, [](const Registered& range) { return range.bytes; });
}

void run(const std::shared_ptr<Stream>& stream) {
    std::thread([stream] {
        std::unique_lock lock(stream->mutex);
        for (;;) {
            stream->is_given.wait(lock, [&] { return stream->is_ended || !stream->work.empty(); });
            if (stream->work.empty()) return;
            const auto work = std::move(stream->work.front());
            stream->work.pop_front();
            lock.unlock();
            work();
            lock.lock();
        }
    }).detach();
}

/// Gives a stream work, after what the rules of default streams say. the().mutex is held.
std::shared_ptr<Ticket> give(Stream* stream, std::function<void()> work) {
    Tickets before;
    Stream* legacy = the().devices[stream->device]->defaults[0].get();
    if (stream == legacy) {
        for (const auto& [other, owner] : the().streams)
            if (other->waits_for_default && other->device == stream->device && other->last)
                before.push_back(other->last);
    } else if (stream->waits_for_default && legacy->last) {
        before.push_back(legacy->last);
    }
    auto ticket = std::make_shared<Ticket>();
    stream->last = ticket;
    {
        const std::lock_guard lock(stream->mutex);
        stream->work.emplace_back([before = std::move(before), work = std::move(work), ticket] {
            for (const auto& other : before) other->wait();
            if (work) work();
            ticket->finish();
        });
    }
    stream->is_given.notify_one();
    return ticket;
}

std::shared_ptr<Stream> add_stream(int device, bool waits_for_default) {
    auto stream = std::make_shared<Stream>();
    stream->device = device;
    stream->waits_for_default = waits_for_default;
    the().streams[stream.get()] = stream;
    run(stream);
    return stream;
}

int add_device() {
    auto device = std::make_unique<Device>();
    const auto bytes = static_cast<std::size_t>(settings().memory_bytes);
    device->fd = ::memfd_create("fake device", MFD_CLOEXEC);
    if (device->fd < 0 || ::ftruncate(device->fd, settings().memory_bytes)) return out_of_memory;
    void* seen = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, device->fd, 0);
    void* own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, device->fd, 0);
    if (seen == MAP_FAILED || own == MAP_FAILED) return out_of_memory;
    device->seen = static_cast<char*>(seen);
    device->own = static_cast<char*>(own);
    const int number = static_cast<int>(the().devices.size());
    the().devices.push_back(std::move(device));
    the().devices[number]->defaults = {add_stream(number, false), add_stream(number, true)};
    return success;
}

/// Whether a side's rows are all of one allocation, or all of the host; `begin` becomes where the driver accesses them.
bool resolve(const Box& box, int which, Side side, char*& begin, bool& is_device) {
    const auto found = find_allocation(begin);
    is_device = found != the().allocations.end();
    if (!is_device) return side != Side::device;
    const Allocation& allocation = found->second;
    if (side == Side::host && !allocation.is_managed) return false;
    const std::size_t num_rows = (box.num_planes - 1) * box.height[which] + box.num_rows - 1;
    const std::size_t extent = num_rows * box.pitch_bytes[which] + box.width_bytes;
    const auto offset = static_cast<std::size_t>(begin - allocation.seen);
    if (extent > allocation.bytes - offset) return false;
    begin = allocation.own + offset;
    return true;
}

void copy_rows(const Box& box, const std::array<char*, 2>& begin) {
    for (std::size_t plane = 0; plane < box.num_planes; ++plane) {
        for (std::size_t row = 0; row < box.num_rows; ++row) {
            const auto at = [&](int side) {
                return begin[side] + (plane * box.height[side] + row) * box.pitch_bytes[side];
            };
            std::memcpy(at(0), at(1), box.width_bytes);
        }
    }
}

/// Whether the device is still well after what passes before each copy.
bool may_begin() {
    if (settings().delay_s > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(settings().delay_s));
    if (++the().num_copies == settings().fails_at) the().is_broken = true;
    return !the().is_broken;
}

/// Keeps the caller until a copy of so many bytes would have ended, had it begun now.
void take_time(Engine& engine, std::size_t bytes, const std::function<void()>& copy) {
    if (settings().bytes_s <= 0) return copy();
    Clock::time_point end;
    {
        const std::lock_guard lock(engine.mutex);
        const std::chrono::duration<double> cost(static_cast<double>(bytes) / settings().bytes_s);
        end = std::max(engine.free_at, Clock::now()) + std::chrono::duration_cast<Clock::duration>(cost);
        engine.free_at = end;
    }
    copy();
    std::this_thread::sleep_until(end);
}

}  // namespace

const char* text_of(int error) {
    switch (error) {
        case success:
            return "no error";
        case invalid_value:
            return "invalid argument";
        case out_of_memory:
            return "out of memory";
        case not_initialized:
            return "initialization error";
        case deinitialized:
            return "driver shutting down";
        case no_device:
            return "no device is detected";
        case invalid_handle:
            return "invalid resource handle";
        case context_is_destroyed:
            return "context is destroyed";
        case illegal_address:
            return "an illegal memory access was encountered";
        default:
            return "another error";
    }
}

const Settings& settings() {
    static const Settings settings{
        .num_devices = static_cast<int>(number("HAKOBI_FAKE_DEVICES", 1)),
        .num_hip_devices = static_cast<int>(number("HAKOBI_FAKE_HIP_DEVICES", 0)),
        .memory_bytes = static_cast<std::int64_t>(number("HAKOBI_FAKE_DEVICE_BYTES", 1 << 30)) / 4096 * 4096,
        .delay_s = number("HAKOBI_FAKE_DEVICE_DELAY_S", 0),
        .bytes_s = number("HAKOBI_FAKE_DEVICE_BYTES_S", 0),
        .version = static_cast<int>(number("HAKOBI_FAKE_DRIVER_VERSION", 12040)),
        .hip_version = static_cast<int>(number("HAKOBI_FAKE_HIP_VERSION", 60'241'133)),
        .fails_at = static_cast<std::int64_t>(number("HAKOBI_FAKE_DEVICE_FAILS_AT", 0)),
        .num_compiling = static_cast<int>(number("HAKOBI_FAKE_NUM_COMPILING", 1'000'000)),
    };
    return settings;
}

int init(int num_devices) {
    const std::lock_guard lock(the().mutex);
    if (the().is_down) return deinitialized;
    if (the().is_up) return success;
    for (int device = 0; device < num_devices; ++device)
        if (const int error = add_device()) return error;
    std::atexit([] { the().is_down = true; });
    the().is_up = true;
    return success;
}

int state() {
    if (the().is_down) return deinitialized;
    if (!the().is_up) return not_initialized;
    return the().is_broken ? illegal_address : success;
}

Known find(const void* address) {
    const auto* at = static_cast<const char*>(address);
    const std::lock_guard lock(the().mutex);
    if (const auto found = find_allocation(at); found != the().allocations.end()) {
        const Allocation& allocation = found->second;
        return {.is_device = true,
                .is_managed = allocation.is_managed,
                .is_opened = allocation.times_opened > 0,
                .device = allocation.device,
                .begin = allocation.seen,
                .bytes = allocation.bytes};
    }
    if (const auto found = find_registered(at); found != the().registered.end())
        return {.is_registered = true,
                .is_mapped = found->second.is_mapped,
                .device = found->second.device,
                .begin = const_cast<char*>(found->first),
                .bytes = found->second.bytes};
    return {};
}

int allocate(int device, std::size_t bytes, bool is_managed, void** memory) {
    const std::lock_guard lock(the().mutex);
    if (bytes == 0) return invalid_value;
    Device& from = *the().devices[device];
    const auto size = static_cast<std::size_t>(settings().memory_bytes);
    const std::size_t needed = whole_pages(bytes) + page;
    std::size_t offset = from.next;
    for (int round = 0; round < 2; ++round) {
        for (const auto& [begin, used] : from.used)
            if (begin < offset + needed && offset < begin + used) offset = begin + used;
        if (needed <= size && offset <= size - needed) break;
        if (round) return out_of_memory;
        offset = 0;
    }
    from.used[offset] = needed;
    from.next = offset + needed;
    char* seen = from.seen + offset;
    if (is_managed && ::mprotect(seen, whole_pages(bytes), PROT_READ | PROT_WRITE)) return out_of_memory;
    the().allocations[seen] = {
        .seen = seen, .own = from.own + offset, .bytes = bytes, .device = device, .is_managed = is_managed};
    *memory = seen;
    return success;
}

int release(void* memory) {
    Tickets pending;
    int device = 0;
    {
        const std::lock_guard lock(the().mutex);
        const auto found = the().allocations.find(static_cast<char*>(memory));
        if (found == the().allocations.end() || found->second.times_opened) return invalid_value;
        device = found->second.device;
        for (const auto& [stream, owner] : the().streams)
            if (stream->device == device && stream->last) pending.push_back(stream->last);
    }
    for (const auto& ticket : pending) ticket->wait();  // as on a real device
    const std::lock_guard lock(the().mutex);
    const auto found = the().allocations.find(static_cast<char*>(memory));
    if (found == the().allocations.end()) return invalid_value;
    Device& from = *the().devices[device];
    const std::size_t bytes = whole_pages(found->second.bytes);
    const std::size_t offset = static_cast<std::size_t>(found->second.seen - from.seen);
    if (found->second.is_managed && ::mprotect(memory, bytes, PROT_NONE)) return map_failed;
    ::fallocate(from.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(bytes));
    from.used.erase(offset);
    the().allocations.erase(found);
    return success;
}

int register_host(void* memory, std::size_t bytes, int device, bool is_mapped) {
    const std::lock_guard lock(the().mutex);
    const auto* begin = static_cast<const char*>(memory);
    if (!memory || bytes == 0 || find_allocation(begin) != the().allocations.end()) return invalid_value;
    const auto next = the().registered.lower_bound(begin);
    if (find_registered(begin) != the().registered.end() ||
        (next != the().registered.end() && next->first < begin + bytes))
        return already_registered;
    the().registered[begin] = {bytes, device, is_mapped};
    return success;
}

int unregister_host(void* memory) {
    const std::lock_guard lock(the().mutex);
    return the().registered.erase(static_cast<const char*>(memory)) ? success : not_registered;
}

namespace {

/// What a Handle holds.
struct Shared {
    std::uint64_t magic = 0x68616b6f62694444;
    int pid = 0, fd = 0;
    std::int64_t offset = 0;
    std::size_t bytes = 0;
};
static_assert(sizeof(Shared) <= sizeof(Handle));

}  // namespace

int share(const void* memory, Handle* handle) {
    const std::lock_guard lock(the().mutex);
    const auto found = find_allocation(static_cast<const char*>(memory));
    if (found == the().allocations.end() || found->second.times_opened || found->second.is_managed)
        return invalid_value;
    const Device& from = *the().devices[found->second.device];
    const Shared shared{.pid = ::getpid(),
                        .fd = from.fd,
                        .offset = found->second.seen - from.seen,
                        .bytes = found->second.bytes};
    *handle = {};
    std::memcpy(handle->data(), &shared, sizeof(shared));
    return success;
}

int open_shared(int device, const Handle& handle, void** memory) {
    const std::lock_guard lock(the().mutex);
    Shared shared;
    std::memcpy(&shared, handle.data(), sizeof(shared));
    if (shared.magic != Shared{}.magic) return invalid_handle;
    if (shared.pid == ::getpid()) return invalid_context;
    for (auto& [seen, allocation] : the().allocations) {
        if (!allocation.times_opened || allocation.handle != handle) continue;
        ++allocation.times_opened;
        *memory = allocation.seen;
        return success;
    }
    const std::string path = "/proc/" + std::to_string(shared.pid) + "/fd/" + std::to_string(shared.fd);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return map_failed;
    const std::size_t bytes = whole_pages(shared.bytes);
    void* seen = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, fd, shared.offset);
    void* own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, shared.offset);
    ::close(fd);
    if (seen == MAP_FAILED || own == MAP_FAILED) return map_failed;
    the().allocations[static_cast<char*>(seen)] = {.seen = static_cast<char*>(seen),
                                                   .own = static_cast<char*>(own),
                                                   .bytes = shared.bytes,
                                                   .device = device,
                                                   .times_opened = 1,
                                                   .handle = handle};
    *memory = seen;
    return success;
}

int close_shared(void* memory) {
    const std::lock_guard lock(the().mutex);
    const auto found = the().allocations.find(static_cast<char*>(memory));
    if (found == the().allocations.end() || !found->second.times_opened) return invalid_value;
    if (--found->second.times_opened) return success;
    ::munmap(found->second.seen, whole_pages(found->second.bytes));
    ::munmap(found->second.own, whole_pages(found->second.bytes));
    the().allocations.erase(found);
    return success;
}

Stream* stream_of(void* name, int device) {
    const std::lock_guard lock(the().mutex);
    const auto number = reinterpret_cast<std::uintptr_t>(name);
    if (number <= 2) return the().devices[device]->defaults[number / 2].get();
    const auto found = the().streams.find(static_cast<Stream*>(name));
    return found == the().streams.end() ? nullptr : found->first;
}

int device_of(const Stream* stream) {
    return stream->device;
}
bool& is_captured(Stream* stream) {
    return stream->is_captured;
}

Stream* make_stream(int device, bool waits_for_default) {
    const std::lock_guard lock(the().mutex);
    return add_stream(device, waits_for_default).get();
}

void destroy(Stream* stream) {
    const std::lock_guard lock(the().mutex);
    const auto found = the().streams.find(stream);
    {
        const std::lock_guard own(stream->mutex);
        stream->is_ended = true;  // the thread does what is left
    }
    stream->is_given.notify_one();
    the().streams.erase(found);
}

void finish(Stream* stream) {
    std::shared_ptr<Ticket> ticket;
    {
        const std::lock_guard lock(the().mutex);
        ticket = give(stream, {});
    }
    ++the().num_waits;
    ticket->wait();
}

Event* make_event(int device) {
    const std::lock_guard lock(the().mutex);
    auto* event = new Event{device, nullptr};
    the().events.insert(event);
    return event;
}

Event* event_of(void* name) {
    const std::lock_guard lock(the().mutex);
    const auto found = the().events.find(static_cast<Event*>(name));
    return found == the().events.end() ? nullptr : *found;
}

void destroy(Event* event) {
    const std::lock_guard lock(the().mutex);
    the().events.erase(event);
    delete event;
}

int record(Event* event, Stream* stream) {
    const std::lock_guard lock(the().mutex);
    if (event->device != stream->device) return invalid_handle;
    event->ticket = give(stream, {});
    return success;
}

bool is_over(const Event* event) {
    const std::lock_guard lock(the().mutex);
    return !event->ticket || event->ticket->is_done;
}

void wait(Stream* stream, const Event* event) {
    const std::lock_guard lock(the().mutex);
    if (const auto ticket = event->ticket) give(stream, [ticket] { ticket->wait(); });
}

int copy(const Box& box, std::array<Side, 2> sides, Stream* stream) {
    std::shared_ptr<Ticket> ticket;
    bool must_wait = false;
    {
        const std::lock_guard lock(the().mutex);
        auto begin = box.begin;
        std::array<bool, 2> is_device{};
        for (int side : {0, 1}) {
            const bool is_single = box.num_rows == 1 && box.num_planes == 1;
            if (!is_single && box.pitch_bytes[side] < box.width_bytes) return invalid_value;
            if (box.num_planes > 1 && box.height[side] < box.num_rows) return invalid_value;
            if (!resolve(box, side, sides[side], begin[side], is_device[side])) return invalid_value;
            must_wait |= !is_device[side] && find_registered(begin[side]) == the().registered.end();
        }
        const bool is_with_host = !is_device[0] || !is_device[1];
        Engine* engine =
            is_with_host ? &the().devices[stream->device]->engines[is_device[0] ? 1 : 0] : nullptr;
        ticket = give(stream, [box, begin, engine] {
            if (!may_begin()) return;
            if (!engine) return copy_rows(box, begin);
            take_time(*engine, box.width_bytes * box.num_rows * box.num_planes,
                      [&] { copy_rows(box, begin); });
        });
    }
    if (must_wait) {
        ++the().num_waits;
        ticket->wait();
    }
    return success;
}

namespace {

using hakobi::device::Tile;

/// Where the driver accesses bytes that a kernel touches; null: the kernel may not.
char* touched(std::uint64_t address, std::size_t bytes, bool& is_host) {
    auto* const begin = reinterpret_cast<char*>(address);
    const std::lock_guard lock(the().mutex);
    const auto fits = [&](const char* memory, std::size_t size) { return begin + bytes <= memory + size; };
    if (const auto found = find_allocation(begin); found != the().allocations.end())
        return fits(found->first, found->second.bytes) ? found->second.own + (begin - found->first) : nullptr;
    const auto found = find_registered(begin);
    is_host = true;
    const bool is_allowed = found != the().registered.end() && found->second.is_mapped;
    return is_allowed && fits(found->first, found->second.bytes) ? begin : nullptr;
}

/// What the threads of a block do, one after the other; false where a real one ends by an illegal or misaligned address.
bool run_block(const Tile& tile, std::array<std::size_t, 2>& host_bytes) {
    for (std::uint32_t i = tile.first; i < tile.end; ++i) {
        const std::uint64_t rows = i / tile.row_units, in_row = i % tile.row_units * tile.unit_bytes;
        const std::uint64_t plane = rows / tile.num_rows, row = rows % tile.num_rows;
        const std::uint64_t to = tile.to + in_row + row * tile.to_row_stride + plane * tile.to_plane_stride;
        const std::uint64_t from =
            tile.from + in_row + row * tile.from_row_stride + plane * tile.from_plane_stride;
        std::array<bool, 2> is_host{};
        char* const target = touched(to, tile.unit_bytes, is_host[0]);
        const char* const source = touched(from, tile.unit_bytes, is_host[1]);
        if (!target || !source || (to | from) % tile.unit_bytes != 0) return false;
        std::memcpy(target, source, tile.unit_bytes);
        for (int side : {0, 1})
            if (is_host[side]) host_bytes[side] += tile.unit_bytes;
    }
    return true;
}

void run_kernel(int device, const Tile* tiles, std::size_t num_tiles) {
    if (!may_begin()) return;
    std::array<std::size_t, 2> host_bytes{};
    for (std::size_t block = 0; block < num_tiles; ++block)
        if (!run_block(tiles[block], host_bytes)) the().is_broken = true;
    for (int side : {0, 1}) take_time(the().devices[device]->engines[side], host_bytes[side], [] {});
}

}  // namespace

int launch(const void* tiles, std::size_t num_tiles, Stream* stream) {
    const std::lock_guard lock(the().mutex);
    const auto* seen = static_cast<const char*>(tiles);
    const auto found = find_allocation(seen);
    if (num_tiles == 0 || found == the().allocations.end()) return invalid_value;
    const auto offset = static_cast<std::size_t>(seen - found->first);
    if (found->second.bytes - offset < num_tiles * sizeof(Tile)) return invalid_value;
    const auto* own = reinterpret_cast<const Tile*>(found->second.own + offset);
    ++the().num_launches;
    give(stream, [device = stream->device, own, num_tiles] { run_kernel(device, own, num_tiles); });
    return success;
}

}  // namespace fake

extern "C" __attribute__((visibility("default"))) std::int64_t hakobi_fake_num_waits() {
    return fake::the().num_waits;
}
extern "C" __attribute__((visibility("default"))) std::int64_t hakobi_fake_num_launches() {
    return fake::the().num_launches;
}
