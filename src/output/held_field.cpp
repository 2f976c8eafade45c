#include "output/held_field.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

#include "base/checked.hpp"
#include "region/block.hpp"
#include "region/cursor.hpp"

namespace hakobi::output {
namespace {

Region memory_of(const HeldBlock& held, std::int64_t element_bytes) {
    if (num_values_of(held.block) == 0) return {};
    Region region = Region::contiguous(0, element_bytes);
    for (std::size_t d = held.block.count.size(); d-- > 0;)
        region = Region::strided(0, held.block.count[d], held.strides_bytes[d], region);
    return region.moved(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(held.first)));
}

std::string text_of(std::span<const std::int64_t> numbers) {
    std::string text = "(";
    for (const std::int64_t number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
    return text + ")";
}

Status bad(std::string text) {
    return {ErrorCode::invalid_argument, std::move(text)};
}

Status wrong_size(std::int64_t needed, std::int64_t given) {
    return bad("its block needs memory of " + std::to_string(needed) + " values, but " +
               std::to_string(given) + " were given");
}

/// An array of the block and its ghosts: sets the strides and where the block begins in it.
Status among_ghosts(const Field& field, std::int64_t num_given, std::int64_t element_bytes, HeldBlock& held) {
    std::vector<std::int64_t> extents = field.block.count;
    std::int64_t needed = 1;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        const auto both = field.ghosts[d] < 0 ? std::nullopt : checked_multiply(field.ghosts[d], 2);
        const auto extent = both ? checked_add(extents[d], *both) : std::nullopt;
        const auto product = extent ? checked_multiply(needed, *extent) : std::nullopt;
        if (!product) return bad("its ghosts are " + text_of(field.ghosts));
        extents[d] = *extent;
        needed = *product;
    }
    if (num_given != needed) return wrong_size(needed, num_given);
    held.strides_bytes = packed_strides(extents, element_bytes);
    for (std::size_t d = 0; d < extents.size(); ++d) held.first += field.ghosts[d] * held.strides_bytes[d];
    return {};
}

Status by_strides(const Field& field, std::int64_t num_given, std::int64_t element_bytes, HeldBlock& held) {
    std::int64_t needed = 1;  // values from the first to the last
    for (std::size_t d = 0; d < field.strides.size(); ++d) {
        const auto reach = field.strides[d] < 0
                               ? std::nullopt
                               : checked_multiply(field.block.count[d] - 1, field.strides[d]);
        const auto sum = reach ? checked_add(needed, *reach) : std::nullopt;
        if (!sum) return bad("its strides are " + text_of(field.strides));
        needed = *sum;
        // A stride that is never taken may be any number.
        held.strides_bytes.push_back(field.block.count[d] == 1 ? 0 : field.strides[d] * element_bytes);
    }
    return num_given < needed ? wrong_size(needed, num_given) : Status();
}

/// `index`: of the block's values.
Status does_not_fit(const Block& block, std::int64_t index, double value, const format::Packing& packing) {
    std::vector<std::int64_t> at = block.start;
    for (std::size_t d = block.count.size(); d-- > 0;) {
        at[d] += index % block.count[d];
        index /= block.count[d];
    }
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.9g", value);
    return bad("its value " + std::string(digits.data()) + (at.empty() ? "" : " at " + text_of(at)) +
               " does not fit in " + std::string(format::name_of(packing.type)) +
               ", which store_as asks for");
}

}  // namespace

std::int64_t num_values_of(const Block& block) {
    return block.count.empty() ? 1 : block.num_elements();
}

std::int64_t reach_bytes(const HeldBlock& held, std::int64_t element_bytes) {
    if (num_values_of(held.block) == 0) return 0;
    std::int64_t bytes = element_bytes;
    for (std::size_t d = 0; d < held.block.count.size(); ++d)
        bytes += (held.block.count[d] - 1) * held.strides_bytes[d];
    return bytes;
}

