"""Planes of a field as tiles of 256 x 256 values, at any level: what the client draws.

Level 0 comes from the step's file, coarser ones from its overview, or, where there is none, from the step's file: means
of what lies in the plane where that is little, else every 2^level-th cell of it (`Plane.is_sampled`).

A tile on the wire: offset and scale (float64), rows and columns (uint16), bytes a value (uint32); then the lowest bytes
of all values, the next ones and so on, which deflate packs better than whole values. Values of 2 bytes are float16:
(value - offset) / scale; those of 8 bytes are float64, as they are.

A picture's colours tell which of the two it needs (reduction.resolves): whoever paints a tile of float16 and finds that
it does not tell the colours apart asks for the exact one. Exact tiles of coarse levels are made from the step's file.
"""

from __future__ import annotations

import itertools
import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import InputError
from hakobi.post import reduction
from hakobi.post.catalogue import OpenStep
from hakobi.post.pyramid import Level, levels_of
from hakobi.post.source import Axis, Box, Field, is_time

Array = NDArray[Any]
TILE = 256
_HEAD = struct.Struct("<ddHHI")
#: The bytes of a step's file that one tile may read to have means where there is no overview.
_MEAN_BYTES = 64 << 20
_PIECE_CELLS = 1 << 20


@dataclass(frozen=True)
class Plane:
    """A plane of a field: the direction `axis` across it, its index there at `level`. In 2-D both are 0; of layers the
    index is that at level 0."""

    field: Field
    time: int
    level: int
    axis: int
    index: int

    @property
    def is_flat(self) -> bool:
        return len(self.field.shape) == 2

    @property
    def is_layer(self) -> bool:
        """Whether it is of one cell across at all levels, whose number `index` is."""
        return not self.is_flat and self.axis == 0 and self.field.axes[0].is_layered

    @property
    def cell(self) -> int:
        """The first of the field's cells across it."""
        return self.index if self.is_layer else self.index << self.level

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns at the plane's level."""
        full = shape_at(self.field, self.level)
        rows, columns = full if self.is_flat else (n for d, n in enumerate(full) if d != self.axis)
        return rows, columns

    def check(self) -> None:
        """Raises InputError for a plane that the field does not have."""
        if not 0 <= self.level <= len(levels_of(self.field.shape)):
            raise InputError(f"level {self.level} is not there")
        if not 0 <= self.time < max(1, self.field.num_times):
            raise InputError(f"time {self.time} is not there")
        full = self.field.shape if self.is_layer else shape_at(self.field, self.level)
        extent = 1 if self.is_flat else full[self.axis] if 0 <= self.axis < 3 else 0
        if not 0 <= self.index < extent:
            raise InputError(f"plane {self.index} across axis {self.axis} is not there")

    def box(self, rows: tuple[int, int], columns: tuple[int, int]) -> Box:
        """The box of cells, at the plane's level."""
        if self.is_flat:
            return (rows, columns)
        inside = iter((rows, columns))
        return tuple((self.index, self.index + 1) if d == self.axis else next(inside) for d in range(3))


def shape_at(field: Field, level: int) -> tuple[int, ...]:
    return field.shape if level == 0 else Level.of(field.shape, level).shape


def disk_bytes(field: Field, box: Box) -> int:
    """About how much is read from the step's file for a box: whole pages of rows."""
    item = field.dtype.itemsize
    row = min((box[-1][1] - box[-1][0]) * item + 4096, field.shape[-1] * item)
    return row * math.prod(b - a for a, b in box[:-1])


def read_plane(opened: OpenStep, plane: Plane, box: Box) -> tuple[Array, float, float]:
    """Values of a plane's box, with offset and scale: float16 of the overview, or the field's own."""
    field = plane.field
    if plane.level == 0:
        return opened.step.read(field.name, plane.time, box), 0.0, 1.0
    if opened.overview is not None and field.name in opened.overview.fields:
        found = opened.overview.fields[field.name]
        return opened.overview.read(field.name, plane.time, plane.level, box), found.offset, found.scale
    return _read_coarse(opened, plane, box), 0.0, 1.0


def _read_coarse(opened: OpenStep, plane: Plane, box: Box) -> Array:
    """Without an overview: means in the plane where they cost little, else every 2^level-th cell."""
    field, width = plane.field, 1 << plane.level
    full = [(a * width, min(b * width, n)) for (a, b), n in zip(box, field.shape, strict=True)]
    inside = [d for d in range(len(box)) if plane.is_flat or d != plane.axis]
    if not plane.is_flat:  # across the plane one cell stands for the others
        full[plane.axis] = (plane.cell, plane.cell + 1)
    if disk_bytes(field, tuple(full)) <= _MEAN_BYTES:
        return _means(opened.step.read(field.name, plane.time, tuple(full)), width, inside)
    steps = [width if d in inside else 1 for d in range(len(box))]
    result = np.empty([b - a for a, b in box], field.value_type)
    places = itertools.product(*(range(a, b, n) for (a, b), n in zip(full[:-1], steps[:-1], strict=True)))
    for row, at in zip(result.reshape(-1, result.shape[-1]), places, strict=True):
        _read_thinned(opened, plane, at, full[-1], steps[-1], row)
    return result


def _read_thinned(
    opened: OpenStep, plane: Plane, at: tuple[int, ...], cells: tuple[int, int], step: int, row: Array
) -> None:
    """Every step-th cell of a row, which may be longer than memory."""
    most = _PIECE_CELLS // step * step
    for start in range(*cells, most):
        box = (*((i, i + 1) for i in at), (start, min(cells[1], start + most)))
        piece = opened.step.read(plane.field.name, plane.time, box).reshape(-1)[::step]
        first = (start - cells[0]) // step
        row[first : first + len(piece)] = piece


