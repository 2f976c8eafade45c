#include "overview/container.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/crc.hpp"

namespace hakobi::overview {

namespace {

constexpr std::uint64_t version = 45;  // of ZIP: ZIP64
constexpr std::uint64_t utf8 = 0x800, many = 0xffffffff;
constexpr std::uint64_t date = (1 << 5) | 1;  // 1 January 1980: equal inputs make equal files

/// Little-endian numbers of these widths in bytes.
struct Number {
    std::uint64_t value;
    int width;
};

std::string packed(std::initializer_list<Number> numbers) {
    std::string text;
    for (const auto& [value, width] : numbers) {
        for (int byte = 0; byte < width; ++byte) text += static_cast<char>((value >> (8 * byte)) & 0xffU);
    }
    return text;
}

std::uint64_t number(std::int64_t value) {
    return static_cast<std::uint64_t>(value);
}

}  // namespace

Status write_all(int fd, std::span<const std::byte> bytes, std::int64_t offset_bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), offset_bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return status_of_errno(errno, "cannot write", "the overview");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
        offset_bytes += count;
    }
    return {};
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

Entry Container::reserve(std::string name, std::int64_t num_bytes) {
    Entry entry{.name = std::move(name), .num_bytes = num_bytes};
    entry.header_bytes = 30 + static_cast<std::int64_t>(entry.name.size()) + 20;
    entry.offset_bytes = end_ + entry.header_bytes;
    end_ = entry.offset_bytes + num_bytes;
    return entry;
}

void Container::complete(const Entry& entry, std::uint32_t crc32) {
    const std::uint64_t size = number(entry.num_bytes),
                        start = number(entry.offset_bytes - entry.header_bytes);
    const std::uint64_t name_bytes = entry.name.size();
    const std::string header = packed({{0x04034b50, 4},
                                       {version, 2},
                                       {utf8, 2},
                                       {0, 2},
                                       {0, 2},
                                       {date, 2},
                                       {crc32, 4},
                                       {many, 4},
                                       {many, 4},
                                       {name_bytes, 2},
                                       {20, 2}});
    put(bytes_of(header + entry.name + packed({{1, 2}, {16, 2}, {size, 8}, {size, 8}})),
        entry.offset_bytes - entry.header_bytes);
    directory_ += packed({{0x02014b50, 4},
                          {version, 2},
                          {version, 2},
                          {utf8, 2},
                          {0, 2},
                          {0, 2},
                          {date, 2},
                          {crc32, 4},
                          {many, 4},
                          {many, 4},
                          {name_bytes, 2},
                          {28, 2},
                          {0, 2},
                          {0, 2},
                          {0, 2},
                          {0, 4},
                          {many, 4}});
    directory_ += entry.name + packed({{1, 2}, {24, 2}, {size, 8}, {size, 8}, {start, 8}});
    ++num_entries_;
}

void Container::add(std::string name, std::span<const std::byte> bytes) {
    const Entry entry = reserve(std::move(name), static_cast<std::int64_t>(bytes.size()));
    put(bytes, entry.offset_bytes);
    complete(entry, crc32(bytes));
}

Status Container::finish() {
    const std::uint64_t size = directory_.size(), start = number(end_);
    const std::uint64_t few = std::min<std::uint64_t>(num_entries_, 0xffff);
    directory_ += packed({{0x06064b50, 4},
                          {44, 8},
                          {version, 2},
                          {version, 2},
                          {0, 4},
                          {0, 4},
                          {num_entries_, 8},
                          {num_entries_, 8},
                          {size, 8},
                          {start, 8}});
    directory_ += packed({{0x07064b50, 4}, {0, 4}, {start + size, 8}, {1, 4}});
    directory_ += packed({{0x06054b50, 4}, {0, 2}, {0, 2}, {few, 2}, {few, 2}, {many, 4}, {many, 4}, {0, 2}});
    put(bytes_of(directory_), end_);
    end_ += static_cast<std::int64_t>(directory_.size());
    if (status_.ok() && ::ftruncate(fd_, end_) != 0) {
        status_ = status_of_errno(errno, "cannot write", "the overview");
    }
    return status_;
}

}  // namespace hakobi::overview
