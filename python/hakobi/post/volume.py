"""A 3-D field in 8 bits a value: what the browser draws as a volume or an isosurface."""

from __future__ import annotations

import struct

import numpy as np

from hakobi.errors import InputError
from hakobi.post.catalogue import OpenStep
from hakobi.post.pyramid import levels_of
from hakobi.post.source import Array, Field
from hakobi.post.tiles import Plane, read_plane, shape_at

_HEAD = struct.Struct("<ddIII4x")
#: The most cells a direction; a finer level would be longer than a browser's memory and patience.
MOST_CELLS = 256
_STRIP_CELLS = 1 << 20


def best_level(field: Field, most_cells: int = 128) -> int:
    """The finest level of at most `most_cells` a direction, else the coarsest."""
    numbers = [0, *(level.number for level in levels_of(field.shape))]
    return next((n for n in numbers if max(shape_at(field, n)) <= most_cells), numbers[-1])


def volume(opened: OpenStep, field: Field, time: int, level: int, is_bent: bool = False) -> bytes:
    """Low and high end (float64), shape (z, y, x), and a byte a value: 0 where there is none, 1 to 255 from the low to
    the high end, evenly, or bent: evenly over the logarithm on both sides of zero (client/scene.js has the same curve).
    Raises InputError for a field or level that is too large."""
    if len(field.shape) != 3:
        raise InputError("a volume needs a field in three dimensions")
    if not 0 <= level <= len(levels_of(field.shape)):
        raise InputError(f"level {level} is not there")
    shape = shape_at(field, level)
    thin = max(1, -(-max(shape) // MOST_CELLS))  # where even the coarsest level is long
    if thin > 1 and level < len(levels_of(field.shape)):
        raise InputError(f"level {level} is too fine for a volume")
    values = np.empty([-(-n // thin) for n in shape])
    strip = max(1, _STRIP_CELLS // (thin * shape[2])) * thin  # a plane may be larger than memory
    for index in range(0, shape[0], thin):
        across = min(index << level, field.shape[0] - 1) if field.axes[0].is_layered else index
        plane = Plane(field, time, level, 0, across)
        for first in range(0, shape[1], strip):
            last = min(shape[1], first + strip)
            read, offset, scale = read_plane(opened, plane, plane.box((first, last), (0, shape[2])))
            thinned = read[0, ::thin, ::thin].astype(np.float64) * scale + offset
            values[index // thin, first // thin : first // thin + len(thinned)] = thinned
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    ends = (low, high)
    if is_bent:
        values, *bent = (_bent(v, ends) for v in (values, low, high))
        low, high = map(float, bent)
    with np.errstate(all="ignore"):
        span = high / 2 - low / 2 if high > low else 1.0  # halves: the whole may be more than float64 holds
        bytes_ = np.clip(np.rint((values / 2 - low / 2) / (span or 1.0) * 254), 0, 254)
    coded = np.where(np.isnan(values), 0, bytes_ + 1).astype(np.uint8)
    return _HEAD.pack(*ends, *coded.shape) + coded.tobytes()


def _bent(values: float | Array, ends: tuple[float, float]) -> Array:
    """On a curve that is a logarithm but for the millionth part of the larger end around zero."""
    unit = (max(abs(ends[0]), abs(ends[1])) or 1.0) / 1e6
    with np.errstate(all="ignore"):
        return np.asarray(np.sign(values) * np.log1p(np.abs(values) / unit))
