#include "capi/fields.hpp"

#include <algorithm>
#include <cstring>
#include <hakobi/error.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "capi/guard.hpp"
#include "capi/options.hpp"
#include "capi/sized.hpp"

namespace hakobi::capi {
namespace {

[[noreturn]] void bad(std::string why) {
    throw Error(ErrorCode::invalid_argument, std::move(why));
}

Block block_of(const hakobi_block& block, bool is_scalar) {
    const int least = is_scalar ? 0 : 1;
    if (block.num_dims < least || block.num_dims > HAKOBI_MAX_DIMS) {
        bad("num_dims of its block is " + std::to_string(block.num_dims) + ", not " + std::to_string(least) +
            " to " + std::to_string(HAKOBI_MAX_DIMS));
    }
    const auto entries = [&](const int64_t* first) {
        return std::vector<std::int64_t>(first, first + block.num_dims);
    };
    return {.global = entries(block.global), .start = entries(block.start), .count = entries(block.count)};
}

/// How many values memory that the block needs has at least, where the caller does not say.
std::int64_t num_needed(const Block& block, const MemoryLayout& layout) {
    std::int64_t needed = 1;
    for (std::size_t d = 0; d < block.count.size(); ++d) {
        const std::int64_t count = block.count[d];
        std::int64_t extent = count;
        bool overflows = false;
        if (!layout.ghosts.empty()) {
            std::int64_t both = 0;
            overflows = __builtin_mul_overflow(layout.ghosts[d], 2, &both) ||
                        __builtin_add_overflow(count, both, &extent);
        }
        if (!layout.strides.empty()) {
            std::int64_t reach = 0;
            overflows = __builtin_mul_overflow(count - 1, layout.strides[d], &reach) ||
                        __builtin_add_overflow(needed, reach, &needed);
        } else {
            overflows = overflows || __builtin_mul_overflow(needed, extent, &needed);
        }
        if (overflows) return 0;
    }
    return block.num_elements() == 0 ? 0 : needed;
}

/// "lat,lon" taken apart.
std::vector<std::string> names_in(const char* list) {
    std::vector<std::string> names;
    for (std::string_view rest = list != nullptr ? list : ""; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        names.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return names;
}

On on_called(int value) {
    if (value < HAKOBI_ON_GRID || value > HAKOBI_ON_CELLS)
        bad(std::to_string(value) + " is no value of `on`");
    return static_cast<On>(value);
}

/// C's numbers of the types, in the order of ValueType.
constexpr int types[] = {HAKOBI_FLOAT64, HAKOBI_FLOAT32, HAKOBI_INT32,  HAKOBI_INT64,  HAKOBI_INT8,
                         HAKOBI_UINT8,   HAKOBI_INT16,   HAKOBI_UINT16, HAKOBI_UINT32, HAKOBI_UINT64};

ValueType type_called(int value) {
    const auto* const found = std::ranges::find(types, value);
    if (found == std::end(types)) bad(std::to_string(value) + " is not a type of values");
    return static_cast<ValueType>(found - types);
}

template <std::size_t type = 0>
Field::Data values_at(ValueType wanted, const void* data, std::int64_t num_values) {
    using Span = std::variant_alternative_t<type, Field::Data>;
    if (static_cast<std::size_t>(wanted) == type)
        return Span(static_cast<typename Span::pointer>(data), static_cast<std::size_t>(num_values));
    if constexpr (type + 1 < std::variant_size_v<Field::Data>)
        return values_at<type + 1>(wanted, data, num_values);
    return {};
}

std::optional<FillValue> fill_at(ValueType type, const void* value) {
    if (value == nullptr) return {};
    return std::visit(
        [&]<class Span>(Span one) -> FillValue {
            typename Span::value_type copied;
            std::memcpy(&copied, one.data(), sizeof(copied));
            return copied;
        },
        values_at(type, value, 1));
}

/// The dimensions that ghosts and strides speak of.
int num_dims_of(On on, std::int64_t components, const hakobi_block& block) {
    return on == On::grid ? block.num_dims : components > 1 ? 2 : 1;
}

MemoryLayout layout_of(const hakobi_memory_layout& given, int num_dims) {
    const auto entries = [&](const int64_t* first) {
        return first == nullptr ? std::vector<std::int64_t>()
                                : std::vector<std::int64_t>(first, first + num_dims);
    };
    return {.ghosts = entries(given.ghosts),
            .strides = entries(given.strides),
            .memory = memory_called(given.memory),
            .stream = given.stream};
}

Field::Data data_of(ValueType type, const void* data, std::int64_t num_values, Block block, On on,
                    std::int64_t components, const MemoryLayout& layout, std::int64_t num_elements) {
    if (on != On::grid) {
        block.count = {num_elements};
        if (components > 1) block.count.push_back(components);
    }
    if (num_values == 0) num_values = num_needed(block, layout);
    const bool has_any = data != nullptr && num_values > 0;
    return values_at(type, has_any ? data : nullptr, has_any ? num_values : 0);
}

}  // namespace

Field field_of(const hakobi_field& field, std::int64_t num_elements) {
    Field result;
    result.name = text_or(field.name);
    result.units = text_or(field.units, "1");
    result.long_name = text_or(field.long_name);
    result.standard_name = text_or(field.standard_name);
    result.dims = names_in(field.dims);
    result.on = on_called(field.on);
    result.components = field.num_components != 0 ? field.num_components : 1;
    result.block = block_of(field.block, field.num_values == 1 || result.on != On::grid);
    result.coordinates = names_in(field.coordinates);
    result.is_static = yes(field.is_static, false, "is_static");
    result.attributes = attributes_of(field.attributes, field.num_attributes);
    result.compression = text_or(field.compression);
    result.significant_bits = field.significant_bits;
    result.store_as = text_or(field.store_as);
    const hakobi_memory_layout given{.struct_size = sizeof(hakobi_memory_layout),
                                     .ghosts = field.ghosts,
                                     .strides = field.strides,
                                     .num_values = field.num_values,
                                     .type = field.type,
                                     .memory = field.memory,
                                     .stream = field.stream};
    MemoryLayout layout = layout_of(given, num_dims_of(result.on, result.components, field.block));
    const ValueType type = type_called(field.type);
    result.data = data_of(type, field.data, field.num_values, result.block, result.on, result.components,
                          layout, num_elements);
    result.fill_value = fill_at(type, field.fill_value);
    result.ghosts = std::move(layout.ghosts);
    result.strides = std::move(layout.strides);
    result.memory = layout.memory;
    result.stream = layout.stream;
    return result;
}

FieldDefinition definition_of(const hakobi_field_definition& given) {
    const std::string name = text_or(given.name);
    try {
        if (given.num_dims < 0 || given.num_dims > HAKOBI_MAX_DIMS)
            bad("num_dims is " + std::to_string(given.num_dims) + ", not 0 to " +
                std::to_string(HAKOBI_MAX_DIMS));
        const ValueType type = given.type != 0 ? type_called(given.type) : ValueType::float64;
        const int num_dims = given.global != nullptr ? given.num_dims : 0;
        return {.name = name,
                .units = text_or(given.units, "1"),
                .long_name = text_or(given.long_name),
                .standard_name = text_or(given.standard_name),
                .type = type,
                .global = std::vector<std::int64_t>(given.global, given.global + num_dims),
                .dims = names_in(given.dims),
                .compression = text_or(given.compression),
                .significant_bits = given.significant_bits,
                .attributes = attributes_of(given.attributes, given.num_attributes),
                .fill_value = fill_at(type, given.fill_value),
                .coordinates = names_in(given.coordinates),
                .is_static = yes(given.is_static, false, "is_static"),
                .on = on_called(given.on),
                .components = given.num_components != 0 ? given.num_components : 1,
                .store_as = text_or(given.store_as)};
    } catch (const Error& error) {
        bad("field " + name + ": " + error.what());
    }
}

Lent lent_of(const FieldDefinition& definition, const hakobi_block* block, const void* data,
             const hakobi_memory_layout& layout, std::int64_t num_elements) {
    const hakobi_block none = {};
    const hakobi_block& given = block != nullptr ? *block : none;
    Lent lent;
    lent.block = block_of(given, true);
    lent.layout = layout_of(layout, num_dims_of(definition.on, definition.components, given));
    const ValueType type = layout.type != 0 ? type_called(layout.type) : definition.type;
    const bool is_scalar = given.num_dims == 0 && definition.on == On::grid;
    lent.data = data_of(type, data, is_scalar && layout.num_values == 0 ? 1 : layout.num_values, lent.block,
                        definition.on, definition.components, lent.layout, num_elements);
    return lent;
}

}  // namespace hakobi::capi
