"""The file that shows a series as one data set, as other people's readers see it."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
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
    """A run whose times begin at 0, also where it is resumed."""
    done = run_python(WRITER, folder, prefix, str(steps), options)
    assert done.returncode == 0, done.stderr
    # Chance has left the last step of a run that was killed, and its time.
    may_not = "?" if "took over" in said else ""
    back = f"(hakobi: warning: .*: times go back, .*\n){may_not}" if "resume" in options else ""
    assert re.fullmatch(said + back, done.stderr), done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four steps of one process."""
    path = tmp_path_factory.mktemp("series")
    write(path, "run", 4)
    return path


def eta(step: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The values that the writer put; NaN at the border, which nobody did."""
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
    call = '((int (*)(int, const char*, int, const char*))dlsym(RTLD_NEXT, "renameat"))(folder, from, other, to)'
    (tmp_path / "killing.c").write_text(f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
int renameat(int folder, const char* from, int other, const char* to) {{
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


BOUNDED = """
import sys
import numpy as np
import hakobi

prefix, options = sys.argv[1], eval(sys.argv[2])
comm = hakobi.Comm.duplicate()
time = hakobi.Axis("time", "", [], attributes={"bounds": "time_bnds", "long_name": "end of the interval"})
lat = hakobi.Axis("lat", "degrees_north", np.arange(4.0))
out = hakobi.Output.create(comm, prefix, axes=[time, lat], time_units="days since 2000-01-01", **options)
first = 3 if "if_exists" in options else 0
for step in range(first, first + 3):
    out.begin_step(step + 1.0)
    out.put("t", "K", hakobi.split((4,), 1, 0), np.full(4, 280.0 + step), attributes={"cell_methods": "time: mean"})
    out.put("time_bnds", "", hakobi.Block((2,), (0,), (2,)), np.array([step, step + 1.0]), dims=("nbnd",))
    out.end_step()
out.close()
comm.free()
"""


@pytest.mark.parametrize("options", ["{}", "{'steps_per_file': 2}", "{'format': 'zarr'}", "{'method': 'per-process'}"])
def test_times_have_bounds(tmp_path: Path, options: str) -> None:
    for resumed in (options, options.replace("}", ", 'if_exists': 'resume'}").replace("{, ", "{")):
        done = run_python(BOUNDED, tmp_path, "run", resumed)
        assert (done.returncode, done.stderr) == (0, "")
    paths = ["run.zarr"] if "zarr" in options else ["run.series.nc", "run_000000.nc"]
    for name in paths:
        with xarray.open_dataset(tmp_path / name, engine="zarr" if name == "run.zarr" else "netcdf4") as data:
            assert (data.time.attrs | data.time.encoding)["bounds"] == "time_bnds"
            assert data.time.attrs["long_name"] == "end of the interval"
            assert data.time_bnds.dims == ("time", "nbnd")
            assert [str(day)[:10] for day in data.time_bnds.values[0]] == ["2000-01-01", "2000-01-02"]
    if "zarr" not in options:
        assert "2000-01-03" in run(tmp_path, "cdo", "-s", "showdate", "-seltimestep,2", "run.series.nc")


@pytest.mark.parametrize(
    "axis", ['"time", "s", []', '"time", "", [1.0]', '"time", "", [], attributes={"calendar": "noleap"}']
)
def test_what_time_has_of_itself_is_refused(tmp_path: Path, axis: str) -> None:
    script = f"import hakobi\nhakobi.Output.create(hakobi.Comm.duplicate(), 'run', axes=[hakobi.Axis({axis})])"
    done = run_python(script, tmp_path)
    assert done.returncode != 0
    assert "axis time: " in done.stderr.splitlines()[-1], done.stderr


MANY = """
import sys
import numpy as np
import hakobi

prefix, first, last, ny, options = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), eval(sys.argv[5])
comm = hakobi.Comm.duplicate()
block, every = hakobi.Block((ny, 2), (0, 0), (ny, 2)), hakobi.Block((3,), (0,), (3,))
out = hakobi.Output.create(comm, prefix, **{"method": "root", **options})
for step in range(first, last):
    out.begin_step(float(step))
    out.put("eta", "m", block, np.full((ny, 2), step + 1.0))
    out.put("sum", "m", hakobi.Block((), (), ()), np.array(-step - 1.0))
    out.put("depth", "m", every, np.arange(3.0), is_static=True)
    if step % 3 == 0:
        out.put("rare", "1", every, np.full(3, step, np.int32), fill_value=-1)
    out.end_step()
out.close()
comm.free()
"""
SMALL, LARGE = 1, 5000  # rows of eta: 16 bytes, and 80 KB

READ = """
import sys
import numpy as np

way, path, num = sys.argv[1], sys.argv[2], int(sys.argv[3])
if way.startswith("xarray"):
    import xarray
    data = xarray.open_dataset(path, engine=way.split("-")[1], decode_times=False, mask_and_scale=False)
    values = {name: data[name].values for name in data.variables}
elif way == "h5py":
    import h5py
    file = h5py.File(path)
    values = {name: file[name][...] for name in file}
elif way == "records":
    import h5py
    file = h5py.File(path)
    names = [name for name in ("time", "eta", "sum", "rare") if name in file]
    values = {name: np.stack([file[name][i] for i in range(num)]) for name in names}
    values["depth"] = file["depth"][...]
else:
    import netCDF4
    file = netCDF4.Dataset(path)
    file.set_auto_mask(False)
    values = {name: file[name][...] for name in file.variables}
