"""Step files as other people's readers see them: ncdump, NCO, CDO, netCDF4-python and xarray."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

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

NY, NX, STEPS = 12, 20, 3
#: A turned grid: neither rows nor columns have one latitude.
WRITER = """
import numpy as np
import hakobi

ny, nx, steps = 12, 20, 3
comm = hakobi.Comm.duplicate()
y, x = np.mgrid[:ny, :nx]
whole = hakobi.Block((ny, nx), (0, 0), (ny, nx))
inner = hakobi.Block((ny, nx), (1, 1), (ny - 2, nx - 2))
depth = hakobi.Axis("depth", "m", [0.5, 10], attributes={"positive": "down", "axis": "Z", "long_name": "depth"})
out = hakobi.Output.create(
    comm, "run", method="root", axes=[depth], time_units="seconds since 2020-01-01",
    attributes={"institution": "a test"},
)
dims = ("y", "x")
for step in range(steps):
    out.begin_step(60.0 * step)
    if step == 0:
        out.put("lat", "degrees_north", whole, 30 + 0.5 * y + 0.1 * x, dims=dims, is_static=True)
        out.put("lon", "degrees_east", whole, 140 + 0.5 * x - 0.1 * y, dims=dims, is_static=True)
    out.put(
        "eta",
        "m",
        inner,
        (1000.0 * step + nx * y + x)[1:-1, 1:-1],
        dims=dims,
        attributes={"cell_methods": "time: point", "valid_range": (-1.0, 1e6)},
        coordinates=("lat", "lon"),
    )
    out.put(
        "wet",
        "1",
        whole,
        np.ones((ny, nx), np.int8),
        dims=dims,
        attributes={"flag_values": (0, 1), "flag_meanings": "land sea"},
        fill_value=-1,
        coordinates=("lat", "lon"),
    )
    out.put("t", "K", hakobi.Block((2, ny, nx), (0, 0, 0), (2, ny, nx)), np.ones((2, ny, nx), np.float32),
            dims=("depth", "y", "x"), coordinates=("lat", "lon"))
    out.put("energy", "J", hakobi.Block((), (), ()), np.array(2.5 * step))
    out.end_step()
out.close()
comm.free()
"""
FILES = [f"run_{step:06}.nc" for step in range(STEPS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps of one process, on a turned grid."""
    path = tmp_path_factory.mktemp("described")
    wrote = run_python(WRITER, path)
    assert wrote.returncode == 0, wrote.stderr
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


def test_ncdump_shows_what_was_said(folder: Path) -> None:
    header = run(folder, "ncdump", "-h", FILES[1])
    for line in (
        "double lat(y, x) ;",
        "double eta(time, y, x) ;",
        "double energy(time) ;",
        "eta:_FillValue = NaN ;",
        'eta:coordinates = "lat lon" ;',
        "eta:valid_range = -1., 1000000. ;",
        "wet:_FillValue = -1b ;",
        "wet:flag_values = 0b, 1b ;",
        'depth:positive = "down" ;',
        ':institution = "a test" ;',
    ):
        assert line in header, header


def test_netcdf4_and_xarray_read_each_file_alone(folder: Path) -> None:
    for step, name in enumerate(FILES):
        with netCDF4.Dataset(folder / name) as file:
            np.testing.assert_array_equal(file["eta"][0].filled(np.nan), eta(step))
            assert file["energy"][0] == 2.5 * step
            assert file["lat"].dimensions == ("y", "x")
        for engine in ("netcdf4", "h5netcdf"):
            with xarray.open_dataset(folder / name, engine=engine) as data:
                assert {"lat", "lon"} <= set(data.coords)
                np.testing.assert_array_equal(data.eta[0], eta(step))


def test_a_series_of_files_is_one_data_set_for_xarray(folder: Path) -> None:
    names = [folder / name for name in FILES]
    with xarray.open_mfdataset(names, data_vars="minimal", coords="minimal", compat="override") as data:
        assert data.eta.shape == (STEPS, NY, NX)
        assert data.lat.dims == ("y", "x")
        np.testing.assert_array_equal(data.eta[2], eta(2))
    steps = hakobi.Input.open(folder / "run")
    lazy = steps.to_xarray()
    assert lazy.lat.dims == ("y", "x")
    assert {"lat", "lon"} <= set(lazy.coords)
    np.testing.assert_array_equal(lazy.eta[1], eta(1))
    np.testing.assert_array_equal(lazy.energy, [0, 2.5, 5])
    assert steps.axes[0].attributes["positive"] == "down"
    steps.close()


def test_netcdf4_strings_the_files_together(folder: Path) -> None:
    with netCDF4.MFDataset([str(folder / name) for name in FILES]) as series:
        assert series["eta"].shape == (STEPS, NY, NX)
        assert series["lat"].shape == (NY, NX)
        for step in range(STEPS):
            np.testing.assert_array_equal(series["eta"][step].filled(np.nan), eta(step))
        np.testing.assert_array_equal(series["energy"][:], [2.5 * step for step in range(STEPS)])


def test_ncrcat_strings_the_files_together(folder: Path) -> None:
    run(folder, "ncrcat", "-O", *FILES, "all.nc")
    with netCDF4.Dataset(folder / "all.nc") as file:
        assert file["eta"].shape == (STEPS, NY, NX)
        np.testing.assert_array_equal(file["eta"][2].filled(np.nan), eta(2))
        assert file["lat"].shape == (NY, NX)


def test_cdo_finds_places_and_leaves_out_what_is_missing(folder: Path) -> None:
    run(folder, "cdo", "-s", "sellonlatbox,142.05,146.05,31.05,34.05", "-selname,eta", FILES[1], "box.nc")
    y, x = np.mgrid[:NY, :NX]
    lat, lon = 30 + 0.5 * y + 0.1 * x, 140 + 0.5 * x - 0.1 * y
    expected = eta(1)[(lat > 31.05) & (lat < 34.05) & (lon > 142.05) & (lon < 146.05)]
    with netCDF4.Dataset(folder / "box.nc") as file:
        found = file["eta"][0].compressed()
    # From a turned grid it takes the rows and columns that the box reaches.
    assert found.size < NY * NX / 3
    assert np.isin(expected[~np.isnan(expected)], found).sum() > 40
    count = run(folder, "cdo", "-s", "outputf,%g,1", "-fldsum", "-gtc,-1", "-selname,eta", FILES[1])
    assert float(count) == (NY - 2) * (NX - 2)


def test_large_fields_leave_no_large_holes(folder: Path) -> None:
    script = """
import numpy as np
import hakobi
comm = hakobi.Comm.duplicate()
block = hakobi.Block((600, 640), (0, 0), (600, 640))
out = hakobi.Output.create(comm, "large", method="root")
out.begin_step(0)
for name in "abc":
    out.put(name, "1", block, np.ones((600, 640)))
out.end_step()
out.close()
"""
    done = run_python(script, folder)
    assert done.returncode == 0, done.stderr
    values = 3 * 600 * 640 * 8
    assert values < (folder / "large_000000.nc").stat().st_size < 1.02 * values