def _means(values: Array, width: int, directions: list[int]) -> Array:
    """Means over `width` cells in some directions that pass over NaN; fewer cells at the far edge."""
    with np.errstate(all="ignore"):
        if np.abs(values[np.isfinite(values)]).max(initial=0.0) > 1e300:  # a sum may be more than float64 holds
            return _means(values * 2.0**-20, width, directions) * 2.0**20
    valid = ~np.isnan(values)
    sums, counts = np.where(valid, values, 0), valid
    with np.errstate(all="ignore"):
        for axis in directions:
            starts = np.arange(0, values.shape[axis], width)
            sums, counts = (np.add.reduceat(part, starts, axis=axis, dtype=np.float64) for part in (sums, counts))
        means: Array = sums / counts
    return means


def tile_box(plane: Plane, row: int, column: int) -> Box:
    """The cells of a tile. Raises InputError outside the plane."""
    plane.check()
    rows, columns = plane.shape
    if not (0 <= row * TILE < rows and 0 <= column * TILE < columns):
        raise InputError(f"tile {row}, {column} is not there")
    return plane.box((row * TILE, min(rows, (row + 1) * TILE)), (column * TILE, min(columns, (column + 1) * TILE)))


def exact_plane(opened: OpenStep, plane: Plane, box: Box) -> Array:
    """Values of a plane's box from the step's file, at any level."""
    if plane.level == 0:
        return opened.step.read(plane.field.name, plane.time, box)
    return _read_coarse(opened, plane, box)


def plane_tile(opened: OpenStep, plane: Plane, row: int, column: int, is_exact: bool = False) -> bytes:
    """A tile as it goes over the wire. Raises InputError outside the plane."""
    box, shape = tile_box(plane, row, column), _tile_shape(plane, row, column)
    if is_exact:
        return _packed(exact_plane(opened, plane, box).astype("<f8"), 0.0, 1.0, shape)
    return _encode(*read_plane(opened, plane, box), shape)


def difference_tile(
    first: OpenStep, second: OpenStep, planes: tuple[Plane, Plane], row: int, column: int, is_exact: bool = False
) -> bytes:
    """The second's tile minus the first's, which have cells at the same places. Raises InputError."""
    _check_alike(planes[0].field, planes[1].field)
    box, shape = tile_box(planes[0], row, column), _tile_shape(planes[0], row, column)
    sides = tuple(zip((first, second), planes, strict=True))
    with np.errstate(all="ignore"):
        if not is_exact:
            found = [read_plane(opened, plane, box) for opened, plane in sides]
            values = [raw.astype(np.float64) * scale + offset for raw, offset, scale in found]
            error = sum(reduction.errors(raw, scale) for raw, _, scale in found if raw.dtype == np.float16)
            difference = values[1] - values[0]
            size = np.abs(difference[np.isfinite(difference)]).max(initial=0.0)
            is_exact_enough = bool(np.all(~np.isfinite(difference) | (error <= size / 512)))
        if is_exact or not is_exact_enough:  # what two overviews differ in is their rounding
            values = [exact_plane(opened, plane, box).astype(np.float64) for opened, plane in sides]
            difference = values[1] - values[0]
    return _packed(difference.astype("<f8"), 0.0, 1.0, shape) if is_exact else _encode(difference, 0.0, 1.0, shape)


def _check_alike(one: Field, other: Field) -> None:
    """Raises InputError for fields that cannot be taken from each other cell by cell."""
    if one.shape != other.shape:
        raise InputError("the two fields have different shapes")
    if one.units and other.units and one.shown_units != other.shown_units:
        raise InputError(f"the two fields have different units: {one.units} and {other.units}")
    for first, second in zip(one.axes, other.axes, strict=True):
        if first.coordinates is None or second.coordinates is None or first.coordinates == second.coordinates:
            continue
        if _is_of_times(first) and _is_of_times(second):  # of other steps there are other times
            continue
        a, b = np.array(first.coordinates), np.array(second.coordinates)
        away = (a - b + 180) % 360 - 180 if first.kind == second.kind == "lon" else a - b
        cell, rounding = float(np.ptp(a)) / max(1, first.size - 1), 4 * np.finfo(np.float32).eps * np.abs(a).max()
        if np.abs(away).max() > max(1e-3 * cell, min(rounding, cell / 4) if cell else rounding):
            raise InputError(f"the two fields have different coordinates along {first.name}")


def _is_of_times(axis: Axis) -> bool:
    return is_time(axis.name, lambda word: axis.units if word == "units" else "")


def _tile_shape(plane: Plane, row: int, column: int) -> tuple[int, int]:
    rows, columns = plane.shape
    return min(TILE, rows - row * TILE), min(TILE, columns - column * TILE)


def _encode(values: Array, offset: float, scale: float, shape: tuple[int, int]) -> bytes:
    """A tile of float16; what is not yet is brought to offset and scale of its own."""
    if values.dtype != np.float16:
        offset, scale = reduction.scaling(values)
        scale = reduction.widened(offset, scale, values)
        values = reduction.to_halves(values, offset, scale)
    return _packed(values.astype("<f2"), offset, scale, shape)


def _packed(values: Array, offset: float, scale: float, shape: tuple[int, int]) -> bytes:
    return _HEAD.pack(offset, scale, *shape, values.itemsize) + byte_planes(values)


def byte_planes(values: Array) -> bytes:
    """All lowest bytes, then the next ones, and so on."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1, values.itemsize).T.tobytes()
