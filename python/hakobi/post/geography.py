"""Coast lines and wind over the maps of pictures."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import InputError
from hakobi.post import tiles
from hakobi.post.catalogue import OpenStep
from hakobi.post.source import Axis
from hakobi.post.wind import wind_over, winds_of

Array = NDArray[Any]
#: Maps of less latitude have no coast lines: at 1:110 million these are good to some tens of kilometres.
LEAST_DEGREES = 10.0
_INK = "#1a1a1a"
_ARROWS_WIDE = 40


@functools.cache
def coast_lines() -> list[NDArray[np.float64]]:
    """Lines of (longitude, latitude) in degrees, from 180° W to 180° E.

    >>> len(coast_lines()) > 100 and coast_lines()[0].shape[1]
    2
    """
    text = resources.files("hakobi.post").joinpath("client/coast.json").read_text()
    lines = json.loads(text)["lines"]
    return [np.cumsum(np.array(line, float).reshape(-1, 2), axis=0) / 100 for line in lines]


def spread(axis: Axis) -> float:
    """The degrees from the first cell to the last."""
    return abs(axis.coordinates[-1] - axis.coordinates[0]) if axis.coordinates else 0.0


def shown_at(axis: Axis, values: Array) -> Array:
    """Where coordinates are in a picture whose cells are all of one size: on an even axis they stay as they are.

    >>> shown_at(Axis("y", 3, (0.0, 1.0, 4.0)), np.array([1.0, 2.5]))
    array([2., 3.])
    """
    assert axis.coordinates is not None
    known: Array = np.asarray(axis.coordinates)
    step = (known[-1] - known[0]) / (axis.size - 1)
    order = slice(None) if known[-1] > known[0] else slice(None, None, -1)
    cells = np.interp(values, known[order], np.arange(axis.size)[order])
    beyond = (values - np.clip(values, known.min(), known.max())) / step
    shown: Array = known[0] + (cells + beyond) * step
    return shown


def draw_coast(axes: Any, rows: Axis, columns: Axis) -> None:
    """Coast lines over a map, as far as it goes: a map from 0° to 360° has those of the west beyond 180°."""
    from matplotlib.collections import LineCollection

    if spread(rows) < LEAST_DEGREES or not columns.coordinates:
        return
    limits = axes.get_xlim(), axes.get_ylim()
    west, east = sorted(columns.coordinates[:: max(1, columns.size - 1)])
    found = []
    for turn in range(math.floor((west - 180) / 360) - 1, math.ceil((east + 180) / 360) + 1):
        for line in coast_lines():
            x = line[:, 0] + 360 * turn
            if x.max() >= west - 2 and x.min() <= east + 2:
                found.append(np.column_stack([x, shown_at(rows, line[:, 1])]))
    for width, colour in ((1.6, "#ffffff90"), (0.7, _INK)):
        axes.add_collection(LineCollection(found, linewidths=width, colors=colour), autolim=False)
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])


@dataclass(frozen=True)
class Wind:
    """The values of a plane. `width` is how many cells of the axes one value stands for."""

    name: str
    units: str
    width: int
    east: Array
    north: Array


def wind_of(opened: OpenStep, plane: tiles.Plane) -> Wind:
    """The wind over a plane of a field. Raises InputError where there is none."""
    pair = wind_over(winds_of(opened.step), plane.field) if plane.is_flat or plane.axis == 0 else None
    if pair is None:
        reason = f"there is no wind to be drawn over '{plane.field.name}': two fields on its grid and levels"
        raise InputError(f"{reason} (CF's eastward_wind and northward_wind, GRIB's u and v), seen from above")
    parts = []
    for part in pair:
        same = replace(plane, field=part)
        box = same.box(*((0, n) for n in plane.shape))
        values, offset, scale = tiles.read_plane(opened, same, box)
        parts.append(values.reshape(plane.shape).astype(np.float64) * scale + offset)
    east, north = parts
    return Wind(f"arrows: {pair[0].name}, {pair[1].name}", pair[0].shown_units, 1 << plane.level, east, north)


def draw_wind(axes: Any, rows: Axis, columns: Axis, wind: Wind) -> None:
    """Arrows with the wind, north up, and one beside them that says how long a speed is."""
    every = max(1, -(-wind.east.shape[1] // _ARROWS_WIDE))
    rows_at, columns_at = (np.arange(every // 2, n, every) for n in wind.east.shape)
    u, v = (part[np.ix_(rows_at, columns_at)] for part in (wind.east, wind.north))
    speeds = np.hypot(u, v)
    if not np.isfinite(speeds).any():
        return
    fast = float(np.nanpercentile(speeds, 98)) or 1.0
    y, x = (_middles(axis, at, wind.width) for axis, at in ((rows, rows_at), (columns, columns_at)))
    arrows = axes.quiver(
        x, y, np.ma.masked_invalid(u), np.ma.masked_invalid(v), angles="uv", pivot="mid", color=_INK, width=0.0013,
        scale=fast * 0.9 * _ARROWS_WIDE, scale_units="width", headwidth=4, headlength=4.5, headaxislength=4,
        minlength=0.3,
    )  # fmt: skip
    told = float(f"{fast:.0e}")
    label = f"{told:g} {wind.units}".rstrip()
    axes.quiverkey(arrows, 0.85, -0.11, told, label, labelpos="E", coordinates="axes", color=_INK)


def _middles(axis: Axis, at: Array, width: int) -> Array:
    """Where values at some places are, of which each stands for `width` cells, in a picture of even cells."""
    cells = np.minimum(at * width + (width - 1) / 2, axis.size - 1)
    if axis.coordinates is None:
        return cells
    first, last = axis.coordinates[0], axis.coordinates[-1]
    return first + cells * (last - first) / (axis.size - 1)
