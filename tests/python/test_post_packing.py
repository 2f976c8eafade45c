"""Values and coordinates in `hakobi post` are those that netCDF's own library makes of a file's attributes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hakobi.post import answers
from hakobi.post.catalogue import Catalogue, Steps, identifier
from hakobi.post.glance import glance
from hakobi.post.opening import open_step
from hakobi.post.picture import picture
from hakobi.post.source import Step, Times

netcdf = pytest.importorskip("netCDF4")
FORMATS = ["NETCDF4", "NETCDF3_64BIT_DATA"]
pytestmark = pytest.mark.parametrize("kind", FORMATS)
SIZES = {"time": 2, "run": 3, "level": 4, "y": 5, "x": 6}
DEEP = np.arange(720).reshape(2, 3, 4, 5, 6)


def write(path: Path, kind: str, fill: Callable[[Any], None]) -> Path:
    with netcdf.Dataset(path, "w", format=kind) as file:
        for name, size in SIZES.items():
            file.createDimension(name, size)
        fill(file)
    with open_step(path) as step:  # a glance tells the same times
        np.testing.assert_array_equal(glance(path).times, step.times)
    return path


def variable(file: Any, name: str, dtype: str, dims: tuple[str, ...], stored: Any, **attributes: Any) -> None:
    """Stores numbers as they are."""
    fill = attributes.pop("_FillValue", None)
    made = file.createVariable(name, dtype, dims, fill_value=fill)
    made.set_auto_maskandscale(False)
    made.setncatts(attributes)
    if stored is not None:
        made[...] = stored


def truth(path: Path, name: str) -> NDArray[np.float64]:
    with netcdf.Dataset(path) as file:
        return np.ma.filled(np.ma.asarray(file[name][...]).astype(np.float64), np.nan)


def all_of(step: Step, name: str) -> NDArray[Any]:
    field = step.fields[name]
    box = tuple((0, size) for size in field.shape)
    return np.stack([step.read(name, time, box) for time in range(max(1, field.num_times))]).astype(np.float64)


LARGEST = 18446744073709551614
FIELDS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "bytes_without_a_sign": ("i1", np.arange(-15, 15), {"_Unsigned": "true", "_FillValue": np.int8(-1)}),
    "packed_without_a_sign": (
        "i2", np.arange(-15, 15) * 900, {"_Unsigned": "true", "scale_factor": 0.5, "add_offset": 10.0},
    ),
    "several_missing": ("f4", np.arange(30), {"missing_value": np.array([3, 7], "f4"), "_FillValue": np.float32(5)}),
    "long_fill": ("i8", [5, -LARGEST // 2 + 1] * 15, {"_FillValue": np.int64(-LARGEST // 2 + 1)}),
    "long_fill_without_a_sign": ("u8", np.array([5, LARGEST] * 15, "u8"), {"_FillValue": np.uint64(LARGEST)}),
    "fill_of_no_whole_number": ("i2", [-999] * 30, {"missing_value": -999.5}),
    "fill_that_is_too_large": ("f4", [np.inf, 1] * 15, {"missing_value": 1e300}),
    "never_written": ("f4", None, {}),
    "whole_numbers_never_written": ("i2", None, {}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of netCDF4, that an attribute is of another type
@pytest.mark.parametrize("name", FIELDS)
def test_values_are_those_of_netcdfs_library(tmp_path: Path, kind: str, name: str) -> None:
    dtype, stored, attributes = FIELDS[name]
    stored = None if stored is None else np.reshape(stored, (5, 6))
    path = write(tmp_path / "run.nc", kind, lambda file: variable(file, name, dtype, ("y", "x"), stored, **attributes))
    with open_step(path) as step:
        np.testing.assert_array_equal(all_of(step, name)[0], truth(path, name))


def test_coordinates_and_times_may_be_packed(tmp_path: Path, kind: str) -> None:
    def fill(file: Any) -> None:
        variable(file, "time", "i2", ("time",), [2, 4], units="days since 2000-01-01", scale_factor=0.5)
        variable(file, "x", "i2", ("x",), range(6), units="m", scale_factor=0.5, add_offset=100.0)
        variable(file, "eta", "f4", ("time", "y", "x"), np.zeros((2, 5, 6)))

    path = write(tmp_path / "run.nc", kind, fill)
    with open_step(path) as step:
        assert step.times == tuple(truth(path, "time")) == (1.0, 2.0)
        assert step.fields["eta"].axes[1].coordinates == tuple(truth(path, "x")) == (100, 100.5, 101, 101.5, 102, 102.5)


def test_packed_latitudes_and_longitudes_make_a_map(tmp_path: Path, kind: str) -> None:
    def fill(file: Any) -> None:
        rows, columns = np.mgrid[:5, :6]
        for name, stored, units in (("lat", rows, "degrees_north"), ("lon", columns + rows, "degrees_east")):
            variable(file, name, "i2", ("y", "x"), stored, units=units, scale_factor=0.5, add_offset=40.0)
        variable(file, "eta", "f4", ("y", "x"), columns, coordinates="lat lon")

    with open_step(write(tmp_path / "run.nc", kind, fill)) as step:
        latitude, longitude = step.fields["eta"].axes
        assert (latitude.kind, longitude.kind) == ("lat", "lon")
        assert latitude.coordinates is not None
        assert 39.5 < latitude.coordinates[0] < latitude.coordinates[-1] < 42.5


def test_steps_have_the_times_that_fields_are_along(tmp_path: Path, kind: str) -> None:
    """As of a forecast: the hour of the forecast stands beside the times of validity, in whatever order."""

    def fill(file: Any) -> None:
        variable(file, "reftime", "f8", (), 0.0, units="days since 2000-01-01", standard_name="forecast_reference_time")
        variable(file, "time", "f8", ("time",), [1, 2], units="days since 2000-01-01", standard_name="time")
        variable(file, "step", "f8", (), 6.0, units="hours", standard_name="forecast_period")
        variable(file, "eta", "f4", ("time", "y", "x"), np.zeros((2, 5, 6)))

    with open_step(write(tmp_path / "run.nc", kind, fill)) as step:
        assert (step.times, step.time_units) == ((1.0, 2.0), "days since 2000-01-01")


def test_a_direction_is_no_time_where_the_file_has_another(tmp_path: Path, kind: str) -> None:
    def fill(file: Any) -> None:
        variable(file, "time", "f8", ("time",), [1, 2], units="days since 2000-01-01")
        variable(file, "steps", "f4", ("time", "run", "y", "x"), np.zeros((2, 3, 5, 6)))
        variable(file, "runs", "f4", ("run", "level", "y", "x"), DEEP[0])
        variable(file, "deep", "f4", ("time", "run", "level", "y", "x"), DEEP)

    with open_step(write(tmp_path / "run.nc", kind, fill)) as step:
        assert (step.fields["steps"].num_times, step.fields["steps"].axes[0].name) == (2, "run")
        runs = step.fields["runs"]
        assert (runs.num_times, [axis.name for axis in runs.axes]) == (0, ["level", "y", "x"])
        assert runs.title == "runs, run = 0"
        np.testing.assert_array_equal(all_of(step, "runs")[0], np.arange(120).reshape(4, 5, 6))
        deep = step.fields["deep"]
        assert (deep.num_times, deep.title) == (2, "deep, run = 0")
        np.testing.assert_array_equal(all_of(step, "deep"), DEEP[:, 0])


def test_a_single_time_speaks_against_no_direction(tmp_path: Path, kind: str) -> None:
    """As of an ensemble, whose members are shown as steps are."""

    def fill(file: Any) -> None:
        variable(file, "valid_time", "f8", (), 1, units="days since 2000-01-01")
        variable(file, "members", "f4", ("run", "level", "y", "x"), DEEP[0])

    with open_step(write(tmp_path / "run.nc", kind, fill)) as step:
        np.testing.assert_array_equal(all_of(step, "members"), DEEP[0])


def test_a_time_that_was_never_written_is_none(tmp_path: Path, kind: str) -> None:
    def fill(file: Any) -> None:
        variable(file, "valid_time", "f8", (), None, units="days since 2000-01-01")
        variable(file, "eta", "f4", ("y", "x"), np.zeros((5, 6)))

    with open_step(write(tmp_path / "run.nc", kind, fill)) as step:
        np.testing.assert_array_equal(step.times, [np.nan])


def test_times_are_known_by_their_units(tmp_path: Path, kind: str) -> None:
    """As ROMS has them: ocean_time, in a direction that is not unlimited."""

    def fill(file: Any) -> None:
        file.renameDimension("time", "ocean_time")
        variable(file, "ocean_time", "f8", ("ocean_time",), [1, 2], units="days since 2000-01-01")
        variable(file, "eta", "f4", ("ocean_time", "y", "x"), np.zeros((2, 5, 6)))

    with open_step(write(tmp_path / "run.nc", kind, fill)) as step:
        assert (step.fields["eta"].num_times, step.times) == (2, (1.0, 2.0))


def test_fields_along_other_times_have_their_dates(tmp_path: Path, kind: str) -> None:
    """As forcing of ocean models has them: each field with times of its own."""

    def fill(file: Any) -> None:
        variable(file, "time", "f8", ("time",), [1, 2], units="days since 2000-01-01")
        variable(file, "run", "f8", ("run",), [2, 4, 6], units="hours since 2000-03-01")
        variable(file, "eta", "f4", ("time", "y", "x"), np.zeros((2, 5, 6)))
        variable(file, "wind", "f4", ("run", "y", "x"), np.arange(90).reshape(3, 5, 6))

    path = write(tmp_path / "run.nc", kind, fill)
    told: list[str] = []
    for name, step in (("eta", "0.1"), ("wind", "0.1"), ("wind", "last")):
        picture(path, tmp_path / "a.png", field=name, step=step, tell=told.append)
    assert [text.partition(" (")[0] for text in told] == [
        "eta, step 1, 2000-01-03 00:00:00 UTC",
        "wind, step 1, 2000-03-01 04:00:00 UTC",
        "wind, step 2, 2000-03-01 06:00:00 UTC",
    ]
    opened = next(iter(Catalogue(path).series.values()))
    points = answers.read_times(opened, Steps(tmp_path), identifier("wind"), [0, 0])
    assert (points["time_units"], points["points"][2]) == ("hours since 2000-03-01", ["-1.2", 6, 60])


def test_times_may_be_called_otherwise_than_their_direction(tmp_path: Path, kind: str) -> None:
    """As of an ocean model with a climatology beside it. Fields along one direction share their times."""

    def fill(file: Any) -> None:
        variable(file, "time", "f8", ("time",), [1, 2], units="days since 2000-01-01")
        variable(file, "ocean_time", "f8", ("run",), [2, 4, 6], units="hours since 2000-03-01")
        variable(file, "climatology", "f4", ("time", "y", "x"), np.zeros((2, 5, 6)))
        for name in ("temp", "salt"):
            variable(file, name, "f4", ("run", "level", "y", "x"), DEEP[0])

    path = write(tmp_path / "run.nc", kind, fill)
    with open_step(path) as step:
        assert (step.times, step.fields["climatology"].own_times) == ((1, 2), None)
        temp, salt = (step.fields[name] for name in ("temp", "salt"))
        assert temp.own_times == Times((2, 4, 6), "hours since 2000-03-01")
        assert salt.own_times is temp.own_times
    told = answers.describe_step(Steps(tmp_path).get(next(iter(Catalogue(path).series.values())), -1))
    assert {field["name"]: field["other_times"] for field in told["fields"]} == {
        "climatology": None, "temp": 0, "salt": 0,
    }  # fmt: skip
    assert told["other_times"] == [{"times": [2, 4, 6], "time_units": "hours since 2000-03-01", "calendar": ""}]
