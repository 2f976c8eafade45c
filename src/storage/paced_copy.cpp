#include "storage/paced_copy.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "base/checksum.hpp"

namespace hakobi::storage {
namespace {

/// A piece that storage takes at its full rate, and whose copy an end need not be waited for.
constexpr std::int64_t piece_bytes = 4 << 20;

}  // namespace

Status given_up() {
    return {ErrorCode::failed, "carrying was given up"};
}

Status read_exactly(File& file, std::int64_t offset, std::span<std::byte> into) {
    const Result<std::int64_t> read = file.read_at(into, offset);
    if (!read.ok()) return read.status();
    if (read.value() == std::ssize(into)) return {};
    return {ErrorCode::format, file.path() + " is damaged: it became shorter than it was"};
}

Status copy_paced(File& from, File& to, std::int64_t bytes, const Pace& pace) {
    assert(bytes >= 0 && pace);
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(bytes, piece_bytes)));
    for (std::int64_t at = 0; at < bytes;) {
        const std::int64_t length = std::min(bytes - at, piece_bytes);
        if (!pace(length)) return given_up();
        const std::span<std::byte> piece = std::span(buffer).first(static_cast<std::size_t>(length));
        if (Status status = read_exactly(from, at, piece); !status.ok()) return status;
        if (Status status = to.write_at(piece, at); !status.ok()) return status;
        at += length;
    }
    return {};
}

Result<std::uint64_t> checksum_of_file(
    const std::string& path, const std::function<Status(std::span<const std::byte>, std::int64_t)>& visit) {
    Result<FilePtr> file = open_file(path, {.regular_only = true});
    if (!file.ok()) return file.status();
    Checksum checksum;
    std::vector<std::byte> bytes(std::size_t{4} << 20);
    for (std::int64_t at = 0;;) {
        const Result<std::int64_t> read = file.value()->read_at(bytes, at);
        if (!read.ok()) return read.status();
        if (read.value() == 0) return checksum.value();
        const auto part = std::span(bytes).first(static_cast<std::size_t>(read.value()));
        checksum.add(part);
        if (Status status = visit ? visit(part, at) : Status(); !status.ok()) return status;
        at += read.value();
    }
}

}  // namespace hakobi::storage
