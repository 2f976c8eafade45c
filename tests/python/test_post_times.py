"""Series whose files count their times from dates of their own, as restarted runs and forecasts write them."""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import numpy as np
import pytest

from hakobi.commands.ls import table_of
from hakobi.post import answers
from hakobi.post.catalogue import Catalogue, Series, Steps, identifier
from hakobi.post.contents import contents_of
from hakobi.post.dates import rebased
from hakobi.post.glance import glance
from hakobi.post.looking import Looker
from hakobi.post.opening import open_step

netcdf = pytest.importorskip("netCDF4")


def agrees(path: Path) -> None:
    """A glance tells the times of the whole survey."""
    with open_step(path) as step:
        assert glance(path).times == step.times


def write(folder: Path, kind: str, units: list[str], times: tuple[float, ...] = (0, 12)) -> Series:
    for number, text in enumerate(units):
        with netcdf.Dataset(folder / f"run_{number:06}.nc", "w", format=kind) as file:
            for name, size in (("time", None), ("y", 3), ("x", 4)):
                file.createDimension(name, size)
            file.createVariable("time", "f8", ("time",)).units = text
            file["time"][:] = times
            file.createVariable("eta", "f4", ("time", "y", "x"))[:] = np.full((len(times), 3, 4), number)
        agrees(folder / f"run_{number:06}.nc")
    return next(iter(Catalogue(folder).series.values()))


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_times_go_on_where_each_file_has_its_own_date(tmp_path: Path, kind: str) -> None:
    units = [f"hours since 2000-01-{day:02} 00:00:00" for day in (1, 2, 3)]
    series = write(tmp_path, kind, [*units[:2], "days since 2000-01-03 03:00 +3"], (0, 1))
    found = contents_of(series, tmp_path)
    assert (found.times, found.time_units) == ([0, 1, 24, 25, 48, 72], units[0])
    told = answers.read_times(series, Steps(tmp_path), identifier("eta"), [0, 0])
    assert [point[1] for point in told["points"]] == found.times
    assert told["time_units"] == units[0]


def test_times_that_cannot_be_compared_are_none(tmp_path: Path) -> None:
    series = write(tmp_path, "NETCDF4", ["hours since 2000-01-01", "months since 2000-01-01"])
    found = contents_of(series, tmp_path)
    assert found.times == pytest.approx([0, 12, math.nan, math.nan], nan_ok=True)
    assert "2 more have no place among them" in table_of(found, False).notes[0]
    told = answers.read_times(series, Steps(tmp_path), identifier("eta"), [0, 0])
    assert [point[1] for point in told["points"]] == [0, 12, None, None]


def test_times_are_listed_of_the_variable_with_several(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.nc", "w") as file:
        file["step"] = 6.0
        file["time"] = np.array([2, 4], np.int16)
        file["time"].attrs["scale_factor"] = 0.5
        file["time"].make_scale("time")
        file["eta"] = np.zeros((2, 3, 4))
        file["eta"].dims[0].attach_scale(file["time"])
    series = next(iter(Catalogue(tmp_path).series.values()))
    assert contents_of(series, tmp_path).times == [1, 2]
    agrees(tmp_path / "run.nc")


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_all_steps_are_reached_by_times_of_any_name(tmp_path: Path, kind: str) -> None:
    """As NEMO and ROMS have them, in a direction that is not unlimited, beside a number that is called as times are."""
    for number in range(3):
        with netcdf.Dataset(tmp_path / f"run_{number:06}.nc", "w", format=kind) as file:
            for name, size in (("time_counter", 4), ("y", 3), ("x", 4)):
                file.createDimension(name, size)
            file.createVariable("step", "i4")[:] = 7
            file.createVariable("time_counter", "f8", ("time_counter",)).units = "seconds since 1900-01-01"
            file["time_counter"][:] = np.arange(4) + 4 * number
            file.createVariable("eta", "f4", ("time_counter", "y", "x"))[:] = 1
        agrees(tmp_path / f"run_{number:06}.nc")
    series = next(iter(Catalogue(tmp_path).series.values()))
    found = contents_of(series, tmp_path)
    assert (found.times, found.time_units) == (list(range(12)), "seconds since 1900-01-01")
    assert Looker(tmp_path).counts(series) == {"steps": [[4, 3]]}


@pytest.mark.parametrize(
    ("units", "others", "expected"),
    [
        (("days since 2000-01-01", "365_day"), ("days since 1999-01-01", "NoLeap"), 365),
        (("days since 2000-01-01", "all_leap"), ("days since 1999-01-01", "366_day"), 366),
        (("days since 2000-01-01", ""), ("days since 1999-01-01", "Gregorian"), 365),
        (("days since 2000-01-01", "proleptic_gregorian"), ("hours since 2000-01-01", "standard"), 0),
        (("months since 2000-01-01", "proleptic_gregorian"), ("months since 2000-01-01", "standard"), 0),
        (("milliseconds since 2000-01-01 00:00:02", ""), ("msec since 2000-01-01", ""), 2000),
        (("days since 2000-01-01", "noleap"), ("days since 2000-01-01", "standard"), math.nan),
    ],
)
def test_one_calendar_may_have_several_names(units: tuple[str, str], others: tuple[str, str], expected: float) -> None:
    assert rebased((0,), units, others) == pytest.approx((expected,), nan_ok=True)
