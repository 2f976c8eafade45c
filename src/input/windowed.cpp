#include "input/windowed.hpp"

#include <algorithm>
#include <cassert>
#include <memory>

#include "region/copy.hpp"
#include "region/cursor.hpp"

namespace hakobi::input {
namespace {

constexpr std::int64_t window_bytes = 8 << 20;
constexpr std::int64_t direct_bytes = 256 << 10;  // from here on a copy costs more than a call
constexpr std::int64_t gap_bytes = 16 << 10;      // what is read in vain costs less than a call

Status read_whole(storage::File& file, std::span<std::byte> bytes, std::int64_t offset) {
    Result<std::int64_t> read = file.read_at(bytes, offset);
    if (!read.ok()) return read.status();
    if (read.value() == std::ssize(bytes)) return {};
    return {ErrorCode::format, file.path() + ": the file has become shorter than it says"};
}

}  // namespace

Status read_region(storage::File& file, const Region& from, std::byte* origin, const Region& to) {
    assert(from.size_bytes() == to.size_bytes() && from.is_ordered());
    Cursor source(from), target(to);
    std::unique_ptr<std::byte[]> buffer;
    while (!source.at_end()) {
        const std::int64_t together = std::min(source.remaining(), target.remaining());
        if (together >= direct_bytes || from.size_bytes() == together) {
            const std::span<std::byte> place(origin + target.offset(), static_cast<std::size_t>(together));
            if (Status status = read_whole(file, place, source.offset()); !status.ok()) return status;
            source.advance(together);
            target.advance(together);
            continue;
        }
        if (!buffer) buffer = std::make_unique_for_overwrite<std::byte[]>(window_bytes);
        // Behind the last piece of the window, and where that piece ends in the file.
        Cursor last = source;
        const std::int64_t begin = source.offset();
        std::int64_t end = begin;
        while (!last.at_end() && last.offset() - end <= gap_bytes && last.offset() - begin < window_bytes) {
            const std::int64_t length = std::min(last.remaining(), begin + window_bytes - last.offset());
            end = last.offset() + length;
            last.advance(length);
        }
        const std::span<std::byte> window(buffer.get(), static_cast<std::size_t>(end - begin));
        if (Status status = read_whole(file, window, begin); !status.ok()) return status;
        copy_from_window(source, target, origin, last.stream(),
                         {.buffer = buffer.get(), .file_begin_bytes = begin});
    }
    return {};
}

}  // namespace hakobi::input
