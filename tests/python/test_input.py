"""hakobi.Input from Python: what Output wrote, whole and in blocks, with a communicator and without MPI."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import hakobi
from hakobi import launch, programs
from hakobi.errors import FormatError, InputError
from hakobi.programs import Program
from running import run_python

pytestmark = pytest.mark.programs

ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = programs.flavour()
WAVE_CPP = ROOT / "build" / FLAVOUR / "examples" / "wave_cpp"
SUMS_PY = ROOT / "examples" / "languages" / "sums.py"
NY, NX = 37, 53
Y, X = np.ogrid[:NY, :NX]

if not WAVE_CPP.is_file():
    pytest.skip(f"{WAVE_CPP} is not built", allow_module_level=True)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two steps: eta = 1000 y + x + 0.25 step, cell = its number."""
    path = str(tmp_path_factory.mktemp("series") / "run")
    wrote = launch.run(Program(WAVE_CPP, FLAVOUR), [path, "root"], 1, timeout_s=60)
    assert wrote.status == 0, wrote.stderr
    return path


def eta(step: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return 1000.0 * Y + X + 0.25 * step


def test_one_process_reads_a_series_without_mpi(prefix: str) -> None:
    with hakobi.Input.open(prefix) as steps:
        assert steps.steps == [0, 1]
        assert steps.times == [0, 60]
        assert steps.time_units == "seconds since 2011-03-11 05:46:24"
        assert steps.calendar == "standard"
        assert steps.fields == ["eta", "cell", "number", "depth"]
        field = steps.field("eta")
        assert (field.dims, field.shape, field.type) == (("lat", "lon"), (NY, NX), "double")
        assert field.attributes == {
            "standard_name": "sea_surface_height",
            "units": "m",
            "_FillValue": -9999,
            "cell_methods": "time: point",
            "valid_range": (0, 1e6),
        }
        assert steps.field("cell").attributes["valid_min"] == 0
        assert steps.attributes["title"] == "a wave"
        assert steps.attributes["institution"] == "an example"
        assert [steps.read("number", step=step) for step in steps.steps] == [0, 1]
        assert steps.field("depth").is_static
        assert not field.is_static
        for step in steps.steps:  # put in the first alone
            np.testing.assert_array_equal(steps.read("depth", step=step), np.broadcast_to(10.0 * Y, (NY, NX)))
        assert [axis.name for axis in steps.axes] == ["lat", "lon"]
        np.testing.assert_array_equal(steps.axes[0].values, 30 + 0.5 * np.arange(NY))
        np.testing.assert_array_equal(steps.read("eta", step=0), eta(0))
        np.testing.assert_array_equal(steps.read("cell"), Y * NX + X)
        block = hakobi.Block((NY, NX), (3, 50), (20, 3))
        np.testing.assert_array_equal(steps.read("eta", step=1, block=block), eta(1)[block.slices])
        assert "read by this process" in steps.explain("eta")


def test_out_may_be_a_view(prefix: str) -> None:
    with hakobi.Input.open(prefix) as steps:
        ghosts = np.full((NY + 2, NX + 4), -1.0)
        assert steps.read("eta", step=1, out=ghosts[1:-1, 2:-2]) is not None
        np.testing.assert_array_equal(ghosts[1:-1, 2:-2], eta(1))
        assert ghosts.sum() == eta(1).sum() - (ghosts.size - NY * NX)
        fortran = np.empty((NY, NX), order="F")
        steps.read("eta", step=0, out=fortran)
        np.testing.assert_array_equal(fortran, eta(0))


def test_errors_say_what_to_change(prefix: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'run'"):
        hakobi.Input.open(prefix[:-1] + "m")
    steps = hakobi.Input.open(prefix)
    for call, text in (
        (lambda: steps.read("etta"), "did you mean 'eta'"),
        (lambda: steps.read("eta", step=5), "no whole step 5"),
        (lambda: steps.read("eta", block=hakobi.Block((NY, NX), (30, 0), (10, 5))), "field eta: its block"),
        (lambda: steps.read("eta", out=np.empty((NY, NX), np.float32)), "dtype <f4"),
        (lambda: steps.read("eta", out=np.empty((NX, NY))), "shape"),
        (lambda: steps.read("eta", out=np.empty((NY, NX))[::-1]), "strides"),
        (lambda: steps.read("eta", block=(3, 4)), "not a Block"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match=text):
            call()
    np.testing.assert_array_equal(steps.read("eta", step=0), eta(0))
    steps.close()
    steps.close()
    with pytest.raises(InputError, match="closed"):
        steps.read("eta")
    torn = Path(prefix + "_000001.nc").read_bytes()[:5000]
    (tmp_path / "t_000000.nc").write_bytes(torn)
    with pytest.raises(FormatError, match=r"t_000000\.nc: not a whole NetCDF-4"):
        hakobi.Input.open(tmp_path / "t")


def test_files_of_others_are_read(tmp_path: Path) -> None:
    """Chunked, compressed, of another byte order, with a record of time: h5py wrote them."""
    h5py = pytest.importorskip("h5py")
    values = np.arange(300, dtype=np.float32).reshape(1, 15, 20)
    with h5py.File(tmp_path / "other_000007.nc", "w") as file:
        file.create_dataset("time", data=[12.5], maxshape=(None,)).make_scale("time")
        file.create_dataset("packed", data=values, chunks=(1, 4, 7), compression="gzip", shuffle=True)
        file["packed"].dims[0].attach_scale(file["time"])
        file.create_dataset("big", data=values[0].astype(">f8"))
        file.create_dataset("text", data="words")
        file["packed"].attrs["scale"] = 2.5
    with hakobi.Input.open(tmp_path / "other") as steps:
        assert (steps.steps, steps.times) == ([7], [12.5])
        assert steps.field("packed").shape == (15, 20)
        assert steps.field("packed").attributes["scale"] == 2.5
        assert "chunked and filtered" in steps.explain("packed")
        assert "of another byte order" in steps.explain("big")
        block = hakobi.Block((15, 20), (2, 3), (9, 11))
        np.testing.assert_array_equal(steps.read("packed", block=block), values[0, 2:11, 3:14])
        np.testing.assert_array_equal(steps.read("big"), values[0])
        inside = np.zeros((11, 13), np.float32)
        steps.read("packed", block=block, out=inside[1:-1, 1:-1])
        np.testing.assert_array_equal(inside[1:-1, 1:-1], values[0, 2:11, 3:14])
        with pytest.raises(InputError, match="cannot be read"):
            steps.read("text")


def test_xarray_reads_what_is_used(prefix: str) -> None:
    pytest.importorskip("xarray")
    data = hakobi.Input.open(prefix).to_xarray()
    assert data["eta"].dims == ("time", "lat", "lon")
    assert str(data["time"].values[1])[:19] == "2011-03-11T05:47:24"
    assert data["eta"].attrs["units"] == "m"
    np.testing.assert_array_equal(data["eta"].values, np.stack([eta(0), eta(1)]))
    np.testing.assert_array_equal(data["eta"].isel(time=1, lat=slice(30, 3, -4), lon=7), eta(1)[30:3:-4, 7])
    np.testing.assert_array_equal(data["cell"].isel(time=[1, 0]).sel(lat=31), np.stack([(Y * NX + X)[2]] * 2))


def test_xarray_unpacks_each_step_by_its_own_attributes(tmp_path: Path) -> None:
    """As programs write them that pack each step by its own range."""
    pytest.importorskip("xarray")
    program = """
import numpy as np
import hakobi
out = hakobi.Output.create(hakobi.Comm.duplicate(), "run")
block = hakobi.Block((4, 5), (0, 0), (4, 5))
for step in range(3):
    out.begin_step(step)
    packing = {"scale_factor": 0.5 * (step + 1), "add_offset": 1.0}
    values = np.arange(20, dtype=np.int16).reshape(4, 5)
    out.put("packed", "m", block, values, attributes=packing, fill_value=np.int16(3))
    out.put("gaps", "m", block, values.astype(np.float32), fill_value=np.nan)
    out.end_step()
out.close()
"""
    wrote = run_python(program, tmp_path)
    assert wrote.returncode == 0, wrote.stderr
    data = hakobi.Input.open(tmp_path / "run").to_xarray()
    stored = np.where(np.arange(20) == 3, np.nan, np.arange(20)).reshape(4, 5)
    expected = np.stack([stored * 0.5 * (step + 1) + 1 for step in range(3)])
    np.testing.assert_array_equal(data["packed"].values, expected)
    np.testing.assert_array_equal(data["packed"][::-1, 1, ::-2].values, expected[::-1, 1, ::-2])
    assert data["packed"].attrs == {"units": "m"}
    assert data["gaps"].dtype == np.float32


def test_xarray_takes_a_step_without_units_for_one_of_the_others(tmp_path: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    pytest.importorskip("xarray")
    for number, units in enumerate([("m", "m"), ("", "cm"), ("m", "m"), ("", "")]):
        with netcdf.Dataset(tmp_path / f"run_{number:06}.nc", "w") as file:
            for name, size in (("time", None), ("y", 3), ("x", 4)):
                file.createDimension(name, size)
            file.createVariable("time", "f8", ("time",))[:] = number
            for name, unit in zip(("eta", "other"), units, strict=True):
                made = file.createVariable(name, "f4", ("time", "y", "x"))
                made[:] = np.full((1, 3, 4), number)
                made.setncatts({"units": unit} if unit else {})
    data = hakobi.Input.open(tmp_path / "run").to_xarray()
    assert data["eta"].attrs["units"] == "m"
    np.testing.assert_array_equal(data["eta"].values[:, 0, 0], range(4))
    assert "other" not in data


@pytest.mark.parametrize("ranks", [2, 3] if FLAVOUR == "openmpi" else [2])
def test_ranks_read_together(prefix: str, mpi4py_environment: dict[str, str], ranks: int) -> None:
    done = launch.run(
        Program(Path(sys.executable), FLAVOUR),
        [str(SUMS_PY), prefix],
        ranks,
        timeout_s=60,
        extra_environment=mpi4py_environment,
    )
    assert done.status == 0, done.stderr
    assert done.stdout == "missing: -9999\nstep 0 at 0 s: 141433890.00\nstep 1 at 60 s: 141435850.25\n"


def test_one_ranks_mistake_is_raised_on_all(tmp_path: Path, prefix: str, mpi4py_environment: dict[str, str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import hakobi, numpy as np, os
comm = hakobi.Comm.duplicate()
steps = hakobi.Input.open({prefix!r}, comm)
for out in (np.empty(3), np.empty((37, 53), np.int32)):
    try:
        steps.read("eta", out=out if comm.rank == 1 else None)
    except hakobi.InputError as error:
        os.write(1, f"{{comm.rank}} {{error.rank}} {{error}}\\n".encode())  # one write: lines stay whole
steps.close()
comm.free()
"""
    )
    done = launch.run(
        Program(Path(sys.executable), FLAVOUR), [str(script)], 2, timeout_s=60, extra_environment=mpi4py_environment
    )
    assert done.status == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    assert len(lines) == 4, done.stdout
    assert {line.split(" ", 2)[1] for line in lines} == {"1"}
    assert {line[2:] for line in lines if line[0] == "0"} == {line[2:] for line in lines if line[0] == "1"}


def test_one_rank_reads_without_the_others(tmp_path: Path, prefix: str, mpi4py_environment: dict[str, str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import hakobi, numpy as np
comm = hakobi.Comm.duplicate()
steps = hakobi.Input.open({prefix!r}, comm)
if comm.rank == 1:
    block = hakobi.Block((37, 53), (3, 50), (20, 3))
    ghosts = np.full((22, 5), -1.0)
    steps.read_independent("eta", step=0, block=block, out=ghosts[1:-1, 1:-1])
    print((ghosts[1:-1, 1:-1] == steps.read_independent("eta", step=0, block=block)).all(), ghosts.min())
    for name, out in (("etta", None), ("eta", np.empty(3))):
        try:
            steps.read_independent(name, out=out)
        except hakobi.InputError as error:
            print(str(error).split(" (")[0])
together = steps.read("eta", step=1)
if comm.rank == 1:
    print(together[3, 4])
steps.close()
comm.free()
"""
    )
    done = launch.run(
        Program(Path(sys.executable), FLAVOUR), [str(script)], 2, timeout_s=60, extra_environment=mpi4py_environment
    )
    assert done.status == 0, done.stderr
    equal, missing, shape, last = done.stdout.splitlines()
    assert equal == "True -1.0"
    assert "did you mean 'eta'" in missing
    assert shape == "out's shape"
    assert last == str(eta(1)[3, 4])


def test_the_library_alone_starts_no_mpi(prefix: str, tmp_path: Path) -> None:
    text = f"import hakobi; print(hakobi.Input.open({prefix!r}).read('cell').sum())"
    done = run_python(text, tmp_path, OMPI_MCA_pml="none-such")
    assert done.stdout.strip() == str((Y * NX + X).sum()), done.stderr
