#include "series/step.hpp"

#include <algorithm>
#include <cassert>

#include "region/cursor.hpp"

namespace hakobi::series {
namespace {

/// The same bytes in the file's order: rows of blocks that stand beside each other alternate in the file.
Part ordered(const Part& part) {
    struct Run {
        std::int64_t file, memory, length;
    };
    std::vector<Run> runs;
    Cursor file(part.file), memory(part.memory);
    while (!file.at_end()) {
        const std::int64_t length = std::min(file.remaining(), memory.remaining());
        runs.push_back({file.offset(), memory.offset(), length});
        file.advance(length);
        memory.advance(length);
    }
    std::ranges::sort(runs, {}, &Run::file);
    std::vector<std::int64_t> file_bytes, memory_bytes, lengths;
    for (const Run& run : runs) {
        file_bytes.push_back(run.file);
        memory_bytes.push_back(run.memory);
        lengths.push_back(run.length);
    }
    return {Region::indexed(file_bytes, lengths), Region::indexed(memory_bytes, lengths)};
}

}  // namespace

Part concatenated(std::span<const Part> parts) {
    assert(std::ranges::all_of(
        parts, [](const Part& part) { return part.file.size_bytes() == part.memory.size_bytes(); }));
    if (parts.size() == 1) return parts[0];
    std::vector<Region::Part> file, memory;
    for (const Part& part : parts) {
        if (part.file.empty()) continue;
        file.push_back({.offset_bytes = 0, .region = part.file});
        memory.push_back({.offset_bytes = 0, .region = part.memory});
    }
    Part all{Region::concatenated(file), Region::concatenated(memory)};
    return all.file.is_ordered() ? all : ordered(all);
}

}  // namespace hakobi::series
