"""Fields and their blocks: what Output and Input lend to C of one."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hakobi._capi import BlockC, FieldC, FieldDefinitionC, MemoryLayoutC
from hakobi._library import MAX_DIMS, TYPES
from hakobi.attributes import (
    AttributeLike,
    attributes_for_c,
    fill_value_for_c,
    int_for_c,
    text_for_c,
    yes_or_no,
)
from hakobi.device_arrays import AnyArray, Lent, lend
from hakobi.errors import InputError
from hakobi.mesh import PLACES, field_for_c


@dataclass(frozen=True)
class Block:
    """A rank's rectangular part of a global array, slowest dimension first; `start` counts from 0."""

    global_: tuple[int, ...]
    start: tuple[int, ...]
    count: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        """The index that selects this part of the global array.

        >>> Block((4, 6), (2, 0), (2, 3)).slices
        (slice(2, 4, None), slice(0, 3, None))
        """
        return tuple(slice(first, first + num) for first, num in zip(self.start, self.count, strict=True))

    @property
    def num_elements(self) -> int:
        return prod(self.count)


@dataclass(frozen=True)
class FieldId:
    """A field that Output.define has defined, of use to its output alone."""

    name: str
    number: int  #: hakobi_output_define's
    on: str = "grid"


def names_for_c(whose: str, names: Iterable[str]) -> bytes:
    """Names as one text: "lat,lon". Raises InputError."""
    return b",".join(text_for_c(whose, name) for name in names)


def definition_for_c(
    name: str,
    units: str,
    global_: Sequence[int] | None,
    dtype: npt.DTypeLike,
    on: str,
    components: int,
    fill_value: float | np.generic | None,
    attributes: Mapping[str, AttributeLike],
    dims: Iterable[str],
    coordinates: Iterable[str],
    texts: Mapping[str, str],
    significant_bits: int,
    is_static: bool,
) -> FieldDefinitionC:
    """A field's definition for C; the structure keeps what it lends alive. Raises InputError."""
    try:
        values = np.dtype(dtype)
    except TypeError as error:
        raise InputError(f"its dtype is {dtype!r}: {error}") from error
    if values.name not in TYPES or not values.isnative:
        raise InputError(f"dtype {values.str}, not native {', '.join(TYPES)}")
    if on != "grid" and on not in PLACES:
        raise InputError(f"it is on {on!r}, not on grid, {' or '.join(PLACES)}")
    extents = [int_for_c(extent, 64) for extent in global_ or ()]
    fill = fill_value_for_c(fill_value, values) if fill_value is not None else None
    definition = FieldDefinitionC(
        name=text_for_c("name", name),
        units=text_for_c("units", units),
        dims=names_for_c("a dimension's name", dims),
        coordinates=names_for_c("a coordinate's name", coordinates),
        attributes=attributes_for_c(attributes),
        num_attributes=len(attributes),
        fill_value=fill.ctypes.data if fill is not None else None,
        global_=(ctypes.c_int64 * len(extents))(*extents) if extents else None,
        num_dims=len(extents),
        type=TYPES[values.name],
        significant_bits=int_for_c(significant_bits),
        is_static=yes_or_no(is_static),
        on=PLACES.get(on, 0),
        num_components=int_for_c(components),
        **{text: text_for_c(text, value) for text, value in texts.items()},
    )
    definition.keep = fill
    return definition


def values_for_c(
    field: FieldId, block: Block | None, values: AnyArray | None, stream: Any, num_elements: int
) -> tuple[BlockC | None, int | None, MemoryLayoutC, object]:
    """The block, address, layout and what must stay alive of a defined field's values. `num_elements`: of the mesh,
    on this rank. Raises InputError for what cannot be lent."""
    if values is None:
        return (None if block is None else block_for_c(block)), None, MemoryLayoutC(), None
    array = lend(values, stream)
    if field.on == "grid":
        lent = field_of(field.name, "", (), block, array)
    elif block is not None:
        raise InputError("a field on the mesh has no block: put(field, None, values)")
    else:
        lent = field_for_c(field.name, "", field.on, array, num_elements)
    layout = MemoryLayoutC(
        strides=lent.strides, num_values=lent.num_values, type=lent.type, memory=lent.memory, stream=lent.stream
    )
    return lent.block, lent.data, layout, (array.keep, lent)


def field_of(name: str, units: str, dims: tuple[str, ...], block: Block | None, lent: Lent) -> FieldC:
    """The field that put lends to C. Raises InputError for values that cannot be lent."""
    if block is None:
        raise InputError("it has no block: None is for fields on a mesh (on)")
    block_c, values = block_for_c(block), lent.array
    problem = problem_with(block, values)
    if problem:
        raise InputError(problem)
    strides = [step // values.itemsize for step in values.strides]
    reach = sum((count - 1) * step for count, step in zip(values.shape, strides, strict=True))
    is_flat = values.flags.c_contiguous
    return FieldC(
        name=text_for_c("name", name),
        units=text_for_c("units", units),
        block=block_c,
        type=TYPES[values.dtype.name],
        data=values.ctypes.data if values.size else None,
        num_values=values.size if is_flat or not values.size else reach + 1,
        strides=None if is_flat else (ctypes.c_int64 * MAX_DIMS)(*strides),
        dims=names_for_c("a dimension's name", dims),
        memory=lent.memory,
        stream=lent.stream,
    )


def block_for_c(block: Block) -> BlockC:
    """The block for C. Raises InputError."""
    if not isinstance(block, Block):
        raise InputError(f"its block is a {type(block).__name__}, not a Block")
    try:
        parts = [[operator.index(number) for number in part] for part in (block.global_, block.start, block.count)]
    except TypeError:
        parts = [[1 << 63]]
    if not all(-(1 << 63) <= number < 1 << 63 for part in parts for number in part):  # ctypes would cut them
        raise InputError(f"its block is not of whole numbers of 64 bits: {block}")
    if len({len(part) for part in parts}) != 1 or len(parts[0]) > MAX_DIMS:
        raise InputError(f"global_, start and count of its block differ in length, or exceed {MAX_DIMS}")
    return BlockC(len(parts[0]), *((ctypes.c_int64 * MAX_DIMS)(*part) for part in parts))


def problem_with(block: Block, values: npt.NDArray[Any]) -> str:
    """Why `values` cannot be lent as the block's values, or ""."""
    if isinstance(values, np.ma.MaskedArray):
        return "a MaskedArray, whose mask would not be written: put values.filled(fill_value)"
    if values.dtype.name not in TYPES or not values.dtype.isnative:
        return f"dtype {values.dtype.str}, not native {', '.join(TYPES)}"
    count = tuple(block.count)  # of a list, too
    if values.shape not in (count, (prod(count),)):
        return f"the array's shape {values.shape} is not the block's {count}"
    if values.flags.c_contiguous:
        return ""
    if values.shape != count:
        return "a flat array is contiguous: ascontiguousarray makes such a copy"
    if any(step < 0 or step % values.itemsize for step in values.strides):
        return f"the array's strides {values.strides} go backwards or split values: ascontiguousarray makes a copy"
    return ""
