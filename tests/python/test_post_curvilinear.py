"""Fields on curvilinear grids as maps."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from hakobi.post import indexing
from hakobi.post.curvilinear import on_maps
from hakobi.post.overview import Overview, path_of
from hakobi.post.picture import picture
from hakobi.post.source import Axis, Field, default_field
from posting import Array, open_step


def write_curved(
    path: Path, shape: tuple[int, int] = (40, 50), time_s: float = 0.0, levels: int = 0
) -> tuple[Array, Array, Array]:
    """A field `tas` on a turned grid whose latitudes and longitudes come first in the file, with bounds."""
    rows, columns = np.meshgrid(np.linspace(-1, 1, shape[0]), np.linspace(-1, 1, shape[1]), indexing="ij")
    latitudes, longitudes = 50 + 9 * rows - 5 * columns, 4 + 6 * rows + 15 * columns
    values = (270 + latitudes + 0.1 * longitudes + time_s).astype("f4")
    if levels:
        values = values + np.arange(levels, dtype="f4")[:, None, None]
    with h5py.File(path, "w") as file:
        for name, array, units in (("a_lat", latitudes, "degrees_north"), ("a_lon", longitudes, "degrees_east")):
            file[name] = array
            file[name].attrs.update({"units": units, "bounds": f"{name}_bnds"})
            file[f"{name}_bnds"] = np.stack([array] * 4, -1)
        file["tas"] = values
        file["tas"].attrs.update({"units": "K", "coordinates": "a_lat a_lon"})
    return latitudes, longitudes, values


def test_a_curvilinear_grid_is_a_map_of_its_own_values(tmp_path: Path) -> None:
    for levels in (0, 3):
        path = tmp_path / f"curved_of_{levels}_levels.nc"
        latitudes, longitudes, values = write_curved(path, levels=levels)
        opened = open_step(path)
        field = opened.step.fields["tas"]
        assert default_field(opened.step) is field
        assert [axis.kind for axis in field.axes[-2:]] == ["lat", "lon"]
        shown = opened.step.read("tas", 0, tuple((0, n) for n in field.shape))
        assert set(shown[np.isfinite(shown)]) <= set(values.ravel())
        north, east = (np.array(axis.coordinates) for axis in field.axes[-2:])
        expected = 270 + north[:, None] + 0.1 * east[None] + np.arange(max(1, levels))[:, None, None]
        wrong = np.abs(shown.reshape(-1, *shown.shape[-2:]) - expected)
        assert np.nanmax(wrong) < 0.6  # a cell's size
        for row, column in ((20, 25), (3, 4), (36, 47)):  # nothing is missing inside
            at = np.abs(north - latitudes[row, column]).argmin(), np.abs(east - longitudes[row, column]).argmin()
            assert np.isfinite(shown[(..., *at)]).all()
        part = opened.step.read("tas", 0, (*((1, 2) for _ in range(bool(levels))), (10, 20), (15, 40)))
        np.testing.assert_array_equal(part, shown[(*([slice(1, 2)] * bool(levels)), slice(10, 20), slice(15, 40))])
        assert picture(path, tmp_path / "p.png").stat().st_size > 10_000


def test_a_grid_with_a_pole_in_it_has_no_holes() -> None:
    """A globe that is turned by 40 degrees: longitudes jump, and the poles are inside of cells."""
    lon, lat = np.meshgrid(np.linspace(-180, 180, 120, endpoint=False), np.linspace(-88.5, 88.5, 60))
    x, y, z = (np.cos(np.radians(lat)) * f(np.radians(lon)) for f in (np.cos, np.sin, np.ones_like))
    z = np.sin(np.radians(lat))
    turn = np.radians(40)
    north = np.degrees(np.arcsin(z * np.cos(turn) - x * np.sin(turn)))
    east = np.degrees(np.arctan2(y, x * np.cos(turn) + z * np.sin(turn)))
    fields = [Field("t", (Axis("y", 60), Axis("x", 120)), 0, np.dtype("f4"))]
    places = {"lat": ("degrees_north", north), "lon": ("degrees_east", east)}
    on_map = on_maps(fields, {"t": "lat lon"}, places.get)["t"].on_map
    assert on_map is not None
    assert (on_map[0].cells < 0).mean() < 0.002


@pytest.mark.programs
def test_an_overview_is_of_the_cells_in_the_file(tmp_path: Path) -> None:
    """As a program that writes it makes it; a map is not drawn from it."""
    write_curved(tmp_path / "curved.nc", (70, 80))
    assert indexing.make_overview(tmp_path / "curved.nc").state == "made"
    assert Overview(path_of(tmp_path / "curved.nc")).fields["tas"].shards[0][1].level.shape == (35, 40)
    opened = open_step(tmp_path / "curved.nc")
    assert opened.overview is not None
    assert "tas" not in opened.overview.fields
    assert "a_lat" in opened.overview.fields
