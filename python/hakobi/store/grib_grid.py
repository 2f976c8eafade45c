"""The grid of a GRIB message: how its values lie on the earth (WMO Manual on Codes, FM 92).

Values come from ecCodes. What is read here is where they are: regular and reduced grids in latitude and longitude, with
even or Gaussian latitudes, by themselves; other grids' latitudes and longitudes, two for each point, are ecCodes'.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import FormatError, HakobiError, InputError
from hakobi.store.parameters import grib_array, grib_texts

Array = NDArray[Any]
_MISSING = 9999.0  # ecCodes' value where a bitmap, or the packing, says that there is none
_MOST_CELLS = 1 << 28
_FROM_EAST, _FROM_SOUTH, _BY_COLUMNS, _TURNING = 0x80, 0x40, 0x20, 0x10
_MOST_PLACES = 4
_places: OrderedDict[bytes, tuple[Array, Array]] = OrderedDict()


def _arranged(values: Array, rows: int, columns: int, scanning: int) -> Array:
    """Values as the message has them -> (row, column), in the order in which rows and columns follow one another."""
    if values.size != rows * columns:
        raise FormatError("the message does not have as many values as its grid")
    lines = values.reshape(columns, rows) if scanning & _BY_COLUMNS else values.reshape(rows, columns)
    if scanning & _TURNING:
        lines = lines.copy()
        lines[1::2] = lines[1::2, ::-1]
    return lines.T if scanning & _BY_COLUMNS else lines


def _with_gaps(values: Array, has_gaps: bool) -> Array:
    return np.where(values == _MISSING, np.nan, values) if has_gaps else values


@dataclass(frozen=True)
class Grid:
    """`rows` has the length of each row of a reduced grid, 0 for one without points. Latitudes and longitudes are those
    of the map, from the south and from the west. `has_gaps`: some points may have no value."""

    latitudes: Array
    longitudes: Array
    rows: tuple[int, ...]
    scanning: int
    has_gaps: bool
    description: bytes  # the message's section

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.latitudes), len(self.longitudes)

    def map_of(self, values: Array) -> Array:
        """Values as the message has them -> a map (latitude, longitude), rows from south to north. Those of a reduced
        grid are drawn out to the length of its longest by the nearest value. Raises FormatError where they do not
        fit."""
        if not self.rows:
            result = _arranged(values, *self.shape, self.scanning)
        elif values.size != sum(self.rows):
            raise FormatError("the message does not have as many values as its grid")
        else:
            width = self.shape[1]
            picks = [
                end - n + (np.arange(width) * n + width // 2) // width % max(1, n)
                for n, end in zip(self.rows, np.cumsum(self.rows), strict=True)
            ]
            result = values[np.minimum(np.stack(picks), values.size - 1)]
            result[[n == 0 for n in self.rows]] = np.nan
        if self.scanning & _FROM_EAST:
            result = result[:, ::-1]
        if not self.scanning & _FROM_SOUTH:
            result = result[::-1]
        return _with_gaps(result, self.has_gaps)

    def points(self) -> tuple[Array, Array]:
        """Latitude and longitude of each value of a reduced grid, as the message has them."""
        latitudes = self.latitudes if self.scanning & _FROM_SOUTH else self.latitudes[::-1]
        west = self.longitudes[0]
        longitudes = [west + np.arange(n) * (360 / max(1, n)) for n in self.rows]
        return np.repeat(latitudes, self.rows), np.concatenate(longitudes)

    def points_of(self, values: Array) -> Array:
        """The values of a reduced grid, as the message has them. Raises FormatError where they do not fit."""
        if values.size != sum(self.rows):
            raise FormatError("the message does not have as many values as its grid")
        return _with_gaps(values, self.has_gaps)


@dataclass(frozen=True)
class Projection:
    """A grid of rows and columns on a projection; `kind` is ecCodes' name of it."""

    kind: str
    shape: tuple[int, int]
    scanning: int
    has_gaps: bool
    description: bytes  # the message's section

    def map_of(self, values: Array) -> Array:
        """Values as the message has them -> (row, column). Raises FormatError where they do not fit."""
        return _with_gaps(_arranged(values, *self.shape, self.scanning), self.has_gaps)

    def places(self, message: bytes) -> tuple[Array, Array] | None:
        """Latitudes and longitudes (row, column) of such a message; None where ecCodes does not know the projection."""
        if self.description not in _places:
            try:
                latitudes, longitudes = (grib_array(message, name) for name in ("latitudes", "longitudes"))
                # ecCodes gives places row after row, also where the rows of values turn.
                straight = self.scanning & ~_TURNING
                found = tuple(_arranged(values, *self.shape, straight) for values in (latitudes, longitudes))
            except HakobiError:
                return None
            _places[self.description] = (found[0], (found[1] + 180) % 360 - 180)
            while len(_places) > _MOST_PLACES:
                _places.popitem(last=False)
        return _places[self.description]


def grid_of(message: bytes) -> Grid | Projection:
    """Raises InputError for what has no grid (spectral fields) or none of rows, FormatError for what is no message."""
    try:
        edition = message[7] if message[:4] == b"GRIB" else 0
        if edition == 2:
            return _of_edition_2(message)
        if edition == 1:
            return _of_edition_1(message)
    except IndexError as error:
        raise FormatError("the GRIB message ends early") from error
    raise FormatError("no GRIB message of edition 1 or 2")


