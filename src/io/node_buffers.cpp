#include "io/node_buffers.hpp"

#include <algorithm>

#include "base/copy_bytes.hpp"

namespace hakobi::io {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t to) {
    return (value + to - 1) / to * to;
}

}  // namespace

std::int64_t NodeBuffers::bytes_needed(int num_aggregators, bool has_staging, std::int64_t cb_bytes,
                                       int depth) {
    const std::int64_t one = cb_bytes + ByteMarks::num_words(cb_bytes) * 8;
    const std::int64_t state = rounded_up(sizeof(AggregatorState), page_bytes);
    std::int64_t bytes =
        page_bytes + num_aggregators * (state + rounded_up(one * depth, page_bytes) + page_bytes);
    if (has_staging) bytes += state + rounded_up(one * depth, page_bytes) + page_bytes;
    return bytes;
}

void NodeBuffers::place(std::byte* memory, int num_aggregators, bool has_staging) {
    // O_DIRECT and io_uring want buffers on pages; MPI gives the window on any boundary.
    std::byte* next = congruent_with(0, memory);
    const auto take = [&next](std::int64_t bytes) {
        std::byte* at = next;
        next += rounded_up(bytes, page_bytes);
        return at;
    };
    const auto take_state = [&take] {
        return reinterpret_cast<AggregatorState*>(take(sizeof(AggregatorState)));
    };
    changed = reinterpret_cast<FutexWord*>(take(sizeof(FutexWord)));
    for (int a = 0; a < num_aggregators; ++a) {
        aggregators.push_back(take_state());
        buffers.push_back(take(cb_bytes * depth));
        marks.push_back(reinterpret_cast<std::uint64_t*>(take(ByteMarks::num_words(cb_bytes) * 8 * depth)));
    }
    if (has_staging) {
        staging = take_state();
        staging_buffers = take(cb_bytes * depth);
        staging_marks = reinterpret_cast<std::uint64_t*>(take(ByteMarks::num_words(cb_bytes) * 8 * depth));
    }
    rings = staging_rings = {1, depth, cb_bytes};
}

// Buffers of whole pages one by one, as they are used: they may be many. Others have pages in common.
void NodeBuffers::lock_buffer(device::Device& device, int aggregator, std::int64_t slot) const {
    if (rings.slot_bytes % page_bytes == 0) {
        mapped.locks->lock(device, buffer_of(aggregator, slot), rings.slot_bytes);
    } else {
        mapped.locks->lock(device, buffer_of(aggregator, 0), rounded_up(cb_bytes * depth, page_bytes));
    }
}

void NodeBuffers::lock_staging(device::Device& device, std::int64_t slot) const {
    if (staging_rings.slot_bytes % page_bytes == 0) {
        mapped.locks->lock(device, staging_of(slot), staging_rings.slot_bytes);
    } else {
        mapped.locks->lock(device, staging_of(0), rounded_up(cb_bytes * depth, page_bytes));
    }
}

Rings NodeBuffers::divided(int num, std::int64_t slot_bytes) const {
    if (num <= 1) return {1, depth, cb_bytes};
    slot_bytes = rounded_up(slot_bytes, page_bytes);
    const auto fitting = static_cast<int>(std::min<std::int64_t>(max_depth, cb_bytes * depth / slot_bytes));
    const int num_rings = std::clamp(num, 1, std::max(1, fitting));
    return {num_rings, std::max(1, fitting / num_rings), slot_bytes};
}

}  // namespace hakobi::io
