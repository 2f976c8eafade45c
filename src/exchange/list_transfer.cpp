#include "exchange/list_transfer.hpp"

#include <utility>

#include "base/copy_bytes.hpp"
#include "device/joined_copy.hpp"

namespace hakobi::exchange {

bool Handshake::has_announcement(const Link& link) {
    if (announcement.empty()) {
        const std::int64_t bytes = link.probe(1);
        if (bytes < 0) return false;
        announcement.resize(static_cast<std::size_t>(bytes));
        announced = link.receive(1, announcement);
    }
    return announced.test();
}

Status Parts::begin(const std::vector<::iovec>& pieces, std::int64_t num_bytes, std::int64_t part_bytes,
                    std::int64_t most_bytes, device::Device* device, mpi::DeviceQueue* queue) {
    cursor_ = ListCursor(pieces);
    left_bytes_ = num_bytes;
    part_bytes_ = part_bytes;
    queue_ = queue;
    next_ = free_ = 0;
    const auto num_parts = static_cast<std::size_t>(
        std::clamp((num_bytes + part_bytes - 1) / part_bytes, std::int64_t{1}, most_bytes / part_bytes));
    const std::int64_t bytes = std::min(num_bytes, part_bytes);
    const auto fits = [&](const Part& part) { return queue == nullptr || part.locked.size_bytes() >= bytes; };
    if (parts_.size() == num_parts && std::all_of(parts_.begin(), parts_.end(), fits)) return {};
    if (queue != nullptr && !parts_.empty()) queue->finish();  // it may still unpack the list before
    parts_.resize(num_parts);
    for (Part& part : parts_) {
        if (fits(part)) continue;
        auto locked = device::Buffer::locked(*device, bytes);
        if (!locked.ok()) return locked.status();
        part.locked = std::move(locked).value();
    }
    return {};
}

void Parts::make_room(Part& part, std::int64_t bytes) {
    left_bytes_ -= bytes;
    if (queue_ == nullptr) part.on_host.resize(static_cast<std::size_t>(bytes));
    part.bytes = {queue_ == nullptr ? part.on_host.data() : part.locked.data(),
                  static_cast<std::size_t>(bytes)};
    part.is_full = true;
}

namespace {

/// Copies of a device, joined where pieces lie as rows of an array do.
class JoinedCopies {
  public:
    explicit JoinedCopies(mpi::DeviceQueue& queue) : queue_(queue) {}
    ~JoinedCopies() { queue_.give(joined_.take()); }
    JoinedCopies(const JoinedCopies&) = delete;
    JoinedCopies& operator=(const JoinedCopies&) = delete;
    void add(const device::Copy& piece) {
        if (joined_.add(piece)) return;
        queue_.give(joined_.take());
        joined_.add(piece);
    }

  private:
    mpi::DeviceQueue& queue_;
    device::JoinedCopy joined_;
};

}  // namespace

void Parts::pack(Part& part) {
    std::byte* at = part.bytes.data();
    if (queue_ == nullptr) {
        cursor_.next(std::ssize(part.bytes), [&](const std::byte* from, std::size_t bytes) {
            copy_bytes(at, from, bytes);
            at += bytes;
        });
        return;
    }
    {
        JoinedCopies copies(*queue_);
        cursor_.next(std::ssize(part.bytes), [&](const std::byte* from, std::size_t bytes) {
            copies.add({.to = at, .from = from, .length_bytes = static_cast<std::int64_t>(bytes)});
            at += bytes;
        });
    }
    part.copied = queue_->mark();
}

void Parts::unpack(Part& part) {
    const std::byte* at = part.bytes.data();
    part.is_full = false;
    if (queue_ == nullptr) {
        cursor_.next(std::ssize(part.bytes), [&](std::byte* to, std::size_t bytes) {
            copy_bytes(to, at, bytes);
            at += bytes;
        });
        return;
    }
    {
        JoinedCopies copies(*queue_);
        cursor_.next(std::ssize(part.bytes), [&](std::byte* to, std::size_t bytes) {
            copies.add({.to = to, .from = at, .length_bytes = static_cast<std::int64_t>(bytes)});
            at += bytes;
        });
    }
    part.copied = queue_->mark();
}

bool Parts::send(const Link& link) {
    for (bool has_moved = false;; has_moved = true) {
        Part& free = parts_[free_];
        const bool is_free = left_bytes_ > 0 && !free.is_full && free.message.test() && free.copied.is_over();
        if (is_free) {
            make_room(free);
            pack(follow(free_));
        }
        Part& packed = parts_[next_];
        const bool is_packed = packed.is_full && packed.copied.is_over();
        if (is_packed) {
            packed.message = link.send(3, packed.bytes);
            follow(next_).is_full = false;
        }
        if (!is_free && !is_packed) return has_moved;
    }
}

bool Parts::is_sent() {
    return left_bytes_ == 0 && std::all_of(parts_.begin(), parts_.end(),
                                           [](Part& part) { return !part.is_full && part.message.test(); });
}

bool Parts::receive(const Link& link) {
    for (bool has_moved = false;; has_moved = true) {
        Part& free = parts_[free_];
        const bool is_free = left_bytes_ > 0 && !free.is_full && free.copied.is_over();
        if (is_free) {
            make_room(free);
            free.message = link.receive(3, follow(free_).bytes);
        }
        Part& come = parts_[next_];
        const bool has_come = come.is_full && come.message.test();
        if (has_come) unpack(follow(next_));
        if (!is_free && !has_come) return has_moved;
    }
}

void Parts::take(std::span<const std::byte> bytes) {
    Part& part = parts_[0];
    make_room(part, std::ssize(bytes));
    copy_bytes(part.bytes.data(), bytes.data(), part.bytes.size());
    unpack(part);
}

}  // namespace hakobi::exchange
