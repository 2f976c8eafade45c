#include "format/chunks.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>

#include "filter/round.hpp"

namespace hakobi::format {
namespace {

std::int64_t parts_of(std::int64_t extent, std::int64_t length) {
    return (extent + length - 1) / length;
}

std::int64_t product(std::span<const std::int64_t> factors) {
    return std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>());
}

/// Elements of a cube of this edge, cut at the array's extents; stops at more than `most`.
std::int64_t elements_of_cube(std::span<const std::int64_t> global, std::int64_t edge, std::int64_t most) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : global) {
        const std::int64_t length = std::min(extent, edge);
        if (length > most / elements) return most + 1;
        elements *= length;
    }
    return elements;
}

}  // namespace

ChunkGrid::ChunkGrid(std::span<const std::int64_t> global, std::int64_t element_bytes) {
    assert(element_bytes > 0 && std::ranges::all_of(global, [](std::int64_t n) { return n > 0; }));
    const std::int64_t most = most_bytes / element_bytes;
    std::int64_t edge = 1;
    for (std::int64_t step = std::int64_t{1} << 30; step > 0; step /= 2) {
        if (elements_of_cube(global, edge + step, most) <= most) edge += step;
    }
    for (const std::int64_t extent : global) {
        num_.push_back(parts_of(extent, std::min(extent, edge)));
        shape_.push_back(parts_of(extent, num_.back()));
    }
    for (std::size_t d = global.size(); d-- > 0;) {
        const std::int64_t room = most / (product(shape_) / shape_[d]);
        num_[d] = parts_of(global[d], std::min(global[d], room));
        shape_[d] = parts_of(global[d], num_[d]);
    }
    num_chunks_ = product(num_);
    chunk_bytes_ = product(shape_) * element_bytes;
    assert(chunk_bytes_ <= most_bytes);
}

std::vector<std::int64_t> ChunkGrid::start_of(std::int64_t index) const {
    assert(index >= 0 && index < num_chunks_);
    std::vector<std::int64_t> start(shape_.size());
    for (std::size_t d = shape_.size(); d-- > 0;) {
        start[d] = index % num_[d] * shape_[d];
        index /= num_[d];
    }
    return start;
}

bool is_chunked(const FieldDescription& field) {
    constexpr std::int64_t least_bytes = 16 << 10;
    return field.filters.codec != filter::Codec::none && field.size_bytes() >= least_bytes;
}

int bits_kept(const FieldDescription& field) {
    const int most = field.type == ValueType::float64   ? filter::bits_of_double
                     : field.type == ValueType::float32 ? filter::bits_of_float
                                                        : 0;
    const int bits = field.filters.significant_bits;
    return is_chunked(field) && bits < most ? bits : 0;
}

std::vector<ChunkGrid> chunk_grids(std::span<const FieldDescription> fields) {
    std::vector<ChunkGrid> grids;
    for (const FieldDescription& field : fields) {
        grids.push_back(is_chunked(field) ? ChunkGrid(field.global, bytes_of(field.type)) : ChunkGrid());
    }
    return grids;
}

}  // namespace hakobi::format
