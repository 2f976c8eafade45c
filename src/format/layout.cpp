#include "format/layout.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace hakobi::format {
namespace {

struct Range {
    std::int64_t begin = 0, end = 0;
};

/// Where values lie in the file, in its order.
std::vector<Range> ranges_of_values(const Layout& layout, std::span<const FieldDescription> fields,
                                    std::span<const std::vector<StoredChunk>> chunks) {
    assert(layout.offsets_bytes.size() == fields.size());
    std::vector<Range> ranges;
    const auto add = [&](std::int64_t offset, std::int64_t length) {
        assert(offset >= 0 && length >= 0);
        if (length > 0) ranges.push_back({offset, offset + length});
    };
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const bool is_in_chunks =
            f < layout.chunk_offsets_bytes.size() && !layout.chunk_offsets_bytes[f].empty();
        if (!is_in_chunks) {
            add(layout.offsets_bytes[f], fields[f].size_bytes());
            continue;
        }
        assert(chunks[f].size() == layout.chunk_offsets_bytes[f].size());
        for (std::size_t c = 0; c < layout.chunk_offsets_bytes[f].size(); ++c)
            add(layout.chunk_offsets_bytes[f][c], chunks[f][c].bytes);
    }
    std::ranges::sort(ranges, {}, &Range::begin);
    assert(std::ranges::is_sorted(ranges, {}, &Range::end));  // none lies in another
    assert(ranges.empty() || ranges.back().end <= layout.file_bytes);
    return ranges;
}

}  // namespace

void leave_values_out(Layout& layout, std::span<const FieldDescription> fields,
                      std::span<const std::vector<StoredChunk>> chunks) {
    const std::vector<Range> values = ranges_of_values(layout, fields, chunks);
    assert(std::ranges::is_sorted(layout.metadata, {}, &Extent::offset_bytes));
    std::vector<Extent> rest;
    auto next = values.begin();
    for (const Extent& extent : layout.metadata) {
        const std::int64_t end = extent.offset_bytes + std::ssize(extent.bytes);
        const auto keep = [&](std::int64_t from, std::int64_t to) {
            const auto at = [&](std::int64_t offset) {
                return extent.bytes.begin() + (offset - extent.offset_bytes);
            };
            if (from < to) rest.push_back({from, {at(from), at(to)}});
        };
        std::int64_t from = extent.offset_bytes;
        while (next != values.end() && next->end <= from) ++next;
        for (auto value = next; value != values.end() && value->begin < end; ++value) {
            keep(from, value->begin);
            from = std::max(from, value->end);
        }
        keep(from, end);
    }
    layout.metadata = std::move(rest);
}

void set_time(Layout& layout, double time) {
    if (layout.time_offset_bytes == 0) return;
    for (Extent& extent : layout.metadata) {
        const std::int64_t within = layout.time_offset_bytes - extent.offset_bytes;
        if (within < 0 || within >= std::ssize(extent.bytes)) continue;
        // Never split: extents end at page borders and beside values.
        assert(static_cast<std::size_t>(within) + sizeof(time) <= extent.bytes.size());
        std::memcpy(extent.bytes.data() + within, &time, sizeof(time));
    }
}

}  // namespace hakobi::format
