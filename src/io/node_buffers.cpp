#include "io/node_buffers.hpp"

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
    std::int64_t bytes = num_aggregators * (state + rounded_up(one * depth, page_bytes) + page_bytes);
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
    for (int a = 0; a < num_aggregators; ++a) {
        aggregators.push_back(take_state());
        buffers.push_back(take(cb_bytes * depth));
        marks.push_back(reinterpret_cast<std::uint64_t*>(take(ByteMarks::num_words(cb_bytes) * 8 * depth)));
    }
    if (has_staging) {
        staging = take_state();
        staging_buffers = take(cb_bytes * depth);
        staging_marks = reinterpret_cast<std::uint64_t*>(take(ByteMarks::num_words(cb_bytes) * 8 * depth));
        staging_depth = depth;
    }
}

}  // namespace hakobi::io
