#include "output/held_field.hpp"

#include <algorithm>

#include "region/cursor.hpp"

namespace hakobi::output {
namespace {

Region memory_of(const HeldBlock& held, std::int64_t element_bytes) {
    if (held.block.num_elements() == 0) return {};
    Region region = Region::contiguous(0, element_bytes);
    for (std::size_t d = held.block.count.size(); d-- > 0;)
        region = Region::strided(0, held.block.count[d], held.strides_bytes[d], region);
    return region.moved(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(held.first)));
}

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

std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& count, std::int64_t element_bytes) {
    std::vector<std::int64_t> strides(count.size());
    std::int64_t stride = element_bytes;
    for (std::size_t d = count.size(); d-- > 0;) {
        strides[d] = stride;
        stride *= count[d];
    }
    return strides;
}

Part part_of(const HeldField& field, std::int64_t element_bytes, std::int64_t offset_bytes) {
    std::vector<Part> blocks;
    for (const HeldBlock& held : field) {
        if (held.block.num_elements() == 0) continue;
        const Block& block = held.block;
        blocks.push_back(
            {Region::subarray(offset_bytes, block.global, block.start, block.count, element_bytes),
             memory_of(held, element_bytes)});
    }
    std::ranges::sort(blocks, {}, [](const Part& part) { return part.file.begin_bytes(); });
    return concatenated(blocks);
}

Part concatenated(std::span<const Part> parts) {
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

}  // namespace hakobi::output
