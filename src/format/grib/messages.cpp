#include "format/grib/messages.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "format/grib/message.hpp"
#include "format/grib/section.hpp"

namespace hakobi::format::grib {
namespace {

constexpr std::string_view head = "GRIB", tail = "7777";
constexpr std::int64_t head_bytes = 4, window_bytes = 1 << 20;
/// The length of a message of edition 1 above 8 MB is known behind its sections 1 to 3.
constexpr std::int64_t usual_head_bytes = 256, largest_head_bytes = 3 * (std::int64_t{1} << 24);
/// No message is shorter.
constexpr std::int64_t least_message_bytes = 40;

std::string_view text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<MessageFile> MessageFile::open(const std::string& path) {
    Result<storage::FilePtr> file = storage::open_file(path, {});
    if (!file.ok()) return file.status();
    const Result<std::int64_t> size = file.value()->size_bytes();
    if (!size.ok()) return size.status();
    return MessageFile(std::move(file).value(), size.value());
}

Result<std::vector<std::byte>> MessageFile::read(std::int64_t at, std::int64_t length) const {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(std::max<std::int64_t>(0, std::min(length, size_bytes_ - at))));
    const Result<std::int64_t> count = file_->read_at(bytes, at);
    if (!count.ok()) return count.status();
    if (count.value() < std::ssize(bytes))
        return Status(ErrorCode::format, file_->path() + " became shorter while it was read");
    return bytes;
}

Result<std::int64_t> MessageFile::find_head(std::int64_t from) {
    for (std::int64_t at = from; at < size_bytes_;) {
        const std::int64_t end = window_at_ + std::ssize(window_);
        if (at < window_at_ || at > end - head_bytes) {
            auto window = read(at, window_bytes);
            if (!window.ok()) return window.status();
            window_ = std::move(window).value();
            window_at_ = at;
        }
        const std::size_t found = text_of(window_).find(head, static_cast<std::size_t>(at - window_at_));
        if (found != std::string_view::npos) return window_at_ + static_cast<std::int64_t>(found);
        if (window_at_ + std::ssize(window_) == size_bytes_) break;
        at = window_at_ + std::ssize(window_) - head_bytes + 1;
    }
    return size_bytes_;
}

Result<std::vector<std::byte>> MessageFile::whole_at(std::int64_t at) const {
    Result<std::int64_t> length = Status(ErrorCode::format, "");
    for (const std::int64_t size : {usual_head_bytes, largest_head_bytes}) {
        const auto begin = read(at, size);
        if (!begin.ok()) return begin.status();
        length = message_length(begin.value());
        const bool is_known_later = std::ssize(begin.value()) == size && begin.value()[7] == std::byte{1};
        if (length.ok() || !is_known_later) break;
    }
    if (!length.ok()) return length.status();
    if (length.value() > size_bytes_ - at) {
        return Status(ErrorCode::format, "not a whole GRIB message: it says that it has " +
                                             std::to_string(length.value()) + " bytes, and " +
                                             std::to_string(size_bytes_ - at) + " are there");
    }
    // Bytes that are no message may say any length: all of it is read where its end is there.
    const auto end = read(at + length.value() - end_bytes, end_bytes);
    if (!end.ok()) return end.status();
    if (text_of(end.value()) != tail)
        return Status(ErrorCode::format, "not a whole GRIB message: no 7777 at its end");
    auto bytes = read(at, length.value());
    if (!bytes.ok()) return bytes.status();
    const Status status = read_message(bytes.value()).status();
    if (!status.ok() && status.code() != ErrorCode::unsupported)
        return status;  // several fields: a message, too
    return bytes;
}

Result<std::int64_t> MessageFile::find_end(std::int64_t begin) {
    for (std::int64_t at = begin + head_bytes;; at += head_bytes) {
        const auto found = find_head(at);
        if (!found.ok() || found.value() == size_bytes_) return found;
        at = found.value();
        const auto before = read(at - head_bytes, head_bytes);
        if (!before.ok()) return before.status();
        if (text_of(before.value()) == tail || whole_at(at).ok()) return at;
    }
}

bool MessageFile::is_headless(std::int64_t begin, std::int64_t end) const {
    if (end - begin < least_message_bytes) return false;
    const auto bytes = read(end - least_message_bytes, least_message_bytes);
    if (!bytes.ok()) return false;
    std::string_view text = text_of(bytes.value());
    text = text.substr(0, text.find_last_not_of(std::string_view("\0\r\n\3 ", 5)) + 1);
    return text.ends_with(tail);
}

Result<std::optional<MessageFile::Found>> MessageFile::next() {
    const Result<std::int64_t> place = find_head(at_);
    if (!place.ok()) return place.status();
    const std::int64_t begin = place.value();
    if (is_headless(at_, begin)) {
        Found found{at_, begin, {}, Status(ErrorCode::format, "not a GRIB message: no GRIB at its head")};
        at_ = begin;
        return std::optional(std::move(found));
    }
    if (begin == size_bytes_) return std::optional<Found>();
    auto bytes = whole_at(begin);
    if (bytes.ok()) {
        at_ = begin + std::ssize(bytes.value());
        return std::optional(Found{begin, at_, std::move(bytes).value(), {}});
    }
    if (bytes.status().code() != ErrorCode::format) return bytes.status();
    const Result<std::int64_t> end = find_end(begin);
    if (!end.ok()) return end.status();
    at_ = end.value();
    return std::optional(Found{begin, at_, {}, bytes.status()});
}

}  // namespace hakobi::format::grib
