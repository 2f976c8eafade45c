#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>

#include "region/region.hpp"

namespace hakobi::mpiio {

/// An MPI datatype as bytes. Offsets count from the address that a buffer of the type would be passed with.
struct Layout {
    Region item;                    ///< the bytes of one item, in the order of its type map
    std::int64_t size_bytes = 0;    ///< of data in one item
    std::int64_t extent_bytes = 0;  ///< from one item to the next; may be zero or negative
    bool is_known = false;          ///< false: the type could not be decoded, the rest means nothing
    bool is_committed = false;      ///< as far as `committed_layout_of` has asked; true of named types

    /// The bytes of `count` consecutive items.
    [[nodiscard]] Region items(std::int64_t count) const;
    /// Whether items lie one after the other without holes, starting at the origin.
    [[nodiscard]] bool is_dense() const noexcept;
};

/// Decodes a datatype by its envelope and contents, at any nesting. The result is kept on the datatype, as an
/// MPI attribute, which dies with the type. `type` must be a valid datatype. Returns a layout with `is_known`
/// false for a type that it cannot decode. Local; any thread.
[[nodiscard]] Layout layout_of(MPI_Datatype type);

/// The same, with `is_committed`: the MPI library accepts the type for data. A library that does not check
/// accepts every type. Between MPI_Init and MPI_Finalize. Local; any thread.
[[nodiscard]] Layout committed_layout_of(MPI_Datatype type);

/// The size of a named type without holes whose layout has been asked for before; 0 for every other type.
/// Local; any thread.
[[nodiscard]] std::int64_t dense_bytes_of_named(MPI_Datatype type);

}  // namespace hakobi::mpiio
