#include "device/buffer.hpp"

#include <algorithm>
#include <utility>

namespace hakobi::device {

Result<Buffer> Buffer::locked(Device& device, std::int64_t bytes) {
    auto memory = Pinned::of(device, std::max<std::int64_t>(bytes, 1));
    if (!memory.ok()) return memory.status();
    Buffer buffer;
    buffer.locked_ = std::move(memory).value();
    buffer.data_ = buffer.locked_.data();
    buffer.size_bytes_ = buffer.locked_.size_bytes();
    return buffer;
}

Result<Buffer> Buffer::on(Device& device, std::int64_t bytes) {
    auto memory = device.allocate(std::max<std::int64_t>(bytes, 1));
    if (!memory.ok()) return memory.status();
    Buffer buffer;
    buffer.device_ = &device;
    buffer.data_ = memory.value();
    buffer.size_bytes_ = bytes;
    return buffer;
}

Buffer::Buffer(Buffer&& other) noexcept {
    *this = std::move(other);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(locked_, other.locked_);
    return *this;
}

Buffer::~Buffer() {
    if (device_ != nullptr) device_->release(data_);
}

}  // namespace hakobi::device
