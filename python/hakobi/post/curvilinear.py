"""Fields whose cells have latitudes and longitudes in two dimensions (CF conventions, 5.2), drawn as maps.

A map is a grid of even latitudes and longitudes, about as fine as the field's own; each of its cells shows the nearest
cell of the field, as it does for the rows of reduced GRIB grids (decision 38). So values are the field's own, and a map
is to all others a field like any other.

1. A cell reaches in each of its two directions as far as to the nearer of its two neighbours: the other may be beyond a
   seam.
2. Every cell is strewn over the map by points as close as the map's cells, those near its middle last.
   A gap left between them goes to a neighbour's cell that reaches there.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from hakobi.post.source import Array, Axis, Box, Field, axis_kind

#: A grid of more cells is drawn by its indices: its map would take seconds.
MOST_CELLS = 4 << 20
#: The most points a direction that a cell is strewn by, and the most cells of a map over those of the field.
_MOST_POINTS, _MOST_TIMES = 16, 4
_MOST_MAPS = 4
_MOST_ROUNDS = 64
_maps: OrderedDict[bytes, Map | None] = OrderedDict()


@dataclass(frozen=True, eq=False)
class Map:
    """`cells` has for each cell of the map the number of the field's cell, -1 where there is none."""

    latitude: Axis
    longitude: Axis
    cells: Array
    width: int  # of the field's rows

    def read(self, box: Box, read: Callable[[Box], Array]) -> Array:
        """Values of a box of the map; `read` gives those of the field."""
        (r0, r1), (c0, c1) = box[-2:]
        cells = self.cells[r0:r1, c0:c1]
        is_there = cells >= 0
        if not is_there.any():
            return np.full([b - a for a, b in box], np.nan, np.float32)
        rows, columns = np.divmod(cells, self.width)
        limits = [(int(n[is_there].min()), int(n[is_there].max()) + 1) for n in (rows, columns)]
        values = read((*box[:-2], *limits))
        rows, columns = (np.where(is_there, n - a, 0) for n, (a, _) in zip((rows, columns), limits, strict=True))
        return np.where(is_there, values[..., rows, columns], values.dtype.type(np.nan))


def on_maps(
    fields: Iterable[Field], texts: dict[str, str], find: Callable[[str], tuple[str, Array] | None]
) -> dict[str, Field]:
    """Fields by name, those on maps that can be. `texts` has their attributes `coordinates`; `find` gives units and
    values of a variable in two dimensions, None where there is none."""
    found: dict[str, Field] = {}
    for field in fields:
        made = None if field.is_coordinate else _map_of(field, texts.get(field.name, ""), find)
        if made is not None:
            axes = (*field.axes[:-2], made.latitude, made.longitude)
            field = dataclasses.replace(field, axes=axes, offset_bytes=None, on_map=(made, field))
        found[field.name] = field
    return found


def _map_of(field: Field, text: str, find: Callable[[str], tuple[str, Array] | None]) -> Map | None:
    shape = field.shape[-2:]
    if not text or len(shape) < 2 or min(shape) < 2 or shape[0] * shape[1] > MOST_CELLS:
        return None
    places: dict[str, Array] = {}
    for word in text.split():
        variable = find(word)
        if variable is not None and variable[1].shape == shape:
            places.setdefault(axis_kind(variable[0], ""), variable[1])
    if not {"lat", "lon"} <= places.keys():
        return None
    latitudes, longitudes = (np.ascontiguousarray(places[kind], np.float64) for kind in ("lat", "lon"))
    key = hashlib.blake2b(latitudes.tobytes() + longitudes.tobytes(), digest_size=16).digest()
    if key not in _maps:
        _maps[key] = _make(latitudes, longitudes)
        while len(_maps) > _MOST_MAPS:
            _maps.popitem(last=False)
    return _maps[key]


def _turned(degrees: Array) -> Array:
    """Differences of longitudes the shorter way round."""
    return (degrees + 180) % 360 - 180


def _reach(values: Array, axis: int, is_round: bool) -> Array:
    """How much a coordinate changes over a cell along an axis."""
    steps = np.diff(values, axis=axis)
    steps = _turned(steps) if is_round else steps
    first, last = (np.take(steps, [n], axis) for n in (0, -1))
    before, after = np.concatenate([first, steps], axis), np.concatenate([steps, last], axis)
    return np.where(np.abs(after) < np.abs(before), after, before)


