#include "input/destination.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"
#include "region/block.hpp"

namespace hakobi::input {
namespace {

std::string text_of(std::span<const std::int64_t> extents) {
    std::string text = "(";
    for (const std::int64_t extent : extents) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + ")";
}

Status bad(const std::string& field, std::string text) {
    return {ErrorCode::invalid_argument, "field " + field + ": " + std::move(text)};
}

Status wrong_size(std::int64_t needed, std::int64_t given) {
    return {ErrorCode::invalid_argument, "its block needs memory of " + std::to_string(needed) +
                                             " elements, but " + std::to_string(given) + " were given"};
}

/// The block inside an array that has `ghosts` more on both sides of each dimension.
Result<Region> among_ghosts(const Block& block, std::span<const std::int64_t> ghosts,
                            std::int64_t element_bytes, std::int64_t num_given) {
    std::vector<std::int64_t> extents = block.count;
    std::int64_t needed = 1;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        const auto both = ghosts[d] < 0 ? std::nullopt : checked_multiply(ghosts[d], 2);
        const auto extent = both ? checked_add(extents[d], *both) : std::nullopt;
        const auto product = extent ? checked_multiply(needed, *extent) : std::nullopt;
        if (!product) return Status(ErrorCode::invalid_argument, "its ghosts are " + text_of(ghosts));
        extents[d] = *extent;
        needed = *product;
    }
    if (num_given != needed) return wrong_size(needed, num_given);
    return Region::subarray(0, extents, ghosts, block.count, element_bytes);
}

Result<Region> by_strides(const Block& block, std::span<const std::int64_t> strides,
                          std::int64_t element_bytes, std::int64_t num_given) {
    std::vector<std::size_t> order(strides.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t d) { return strides[d]; });
    std::int64_t needed = 1;  // elements from the first to the last, of the dimensions so far
    for (const std::size_t d : order) {
        if (block.count[d] == 1) continue;
        const auto reach = checked_multiply(block.count[d] - 1, strides[d]);
        const auto sum = reach ? checked_add(needed, *reach) : std::nullopt;
        if (strides[d] < needed || !sum) {
            return Status(ErrorCode::invalid_argument, "its strides are " + text_of(strides) +
                                                           ": elements of a block of " +
                                                           text_of(block.count) + " would meet");
        }
        needed = *sum;
    }
    if (num_given < needed) return wrong_size(needed, num_given);
    Region region = Region::contiguous(0, element_bytes);
    for (std::size_t d = strides.size(); d-- > 0;)
        region = Region::strided(0, block.count[d], strides[d] * element_bytes, region);
    return region;
}

}  // namespace

Result<Destination> destination_of(const FieldRead& read, const format::FoundField& field) {
    const std::string& name = field.shown.name;
    if (!field.type) {
        return Status(ErrorCode::unsupported,
                      "field " + name + ": values of type " + field.shown.type + " cannot be read");
    }
    const auto given = static_cast<format::ValueType>(read.data.index());
    const bool has_nothing = !read.block.count.empty() && read.block.num_elements() == 0;
    Destination to;
    to.packing = format::packing_found(*field.type, field.shown.attributes, given);
    to.wanted = to.packing ? given : *field.type;
    // A rank that wants nothing need not say of what type.
    if (given != *field.type && !to.packing && !has_nothing) {
        return bad(name, "it is " + field.shown.type + ", but memory of " +
                             std::string(format::name_of(given)) + " was given");
    }
    to.element_bytes = format::bytes_of(to.wanted);
    const std::vector<std::int64_t> shape =
        field.shown.shape.empty() ? std::vector<std::int64_t>{1} : field.shown.shape;
    to.block = read.block;
    if (read.block.global.empty() && read.block.count.empty())
        to.block = {shape, std::vector<std::int64_t>(shape.size(), 0), shape};
    if (Status status = check_block(to.block); !status.ok()) return bad(name, status.text());
    if (to.block.global != shape)
        return bad(name, "its block is of an array of " + text_of(to.block.global) + ", but its shape is " +
                             text_of(field.shown.shape));
    const std::size_t num_dims = shape.size();
    if ((!read.ghosts.empty() && read.ghosts.size() != num_dims) ||
        (!read.strides.empty() && read.strides.size() != num_dims)) {
        return bad(name, "ghosts and strides have one entry for each of its " + std::to_string(num_dims) +
                             " dimensions");
    }
    if (!read.ghosts.empty() && !read.strides.empty()) return bad(name, "ghosts and strides are both given");
    if (has_nothing) return to;
    std::int64_t num_given = 0;
    std::visit(
        [&](const auto& data) {
            num_given = std::ssize(data);
            to.origin = reinterpret_cast<std::byte*>(data.data());
        },
        read.data);
    Result<Region> memory = Region();
    if (!read.ghosts.empty()) {
        memory = among_ghosts(to.block, read.ghosts, to.element_bytes, num_given);
    } else if (!read.strides.empty()) {
        memory = by_strides(to.block, read.strides, to.element_bytes, num_given);
    } else if (num_given != to.block.num_elements()) {
        memory = wrong_size(to.block.num_elements(), num_given);
    } else {
        memory = Region::contiguous(0, num_given * to.element_bytes);
    }
    if (!memory.ok()) return bad(name, memory.status().text());
    to.memory = std::move(memory).value();
    return to;
}

}  // namespace hakobi::input
