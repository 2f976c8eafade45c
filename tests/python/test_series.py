"""The file that shows a series as one data set, as other people's readers see it."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import xarray

import hakobi
from hakobi import programs
from running import run_python

pytestmark = [pytest.mark.programs, pytest.mark.once]

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
if not (ROOT / "build" / FLAVOUR / "lib" / "libhakobi.so").is_file():
    pytest.skip("the library is not built", allow_module_level=True)

NY, NX = 12, 20
WRITER = """
import sys
import numpy as np
import hakobi

prefix, steps, options = sys.argv[1], int(sys.argv[2]), eval(sys.argv[3])
ny, nx = 12, 20
comm = hakobi.Comm.duplicate()
y, x = np.mgrid[:ny, :nx]
whole = hakobi.Block((ny, nx), (0, 0), (ny, nx))
inner = hakobi.Block((ny, nx), (1, 1), (ny - 2, nx - 2))
axes = [
    hakobi.Axis("lat", "degrees_north", np.arange(ny), standard_name="latitude"),
    hakobi.Axis("lon", "degrees_east", np.arange(nx), standard_name="longitude"),
]
out = hakobi.Output.create(
    comm, prefix, method="root", axes=axes, time_units="seconds since 2020-01-01", title="a run",
    attributes={"institution": "a test"}, **options,
)
for step in range(steps):
    out.begin_step(60.0 * step)
    if step == 0:
        out.put("depth", "m", whole, 10.0 * y + x, is_static=True)
        out.put("crs", "1", hakobi.Block((), (), ()), np.array(7, np.int32), is_static=True,
                attributes={"grid_mapping_name": "latitude_longitude"})
    out.put("eta", "m", inner, (1000.0 * step + nx * y + x)[1:-1, 1:-1], long_name="surface")
    out.put("wet", "1", whole, np.full((ny, nx), step % 100, np.int8), fill_value=-1)
    out.put("energy", "J", hakobi.Block((), (), ()), np.array(2.5 * step))
    if step != 1:
        out.put("big", "1", hakobi.Block((60, 100), (0, 0), (60, 100)),
                np.full((60, 100), 1.0 + step, np.float32), dims=("v", "w"), compression="deflate")
    out.end_step()
out.close()
comm.free()
"""


def write(folder: Path, prefix: str, steps: int, options: str = "{}", said: str = "") -> None:
    done = run_python(WRITER, folder, prefix, str(steps), options)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(said, done.stderr), done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four steps of one process."""
    path = tmp_path_factory.mktemp("series")
    write(path, "run", 4)
    return path


