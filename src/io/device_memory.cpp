#include "io/device_memory.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/copy_bytes.hpp"
#include "io/policy.hpp"
#include "mpi/wait.hpp"

namespace hakobi::io {
namespace {

// A part of a collective buffer takes 20 to 80 us at 50 GB/s, and a sleep 70. A copy that is not over after
// this waits for the program's stream.
constexpr double busy_s = 1e-3;

/// From the first byte of the runs to behind their last.
std::int64_t span_bytes(std::int64_t num, std::int64_t stride, std::int64_t length) {
    return (num - 1) * stride + length;
}

}  // namespace

DeviceMemory::~DeviceMemory() {
    leave_device();
}

void DeviceMemory::leave_device() noexcept {
    if (queue_) (void)queue_->finish();
    room_ = {};
    if (scratch_.memory != nullptr) device_->release(scratch_.memory);
    scratch_ = {};
    queue_.reset();
}

Status DeviceMemory::use(device::Device& device) {
    if (device_ == &device && queue_) return {};
    if (device_ != nullptr && device_ != &device && !empty()) {
        return {ErrorCode::unsupported, "it is in memory of " + device.text() +
                                            ", and other arrays of this rank are on " + device_->text() +
                                            ": one device a rank and step"};
    }
    leave_device();
    device_ = &device;
    Result<std::unique_ptr<device::Queue>> made = device.make_queue();
    if (!made.ok()) return made.status();
    queue_ = std::move(made).value();
    return {};
}

Result<bool> DeviceMemory::add(const void* address, std::int64_t bytes, Memory said, DeviceStream stream) {
    if (said == Memory::host || bytes == 0) return false;
    Result<device::Device*> found = device::device_of(address, bytes, said);
    if (!found.ok()) return found.status();
    if (found.value() == nullptr) return false;
    if (Status status = use(*found.value()); !status.ok()) return status;
    if (Status status = queue_->begin_after(stream); !status.ok()) return status;
    const auto* const begin = static_cast<const std::byte*>(address);
    add_range(begin, begin + bytes);
    return true;
}

void DeviceMemory::add_range(const std::byte* begin, const std::byte* end) {
    // Those that it meets become one with it: they are of one allocation, which touching ones need not be.
    const auto first = std::ranges::find_if(ranges_, [&](const Range& range) { return range.end > begin; });
    auto behind = first;
    for (; behind != ranges_.end() && behind->begin < end; ++behind) {
        begin = std::min(begin, behind->begin);
        end = std::max(end, behind->end);
    }
    ranges_.insert(ranges_.erase(first, behind), {begin, end});
}

void DeviceMemory::forget() noexcept {
    ranges_.clear();
    last_ = 0;
    (void)joined_.take();
    status_ = {};
    room_ = {};
}

DeviceMemory::Place DeviceMemory::place_of(const std::byte* begin, const std::byte* end) {
    const auto holds = [&](const Range& range) { return range.begin <= begin && end <= range.end; };
    if (last_ < ranges_.size() && holds(ranges_[last_])) return Place::device;
    const auto at = std::ranges::upper_bound(ranges_, begin, {}, &Range::end);
    if (at == ranges_.end() || end <= at->begin) return Place::host;
    last_ = static_cast<std::size_t>(at - ranges_.begin());
    return holds(*at) ? Place::device : Place::both;
}

bool DeviceMemory::take(const Series& series) {
    const std::byte* const from_end = series.from + span_bytes(series.num, series.from_stride, series.length);
    const Place from = place_of(series.from, from_end);
    if (from == Place::device) {
        join(series, true);
        return true;
    }
    const std::byte* const to_end = series.to + span_bytes(series.num, series.to_stride, series.length);
    const Place to = from == Place::host ? place_of(series.to, to_end) : Place::host;
    if (to == Place::device) {
        join(series, false);
        return true;
    }
    if (from == Place::host && to == Place::host) return false;
    take_in_pieces(series);
    return true;
}

// Regions join arrays that touch, and a run may go from one to the next: cut where one begins or ends.
void DeviceMemory::take_in_pieces(const Series& series) {
    for (std::int64_t i = 0; i < series.num; ++i) {
        Series run{series.to + i * series.to_stride, series.from + i * series.from_stride, 0, 0, 0, 1};
        for (std::int64_t left = series.length; left > 0; left -= run.length) {
            run.length = left;
            for (const Range& range : ranges_) {
                for (const std::byte* const cut : {range.begin, range.end}) {
                    if (cut > run.from && cut < run.from + run.length) run.length = cut - run.from;
                    if (cut > run.to && cut < run.to + run.length) run.length = cut - run.to;
                }
            }
            if (!take(run)) copy_bytes(run.to, run.from, static_cast<std::size_t>(run.length));
            run.to += run.length;
            run.from += run.length;
        }
    }
}

void DeviceMemory::join(const Series& series, bool is_from_device) {
    const device::Copy copy{.to = series.to,
                            .from = series.from,
                            .length_bytes = series.length,
                            .num = {1, series.num},
                            .to_strides_bytes = {0, series.to_stride},
                            .from_strides_bytes = {0, series.from_stride}};
    if (is_from_device == is_from_device_ && joined_.add(copy)) return;
    flush();
    is_from_device_ = is_from_device;
    joined_.add(copy);
}

void DeviceMemory::flush() {
    if (!joined_.empty()) give(joined_.take());
}

void DeviceMemory::give(const device::Copy& copy) {
    const auto& on_host = is_from_device_ ? copy.to_strides_bytes : copy.from_strides_bytes;
    const bool is_packed_on_host = copy.num[1] > 1 && on_host[1] == copy.length_bytes;
    const bool is_packed_on_device =
        (is_from_device_ ? copy.from_strides_bytes : copy.to_strides_bytes)[1] == copy.length_bytes;
    if (copy.length_bytes < device_policy::short_run && is_packed_on_host && !is_packed_on_device)
        return start_packed(copy);
    start(copy);
}

void DeviceMemory::start(const device::Copy& copy) {
    if (status_.ok()) status_ = queue_->start(copy);
}

// By device memory in which they lie as on the host. The queue's order keeps its uses apart.
void DeviceMemory::start_packed(const device::Copy& copy) {
    if (scratch_.memory == nullptr && !scratch_.is_refused) {
        Result<std::byte*> made = device_->allocate(device_policy::scratch);
        scratch_.is_refused = !made.ok();
        if (made.ok()) scratch_.memory = made.value();
    }
    if (scratch_.memory == nullptr) return start(copy);
    const std::int64_t most = device_policy::scratch / copy.length_bytes;
    const std::int64_t most_inner = std::min(copy.num[1], most);
    const std::int64_t most_outer = std::max<std::int64_t>(1, most / copy.num[1]);
    for (std::int64_t i = 0; i < copy.num[0]; i += most_outer) {
        for (std::int64_t j = 0; j < copy.num[1]; j += most_inner) {
            device::Copy part = copy;
            part.num = {std::min(most_outer, copy.num[0] - i), std::min(most_inner, copy.num[1] - j)};
            part.to += i * copy.to_strides_bytes[0] + j * copy.to_strides_bytes[1];
            part.from += i * copy.from_strides_bytes[0] + j * copy.from_strides_bytes[1];
            const std::int64_t row_bytes = part.num[1] * copy.length_bytes;
            device::Copy apart = part;  // runs, on the device
            device::Copy rows{.to = part.to,
                              .from = part.from,
                              .length_bytes = row_bytes,
                              .num = {1, part.num[0]},
                              .to_strides_bytes = {0, copy.to_strides_bytes[0]},
                              .from_strides_bytes = {0, copy.from_strides_bytes[0]}};
            if (is_from_device_) {
                apart.to = scratch_.memory;
                apart.to_strides_bytes = {row_bytes, copy.length_bytes};
                rows.from = scratch_.memory;
                rows.from_strides_bytes = {0, row_bytes};
                start(apart);
                start(rows);
            } else {
                apart.from = scratch_.memory;
                apart.from_strides_bytes = {row_bytes, copy.length_bytes};
                rows.to = scratch_.memory;
                rows.to_strides_bytes = {0, row_bytes};
                start(rows);
                start(apart);
            }
        }
    }
}

Result<std::unique_ptr<device::Mark>> DeviceMemory::mark() {
    flush();
    if (status_.ok()) return queue_->mark();
    (void)queue_->finish();  // who hears of the error may use the host's side anew
    return std::exchange(status_, {});
}

Status DeviceMemory::wait(const Comm& comm, device::Mark& mark) {
    mpi::Wait wait(comm);
    for (const double begin_s = now_s();;) {
        Result<bool> over = mark.is_over();
        if (!over.ok()) return over.status();
        if (over.value()) return {};
        now_s() - begin_s < busy_s ? wait.yield() : wait.pause();
    }
}

Status DeviceMemory::finish(const Comm& comm) {
    if (!queue_) return {};
    Result<std::unique_ptr<device::Mark>> behind = mark();
    return behind.ok() ? wait(comm, *behind.value()) : behind.status();
}

Result<std::byte*> DeviceMemory::host_room(std::int64_t bytes) {
    room_ = {};
    Result<device::Pinned> made = device::Pinned::of(*device_, bytes);
    if (!made.ok()) return made.status();
    room_ = std::move(made).value();
    return room_.data();
}

}  // namespace hakobi::io
