#include "device/buffer.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace hakobi::device {
namespace {

constexpr std::int64_t page_bytes = 4096;

}  // namespace

Result<Buffer> Buffer::locked(Device& device, std::int64_t bytes) {
    // Whole pages, so that no other memory's pages are locked and unlocked with them.
    const std::int64_t rounded = (std::max(bytes, page_bytes) + page_bytes - 1) / page_bytes * page_bytes;
    Buffer buffer;
    buffer.is_on_host_ = true;
    buffer.data_ = static_cast<std::byte*>(std::aligned_alloc(page_bytes, static_cast<std::size_t>(rounded)));
    if (buffer.data_ == nullptr)
        return Status(ErrorCode::out_of_memory,
                      "no memory for copies of " + std::to_string(bytes) + " bytes");
    if (Status status = device.lock_pages(buffer.data_, rounded); !status.ok()) return status;
    buffer.device_ = &device;
    buffer.size_bytes_ = rounded;
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
    std::swap(is_on_host_, other.is_on_host_);
    return *this;
}

Buffer::~Buffer() {
    if (!is_on_host_) {
        if (data_ != nullptr) device_->release(data_);
        return;
    }
    if (device_ != nullptr) device_->unlock_pages(data_);
    std::free(data_);
}

}  // namespace hakobi::device