steps = np.arange(num)
assert np.array_equal(values["time"], steps)
if len(sys.argv) > 4:
    assert "eta" not in values
else:
    assert values["eta"].shape[0] == num
    assert np.array_equal(values["eta"][:, 0, 0], steps + 1.0)
assert np.array_equal(values["sum"], -steps - 1.0)
assert np.array_equal(values["rare"][:, 1], np.where(steps % 3 == 0, steps, -1))
assert np.array_equal(values["depth"], [0, 1, 2])
"""
WAYS = ["xarray-h5netcdf", "xarray-netcdf4", "h5py", "records", "netCDF4"]


def write_many(folder: Path, first: int, last: int, rows: int, options: str = "{}") -> str:
    done = run_python(MANY, folder, "run", str(first), str(last), str(rows), options)
    assert done.returncode == 0, done.stderr
    return done.stderr


def run_with_few_files(folder: Path, *command: str) -> str:
    """Under the limit that many programs have on macOS: 256."""
    return run(folder, "sh", "-c", 'ulimit -n 256 && exec "$@"', "sh", *command)


def read_many(folder: Path, num: int, *more: str) -> None:
    for way in WAYS:
        run_with_few_files(folder, sys.executable, "-c", READ, way, "run.series.nc", str(num), *more)


def test_more_steps_than_files_can_be_open_are_read_right(tmp_path: Path) -> None:
    num = 600
    assert write_many(tmp_path, 0, num, SMALL) == ""
    assert sorted(path.name for path in tmp_path.glob("run.series*")) == ["run.series.000000.nc", "run.series.nc"]
    read_many(tmp_path, num)
    text = run_with_few_files(tmp_path, "ncdump", "-v", "sum", "run.series.nc")
    assert f"-{num - 1}, -{num} ;" in " ".join(text.split())
    sums = run_with_few_files(tmp_path, "cdo", "-s", "outputf,%g,1", "-selname,sum", "run.series.nc")
    assert [float(each) for each in sums.split()] == [-step - 1.0 for step in range(num)]
    run_with_few_files(tmp_path, "nccopy", "run.series.nc", "copied.nc")
    with netCDF4.Dataset(tmp_path / "copied.nc") as file:
        np.testing.assert_array_equal(file["eta"][:, 0, 1], np.arange(num) + 1.0)


def test_an_old_series_file_shows_its_steps_while_a_chapter_gets_more(tmp_path: Path) -> None:
    """As where a kill comes between the chapter and the file that shows all."""
    write_many(tmp_path, 0, 300, SMALL)
    before = (tmp_path / "run.series.nc").read_bytes()
    write_many(tmp_path, 300, 450, SMALL, "{'if_exists': 'resume'}")
    read_many(tmp_path, 450)
    (tmp_path / "run.series.nc").write_bytes(before)
    read_many(tmp_path, 300)
    write_many(tmp_path, 450, 451, SMALL, "{'if_exists': 'resume'}")
    read_many(tmp_path, 451)


def test_steps_that_were_taken_away_do_not_stay_in_copies(tmp_path: Path) -> None:
    write_many(tmp_path, 0, 300, SMALL)
    for step in range(150, 300):
        (tmp_path / f"run_{step:06}.nc").unlink()
    (tmp_path / "run_000149.nc").unlink()
    write_many(tmp_path, 149, 250, SMALL, "{'if_exists': 'resume'}")
    read_many(tmp_path, 250)
    write_many(tmp_path, 0, 3, SMALL, "{'if_exists': 'replace'}")
    assert [path.name for path in tmp_path.glob("run.series*")] == ["run.series.nc"]
    read_many(tmp_path, 3)


def test_a_field_in_more_files_than_can_be_open_is_left_out_by_name(tmp_path: Path) -> None:
    said = write_many(tmp_path, 0, 230, LARGE)
    assert re.fullmatch(r"hakobi: run\.series\.nc shows eta no longer: .*steps_per_file.*\n", said), said
    read_many(tmp_path, 230, "without eta")
    header = run(tmp_path, "ncdump", "-h", "run.series.nc")
    assert ':hakobi_not_shown = "eta" ;' in header
    assert "steps_per_file" in header
    with hakobi.Input.open(tmp_path / "run") as steps:
        assert steps.read("eta", step=229)[4999, 1] == 230
    # The next run goes on without it, and does not say it again.
    assert write_many(tmp_path, 230, 240, LARGE, "{'if_exists': 'resume'}") == ""
    read_many(tmp_path, 240, "without eta")


def test_few_large_steps_are_shown_from_their_files(tmp_path: Path) -> None:
    write_many(tmp_path, 0, 192, LARGE)
    read_many(tmp_path, 192)
    assert (tmp_path / "run.series.nc").stat().st_size < 200_000


def test_many_files_of_several_steps_are_shown_whole(tmp_path: Path) -> None:
    """The last one gets more steps after the file that shows all was made."""
    write_many(tmp_path, 0, 601, SMALL, "{'steps_per_file': 3}")
    read_many(tmp_path, 601)
    write_many(tmp_path, 601, 605, SMALL, "{'steps_per_file': 3, 'if_exists': 'resume'}")
    read_many(tmp_path, 605)


def test_gathering_shows_many_steps(tmp_path: Path) -> None:
    write_many(tmp_path, 0, 200, SMALL, "{'method': 'per-process'}")
    read_many(tmp_path, 200)
