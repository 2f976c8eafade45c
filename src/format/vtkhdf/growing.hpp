#pragma once

#include "format/growing_format.hpp"

namespace hakobi::format {

/// Files of VTKHDF 2.0 that have all their steps (hdf5/growing.hpp), as "Temporal Data" of the specification
/// asks for:
///
///  1. Arrays have the steps one behind the other along their first dimension; those of a mesh that stands
///     are there once. Step s of a field begins at s times the size of its first step, so all steps of a file
///     have meshes of one size.
///  2. The group Steps has the times (Values) and where each step begins in each array. TimeValue of
///     FieldData is another name of Values.
///  3. Sequences that are equal (0 of every step; s times the number of points) are one data set of several
///     names; those of equal numbers are stored nowhere, but fill values.
///  4. The mesh's arrays have an attribute, which Output adds, by which a run that goes on recognises them.
[[nodiscard]] const GrowingFormat& growing_vtkhdf();

}  // namespace hakobi::format
