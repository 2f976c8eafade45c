#include <algorithm>
#include <hakobi/block.hpp>
#include <hakobi/error.hpp>
#include <limits>
#include <string>

#include "base/checked.hpp"
#include "region/block.hpp"

namespace hakobi {
namespace {

std::string text_of(std::span<const std::int64_t> extents) {
    std::string text;
    for (const std::int64_t extent : extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text;
}

/// The faces of the largest block, each of a pair counted once, in elements; as double since only the order
/// matters.
double surface(std::span<const std::int64_t> global, std::span<const int> dims) {
    double sum = 0;
    for (std::size_t d = 0; d < global.size(); ++d) {
        double face = 1;
        for (std::size_t e = 0; e < global.size(); ++e) {
            if (e != d) face *= static_cast<double>((global[e] - 1) / dims[e] + 1);
        }
        sum += face;
    }
    return sum;
}

/// Tries every way to write the remaining ranks as a product over the dimensions from `dimension` on.
struct Search {
    std::span<const std::int64_t> global;
    std::vector<int> dims, best = {};
    double best_surface = std::numeric_limits<double>::infinity();

    void visit(std::size_t dimension, int remaining) {
        if (dimension + 1 == global.size()) {
            if (remaining > global[dimension]) return;
            dims[dimension] = remaining;
            // At equal surface the factoring that cuts the slower dimensions wins: its rows in the file are
            // longer.
            const double mine = surface(global, dims);
            if (mine < best_surface || (mine == best_surface && dims > best)) {
                best_surface = mine;
                best = dims;
            }
            return;
        }
        for (int factor = 1; factor <= remaining; ++factor) {
            if (remaining % factor != 0 || factor > global[dimension]) continue;
            dims[dimension] = factor;
            visit(dimension + 1, remaining / factor);
        }
    }
};

}  // namespace

std::optional<std::int64_t> num_elements_of(std::span<const std::int64_t> global,
                                            std::int64_t element_bytes) {
    std::int64_t product = 1;
    for (const std::int64_t extent : global) {
        if (extent < 1 || product > max_values_bytes / element_bytes / extent) return std::nullopt;
        product *= extent;
    }
    return product;
}

Status check_block(const Block& block) {
    const auto bad = [](std::string text) {
        return Status(ErrorCode::invalid_argument, "its block " + std::move(text));
    };
    if (block.start.size() != block.global.size() || block.count.size() != block.global.size()) {
        return bad("has " + std::to_string(block.global.size()) + " global extents, " +
                   std::to_string(block.start.size()) + " starts and " + std::to_string(block.count.size()) +
                   " counts");
    }
    for (std::size_t d = 0; d < block.global.size(); ++d) {
        if (block.start[d] < 0 || block.count[d] < 0 || block.count[d] > block.global[d] ||
            block.start[d] > block.global[d] - block.count[d]) {
            return bad("leaves dimension " + std::to_string(d) + " of " + std::to_string(block.global[d]) +
                       ": start " + std::to_string(block.start[d]) + ", count " +
                       std::to_string(block.count[d]));
        }
    }
    if (!num_elements_of(block.global, sizeof(double)))
        return bad("is of an array of " + text_of(block.global) + ", which cannot be stored");
    return {};
}

std::int64_t Block::num_elements() const noexcept {
    if (count.empty() || std::ranges::find(count, 0) != count.end()) return 0;
    std::int64_t elements = 1;
    for (const std::int64_t extent : count) {
        elements = checked_multiply(elements, extent).value_or(std::numeric_limits<std::int64_t>::max());
    }
    return elements;
}

std::vector<int> v0::dims_of_ranks(std::span<const std::int64_t> global, int num_ranks) {
    if (global.empty()) throw Error(ErrorCode::invalid_argument, "dims_of_ranks: the array has no dimension");
    if (num_ranks < 1) {
        throw Error(ErrorCode::invalid_argument,
                    "a block is split over 1 rank or more, not " + std::to_string(num_ranks));
    }
    Search search{.global = global, .dims = std::vector<int>(global.size(), 1)};
    search.visit(0, num_ranks);
    if (search.best.empty()) {
        throw Error(ErrorCode::invalid_argument, std::to_string(num_ranks) + " ranks don't fit a grid of " +
                                                     text_of(global) +
                                                     ": some rank would have no grid point");
    }
    return search.best;
}

Block v0::split(std::span<const std::int64_t> global, int num_ranks, int rank) {
    const std::vector<int> dims = dims_of_ranks(global, num_ranks);
    if (rank < 0 || rank >= num_ranks) {
        throw Error(ErrorCode::invalid_argument,
                    "split: rank " + std::to_string(rank) + " of " + std::to_string(num_ranks));
    }
    Block block{.global = {global.begin(), global.end()}, .start = {}, .count = {}};
    block.start.resize(global.size());
    block.count.resize(global.size());
    int remaining = rank;
    for (std::size_t d = global.size(); d-- > 0;) {
        const std::int64_t part = remaining % dims[d];
        remaining /= dims[d];
        const std::int64_t length = global[d] / dims[d];
        const std::int64_t longer = global[d] % dims[d];
        block.start[d] = part * length + std::min(part, longer);
        block.count[d] = length + (part < longer ? 1 : 0);
    }
    return block;
}

Block v0::split(std::initializer_list<std::int64_t> global, int num_ranks, int rank) {
    return split(std::span<const std::int64_t>(global.begin(), global.size()), num_ranks, rank);
}

}  // namespace hakobi
