"""Steps as one Zarr group, as zarr-python, xarray, tensorstore, Input, `hakobi ls` and the viewer read them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorstore
import xarray

import hakobi
import zarr
from hakobi.commands import ls
from hakobi.errors import FormatError, InputError, StorageError
from hakobi.post.catalogue import Catalogue
from hakobi.post.contents import contents_of
from hakobi.post.opening import open_step
from hakobi.post.place import ObjectPath
from hakobi.post.reaching import open_inside
from running import run_python

pytestmark = pytest.mark.programs

NY, NX = 300, 500
WRITER = """
import sys
import numpy as np
import hakobi
prefix, compression, if_exists, extent = *sys.argv[1:4], int(sys.argv[4])
comm = hakobi.Comm.duplicate()
axes = [hakobi.Axis("lat", "degrees_north", np.linspace(-10, 10, 300), "latitude"),
        hakobi.Axis("lon", "degrees_east", np.linspace(0, 20, extent), "longitude")]
out = hakobi.Output.create(comm, prefix, format="zarr", compression=compression, title="a test", axes=axes,
                           time_units="seconds since 2011-03-11 05:46:24", if_exists=if_exists)
block = hakobi.split((300, extent), comm.size, comm.rank)
whole = np.arange(300 * extent).reshape(300, extent) * 0.5
crs = hakobi.Block((), (), ())
for step in range(2):
    out.begin_step(60.0 * step)
    out.put("eta", "m", block, (whole + step)[block.slices], fill_value=-9999.0, standard_name="sea_surface_height")
    if step == 0 or if_exists == "resume":
        out.put("mask", "1", block, (whole > 100).astype(np.int8)[block.slices], is_static=True)
        out.put("crs", "1", crs, np.zeros((), np.int32), is_static=True,
                attributes={"grid_mapping_name": "healpix", "refinement_level": 3, "indexing_scheme": "nested"})
    if step == 1:
        out.put("late", "1", block, (whole + step).astype(np.float32)[block.slices])
    out.end_step()