Result<HeldBlock> held_block(const Field& field) {
    if (Status status = check_block(field.block); !status.ok()) return status;
    const std::size_t num_dims = field.block.count.size();
    if ((!field.ghosts.empty() && field.ghosts.size() != num_dims) ||
        (!field.strides.empty() && field.strides.size() != num_dims)) {
        return bad("ghosts and strides have one entry for each of its " + std::to_string(num_dims) +
                   " dimensions");
    }
    if (!field.ghosts.empty() && !field.strides.empty()) return bad("ghosts and strides are both given");
    const auto type = static_cast<format::ValueType>(field.data.index());
    const std::int64_t element_bytes = format::bytes_of(type);
    const auto values = std::visit([](const auto& data) { return std::as_bytes(data); }, field.data);
    const std::int64_t num_given = std::ssize(values) / element_bytes;
    HeldBlock held{field.block, values.data(), {}};
    const bool is_plain = field.ghosts.empty() && field.strides.empty();
    Status status;
    if (num_values_of(field.block) == 0 && !is_plain) {
        // Nothing to say of the memory of no values.
    } else if (!field.ghosts.empty()) {
        status = among_ghosts(field, num_given, element_bytes, held);
    } else if (!field.strides.empty()) {
        status = by_strides(field, num_given, element_bytes, held);
    } else {
        held.strides_bytes = packed_strides(field.block.count, element_bytes);
        if (num_values_of(field.block) != num_given) {
            status = bad("its block has " + std::to_string(num_values_of(field.block)) + " elements, but " +
                         std::to_string(num_given) + " values were given");
        }
    }
    if (!status.ok()) return status;
    return held;
}

HeldBlock copied(const HeldBlock& held, std::int64_t element_bytes, std::byte* values, RunMover* mover) {
    const Region memory = memory_of(held, element_bytes);
    Cursor cursor(memory);
    pack(cursor, nullptr, memory.size_bytes(), values, mover);
    return {held.block, values, packed_strides(held.block.count, element_bytes)};
}

Result<HeldBlock> packed(const HeldBlock& held, const format::Packing& packing, std::byte* values) {
    assert(held.unpacked && !held.is_on_device);
    const std::int64_t from_bytes = format::bytes_of(*held.unpacked);
    const std::int64_t element_bytes = format::bytes_of(packing.type);
    HeldBlock result{held.block, values, packed_strides(held.block.count, element_bytes)};
    std::int64_t done = 0;
    Status status;
    for_each_row(held, from_bytes, [&](const std::byte* first, std::int64_t stride, std::int64_t num) {
        const std::optional<format::Misfit> misfit =
            format::pack(packing, *held.unpacked, first, stride, num, values + done * element_bytes);
        if (misfit) status = does_not_fit(held.block, done + misfit->index, misfit->value, packing);
        done += num;
        return !misfit;
    });
    if (!status.ok()) return status;
    return result;
}

HeldBlock filled(const Block& block, std::span<const std::byte> value, std::vector<std::byte>& row) {
    const auto length = block.count.empty() ? std::size_t{1} : static_cast<std::size_t>(block.count.back());
    row.clear();
    row.reserve(length * value.size());
    for (std::size_t n = 0; n < length; ++n) row.insert(row.end(), value.begin(), value.end());
    HeldBlock held{block, row.data(), std::vector<std::int64_t>(block.count.size(), 0)};
    if (!block.count.empty()) held.strides_bytes.back() = std::ssize(value);
    return held;
}

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
        if (num_values_of(held.block) == 0) continue;
        const Block& block = held.block;
        blocks.push_back(
            {Region::subarray(offset_bytes, block.global, block.start, block.count, element_bytes),
             memory_of(held, element_bytes)});
    }
    std::ranges::sort(blocks, {}, [](const Part& part) { return part.file.begin_bytes(); });
    return series::concatenated(blocks);
}

}  // namespace hakobi::output
