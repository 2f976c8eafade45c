"""The grid of a GRIB message: how its values lie on latitudes and longitudes (WMO Manual on Codes, FM 92).

Values come from ecCodes through hakobi.store. What is read here is where they are: regular and reduced grids in
latitude and longitude, with even or Gaussian latitudes. Rows go from south to north; those of a reduced grid are drawn
out to the length of its longest by the nearest value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import FormatError, InputError

Array = NDArray[Any]
_MISSING = 9999.0  # ecCodes' value where a bitmap says that there is none
_MOST_CELLS = 1 << 28
_FROM_SOUTH, _FROM_EAST, _BY_COLUMNS = 0x40, 0x80, 0x20


@dataclass(frozen=True)
class Grid:
    """`rows` has the length of each row of a reduced grid; latitudes and longitudes are those of the map."""

    latitudes: Array
    longitudes: Array
    rows: tuple[int, ...]
    scanning: int
    has_bitmap: bool

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.latitudes), len(self.longitudes)

    def map_of(self, values: Array) -> Array:
        """Values as the message has them -> a map (latitude, longitude). Raises FormatError where they do not fit."""
        count, width = self.shape
        if values.size != (sum(self.rows) or count * width):
            raise FormatError("the message does not have as many values as its grid")
        if self.rows:
            ends = np.cumsum(self.rows)
            picks = [
                end - n + (np.arange(width) * n + width // 2) // width % n
                for n, end in zip(self.rows, ends, strict=True)
            ]
            result = values[np.stack(picks)]
        else:
            result = values.reshape(count, width)
        if self.scanning & _FROM_EAST:
            result = result[:, ::-1]
        if not self.scanning & _FROM_SOUTH:
            result = result[::-1]
        return np.where(result == _MISSING, np.nan, result) if self.has_bitmap else result


def grid_of(message: bytes) -> Grid:
    """Raises InputError for a grid that is no map here, FormatError for what is no message."""
    try:
        edition = message[7] if message[:4] == b"GRIB" else 0
        if edition == 2:
            return _of_edition_2(message)
        if edition == 1:
            return _of_edition_1(message)
    except IndexError as error:
        raise FormatError("the GRIB message ends early") from error
    raise FormatError("no GRIB message of edition 1 or 2")


def _number(data: bytes, octet: int, size: int, is_signed: bool = False) -> int:
    """Octets count from 1; the sign is the highest bit."""
    part = data[octet - 1 : octet - 1 + size]
    if len(part) < size:
        raise FormatError("the GRIB message ends early")
    value = int.from_bytes(part, "big")
    top = 1 << (8 * size - 1)
    return -(value & (top - 1)) if is_signed and value & top else value


def _of_edition_2(message: bytes) -> Grid:
    at, grid, has_bitmap = 16, b"", False
    while message[at : at + 4] != b"7777" and at < len(message):
        length, section = _number(message, at + 1, 4), message[at + 4]
        if section == 3:
            grid = message[at : at + length]
        elif section == 6:
            has_bitmap = message[at + 5] != 255
        at += max(5, length)
    template = _number(grid, 13, 2)
    if template not in (0, 40):
        raise InputError("its grid is not in latitude and longitude")
    columns, rows = _number(grid, 31, 4), _number(grid, 35, 4)
    size = grid[10]
    lengths = tuple(_number(grid, 73 + size * n, size) for n in range(rows)) if size and rows < len(grid) else ()
    corners = [_number(grid, octet, 4, True) / 1e6 for octet in (47, 51, 56, 60)]
    return _grid(columns, rows, lengths, corners, template == 40, grid[71], has_bitmap)


def _of_edition_1(message: bytes) -> Grid:
    flags = message[8 + 7]
    start = 8 + _number(message, 9, 3)
    if not flags & 0x80:
        raise InputError("it has no description of its grid")
    grid = message[start : start + _number(message, start + 1, 3)]
    kind = grid[5]
    if kind not in (0, 4):
        raise InputError("its grid is not in latitude and longitude")
    columns, rows = _number(grid, 7, 2), _number(grid, 9, 2)
    place = grid[4]
    is_reduced = columns == 0xFFFF and place != 255
    lengths = tuple(_number(grid, place + 4 * grid[3] + 2 * n, 2) for n in range(rows)) if is_reduced else ()
    corners = [_number(grid, octet, 3, True) / 1e3 for octet in (11, 14, 18, 21)]
    return _grid(columns, rows, lengths, corners, kind == 4, grid[27], bool(flags & 0x40))


def _grid(
    columns: int, rows: int, lengths: tuple[int, ...], corners: list[float], is_gaussian: bool, scanning: int,
    has_bitmap: bool,
) -> Grid:  # fmt: skip
    width = max(lengths, default=columns)
    if scanning & _BY_COLUMNS:
        raise InputError("its values go along columns")
    if (
        not (1 < rows <= 1 << 20 and 1 < width <= 1 << 20 and rows * width <= _MOST_CELLS)
        or min(lengths, default=1) < 1
    ):
        raise InputError("its grid is no map")
    lat1, lon1, lat2, lon2 = corners
    if is_gaussian and rows % 2 == 0 and rows <= 10_000 and abs(lat1) > 45 and abs(lat1 + lat2) < 1e-3:
        latitudes = np.degrees(np.arcsin(np.polynomial.legendre.leggauss(rows)[0])) if rows <= 1024 else None
    else:
        latitudes = None
    if latitudes is None:
        latitudes = np.linspace(min(lat1, lat2), max(lat1, lat2), rows)
    if lengths:  # all the way round
        longitudes = lon1 + np.arange(width) * (360 / width)
    else:
        west, east = (lon2, lon1) if scanning & _FROM_EAST else (lon1, lon2)
        longitudes = np.linspace(west, east if east > west else east + 360, width)
    return Grid(latitudes, longitudes, lengths, scanning, has_bitmap)