def _projection(message: bytes, description: bytes, has_gaps: bool) -> Projection:
    names = ("gridType", "Ni", "Nj", "scanningMode")
    texts = grib_texts(message, names)
    try:
        columns, rows, scanning = (int(texts[name]) for name in names[1:])
    except ValueError:
        raise InputError(f"it is on no grid of rows and columns ({texts['gridType'] or 'unknown'})") from None
    if not (1 < rows <= 1 << 20 and 1 < columns <= 1 << 20 and rows * columns <= _MOST_CELLS):
        raise InputError("its grid is no map")
    return Projection(texts["gridType"], (rows, columns), scanning, has_gaps, description)


def _number(data: bytes, octet: int, size: int, is_signed: bool = False) -> int:
    """Octets count from 1; the sign is the highest bit."""
    part = data[octet - 1 : octet - 1 + size]
    if len(part) < size:
        raise FormatError("the GRIB message ends early")
    value = int.from_bytes(part, "big")
    top = 1 << (8 * size - 1)
    return -(value & (top - 1)) if is_signed and value & top else value


def _of_edition_2(message: bytes) -> Grid | Projection:
    at, grid, has_gaps = 16, b"", False
    while message[at : at + 4] != b"7777" and at < len(message):
        length, section = _number(message, at + 1, 4), message[at + 4]
        if section == 3:
            grid = message[at : at + length]
        elif section == 5:  # complex packing has missing values of its own
            has_gaps = _number(message, at + 10, 2) in (2, 3) and message[at + 22] != 0
        elif section == 6:
            has_gaps |= message[at + 5] != 255
        at += max(5, length)
    template = _number(grid, 13, 2)
    if template not in (0, 40):
        return _projection(message, grid, has_gaps)
    columns, rows = _number(grid, 31, 4), _number(grid, 35, 4)
    size = grid[10]
    lengths = tuple(_number(grid, 73 + size * n, size) for n in range(rows)) if size and rows < len(grid) else ()
    basic, parts = _number(grid, 39, 4), _number(grid, 43, 4)
    is_usual = basic in (0, 0xFFFFFFFF) or parts in (0, 0xFFFFFFFF)
    unit = 1e6 if is_usual else parts / basic
    corners = [_number(grid, octet, 4, True) / unit for octet in (47, 51, 56, 60)]
    num_parallels = _number(grid, 68, 4) if template == 40 else 0
    return _grid(columns, rows, lengths, corners, num_parallels, grid[71], has_gaps, grid)


def _of_edition_1(message: bytes) -> Grid | Projection:
    flags = message[8 + 7]
    start = 8 + _number(message, 9, 3)
    if not flags & 0x80:
        raise InputError("it has no description of its grid")
    grid = message[start : start + _number(message, start + 1, 3)]
    kind = grid[5]
    if kind not in (0, 4):
        return _projection(message, grid, bool(flags & 0x40))
    columns, rows = _number(grid, 7, 2), _number(grid, 9, 2)
    place = grid[4]
    is_reduced = columns == 0xFFFF and place != 255
    lengths = tuple(_number(grid, place + 4 * grid[3] + 2 * n, 2) for n in range(rows)) if is_reduced else ()
    corners = [_number(grid, octet, 3, True) / 1e3 for octet in (11, 14, 18, 21)]
    num_parallels = _number(grid, 26, 2) if kind == 4 else 0
    return _grid(columns, rows, lengths, corners, num_parallels, grid[27], bool(flags & 0x40), grid)


@functools.lru_cache(8)
def _gaussian(rows: int) -> Array:
    return np.degrees(np.arcsin(np.polynomial.legendre.leggauss(rows)[0]))


def _latitudes(south: float, north: float, rows: int, num_parallels: int) -> Array:
    """Those of rows from the south: of a Gaussian grid, which may be a part of the globe's, with so many parallels
    between a pole and the equator; even ones for 0, and for more parallels than are computed in a moment."""
    if 0 < 2 * num_parallels <= 1024:
        known = _gaussian(2 * num_parallels)
        first = int(np.abs(known - south).argmin())
        part: Array = known[first : first + rows]
        if len(part) == rows and max(abs(part[0] - south), abs(part[-1] - north)) < 1e-2:
            return part
    return np.linspace(south, north, rows)


def _grid(
    columns: int, rows: int, lengths: tuple[int, ...], corners: list[float], num_parallels: int, scanning: int,
    has_gaps: bool, description: bytes,
) -> Grid:  # fmt: skip
    width = max(lengths, default=columns)
    if not (1 < rows <= 1 << 20 and 1 < width <= 1 << 20 and rows * width <= _MOST_CELLS):
        raise InputError("its grid is no map")
    lat1, lon1, lat2, lon2 = corners
    latitudes = _latitudes(min(lat1, lat2), max(lat1, lat2), rows, num_parallels)
    if lengths:  # all the way round
        longitudes = lon1 + np.arange(width) * (360 / width)
    else:
        west, east = (lon2, lon1) if scanning & _FROM_EAST else (lon1, lon2)
        longitudes = np.linspace(west, east if east > west else east + 360, width)
    return Grid(latitudes, longitudes, lengths, scanning, has_gaps, description)
