#include "exchange/list_transfer.hpp"

#include "base/copy_bytes.hpp"

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

void Parts::begin(const std::vector<::iovec>& pieces, std::int64_t num_bytes, std::int64_t part_bytes,
                  std::int64_t most_bytes) {
    cursor_ = ListCursor(pieces);
    left_bytes_ = num_bytes;
    part_bytes_ = part_bytes;
    parts_.resize(static_cast<std::size_t>(
        std::clamp((num_bytes + part_bytes - 1) / part_bytes, std::int64_t{1}, most_bytes / part_bytes)));
    next_ = 0;
}

bool Parts::send(const Link& link) {
    bool has_moved = false;
    while (left_bytes_ > 0 && parts_[next_].message.test()) {
        Part& part = parts_[next_];
        std::byte* at = room(part).data();
        cursor_.next(std::ssize(part.bytes), [&](const std::byte* from, std::size_t bytes) {
            copy_bytes(at, from, bytes);
            at += bytes;
        });
        part.message = link.send(3, part.bytes);
        next_ = (next_ + 1) % parts_.size();
        has_moved = true;
    }
    return has_moved;
}

bool Parts::is_sent() {
    return left_bytes_ == 0 &&
           std::all_of(parts_.begin(), parts_.end(), [](Part& part) { return part.message.test(); });
}

bool Parts::receive(const Link& link) {
    bool has_moved = false;
    while (parts_[next_].is_expected && parts_[next_].message.test()) {
        Part& part = parts_[next_];
        const std::byte* at = part.bytes.data();
        cursor_.next(std::ssize(part.bytes), [&](std::byte* to, std::size_t bytes) {
            copy_bytes(to, at, bytes);
            at += bytes;
        });
        part.is_expected = false;
        expect(link, part);
        next_ = (next_ + 1) % parts_.size();
        has_moved = true;
    }
    return has_moved;
}

void Parts::expect(const Link& link, Part& part) {
    if (left_bytes_ == 0) return;
    part.message = link.receive(3, room(part));
    part.is_expected = true;
}

}  // namespace hakobi::exchange