def eta(step: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """What the writer put; NaN at the border, which nobody did."""
    y, x = np.mgrid[:NY, :NX]
    values = 1000.0 * step + NX * y + x
    values[[0, -1], :] = values[:, [0, -1]] = np.nan
    return values


def run(folder: Path, *command: str) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "rror" not in done.stderr, done.stderr
    return done.stdout


def check(path: Path) -> None:
    with netCDF4.Dataset(path) as file:
        assert file.dimensions["time"].isunlimited()
        np.testing.assert_array_equal(file["time"][:], [0, 60, 120, 180])
        assert file["eta"].dimensions == ("time", "lat", "lon")
        for step in range(4):
            np.testing.assert_array_equal(file["eta"][step].filled(np.nan), eta(step))
            np.testing.assert_array_equal(file["wet"][step], np.full((NY, NX), step))
        np.testing.assert_array_equal(file["energy"][:], [0, 2.5, 5, 7.5])
        np.testing.assert_array_equal(file["depth"][:], np.add.outer(10.0 * np.arange(NY), np.arange(NX)))
        assert file["crs"][...] == 7
        np.testing.assert_array_equal(file["big"][:, 3, 4].filled(np.nan), [1, np.nan, 3, 4])


def test_a_glob_of_the_steps_leaves_it_out(folder: Path) -> None:
    assert [path.name for path in sorted(folder.glob("run_*.nc"))] == [f"run_{step:06}.nc" for step in range(4)]
    assert (folder / "run.series.nc").stat().st_size < 40_000


def test_ncdump_shows_all_steps(folder: Path) -> None:
    header = run(folder, "ncdump", "-h", "run.series.nc")
    for line in (
        "time = UNLIMITED ; // (4 currently)",
        "double eta(time, lat, lon) ;",
        "double depth(lat, lon) ;",
        "double energy(time) ;",
        "int64 step_number(time) ;",
        "eta:_FillValue = NaN ;",
        'eta:long_name = "surface" ;',
        "wet:_FillValue = -1b ;",
        'crs:grid_mapping_name = "latitude_longitude" ;',
        ':institution = "a test" ;',
        ':title = "a run" ;',
    ):
        assert line in header, header
    assert "7.5" in run(folder, "ncdump", "-v", "energy", "run.series.nc")


def test_netcdf4_reads_all_values_from_anywhere(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(folder / "run.series.nc")


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_xarray_opens_it_as_one_data_set(folder: Path, engine: str) -> None:
    with xarray.open_dataset(folder / "run.series.nc", engine=engine) as data:
        assert dict(data.sizes) == {"time": 4, "lat": NY, "lon": NX, "v": 60, "w": 100}
        assert str(data.time.values[3]).startswith("2020-01-01T00:03:00")
        np.testing.assert_array_equal(data.eta[2], eta(2))
        np.testing.assert_array_equal(data.eta.isel(lat=3, lon=4), [64, 1064, 2064, 3064])
        np.testing.assert_array_equal(data.step_number, range(4))


def test_nccopy_and_nco_make_one_file_of_it(folder: Path) -> None:
    run(folder, "nccopy", "run.series.nc", "copied.nc")
    check(folder / "copied.nc")
    run(folder, "ncks", "-O", "--cnk_plc=uck", "-d", "time,1,2", "-v", "eta", "run.series.nc", "cut.nc")
    with netCDF4.Dataset(folder / "cut.nc") as file:
        np.testing.assert_array_equal(file["eta"][1].filled(np.nan), eta(2))


def test_cdo_reads_it(folder: Path) -> None:
    run(folder, "cdo", "-s", "sellonlatbox,2.5,6.5,3.5,5.5", "-selname,eta", "run.series.nc", "box.nc")
    with netCDF4.Dataset(folder / "box.nc") as file:
        np.testing.assert_array_equal(file["eta"][3], eta(3)[4:6, 3:7])
    count = run(folder, "cdo", "-s", "outputf,%g,1", "-fldsum", "-gtc,-1", "-selname,eta", "run.series.nc")
    assert [float(text) for text in count.split()] == [(NY - 2) * (NX - 2)] * 4


def test_a_folder_can_be_moved(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "elsewhere")
    check(tmp_path / "elsewhere" / "run.series.nc")


def test_a_resumed_run_is_shown_whole(tmp_path: Path) -> None:
    write(tmp_path, "run", 2)
    write(tmp_path, "run", 3, "{'if_exists': 'resume'}")
    with netCDF4.Dataset(tmp_path / "run.series.nc") as file:
        np.testing.assert_array_equal(file["time"][:], [0, 60, 0, 60, 120])
        np.testing.assert_array_equal(file["step_number"][:], range(5))
        np.testing.assert_array_equal(file["eta"][4].filled(np.nan), eta(2))
        assert file["crs"][...] == 7


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_while_it_is_replaced_one_of_both_is_there(tmp_path: Path, moment: str) -> None:
    """A library before libc's kills the run at the file's renaming."""
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler")
    call = '((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(from, to)'
    (tmp_path / "killing.c").write_text(f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
int rename(const char* from, const char* to) {{
    const int is_it = strstr(to, "run.series.nc") != NULL;
    if (is_it && {int(moment == "before")}) kill(getpid(), SIGKILL);
    const int status = {call};
    if (is_it) kill(getpid(), SIGKILL);
    return status;
}}
""")
    run(tmp_path, compiler, "-shared", "-fPIC", "-o", "killing.so", "killing.c", "-ldl")
    write(tmp_path, "run", 2)
    preload = str(tmp_path / "killing.so")
    killed = run_python(WRITER, tmp_path, "run", "4", "{'if_exists': 'resume'}", LD_PRELOAD=preload)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob("run.series.nc.*.part"))) == (moment == "before")
    with netCDF4.Dataset(tmp_path / "run.series.nc") as file:
        times = [0, 60] if moment == "before" else [0, 60, 0]
        np.testing.assert_array_equal(file["time"][:], times)
        np.testing.assert_array_equal(file["eta"][-1].filled(np.nan), eta(times[-1] // 60))
    # How much of its last steps the killed run had stored is chance.
    said = "hakobi: took over run.lock .*\n(hakobi: run: (completed )?steps? .*\n)*"
    write(tmp_path, "run", 1, "{'if_exists': 'resume'}", said)
    assert not list(tmp_path.glob("*.part"))
    with netCDF4.Dataset(tmp_path / "run.series.nc") as file:
        np.testing.assert_array_equal(file["step_number"][:], range(len(list(tmp_path.glob("run_*.nc")))))


@pytest.mark.parametrize("name", ["phi=50%", "re%b", "%b", "100%%", "Ölwanne 運び", "T:12:00", "a'b\"c", "$x*;y?"])
def test_a_prefix_may_have_any_character(tmp_path: Path, name: str) -> None:
    """HDF5 takes names of sources for patterns, in which % has a meaning."""
    write(tmp_path, name, 2)
    write(tmp_path, name, 2, "{'if_exists': 'resume'}")
    with h5py.File(tmp_path / f"{name}.series.nc") as file:
        np.testing.assert_array_equal(file["eta"][3], eta(1))
        np.testing.assert_array_equal(file["energy"][:], [0, 2.5, 0, 2.5])
        np.testing.assert_array_equal(file["depth"][2, :3], [20, 21, 22])


@pytest.mark.parametrize("calendar", ["noleap", "360_day", "all_leap", "julian", "proleptic_gregorian", "365_day"])
def test_times_are_of_their_calendar(tmp_path: Path, calendar: str) -> None:
    """The second of two steps is a day after 28 February 2000."""
    script = WRITER.replace("seconds since 2020-01-01", "minutes since 2000-02-28 23:00")
    done = run_python(script, tmp_path, "run", "2", f"{{'calendar': {calendar!r}}}")
    assert done.returncode == 0, done.stderr
    day = {"noleap": (3, 1), "365_day": (3, 1)}.get(calendar, (2, 29))
    for path in (tmp_path / "run_000001.nc", tmp_path / "run.series.nc"):
        with xarray.open_dataset(path, decode_times=xarray.coders.CFDatetimeCoder(use_cftime=True)) as shown:
            when = shown["time"].values[-1]
            assert (when.month, when.day, when.hour) == (*day, 0)
            assert shown["time"].encoding["calendar"] == calendar
    with hakobi.Input.open(tmp_path / "run") as steps:
        assert steps.calendar == calendar
        when = steps.to_xarray()["time"].dt
        assert (int(when.month[-1]), int(when.day[-1])) == day


def test_many_steps_are_read_through_chapters(tmp_path: Path) -> None:
    steps = 600
    write(tmp_path, "50%b", steps)
    assert sorted(path.name for path in tmp_path.glob("*.series*")) == [
        "50%b.series.000000.nc",
        "50%b.series.000256.nc",
        "50%b.series.nc",
    ]
    with netCDF4.Dataset(tmp_path / "50%b.series.nc") as file:
        np.testing.assert_array_equal(file["energy"][:], 2.5 * np.arange(steps))
        np.testing.assert_array_equal(file["eta"][:, 4, 5].filled(np.nan), 1000.0 * np.arange(steps) + NX * 4 + 5)
        assert file["big"][1, 0, 0] is np.ma.masked
    with h5py.File(tmp_path / "50%b.series.nc") as file:
        assert len(file["eta"].virtual_sources()) == 2 + steps - 512
