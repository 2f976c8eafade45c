"""Axes of `hakobi post`: which way is up, where the date line is, and which cell a coordinate names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from numpy.typing import NDArray

from hakobi.post.opening import open_step
from hakobi.post.picture import picture
from hakobi.post.rulers import index_of

netcdf = pytest.importorskip("netCDF4")
FORMATS = ["NETCDF4", "NETCDF3_CLASSIC"]
EAST = {"units": "degrees_E"}
NORTH = {"units": "degrees_north"}
DOWN = {"units": "m", "positive": "down"}
PRESSURE = {"units": "hPa"}
UNEVEN = np.array([0, 20, 40, 50, 65, 68, 70, 72, 75, 80.0])


def write(path: Path, y: NDArray[Any], x: NDArray[Any], of_y: Any, of_x: Any, kind: str = "NETCDF4") -> Path:
    """A field that is 1 where both coordinates are among their largest quarter, else 0."""
    with netcdf.Dataset(path, "w", format=kind) as file:
        for name, values, attributes in (("y", y, of_y), ("x", x, of_x)):
            file.createDimension(name, len(values))
            made = file.createVariable(name, "f8", (name,))
            made[:] = values
            made.setncatts(attributes)
        large = [values > np.percentile(values, 75) for values in (y, x)]
        file.createVariable("eta", "f4", ("y", "x"))[:] = np.outer(*large)
    return path


def corner_of(path: Path, tmp_path: Path) -> str:
    """Where in its picture the field is 1. The bar beside it has that colour too, at its end: it is left out."""
    out = picture(path, tmp_path / "eta.png", low=0, high=1, coast=False, width=400)
    rgb = matplotlib.image.imread(out)[..., :3]
    dark = np.argwhere(np.abs(rgb - rgb.reshape(-1, 3)[rgb.reshape(-1, 3).sum(1).argmin()]).sum(2) < 0.01)
    yellow = np.argwhere((rgb[..., 0] > 0.9) & (rgb[..., 1] > 0.85) & (rgb[..., 2] < 0.7))
    centre = (dark.min(0) + dark.max(0)) / 2
    block = np.median(yellow, axis=0)
    return f"{'top' if block[0] < centre[0] else 'bottom'} {'left' if block[1] < centre[1] else 'right'}"


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(("y", "of_y", "where"), [
    (UNEVEN, NORTH, "top right"), (np.linspace(0, 80, 20), NORTH, "top right"),
    (UNEVEN, DOWN, "bottom right"), (np.linspace(0, 80, 20), DOWN, "bottom right"),
    (10 + 12 * UNEVEN, PRESSURE, "bottom right"),
])  # fmt: skip
def test_up_is_up_whichever_way_rows_are_stored(
    tmp_path: Path, y: NDArray[Any], of_y: dict[str, str], where: str, is_turned: bool
) -> None:
    step = -1 if is_turned else 1
    path = write(tmp_path / "run.nc", y[::step], UNEVEN[::step], of_y, EAST)
    assert corner_of(path, tmp_path) == where


@pytest.mark.parametrize("kind", FORMATS)
def test_longitudes_go_on_across_the_date_line(tmp_path: Path, kind: str) -> None:
    longitudes = np.concatenate([np.arange(170, 180), np.arange(-180, -160)])
    with open_step(write(tmp_path / "run.nc", np.arange(5.0), longitudes, NORTH, EAST, kind)) as step:
        axis = step.fields["eta"].axes[1]
    assert (axis.kind, axis.coordinates) == ("lon", tuple(np.arange(170.0, 200)))
    assert [index_of(axis, f"{degrees}degrees_E") for degrees in (-170, 190, 175, 100)] == [20, 20, 5, -1]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("longitudes", [[-180, 180], [-180, 0, 180], [170, -170, 160, -160]])
def test_longitudes_that_go_no_one_way_are_as_they_are(tmp_path: Path, longitudes: list[float], kind: str) -> None:
    with open_step(write(tmp_path / "run.nc", np.arange(5.0), np.array(longitudes), NORTH, EAST, kind)) as step:
        assert step.fields["eta"].axes[1].coordinates == tuple(longitudes)


@pytest.mark.parametrize("kind", FORMATS)
def test_depth_and_pressure_grow_downwards(tmp_path: Path, kind: str) -> None:
    for number, (attributes, is_down) in enumerate(
        ((DOWN, True), (PRESSURE, True), ({"units": "m", "positive": "up"}, False), ({"units": "m"}, False))
    ):
        path = write(tmp_path / f"{'abcd'[number]}.nc", UNEVEN, UNEVEN, attributes, EAST, kind)
        with open_step(path) as step:
            assert [axis.is_down for axis in step.fields["eta"].axes] == [is_down, False]