def _make(latitudes: Array, longitudes: Array) -> Map | None:
    is_there = np.isfinite(latitudes) & np.isfinite(longitudes) & (np.abs(latitudes) <= 90)
    if is_there.sum() < 4:
        return None
    with np.errstate(invalid="ignore"):
        reach = [(_reach(latitudes, d, False), _reach(longitudes, d, True)) for d in (0, 1)]
    steps = []
    for part in (0, 1):
        sizes = np.maximum(np.abs(reach[0][part]), np.abs(reach[1][part]))[is_there]
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        if not len(sizes):
            return None
        steps.append(float(np.percentile(sizes, 25)))
    south, height = float(latitudes[is_there].min()), float(np.ptp(latitudes[is_there]))
    west, width = _span(longitudes[is_there], steps[1])
    # Half a cell more at the edges.
    south, height, west, width = south - steps[0] / 2, height + steps[0], west - steps[1] / 2, width + steps[1]
    width = min(width, 360.0)
    most = max(1.0, height / steps[0] * width / steps[1] / min(MOST_CELLS, _MOST_TIMES * latitudes.size)) ** 0.5
    rows, columns = (max(2, round(n / (step * most))) for n, step in zip((height, width), steps, strict=True))
    scale = (rows / height, columns / width)
    cells = np.full(rows * columns, -1, np.int64)
    numbers = np.flatnonzero(is_there)
    place = [(latitudes.ravel()[numbers] - south) * scale[0], (longitudes.ravel()[numbers] - west) % 360 * scale[1]]
    spans = np.stack([np.nan_to_num(r[part].ravel()[numbers]) * scale[part] for r in reach for part in (0, 1)])
    points = np.abs(spans).max(axis=0)
    spans[:, points > 8 * _MOST_POINTS] = 0  # torn: a seam, or the pole
    points = np.clip(np.ceil(points * 1.5), 1, _MOST_POINTS)
    counts = sorted({2 ** int(np.ceil(np.log2(n))) for n in np.unique(points)})
    groups = [(count, np.flatnonzero((points <= count) & (points > count / 2))) for count in counts]
    strewn = [
        (np.hypot(a, b), a, b, these)
        for count, these in groups
        for offsets in [(np.arange(count) + 0.5) / count - 0.5]
        for a in offsets
        for b in offsets
    ]
    for _, a, b, these in sorted(strewn, key=lambda item: -item[0]):
        row = np.floor(place[0][these] + a * spans[0, these] + b * spans[2, these]).astype(np.int64)
        column = np.floor(place[1][these] + a * spans[1, these] + b * spans[3, these]).astype(np.int64)
        if width == 360.0:
            column %= columns
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        cells[row[inside] * columns + column[inside]] = numbers[these][inside]
    axes = (
        Axis("latitude", rows, tuple(south + (np.arange(rows) + 0.5) / scale[0]), "degrees_north", "lat"),
        Axis("longitude", columns, tuple(west + (np.arange(columns) + 0.5) / scale[1]), "degrees_east", "lon"),
    )
    made = Map(*axes, cells.reshape(rows, columns), latitudes.shape[1])
    _fill(made, latitudes, longitudes, width == 360.0)
    return made


def _on_sphere(latitudes: Array, longitudes: Array) -> Array:
    north, east = np.radians(latitudes), np.radians(longitudes)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])


def _size(places: Array, axis: int) -> Array:
    """Distance to the nearer neighbour along an axis."""
    steps = np.linalg.norm(np.diff(places, axis=axis), axis=0)
    first, last = (np.take(steps, [n], axis - 1) for n in (0, -1))
    nearer: Array = np.fmin(np.concatenate([first, steps], axis - 1), np.concatenate([steps, last], axis - 1))
    return nearer


def _fill(made: Map, latitudes: Array, longitudes: Array, is_round: bool) -> None:
    """Cells of the map between the points, as about the poles: as far as a neighbour's cell reaches."""
    lat, lon = (np.asarray(axis.coordinates) for axis in (made.latitude, made.longitude))
    rows, columns = made.cells.shape
    places = _on_sphere(latitudes, longitudes)
    with np.errstate(invalid="ignore"):
        sizes = np.fmax(_size(places, 1), _size(places, 2)).ravel()
    places = places.reshape(3, -1)
    for _ in range(_MOST_ROUNDS):
        at = np.argwhere(made.cells < 0)
        is_any = False
        for step in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            row, column = (at + step).T
            column = column % columns if is_round else np.clip(column, 0, columns - 1)
            cell = made.cells[np.clip(row, 0, rows - 1), column]
            near = cell >= 0
            row, column, cell = at[near, 0], at[near, 1], cell[near]
            away = np.linalg.norm(_on_sphere(lat[row], lon[column]) - places[:, cell], axis=0)
            close = away <= 0.71 * sizes[cell]  # half of a square's diagonal
            made.cells[row[close], column[close]] = cell[close]
            is_any = is_any or bool(close.any())
        if not is_any:
            return


def _span(longitudes: Array, step: float) -> tuple[float, float]:
    """The westernmost longitude and the extent: without the widest gap between two."""
    sorted_ = np.unique(longitudes % 360)
    gaps = np.diff(sorted_, append=sorted_[:1] + 360)
    widest = int(gaps.argmax())
    if gaps[widest] < 4 * step:
        return -180.0 + step / 2, 360.0 - step
    west = float(sorted_[(widest + 1) % len(sorted_)])
    return west - 360 if west > 180 else west, 360.0 - float(gaps[widest])
