// Streams, events and copies.
#include <algorithm>
#include <cstring>
#include <thread>

#include "state.hpp"

namespace fake {

namespace {

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

/// Whether a side's rows are all of one allocation, or all of the host; `begin` becomes where the driver
/// accesses them.
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

}  // namespace

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

bool may_begin() {
    if (settings().delay_s > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(settings().delay_s));
    if (++the().num_copies == settings().fails_at) the().is_broken = true;
    return !the().is_broken;
}

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

std::shared_ptr<Stream> add_stream(int device, bool waits_for_default) {
    auto stream = std::make_shared<Stream>();
    stream->device = device;
    stream->waits_for_default = waits_for_default;
    the().streams[stream.get()] = stream;
    run(stream);
    return stream;
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

}  // namespace fake

extern "C" __attribute__((visibility("default"))) std::int64_t hakobi_fake_num_waits() {
    return fake::the().num_waits;
}
