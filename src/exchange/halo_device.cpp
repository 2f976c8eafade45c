#include "exchange/halo_device.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "exchange/device_copy.hpp"
#include "exchange/field_layout.hpp"

namespace hakobi::exchange {
namespace {

template <class T>
T value_of(Result<T> result) {
    if (!result.ok()) result.status().throw_if_error();
    return std::move(result).value();
}

}  // namespace

HaloDevice::HaloDevice(device::Device& device)
    : device_(device), out_(mpi::DeviceQueue::of(device)), in_(mpi::DeviceQueue::of(device)) {}

HaloDevice::~HaloDevice() {
    for (mpi::DeviceQueue* const queue : {&out_, &in_}) *queue = {};
    for (std::byte* const memory : opened_) device_.close_shared(memory);
    for (std::byte* const memory : locked_) device_.unlock_pages(memory);
}

std::byte* HaloDevice::locked_memory(std::int64_t bytes) {
    buffers_.push_back(value_of(device::Buffer::locked(device_, bytes)));
    return buffers_.back().data();
}

std::byte* HaloDevice::device_memory(std::int64_t bytes) {
    buffers_.push_back(value_of(device::Buffer::on(device_, bytes)));
    return buffers_.back().data();
}

void HaloDevice::lock(std::byte* memory, std::int64_t bytes) {
    device_.lock_pages(memory, bytes).throw_if_error();
    locked_.push_back(memory);
}

std::byte* HaloDevice::open(const device::SharedHandle& handle) {
    const auto memory = device_.open_shared(handle);
    if (!memory.ok()) return nullptr;
    opened_.push_back(memory.value());
    return memory.value();
}

bool HaloDevice::sees(const std::array<std::byte, 16>& uuid) const {
    if (device_.uuid() == uuid) return true;
    const auto all = device::all_devices();
    return std::any_of(all.begin(), all.end(), [&](const auto* other) { return other->uuid() == uuid; });
}

Status HaloDevice::begin_after(DeviceStream stream) {
    Status status = out_.begin_after(stream);
    return status.ok() ? in_.begin_after(stream) : status;
}

Status HaloDevice::hold_back(DeviceStream stream) {
    return in_.hold_back(stream);
}

std::unique_ptr<device::CopyList> HaloDevice::prepare(std::span<const Work> works) {
    std::vector<device::Copy> all;
    for (const Work& work : works) {
        const auto copies = device_copies(work.copy, work.from, work.to);
        all.insert(all.end(), copies.begin(), copies.end());
    }
    return value_of(device_.prepare(all));
}

Result<device::Device*> device_of_fields(const HaloGrid& grid, std::span<const HaloField> fields) {
    device::Device* first = nullptr;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const FieldLayout layout = layout_of(fields[f]);
        const Reach reach = reach_of(layout, grid);
        const auto found = device::device_of(reach.first, reach.bytes, fields[f].memory);
        if (!found.ok())
            return Status(found.status().code(),
                          "Halo::plan: field " + std::to_string(f) + ": " + found.status().text());
        const auto text = [](const device::Device* device) { return device ? device->text() : "the host"; };
        if (f == 0) first = found.value();
        if (found.value() != first)
            return Status(ErrorCode::unsupported, "Halo::plan: field " + std::to_string(f) + " is on " +
                                                      text(found.value()) + ", field 0 on " + text(first));
    }
    return first;
}

}  // namespace hakobi::exchange
