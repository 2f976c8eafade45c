#pragma once

#include <hakobi.h>

#include <cstdint>
#include <hakobi/field.hpp>

// Fields of the C interface in C++'s words. All throw invalid_argument, in words that follow "field x: ".
namespace hakobi::capi {

/// `num_elements`: of the mesh that the field is on, on this rank.
[[nodiscard]] Field field_of(const hakobi_field& field, std::int64_t num_elements);
[[nodiscard]] FieldDefinition definition_of(const hakobi_field_definition& given);

/// A block of a defined field, and where its values are.
struct Lent {
    Block block;
    Field::Data data;
    MemoryLayout layout;
};
/// `num_elements` as above; `block` and `data` may be null.
[[nodiscard]] Lent lent_of(const FieldDefinition& definition, const hakobi_block* block, const void* data,
                           const hakobi_memory_layout& layout, std::int64_t num_elements);

}  // namespace hakobi::capi
