"""The least and the greatest value of a step's fields: from its overview where one fits, else from the values."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hakobi.post.catalogue import OpenStep
from hakobi.post.mesh import PIECE, MeshField
from hakobi.post.source import Array, Field, Step

#: Values that are in memory at one time.
_SLAB_BYTES = 16 << 20

Extremes = tuple[float, float]


def known_extremes(opened: OpenStep, this: Field) -> Extremes | None:
    """The extremes over all times of the field by the overview, without reading values."""
    if opened.overview is None or this.name not in opened.overview.fields:
        return None
    told = opened.overview.fields[this.name].statistics
    return joined([(s["min"], s["max"]) for s in told if isinstance(s.get("min"), float | int)])


def read_extremes(step: Step, this: Field) -> Extremes | None:
    """The extremes over all times, by reading all values, a slab at a time; None where none is a finite number. Raises
    HakobiError, OSError."""
    pairs = []
    for time in range(max(1, this.num_times)):
        for values in _slabs(step, this, time):
            finite = values[np.isfinite(values)]
            if finite.size:
                pairs.append((float(finite.min()), float(finite.max())))
    return joined(pairs)


def joined(pairs: list[Extremes]) -> Extremes | None:
    """
    >>> joined([(1, 2), (-1, 1.5)]), joined([])
    ((-1, 2), None)
    """
    good = [pair for pair in pairs if math.isfinite(pair[0]) and math.isfinite(pair[1])]
    return (min(low for low, _ in good), max(high for _, high in good)) if good else None


def _slabs(step: Step, this: Field, time: int) -> Iterator[Array]:
    if isinstance(this, MeshField):
        assert step.mesh is not None
        size = step.mesh.at(this, time).shape[0]
        for start in range(0, size, PIECE):
            yield step.mesh.read(this.name, time, start, min(size, start + PIECE))
        return
    shape = this.shape
    row_bytes = max(1, math.prod(shape[1:]) * this.dtype.itemsize)
    rows = max(1, _SLAB_BYTES // row_bytes) if len(shape) > 1 else (shape[0] if shape else 1)
    inner = tuple((0, n) for n in shape[1:])
    for start in range(0, shape[0] if shape else 1, rows):
        box = ((start, min(shape[0], start + rows)), *inner) if shape else ()
        yield np.atleast_1d(_cells(step, this, time, box))


def _cells(step: Step, this: Field, time: int, box: tuple[tuple[int, int], ...]) -> Array:
    """A store's step decodes by itself; others read cells as they are in the file."""
    return step.read(this.name, time, box) if step.found.kind == "store" else step.read_cells(this, time, box)
