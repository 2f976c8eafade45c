"""GRIB fields as arrays: the dimensions and coordinates of their grids.

A regular grid is (latitude, longitude), from south to north; a reduced one has one dimension, `point`, and a projection
(y, x), both with latitudes and longitudes of each point. Coefficients and grids of other kinds have one dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hakobi.errors import InputError
from hakobi.store.grib_grid import Grid, Projection, grid_of
from hakobi.store.grib_names import words_of
from hakobi.store.parameters import grib_values

_NORTH = {"standard_name": "latitude", "units": "degrees_north"}
_EAST = {"standard_name": "longitude", "units": "degrees_east"}


class GribLayout:
    """That of the fields of an array, by the message of one of them."""

    def __init__(self, message: bytes) -> None:
        grid = _grid_of(message)
        self.coords: dict[str, Any] = {}
        self._description = grid.description if grid else b""
        if grid is None:
            self.dims: tuple[str, ...] = ("dim_0",)
        elif isinstance(grid, Projection):
            self.dims = ("y", "x")
            if (places := grid.places(message)) is not None:
                self._place(*places)
        elif grid.rows:
            self.dims = ("point",)
            self._place(*grid.points())
        else:
            self.dims = ("latitude", "longitude")
            self.coords = {
                "latitude": ("latitude", grid.latitudes, _NORTH),
                "longitude": ("longitude", grid.longitudes, _EAST),
            }
        self.shape: tuple[int, ...] = self.values_of(message).shape

    def _place(self, latitudes: npt.NDArray[Any], longitudes: npt.NDArray[Any]) -> None:
        self.coords = {"latitude": (self.dims, latitudes, _NORTH), "longitude": (self.dims, longitudes, _EAST)}

    def is_like(self, other: GribLayout) -> bool:
        return self._description == other._description

    def values_of(self, message: bytes) -> npt.NDArray[np.float64]:
        """NaN where the message has no value. Raises InputError for a message on another grid, FormatError."""
        grid = _grid_of(message)
        if (grid.description if grid else b"") != self._description:
            raise InputError("the fields are on different grids, which make no array: select fewer")
        values = grib_values(message)
        if grid is None:
            return values
        if isinstance(grid, Grid) and grid.rows:
            return grid.points_of(values)
        return grid.map_of(values)


def _grid_of(message: bytes) -> Grid | Projection | None:
    try:
        return grid_of(message)
    except InputError:
        return None


def attributes_of(message: bytes) -> dict[str, str]:
    """Those of the CF conventions that ecCodes knows of a message's parameter."""
    words = words_of(message)
    found = {"long_name": words.name, "units": words.units, "standard_name": words.standard_name}
    return {name: text for name, text in found.items() if text}
