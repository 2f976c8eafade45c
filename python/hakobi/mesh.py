"""Unstructured meshes: what Output lends to C of one and of fields on it, and what Input gets back."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from hakobi._capi import CONSTANTS, FieldC, InputMeshC, MeshC, MeshPartC
from hakobi._library import TYPES, shown
from hakobi.attributes import text_for_c
from hakobi.device_arrays import AnyArray, Lent, lend
from hakobi.errors import InputError

MOTIONS = {name: CONSTANTS[f"MESH_{name.upper()}"] for name in ("fixed", "moves", "changes")}
PLACES = {name: CONSTANTS[f"ON_{name.upper()}"] for name in ("points", "cells")}


def mesh_for_c(
    points: Lent,
    connectivity: npt.NDArray[Any],
    offsets: npt.NDArray[Any],
    types: npt.NDArray[Any],
    ghosts: npt.NDArray[Any] | None,
    motion: str,
    first_number: int,
) -> MeshC:
    """The mesh for C, whose arrays stay the caller's. `points`: of points_for_c. Raises InputError for what cannot be
    lent."""
    if motion not in MOTIONS:
        raise InputError(f"the mesh: its motion is {motion!r}, not {', '.join(MOTIONS)}")
    for name, array, dtypes in (
        ("connectivity", connectivity, ("int64", "int32")),
        ("offsets", offsets, ("int64", "int32")),
        ("types", types, ("uint8",)),
        ("ghosts", types if ghosts is None else ghosts, ("uint8",)),
    ):
        _check(name, array, dtypes)
        if array.ndim != 1:
            raise InputError(f"the mesh: its {name} have {array.ndim} dimensions, not one")
    if types.size and offsets.size != types.size + 1:
        raise InputError(f"the mesh: it has {types.size} types of cells and {offsets.size} offsets, not one more")
    if ghosts is not None and ghosts.size != types.size:
        raise InputError(f"the mesh: it has {types.size} cells, and ghosts for {ghosts.size}")
    return MeshC(
        motion=MOTIONS[motion],
        points_type=TYPES[points.array.dtype.name],
        num_points=points.array.shape[0],
        points=points.array.ctypes.data if points.array.size else None,
        num_cells=types.size,
        types=types.ctypes.data if types.size else None,
        offsets_type=TYPES[offsets.dtype.name],
        connectivity_type=TYPES[connectivity.dtype.name],
        offsets=offsets.ctypes.data if offsets.size else None,
        connectivity=connectivity.ctypes.data if connectivity.size else None,
        num_connectivity=connectivity.size,
        first_number=first_number,
        ghosts=ghosts.ctypes.data if ghosts is not None and ghosts.size else None,
    )


def points_for_c(points: AnyArray) -> Lent:
    """Points for C. Raises InputError where they are not (n, 3) floats, or another stream's than the default one's."""
    try:
        lent = lend(points)
    except InputError as error:
        raise InputError(f"the mesh: its points are {error}") from error
    array = lent.array
    _check("points", array, ("float64", "float32"))
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"the mesh: its points have the shape {array.shape}, not (points, 3)")
    if lent.stream is not None:
        raise InputError("the mesh: its points are made on a stream, and only the default one is waited for")
    return lent


def _check(name: str, array: npt.NDArray[Any], dtypes: tuple[str, ...]) -> None:
    if not isinstance(array, np.ndarray):
        raise InputError(f"the mesh: its {name} are a {type(array).__name__}, not a numpy array")
    if array.dtype.name not in dtypes or not array.dtype.isnative:
        raise InputError(f"the mesh: its {name} are of dtype {array.dtype.str}, not native {' or '.join(dtypes)}")
    if not array.flags.c_contiguous:
        raise InputError(f"the mesh: its {name} are not contiguous: numpy.ascontiguousarray makes such a copy")


def field_for_c(name: str, units: str, on: str, lent: Lent, num_elements: int) -> FieldC:
    """A field on the mesh for C, of `num_elements` points or cells. Raises InputError for what cannot be lent."""
    if on not in PLACES:
        raise InputError(f"it is on {on!r}, not on {' or '.join(PLACES)}")
    values = lent.array
    if values.dtype.name not in TYPES or not values.dtype.isnative:
        raise InputError(f"dtype {values.dtype.str}, not native {', '.join(TYPES)}")
    if values.ndim < 1 or values.shape[0] != num_elements:
        raise InputError(f"the array's shape {values.shape} does not begin with the {num_elements} {on} of this rank")
    components = prod(values.shape[1:])
    is_flat = values.flags.c_contiguous
    strides = [step // values.itemsize for step in values.strides]
    if not is_flat and (
        values.ndim > 2
        or (values.ndim == 2 and components == 1)
        or any(step < 0 or step % values.itemsize for step in values.strides)
    ):
        raise InputError(f"the array's strides {values.strides} cannot be lent: ascontiguousarray makes a copy")
    reach = sum((count - 1) * step for count, step in zip(values.shape, strides, strict=True))
    return FieldC(
        name=text_for_c("name", name),
        units=text_for_c("units", units),
        type=TYPES[values.dtype.name],
        data=values.ctypes.data if values.size else None,
        num_values=values.size if is_flat or not values.size else reach + 1,
        strides=None if is_flat or not values.size else (ctypes.c_int64 * len(strides))(*strides),
        on=PLACES[on],
        num_components=components,
        memory=lent.memory,
        stream=lent.stream,
    )


@dataclass(frozen=True)
class InputMesh:
    """How large the mesh of a step is."""

    num_points: int
    num_cells: int
    num_pieces: int  #: one a rank that wrote it
    has_ghosts: bool  #: some cells are copies of others


@dataclass(frozen=True, repr=False)
class MeshPart:
    """A rank's share of a mesh that was read: whole pieces, which together are numbered from 0.

    A field on cells is read with `Block((mesh.num_cells,), (part.first_cell,), (part.types.size,))`, and a second
    dimension where it has components.
    """

    first_point: int  #: where it stands among all points
    first_cell: int  #: and among all cells
    first_piece: int
    num_pieces: int
    points: npt.NDArray[np.float64]  #: (points, 3)
    connectivity: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]  #: one more than there are cells, from 0
    types: npt.NDArray[np.uint8]  #: VTK's
    ghosts: npt.NDArray[np.uint8] | None  #: one a cell where the mesh has them

    def __repr__(self) -> str:
        return shown(self, f"{len(self.points)} points and {self.types.size} cells, from cell {self.first_cell}")


def input_mesh_of_c(mesh: InputMeshC) -> InputMesh:
    return InputMesh(mesh.num_points, mesh.num_cells, mesh.num_pieces, mesh.has_ghosts != 0)


def mesh_part_of_c(part: MeshPartC) -> MeshPart:
    """A copy in arrays of Python's."""

    def copied(first: Any, num: int, dtype: str) -> npt.NDArray[Any]:
        return np.ctypeslib.as_array(first, (num,)).copy() if num else np.empty(0, dtype)

    return MeshPart(
        part.first_point,
        part.first_cell,
        part.first_piece,
        part.num_pieces,
        copied(part.points, 3 * part.num_points, "float64").reshape(-1, 3),
        copied(part.connectivity, part.num_connectivity, "int64"),
        copied(part.offsets, part.num_cells + 1, "int64"),
        copied(part.types, part.num_cells, "uint8"),
        copied(part.ghosts, part.num_cells, "uint8") if part.ghosts else None,
    )
