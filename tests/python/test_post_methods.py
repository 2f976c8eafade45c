"""Titles of fields whose values stand for intervals, by CF's cell_methods and time_bnds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hakobi.post.methods import length_text, over_time
from hakobi.post.opening import open_step

netcdf = pytest.importorskip("netCDF4")


@pytest.mark.parametrize(
    ("cell_methods", "lengths", "units", "expected"),
    [
        ("time: mean", (21600, 21600), "s", "mean over 6 h"),
        ("area: mean time: maximum", (1, 1), "days since 2000-01-01", "maximum over 1 day"),
        ("time: standard_deviation", (29, 31), "days since 2000-01-01", "standard deviation"),
        ("time: sum (number of values above 300)", (30, 30), "min", "number of values above 300 over 30 min"),
        ("time: mean (interval: 1 hour comment: of all)", (90, 90), "seconds", "mean over 90 s"),
        ("time: mean", None, "hours since 2000-01-01", "mean"),
        ("time: mean", (0, 0), "hours since 2000-01-01", "mean"),
        ("time: mean", (2, 2), "fortnights", "mean"),
        ("time: point", (1, 1), "s", ""),
        ("area: mean", (1, 1), "s", ""),
        ("daytime: mean", (1, 1), "s", ""),
        ("time: lat: mean", (1, 1), "h", "mean over 1 h"),
        ("time: maximum within days time: mean over days", (1, 1), "days", ""),
    ],
)
def test_methods_in_words(cell_methods: str, lengths: tuple[float, float] | None, units: str, expected: str) -> None:
    assert over_time(cell_methods, lengths, units) == expected


def test_lengths_in_words() -> None:
    assert [length_text(seconds) for seconds in (0.5, 90, 3600, 86400, 172800)] == [
        "0.5 s",
        "90 s",
        "1 h",
        "1 day",
        "2 days",
    ]


def test_a_fields_title_says_what_its_values_stand_for(tmp_path: Path) -> None:
    with netcdf.Dataset(tmp_path / "daily.nc", "w") as file:
        for name, size in (("time", None), ("y", 3), ("x", 4), ("bnds", 2)):
            file.createDimension(name, size)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time.bounds = "hours since 2000-01-01", "time_bnds"
        time[:] = [24, 48]
        file.createVariable("time_bnds", "f8", ("time", "bnds"))[:] = [[0, 24], [24, 48]]
        for name, methods in (("t", "time: mean"), ("u", "time: point"), ("v", "")):
            field = file.createVariable(name, "f4", ("time", "y", "x"))
            field[:] = np.zeros((2, 3, 4))
            field.long_name = f"the {name}"
            if methods:
                field.cell_methods = methods
    with open_step(tmp_path / "daily.nc") as step:
        titles = {name: field.long_name for name, field in step.fields.items()}
    assert (titles["t"], titles["u"], titles["v"]) == ("the t, mean over 1 day", "the u", "the v")
