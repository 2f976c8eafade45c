"""Coordinates in pictures, whose cells are all of one size: where they are, and as text."""

from __future__ import annotations

import numpy as np

from hakobi.post.source import Axis


def index_of(axis: Axis, text: str) -> int:
    """An index, or a coordinate with its unit: that of the cell which has it, -1 where none has. Raises ValueError.

    >>> p = Axis("level", 2, (500.0, 250.0), "hPa")
    >>> index_of(p, "1"), index_of(p, "250 hPa"), index_of(p, "300hPa")
    (1, 1, -1)
    """
    units = axis.shown_units
    if axis.coordinates is None or not units or not text.endswith(units):
        return int(text)
    value = float(text.removesuffix(units))

    def is_same(known: float) -> bool:
        away = (known - value + 180) % 360 - 180 if axis.kind == "lon" else known - value
        return abs(away) <= 1e-6 * max(abs(known), abs(value))

    return next((n for n, known in enumerate(axis.coordinates) if is_same(known)), -1)


def edges(axis: Axis) -> tuple[float, float]:
    """Coordinates of an axis's two ends, half a cell beyond its cells' middles."""
    if axis.coordinates is None or axis.size < 2 or not is_even(axis):
        return -0.5, axis.size - 0.5
    first, last = axis.coordinates[0], axis.coordinates[-1]
    half = (last - first) / (axis.size - 1) / 2
    return first - half, last + half


def falls(axis: Axis) -> bool:
    """Whether coordinates are less from cell to cell.

    >>> falls(Axis("p", 2, (500.0, 250.0))), falls(Axis("x", 2))
    (True, False)
    """
    return axis.coordinates is not None and axis.coordinates[-1] < axis.coordinates[0]


def is_even(axis: Axis) -> bool:
    """Whether cells of one size, which pictures have, are nowhere half a cell from their place.

    >>> is_even(Axis("p", 4, (10.0, 50.0, 500.0, 1000.0))), is_even(Axis("y", 3, (-1.0, 0.0, 1.0)))
    (False, True)
    """
    if axis.coordinates is None or axis.size < 3:
        return True
    values = np.asarray(axis.coordinates)
    even = np.linspace(values[0], values[-1], axis.size)
    return bool(np.abs(values - even).max() < 0.5 * abs(even[1] - even[0]))


def cell_text(axis: Axis, at: float, _number: int | None = None) -> str:
    """The coordinate of a cell, of an axis on which cells are one apart."""
    assert axis.coordinates is not None
    is_cell = 0 <= round(at) < axis.size and abs(at - round(at)) < 1e-6
    return place_text(axis, axis.coordinates[round(at)]) if is_cell else ""


def place_text(axis: Axis, value: float, _number: int | None = None) -> str:
    """A coordinate with its unit.

    >>> place_text(Axis("x", 2, kind="lon"), 300.0), place_text(Axis("y", 2, kind="lat"), -1.5)
    ('60° W', '1.5° S')
    """
    if axis.kind == "lat":
        return f"{abs(value):.10g}° {'S' if value < 0 else 'N'}"
    if axis.kind == "lon":
        east = (value + 180) % 360 - 180
        return f"{abs(east):.10g}° {'W' if east < 0 else 'E'}"
    return f"{value:.5g} {axis.shown_units}".rstrip()