out.close()
comm.free()
"""


def eta(step: int) -> np.ndarray:
    return np.arange(NY * NX).reshape(NY, NX) * 0.5 + step


def write(prefix: Path, compression: str = "none", if_exists: str = "fail", extent: int = NX) -> None:
    wrote = run_python(WRITER, prefix.parent, str(prefix), compression, if_exists, str(extent))
    assert wrote.returncode == 0, wrote.stderr


@pytest.fixture(scope="module", params=["none", "zstd:3", "deflate"])
def prefix(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zarr") / "run"
    write(path, request.param)
    return path


def test_zarr_and_tensorstore_read_every_array_without_the_group(prefix: Path) -> None:
    for name, steps in (("eta", [eta(0), eta(1)]), ("mask", (eta(0) > 100).astype(np.int8))):
        array = zarr.open_array(f"{prefix}.zarr/{name}", mode="r")
        assert np.array_equal(array[:], np.asarray(steps))
        store = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{prefix}.zarr/{name}/"}}
        assert np.array_equal(tensorstore.open(store).result()[:].read().result(), np.asarray(steps))


def test_xarray_reads_the_group_as_cf_describes_it(prefix: Path) -> None:
    with xarray.open_zarr(f"{prefix}.zarr", consolidated=True) as data:
        assert data.eta.dims == ("time", "lat", "lon")
        assert np.array_equal(data.eta, [eta(0), eta(1)])
        assert np.array_equal(data.lat, np.linspace(-10, 10, NY))
        assert data.lat.attrs["standard_name"] == "latitude"
        assert data.time.dtype.kind == "M"
        assert data.eta.encoding["_FillValue"] == -9999.0
        assert data.crs.attrs["grid_mapping_name"] == "healpix"
        assert data.crs.attrs["refinement_level"] == 3
        assert np.isnan(data.late[0]).all()
        assert np.array_equal(data.late[1], eta(1).astype(np.float32))
        assert data.attrs["title"] == "a test"
        assert data.attrs["Conventions"] == "CF-1.10"


def test_input_reads_it_back(prefix: Path) -> None:
    with hakobi.Input.open(prefix) as steps:
        assert (steps.steps, steps.times) == ([0, 1], [0, 60])
        assert steps.calendar == "standard"
        assert steps.field("eta").attributes["_FillValue"] == -9999
        for step in (0, 1):
            assert np.array_equal(steps.read("eta", step=step), eta(step))
            assert np.array_equal(steps.read("mask", step=step), eta(0) > 100)
        block = hakobi.Block((NY, NX), (7, 201), (230, 299))
        assert np.array_equal(steps.read("late", step=1, block=block), eta(1).astype(np.float32)[block.slices])
        with pytest.raises(InputError, match="has no field 'late'"):
            steps.read("late", step=0)


def test_the_viewer_and_ls_show_it(prefix: Path) -> None:
    for path in (prefix.parent, prefix, Path(f"{prefix}.zarr")):
        (series,) = Catalogue(path).series.values()
        assert series.key == "run.zarr"
    found = contents_of(series, prefix.parent)
    assert (found.kind, found.times, found.problems) == ("zarr", [0, 60], [])
    assert found.fields["eta"].shape == (NY, NX)
    assert ls.table_of(found, False).title.startswith("run.zarr: 2 steps, Zarr, ")
    with open_step(Path(f"{prefix}.zarr")) as step:
        box = ((3, 299), (250, 251))
        assert np.array_equal(step.read("eta", 1, box), eta(1)[3:299, 250:251])
        assert np.isnan(step.read("late", 0, box)).all()


def test_a_run_resumes_after_its_last_step_and_keeps_the_arrays(tmp_path: Path) -> None:
    write(tmp_path / "run")
    write(tmp_path / "run", if_exists="resume")
    assert zarr.open_group(f"{tmp_path}/run.zarr", mode="r")["eta"].shape == (4, NY, NX)
    with hakobi.Input.open(tmp_path / "run") as steps:
        assert steps.steps == [0, 1, 2, 3]
        assert np.array_equal(steps.read("eta", step=3), eta(1))
    write(tmp_path / "run", if_exists="replace", extent=40)
    with hakobi.Input.open(tmp_path / "run") as steps:
        assert steps.steps == [0, 1]
        assert steps.field("eta").shape == (NY, 40)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.zarr"]


def test_a_step_of_which_only_shards_are_there_is_none(tmp_path: Path) -> None:
    """The state of a run that is killed between the shards' renames and the group's."""
    write(tmp_path / "run")
    for name in ("eta", "late"):
        shutil.copy(tmp_path / f"run.zarr/{name}/c.1.0.0", tmp_path / f"run.zarr/{name}/c.2.0.0")
    with hakobi.Input.open(tmp_path / "run") as steps:
        assert steps.steps == [0, 1]
    with xarray.open_zarr(tmp_path / "run.zarr") as data:
        assert data.sizes["time"] == 2


def test_a_group_that_hakobi_did_not_make_is_kept(tmp_path: Path) -> None:
    zarr.create_group(f"{tmp_path}/run.zarr").create_array("theirs", shape=(3,), dtype="f8")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(AssertionError, match="no series of Hakobi's"):
        write(tmp_path / "run", if_exists="replace")
    assert [path for path in sorted(tmp_path.rglob("*")) if path.name != "run.lock"] == before
    with pytest.raises(FormatError, match=r"run\.zarr"):
        open_step(tmp_path / "run.zarr")


@pytest.mark.parametrize("what", ["index", "chunk", "metadata", "times"])
def test_damage_is_an_error_that_names_the_file(tmp_path: Path, what: str) -> None:
    write(tmp_path / "run", "zstd:3")
    store = tmp_path / "run.zarr"
    path = {"metadata": store / "zarr.json", "times": store / "time/c.0"}.get(what, store / "eta/c.0.0.0")
    data = bytearray(path.read_bytes())
    if what == "metadata":
        document = json.loads(data)
        del document["consolidated_metadata"]["metadata"]["eta"]["shape"]
        data = bytearray(json.dumps(document).encode())
    elif what == "times":
        del data[100:]
    else:
        data[-10 if what == "index" else 40] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises((FormatError, StorageError), match=r"run\.zarr"), hakobi.Input.open(tmp_path / "run") as steps:
        steps.read("eta", step=0)


def test_object_storage_without_a_stage_is_refused_at_once(tmp_path: Path) -> None:
    for prefix in ("rados:pool/run", "s3://bucket/run"):
        wrote = run_python(WRITER, tmp_path, prefix, "none", "fail", str(NX))
        assert wrote.returncode != 0
        assert f"{prefix}: steps of the format zarr are put there whole, over a stage" in wrote.stderr


def test_a_step_has_nothing_of_a_field_that_a_killed_run_left_there(tmp_path: Path) -> None:
    write(tmp_path / "run")
    shutil.copy(tmp_path / "run.zarr/late/c.1.0.0", tmp_path / "run.zarr/late/c.2.0.0")
    write(tmp_path / "run", if_exists="resume")  # late is in its second step only
    late = zarr.open_group(f"{tmp_path}/run.zarr", mode="r")["late"]
    assert late.shape == (4, NY, NX)
    assert not (tmp_path / "run.zarr/late/c.2.0.0").exists()
    assert np.array_equal(late[3], eta(1).astype(np.float32))


COORDINATES = """
import sys
import numpy as np
import hakobi
format, method, if_exists, asynchronous = sys.argv[1:5]
comm = hakobi.Comm.duplicate()
g = (6, 8)
b = hakobi.Block(g, (0, 0), g)
out = hakobi.Output.create(comm, "run", format=format, method=method, if_exists=if_exists,
                           asynchronous=asynchronous == "hidden")
