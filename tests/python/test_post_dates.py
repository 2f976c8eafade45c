"""Dates in `hakobi post`: CF's calendars, as the page and pictures compute them."""

from __future__ import annotations

import os
from pathlib import Path

import cftime
import netCDF4
import numpy as np
import pytest

from hakobi.post.dates import time_text
from hakobi_lab import browser as browsers
from posting import TOKEN, served, wave, write_step

# Nothing here knows of MPI: once, with Open MPI, is enough where the tests run for both libraries.
_WHY_NOT = browsers.why_not() or ("run with Open MPI" if os.environ.get("HAKOBI_MPI") == "mpich" else "")
pytestmark = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT)


def test_dates_are_of_the_files_calendar(tmp_path: Path) -> None:
    """Against cftime's, also before 1582 and in the first century."""
    calendars = ["standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day"]
    calendars += ["all_leap", "366_day", "360_day"]
    seconds = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
    random = np.random.default_rng(7)
    cases, dates = [], []
    for calendar in calendars:
        for year in (1, 99, 1582, 1999, 2000):
            for unit in seconds:
                start = (
                    f"{year:04}-{random.integers(1, 13):02}-{1 if year == 1582 else random.integers(1, 29):02} 05:46:24"
                )
                value = round(float(random.uniform(0, 3e5 * 86400)) / seconds[unit], 3)
                when = cftime.num2date(round(value * seconds[unit]), f"seconds since {start}", calendar)
                suffix = "UTC" if "gregorian" in calendar or calendar == "standard" else calendar
                cases.append([value, f"{unit} since {start}", calendar])
                dates.append(f"{when.isoformat(' ')} {suffix}")
    for start in ("06:00:00 +03:00", "06:00:00.0 +0300", "03", "03:00Z", "T0:0:0 -3", "00:00 -02:60"):
        cases.append([1, f"hours since 2000-01-01{'' if start[0] == 'T' else ' '}{start}", ""])
        dates.append("2000-01-01 04:00:00 UTC")
    cases.append([1500, "milliseconds since 2000-01-01", ""])
    dates.append("2000-01-01 00:00:02 UTC")
    assert [time_text(*case) for case in cases] == dates
    write_step(tmp_path / "run_0.nc", {"eta": wave((8, 9))})
    with served(tmp_path) as client, browsers.Browser() as browser:
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}")
        static = browser.run("return document.querySelector('link[rel=modulepreload]').href").rpartition("/")[0]
        script = "return import(arguments[0]).then((n) => arguments[1].map((c) => n.time(...c)))"
        assert browser.run(script, f"{static}/numbers.js", cases) == dates
        assert browser.run(
            script,
            f"{static}/numbers.js",
            [[7, "days since 2000-02-28", ""], [7, "months since 2000-01-01", ""], [2.5, "s", ""]],
        ) == [
            "2000-03-06 00:00:00 UTC",
            "7 months since 2000-01-01",
            "2.5 s",
        ]


def test_a_field_along_other_times_has_its_date_and_its_mark(tmp_path: Path) -> None:
    """There are so many times that the chart asks for every third alone."""
    with netCDF4.Dataset(tmp_path / "run.nc", "w") as file:
        for name, size, units in (("time", 2, "days since 2000-01-01"), ("hour", 900, "hours since 2000-03-01")):
            file.createDimension(name, size)
            file.createVariable(name, "f8", (name,))[:] = np.arange(size)
            file[name].units = units
        for name, size in (("y", 3), ("x", 4)):
            file.createDimension(name, size)
        file.createVariable("eta", "f4", ("time", "y", "x"))[:] = 1
        file.createVariable("wind", "f4", ("hour", "y", "x"))[:] = np.arange(900)[:, None, None]
    with served(tmp_path) as client, browsers.Browser() as browser:
        browser.go(f"http://127.0.0.1:{client.port}/?token={TOKEN}#field=wind&step=-1.800&point=0,0")
        browser.wait("document.querySelector('#times .mark') !== null")
        assert browser.run("return document.querySelector('#time').getAttribute('aria-valuetext')") == (
            "2000-04-03 08:00:00 UTC"
        )
        places = "const at = (i) => document.querySelector('#times .line').getPointAtLength(i).x;"
        places += "const all = document.querySelector('#times .line').getTotalLength();"
        mark, first, last = browser.run(
            places + "return [Number(document.querySelector('#times .mark').getAttribute('x1')), at(0), at(all)]"
        )
        assert (mark - first) / (last - first) == pytest.approx(800 / 899, abs=0.01)
