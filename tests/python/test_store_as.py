"""Values that files have in another type: read by netCDF4, zarr and xarray, and by ours, in the writer's values."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import hakobi
from hakobi import launch, programs
from hakobi.programs import Program

pytestmark = [pytest.mark.programs, pytest.mark.once]

FLAVOUR = programs.flavour()
SHAPE = (90, 130)

WRITE = """
import sys
import numpy as np
import hakobi

prefix, format_ = sys.argv[1:]
comm = hakobi.Comm.duplicate()
shape = (90, 130)
y, x = np.indices(shape)
t = 255 + 60 * np.sin(0.1 * y) * np.cos(0.2 * x)
t[10:20, 30:40] = np.nan
block = hakobi.split(shape, comm.size, comm.rank)
out = hakobi.Output.create(comm, prefix, format=format_, store_as="float32")
eta = out.define("eta", "m", shape)
packed = out.define("t", "K", shape, store_as="int16:range=180..330")
height = out.define("height", "m", shape, store_as="uint8:range=0..500", is_static=True)
for step in range(2):
    out.begin_step(float(step))
    out.put(eta, block, np.ascontiguousarray((t + step)[block.slices]))
    out.put(packed, block, np.ascontiguousarray((t + step)[block.slices]))
    if step == 0:
        out.put(height, block, np.ascontiguousarray((y + x.astype(float))[block.slices]))
    out.end_step()
out.close()
"""


def values(step: int) -> np.ndarray:
    y, x = np.indices(SHAPE)
    t = 255 + 60 * np.sin(0.1 * y) * np.cos(0.2 * x)
    t[10:20, 30:40] = np.nan
    return np.asarray(t + step)


@pytest.fixture(scope="module", params=["netcdf4", "zarr"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store_as")
    script = folder / "write.py"
    script.write_text(WRITE)
    finished = launch.run(
        Program(Path(sys.executable), FLAVOUR), [str(script), str(folder / "run"), request.param], 2, timeout_s=60
    )
    assert finished.status == 0, finished.stderr
    return folder / "run"


#: Half a scale_factor.
OF_T, OF_HEIGHT = 0.5 * 150 / 65534, 0.5 * 500 / 254


def test_others_read_the_values(run: Path) -> None:
    xarray = pytest.importorskip("xarray")
    if (run.parent / "run.zarr").is_dir():
        data = xarray.open_zarr(run.parent / "run.zarr", consolidated=False)
    else:
        data = xarray.open_mfdataset(str(run) + "_0*.nc", data_vars="minimal", coords="minimal", compat="override")
    for step in range(2):
        right = values(step)
        np.testing.assert_array_equal(data["eta"][step], right.astype(np.float32))
        np.testing.assert_allclose(data["t"][step], right, rtol=0, atol=1.0001 * OF_T)
    y, x = np.indices(SHAPE)
    np.testing.assert_allclose(data["height"], y + x, rtol=0, atol=1.0001 * OF_HEIGHT)


def test_ours_reads_values_and_what_is_stored(run: Path) -> None:
    with hakobi.Input.open(run) as steps:
        assert [steps.field(name).type for name in ("eta", "t", "height")] == ["float", "short", "ubyte"]
        right = values(1)
        assert steps.read("eta").dtype == np.float32
        wide = steps.read("eta", out=np.empty(SHAPE))
        np.testing.assert_array_equal(wide, right.astype(np.float32))
        t = steps.read("t")
        assert t.dtype == np.float64
        np.testing.assert_allclose(t, right, rtol=0, atol=1.0001 * OF_T)
        np.testing.assert_allclose(steps.read("t", out=np.empty(SHAPE, np.float32)), t, rtol=1e-6)
        stored = steps.read("t", out=np.empty(SHAPE, np.int16))
        assert (stored[10:20, 30:40] == -32768).all()
        assert abs(int(stored[0, 0])) < 32768
        framed = np.full((92, 132), 7.0)
        steps.read("t", out=framed[1:-1, 1:-1])
        np.testing.assert_array_equal(framed[1:-1, 1:-1], t)
        assert (framed[0] == 7).all()
        for dtype in (np.int32, np.float32):
            with pytest.raises(hakobi.InputError, match="out is of dtype"):
                steps.read("t" if dtype == np.int32 else "height", out=np.empty((3, 3), np.int32))
        pytest.importorskip("xarray")
        data = steps.to_xarray()
        np.testing.assert_array_equal(data["t"][1], t)
        np.testing.assert_array_equal(data["height"], steps.read("height"))


def test_a_value_that_does_not_fit_names_its_place(tmp_path: Path) -> None:
    script = tmp_path / "write.py"
    script.write_text(
        "import sys, numpy as np, hakobi\n"
        "comm = hakobi.Comm.duplicate()\n"
        "out = hakobi.Output.create(comm, sys.argv[1])\n"
        "t = out.define('t', 'K', (4, 5), store_as='int8:range=0..1')\n"
        "out.begin_step(0.0)\n"
        "values = np.zeros((4, 5)); values[2, 3] = 1.5\n"
        "block = hakobi.split((4, 5), comm.size, comm.rank)\n"
        "out.put(t, block, np.ascontiguousarray(values[block.slices]))\n"
        "try:\n    out.end_step()\n"
        "except hakobi.InputError as error:\n    print(error)\n"
    )
    finished = launch.run(Program(Path(sys.executable), FLAVOUR), [str(script), str(tmp_path / "run")], 2, timeout_s=60)
    assert finished.stdout.count("field t: its value 1.5 at (2, 3) does not fit in byte") == 2, finished.stderr
