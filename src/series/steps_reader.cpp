// HDF5 decides by a file's size and by the bytes that it reads what the file says of itself. So:
//
//  1. A file is taken apart by its format, which says what was read for it (FoundStep::decided_by). These
//     bytes are kept.
//  2. A later file that has the same bytes there, but for those of the time, has the same description.
//
// A run may replace a file meanwhile, and others may change one: bytes are kept only where the file has one
// version from before it was taken apart until after they were read.
#include "series/steps_reader.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "series/step_file.hpp"
#include "storage/file.hpp"

namespace hakobi::series {
namespace {

/// More than this takes about as long to compare as to take apart (0.3 ms).
constexpr std::int64_t most_kept_bytes = std::int64_t{256} << 10;
/// Ranges that lie close together are fetched by so many bytes.
constexpr std::int64_t window_bytes = std::int64_t{32} << 10;
constexpr std::int64_t time_bytes = sizeof(double);

/// Reads the ranges, one behind the other.
std::optional<std::vector<std::byte>> read_ranges(storage::File& file, std::int64_t file_bytes,
                                                  std::span<const format::FileRange> ranges) {
    std::vector<std::byte> bytes, window;
    std::int64_t begin = 0, end = 0;  // of the window
    for (const format::FileRange& range : ranges) {
        if (range.end > end) {
            begin = range.begin;
            end = std::max(range.end, std::min(range.begin + window_bytes, file_bytes));
            window.resize(static_cast<std::size_t>(end - begin));
            const Result<std::int64_t> read = file.read_at(window, begin);
            if (!read.ok() || read.value() != std::ssize(window)) return std::nullopt;
        }
        bytes.insert(bytes.end(), window.begin() + (range.begin - begin),
                     window.begin() + (range.end - begin));
    }
    return bytes;
}

/// Where the time is among the bytes of the ranges; nothing where it is not.
std::optional<std::int64_t> place_of_time(const format::FoundStep& found) {
    std::int64_t before = 0;
    for (const format::FileRange& range : found.decided_by) {
        if (found.time_offset_bytes >= range.begin && found.time_offset_bytes + time_bytes <= range.end)
            return before + found.time_offset_bytes - range.begin;
        before += range.end - range.begin;
    }
    return std::nullopt;
}

}  // namespace

Result<format::FoundStep> StepsReader::read(const std::string& path) {
    const std::optional<storage::FileVersion> version = storage::file_version_of(path);
    format::FoundStep same;
    if (version && !kept_.empty() && version->size_bytes == file_bytes_ && is_like_the_last(path, same))
        return same;
    kept_.clear();
    ++num_parsed_;
    Result<format::FoundStep> found = read_step(path);
    if (version && found.ok()) {
        keep(path, version->size_bytes, found.value());
        if (storage::file_version_of(path) != version) kept_.clear();
    }
    return found;
}

void StepsReader::keep(const std::string& path, std::int64_t file_bytes, const format::FoundStep& found) {
    std::int64_t num_bytes = 0;
    for (const format::FileRange& range : found.decided_by) num_bytes += range.end - range.begin;
    const std::optional<std::int64_t> time_at = place_of_time(found);
    if (!time_at || !found.times.empty() || num_bytes > most_kept_bytes) return;
    const Result<storage::FilePtr> file = storage::open_file(path, {.regular_only = true});
    if (!file.ok()) return;
    std::optional<std::vector<std::byte>> bytes = read_ranges(*file.value(), file_bytes, found.decided_by);
    if (!bytes || std::memcmp(bytes->data() + *time_at, &found.time, time_bytes) != 0) return;
    kept_ = std::move(*bytes);
    file_bytes_ = file_bytes;
    last_ = found;
}

bool StepsReader::is_like_the_last(const std::string& path, format::FoundStep& found) const {
    const Result<storage::FilePtr> file = storage::open_file(path, {.regular_only = true});
    if (!file.ok()) return false;
    const Result<std::int64_t> size = file.value()->size_bytes();
    if (!size.ok() || size.value() != file_bytes_) return false;
    std::optional<std::vector<std::byte>> bytes = read_ranges(*file.value(), file_bytes_, last_.decided_by);
    if (!bytes) return false;
    const std::int64_t time_at = place_of_time(last_).value_or(0);
    double time = 0;
    std::memcpy(&time, bytes->data() + time_at, time_bytes);
    std::memcpy(bytes->data() + time_at, kept_.data() + time_at, time_bytes);
    if (*bytes != kept_) return false;
    found = last_;
    found.time = time;
    return true;
}

}  // namespace hakobi::series
