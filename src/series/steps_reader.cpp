// A file's size and the bytes that are no field's values decide all that the file says of itself: headers,
// heaps and coordinates are among these, and HDF5 looks at nothing else. So:
//
//  1. A file is taken apart by its format. Of one whose description says where all values and the time are,
//     all other bytes are kept.
//  2. A later file with the same bytes there has the same description; its time is read at its place.
//
// A run may replace a file meanwhile. The kept bytes are those of the description, since the file that was
// opened before still has the name after they were read, and a file that lost its name never gets it back.
#include "series/steps_reader.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "series/step_file.hpp"

namespace hakobi::series {
namespace {

/// More than this takes longer to compare than to take apart: about 0.3 ms, on the machine of docs/results.
constexpr std::int64_t most_kept_bytes = std::int64_t{256} << 10;
constexpr std::int64_t time_bytes = sizeof(double);

struct Range {
    std::int64_t begin = 0, end = 0;
};

/// Where the file's values are; nothing where it does not say it of all. Of a field in another file the link
/// is among the bytes that are compared.
std::vector<Range> ranges_of_values(const format::FoundStep& found) {
    std::vector<Range> ranges;
    for (const format::FoundField& field : found.fields) {
        if (!field.file.empty()) continue;
        if (field.offset_bytes < 0 || !field.type) return {};
        std::int64_t bytes = format::bytes_of(*field.type);
        for (const std::int64_t extent : field.shown.shape) bytes *= extent;
        ranges.push_back({field.offset_bytes, field.offset_bytes + bytes});
    }
    std::ranges::sort(ranges, {}, &Range::begin);
    return ranges;
}

bool can_read(storage::File& file, std::span<std::byte> bytes, std::int64_t offset) {
    const Result<std::int64_t> read = file.read_at(bytes, offset);
    return read.ok() && read.value() == std::ssize(bytes);
}

}  // namespace

Result<format::FoundStep> StepsReader::read(const std::string& path) {
    format::FoundStep same;
    if (!parts_.empty() && is_like_the_last(path, same)) return same;
    parts_.clear();
    assert(folder_.empty() || folder_ == folder_of(path));
    folder_ = folder_of(path);
    const bool is_file = format_of_step(path) != nullptr && store_of(path).empty();
    const Result<storage::FilePtr> file =
        is_file ? storage::open_file(path, {.regular_only = true}) : Status(ErrorCode::unsupported, path);
    ++num_parsed_;
    Result<format::FoundStep> found = read_step(path);
    if (found.ok() && file.ok()) keep(*file.value(), found.value());
    return found;
}

void StepsReader::keep(storage::File& file, const format::FoundStep& found) {
    const std::vector<Range> values = ranges_of_values(found);
    const Result<std::int64_t> size = file.size_bytes();
    if (values.empty() || found.time_offset_bytes < 0 || !found.times.empty() || !size.ok()) return;
    std::int64_t at = 0, num_bytes = 0;
    std::vector<Part> parts;
    const auto add_until = [&](std::int64_t end) {
        if (end > at) parts.push_back({at, std::vector<std::byte>(static_cast<std::size_t>(end - at))});
        num_bytes += std::max<std::int64_t>(0, end - at);
        return num_bytes <= most_kept_bytes;
    };
    for (const Range& range : values) {
        if (range.end > size.value() || range.begin > at + most_kept_bytes || !add_until(range.begin)) return;
        at = std::max(at, range.end);
    }
    if (size.value() > at + most_kept_bytes || !add_until(size.value())) return;
    const auto has_time = [&](const Part& part) {
        return found.time_offset_bytes >= part.offset_bytes &&
               found.time_offset_bytes + time_bytes <= part.offset_bytes + std::ssize(part.bytes);
    };
    if (std::ranges::count_if(parts, has_time) != 1) return;
    for (Part& part : parts)
        if (!can_read(file, part.bytes, part.offset_bytes)) return;
    if (!storage::has_name(file)) return;
    last_ = found;
    file_bytes_ = size.value();
    parts_ = std::move(parts);
}

bool StepsReader::is_like_the_last(const std::string& path, format::FoundStep& found) const {
    const Result<storage::FilePtr> file = storage::open_file(path, {.regular_only = true});
    if (!file.ok()) return false;
    const Result<std::int64_t> size = file.value()->size_bytes();
    if (!size.ok() || size.value() != file_bytes_) return false;
    double time = 0;
    std::vector<std::byte> bytes;
    for (const Part& part : parts_) {
        bytes.resize(part.bytes.size());
        if (!can_read(*file.value(), bytes, part.offset_bytes)) return false;
        const std::int64_t at = last_.time_offset_bytes - part.offset_bytes;
        if (at >= 0 && at < std::ssize(bytes)) {
            std::memcpy(&time, bytes.data() + at, time_bytes);
            std::memcpy(bytes.data() + at, part.bytes.data() + at, time_bytes);
        }
        if (bytes != part.bytes) return false;
    }
    found = last_;
    found.time = time;
    return true;
}

}  // namespace hakobi::series
