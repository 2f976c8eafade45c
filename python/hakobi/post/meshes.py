"""Shapes of a mesh as they go over the wire: the surface, a cut across an axis, an isosurface, coarse or fine.

A shape's name is `surface`, `cut:<axis>:<coordinate>` or `iso:<field>:<value>`; its level of detail is a place in
shapes.DETAILS.

Geometry on the wire: low and high corner (6 float64), numbers of points and triangles, whether it is whole (uint32), 4
bytes reserved. Then coordinates as 16-bit parts of the way from corner to corner: for x, y and z low bytes, then high
bytes. Then triangles as 32-bit numbers, all lowest bytes first: how far a point's number lies below the highest so far
plus one. Points are numbered as they are met, so that most of these are small.

Values on the wire: offset and scale (float64), their number (uint32), 1 where they are a triangle's and not a point's
(uint32), then (value - offset) / scale as float32, all lowest bytes first.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import numpy as np

from hakobi.errors import InputError
from hakobi.post import reduction, shapes
from hakobi.post.cache import Cache
from hakobi.post.catalogue import OpenStep, identifier
from hakobi.post.mesh import Mesh, MeshField
from hakobi.post.shapes import DETAILS, Shape
from hakobi.post.source import Array
from hakobi.post.tiles import byte_planes

_GEOMETRY = struct.Struct("<6dIII4x")
_VALUES = struct.Struct("<ddII")
#: Beyond it the page's colours end anyway; client/mesh.js needs larger numbers for cells without a value.
_LARGEST = 1e30


@dataclass(frozen=True)
class Placed:
    """A shape with its points in order of use, where they are, and whether it is the whole."""

    shape: Shape
    where: Array
    is_whole: bool

    @property
    def num_bytes(self) -> int:
        return self.shape.num_bytes + self.where.nbytes


class Shapes:
    """Makes shapes and keeps the last ones, for all viewers. A surface serves all steps with the same cells."""

    def __init__(self, most_bytes: int = 160 << 20) -> None:
        self._whole: Cache[Shape] = Cache(most_bytes // 2, lambda shape: shape.num_bytes)
        self._placed: Cache[Placed] = Cache(most_bytes // 2, lambda placed: placed.num_bytes)

    def geometry(self, opened: OpenStep, time: int, name: str, detail: int) -> bytes:
        """Raises InputError for a shape or a level that there is not, FormatError, OSError."""
        placed = self.placed(opened, time, name, detail)
        where, shape = placed.where, placed.shape
        there = where[np.isfinite(where).all(axis=1)]
        low, high = (there.min(axis=0), there.max(axis=0)) if len(there) else (np.zeros(3), np.zeros(3))
        span = np.where(high > low, high - low, 1.0)
        parts = np.nan_to_num((where - low) / span)  # a point that is nowhere is at the corner
        coordinates = np.rint(np.clip(parts, 0, 1) * 65535).astype("<u2").T
        flat = shape.triangles.reshape(-1).astype(np.int64)
        next_one = np.concatenate([[0], np.maximum.accumulate(flat)[:-1] + 1]) if len(flat) else flat
        below = (next_one - flat).astype("<u4").view(np.uint8).reshape(-1, 4)
        return b"".join(
            [
                _GEOMETRY.pack(*low, *high, len(where), len(shape.triangles), placed.is_whole),
                *(np.ascontiguousarray(c).view(np.uint8).reshape(-1, 2).T.tobytes() for c in coordinates),
                below.T.tobytes(),
            ]
        )

    def values(self, opened: OpenStep, time: int, name: str, detail: int, field: MeshField) -> bytes:
        """A field on a shape. Raises as `geometry` does."""
        shape = self.placed(opened, time, name, detail).shape
        values = shapes.values(_mesh_of(opened), time, shape, field.name).astype(np.float64)
        offset, scale = reduction.scaling(values)
        with np.errstate(all="ignore"):
            normal = np.clip((values - offset) / scale, -_LARGEST, _LARGEST).astype("<f4")
        return _VALUES.pack(offset, scale, len(normal), field.location == "cell") + byte_planes(normal)

    def source(self, opened: OpenStep, time: int, name: str, detail: int, field: MeshField, number: int) -> int:
        """The mesh's point or cell nearest to a point or triangle of a shape."""
        shape = self.placed(opened, time, name, detail).shape
        near = np.where(shape.share < 0.5, shape.first, shape.second) if field.location == "point" else shape.cells
        if not 0 <= number < len(near):
            raise InputError("the point is not there")
        return int(near[number])

    def placed(self, opened: OpenStep, time: int, name: str, detail: int) -> Placed:
        """The shape at a level of detail."""
        mesh = _mesh_of(opened)
        if not 0 <= detail < len(DETAILS):
            raise InputError(f"level {detail} is not there")
        make, key = _recipe(opened, mesh, time, name)
        return self._placed.get(
            f"{mesh.key(time)} {key} {detail}", lambda: _placed(mesh, time, self._whole.get(key, make), DETAILS[detail])
        )


def _mesh_of(opened: OpenStep) -> Mesh:
    if opened.step.mesh is None:
        raise InputError("the step has no mesh")
    return opened.step.mesh


def _recipe(opened: OpenStep, mesh: Mesh, time: int, name: str):  # type: ignore[no-untyped-def]
    """How a shape is made, and a key that is equal only where the result is."""
    kind, *words = name.split(":")
    if (kind, len(words)) == ("surface", 0):
        return lambda: shapes.surface(mesh, time), f"surface {mesh.cells_key(time)}"
    if (kind, len(words)) == ("cut", 2) and words[0] in ("0", "1", "2"):
        axis, at = int(words[0]), _number(words[1])
        make = lambda: shapes.contour(mesh, time, shapes.plane_scalar(mesh, time, axis, at))  # noqa: E731
        return make, f"cut {axis} {at} {mesh.key(time)}"
    if (kind, len(words)) == ("iso", 2):
        field = next((f.name for f in mesh.fields.values() if identifier(f.name) == words[0]), None)
        if field is None:
            raise InputError("the isosurface's field is not there")
        value = _number(words[1])
        make = lambda: shapes.contour(mesh, time, shapes.field_scalar(mesh, time, field, value))  # noqa: E731
        return make, f"iso {field} {value} {time} {opened.version}"
    raise InputError("a shape is surface, cut:axis:coordinate or iso:field:value")


def _number(text: str) -> float:
    try:
        value = float(text) if len(text) < 40 else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError("a shape's place is a number")
    return value


def _placed(mesh: Mesh, time: int, whole: Shape, most: int) -> Placed:
    shape, where = shapes.decimated(whole, shapes.positions(mesh, time, whole), most)
    flat = shape.triangles.reshape(-1)
    used, first, place = np.unique(flat, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(used), np.int32)
    number[order] = np.arange(len(used), dtype=np.int32)
    points = used[order]
    ends = shape.first[points]
    kept = Shape(
        ends, ends if shape.first is shape.second else shape.second[points], shape.share[points],
        number[place].reshape(-1, 3), shape.cells,
    )  # fmt: skip
    return Placed(kept, where[points], shape is whole)