for step in range(3):
    out.begin_step(float(step))
    out.put("t", "K", b, np.full(g, float(step)), coordinates=("lat", "lon"),
            attributes={"grid_mapping": "crs", "ancillary_variables": "mask"})
    if if_exists == "fail" and step == 0:
        out.put("crs", "1", hakobi.Block((), (), ()), np.zeros((), np.int32), is_static=True)
        for name in ("lat", "lon", "mask"):
            out.put(name, "1", b, np.ones(g), is_static=True)
    out.end_step()
out.close()
comm.free()
"""


@pytest.mark.parametrize(
    ("method", "hidden", "stage"),
    [("root", "", ""), ("pipelined", "hidden", ""), ("per-process", "", ""), ("pipelined", "", "stage")],
)
def test_fields_find_static_coordinates_in_the_step_in_which_they_were_put(
    tmp_path: Path, method: str, hidden: str, stage: str
) -> None:
    (tmp_path / "stage").mkdir()
    environment = {"HAKOBI_STAGE": str(tmp_path / "stage")} if stage else {}
    for if_exists in ("fail", "resume"):  # the second run puts none of them
        wrote = run_python(COORDINATES, tmp_path, "zarr", method, if_exists, hidden, **environment)
        assert wrote.returncode == 0, wrote.stderr
    with xarray.open_zarr(tmp_path / "run.zarr", decode_times=False) as data:
        assert data.sizes["time"] == 6
        assert {"lat", "lon"} <= set(data.t.coords)
    with hakobi.Input.open(tmp_path / "run") as steps:
        assert set(steps.fields_of(5)) == {"t", "lat", "lon", "mask", "crs"}


def test_coordinates_that_no_step_has_are_refused(tmp_path: Path) -> None:
    wrote = run_python(COORDINATES, tmp_path, "zarr", "root", "replace", "")
    assert wrote.returncode != 0
    assert "field t: its coordinates name lat, but neither the step nor one before it has such a field" in wrote.stderr


def names_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("how", ["name", "long name", "absolute name", "link"])
@pytest.mark.parametrize("if_exists", ["replace", "resume"])
def test_nothing_outside_of_the_group_is_changed(tmp_path: Path, if_exists: str, how: str) -> None:
    for prefix in ("run", "precious"):
        write(tmp_path / prefix)
    for name in ("c.txt", "c.cpp", "zarr.json.bak"):
        (tmp_path / "precious.zarr/eta" / name).write_bytes(b"mine")
    before = names_of(tmp_path / "precious.zarr")
    outside = {"name": "../precious.zarr/eta", "long name": "eta/../../precious.zarr/eta"}
    path = tmp_path / "run.zarr/zarr.json"
    document = json.loads(path.read_bytes())
    if how == "link":
        shutil.rmtree(tmp_path / "run.zarr/eta")
        (tmp_path / "run.zarr/eta").symlink_to(tmp_path / "precious.zarr/eta")
    else:
        arrays = document["consolidated_metadata"]["metadata"]
        arrays[outside.get(how, str(tmp_path / "precious.zarr/eta"))] = arrays["eta"]
        path.write_text(json.dumps(document))
    wrote = run_python(WRITER, tmp_path, str(tmp_path / "run"), "none", if_exists, str(NX))
    assert wrote.returncode != 0
    assert "run.zarr" in wrote.stderr
    assert names_of(tmp_path / "precious.zarr") == before


def test_what_others_wrote_into_the_metadata_stays(tmp_path: Path) -> None:
    write(tmp_path / "run")
    group = zarr.open_group(f"{tmp_path}/run.zarr", mode="r+")
    group.attrs["doi"] = "10.1000/1"
    group["eta"].attrs["checked"] = {"by": "me"}
    write(tmp_path / "run", if_exists="resume")
    group = zarr.open_group(f"{tmp_path}/run.zarr", mode="r")
    assert group.attrs["doi"] == "10.1000/1"
    assert group.attrs["title"] == "a test"
    assert group["eta"].attrs["checked"] == {"by": "me"}
    assert group["eta"].shape == (4, NY, NX)


def test_a_namelist_is_an_attribute(tmp_path: Path) -> None:
    script = """
import sys
import numpy as np
import hakobi
comm = hakobi.Comm.duplicate()
namelist = "&run x = 1 /\\n" * int(sys.argv[2])
out = hakobi.Output.create(comm, "run", format=sys.argv[1], attributes={"namelist": namelist})
out.begin_step(0.0)
out.put("eta", "m", hakobi.split((4, 5), comm.size, comm.rank), np.ones((4, 5)))
out.end_step()
out.close()
"""
    assert run_python(script, tmp_path, "zarr", "8000").returncode == 0
    assert len(zarr.open_group(f"{tmp_path}/run.zarr", mode="r").attrs["namelist"]) == 8000 * 13
    with hakobi.Input.open(tmp_path / "run") as steps:
        assert len(str(steps.attributes["namelist"])) == 8000 * 13
    for name, repeats, most in (("netcdf4", "8000", "32 KiB"), ("zarr", "90000", "1024 KiB")):
        refused = run_python(script, tmp_path, name, repeats)
        assert refused.returncode != 0
        assert f"attribute 'namelist': its text is longer than {most}" in refused.stderr


def test_the_viewer_follows_no_link_and_no_name_out_of_the_group(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "out/run")
    served = tmp_path / "served"
    served.mkdir()
    (served / "run.zarr").symlink_to(tmp_path / "out/run.zarr")
    assert not Catalogue(served).series
    assert Catalogue(served / "run.zarr").series  # a link that was named is followed
    (served / "run.zarr").unlink()
    shutil.copytree(tmp_path / "out/run.zarr", served / "run.zarr")
    shutil.rmtree(served / "run.zarr/eta")
    (served / "run.zarr/eta").symlink_to(tmp_path / "out/run.zarr/eta")
    with open_step(served / "run.zarr") as step, pytest.raises(FormatError, match=r"eta/c\.0\.0\.0 is no regular file"):
        step.read("eta", 0, ((0, NY), (0, NX)))
    for name in ("..", "eta/../../x", "", "/etc", "."):
        for folder in (served, ObjectPath.of("s3://bucket/run.zarr")):
            with pytest.raises(FormatError, match="names a file that is not in it"):
                open_inside(folder, name, "c.0.0.0")


def test_a_step_without_whole_numbers_shows_none(tmp_path: Path) -> None:
    """Zarr's fill value of them is zero, which looks like a value."""
    program = """
import numpy as np
import hakobi
out = hakobi.Output.create(hakobi.Comm.duplicate(), "run", format="zarr")
block = hakobi.Block((4, 5), (0, 0), (4, 5))
for step in range(3):
    out.begin_step(step)
    out.put("eta", "m", block, np.full((4, 5), step, np.float32))
    if step != 1:
        out.put("kind", "1", block, np.full((4, 5), step + 5, np.int32))
    out.end_step()
out.close()
"""
    wrote = run_python(program, tmp_path)
    assert wrote.returncode == 0, wrote.stderr
    with open_step(tmp_path / "run.zarr") as step:
        found = [step.read("kind", time, ((0, 1), (0, 1))).item() for time in range(3)]
    np.testing.assert_array_equal(found, [5, np.nan, 7])
