"""`hakobi ls`: what is in a result."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from building import needs_build
from hakobi.post import contents, extremes, indexing
from mesh_files import block, write_mesh
from posting import wave, write_step
from running import Result

Command = Callable[..., Result]


def series(folder: Path, num_steps: int = 3, **more: Any) -> None:
    for number in range(num_steps):
        values = np.full((4, 6), number, "f4")
        write_step(folder / f"run_{number:06d}.nc", {"eta": values, **more}, time_s=10.0 * number)


def told(hakobi: Command, *arguments: object) -> list[dict[str, Any]]:
    result = hakobi("ls", *arguments, "--json")
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_series_is_listed_with_steps_times_fields_and_sizes(hakobi: Command, tmp_path: Path) -> None:
    series(tmp_path)
    result = hakobi("ls", tmp_path / "run")
    assert result.status == 0, result.stderr
    lines = result.stdout.splitlines()
    size = sum(path.stat().st_size for path in tmp_path.glob("run_*"))
    assert lines[0] == f"run_######.nc: 3 steps (0 to 2), NetCDF-4 or HDF5, {size / 1000:.1f} kB"
    assert lines[4].split() == ["eta", "float32", "lat", "4,", "lon", "6", "m", "2", "2", "contiguous"]
    assert lines[5] == "times: 0 to 20 seconds since 2011-03-11 05:46:24, every 10"
    assert lines[6] == "least and greatest are those of the last step"
    assert hakobi("ls", tmp_path).stdout == result.stdout


def test_json_has_the_same_and_can_go_to_a_file(hakobi: Command, tmp_path: Path) -> None:
    series(tmp_path)
    [record] = told(hakobi, tmp_path)
    assert record["steps"] == [0, 1, 2]
    assert record["times"] == [0, 10, 20]
    [eta] = record["fields"]
    assert (eta["dtype"], eta["dims"], eta["shape"], eta["units"]) == ("float32", ["lat", "lon"], [4, 6], "m")
    assert (eta["least"], eta["greatest"], record["extremes_of"]) == (2, 2, "last step")
    assert hakobi("ls", tmp_path, "--json", tmp_path / "said.jsonl").stdout == ""
    assert json.loads((tmp_path / "said.jsonl").read_text()) == record


def test_values_of_all_steps_are_read_when_asked(hakobi: Command, tmp_path: Path) -> None:
    series(tmp_path)
    result = hakobi("ls", tmp_path, "--values")
    assert result.stdout.splitlines()[4].split()[7:9] == ["0", "2"]
    assert "those of all steps" in result.stdout


def test_extremes_are_the_overviews_and_no_value_is_read(
    hakobi: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = wave((40, 50))
    write_step(tmp_path / "a.nc", {"eta": values})
    assert indexing.make_overview(tmp_path / "a.nc").state == "made"
    monkeypatch.setattr(contents, "read_extremes", lambda *_: 1 / 0)
    [record] = told(hakobi, tmp_path)
    assert record["overviews"] == 1
    [eta] = record["fields"]
    assert (eta["least"], eta["greatest"]) == (np.nanmin(values), np.nanmax(values))


def test_many_values_are_not_read_unasked(hakobi: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_step(tmp_path / "a.nc", {"eta": wave((40, 50))})
    monkeypatch.setattr(contents, "FEW_BYTES", 7999)
    result = hakobi("ls", tmp_path)
    assert "--values" in result.stdout
    assert told(hakobi, tmp_path)[0]["fields"][0]["least"] is None
    assert told(hakobi, tmp_path, "--values")[0]["fields"][0]["least"] is not None


@pytest.mark.parametrize("shape", [(5, 7), (6, 5, 7)])
@pytest.mark.parametrize("create", [{}, {"chunks": True, "compression": "gzip", "shuffle": True}])
def test_extremes_are_numpys_whatever_the_slabs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], create: dict[str, Any]
) -> None:
    from hakobi.post.opening import open_step

    monkeypatch.setattr(extremes, "_SLAB_BYTES", 150)
    values = wave(shape)
    with open_step(write_step(tmp_path / "a.nc", {"eta": values}, **create)) as step:
        assert extremes.read_extremes(step, step.fields["eta"]) == (np.nanmin(values), np.nanmax(values))


def test_compression_is_named(hakobi: Command, tmp_path: Path) -> None:
    write_step(tmp_path / "a.nc", {"eta": wave((40, 50))}, compression="gzip", shuffle=True)
    assert told(hakobi, tmp_path)[0]["fields"][0]["stored"] == "deflate"


def test_other_programs_netcdf_is_listed_with_what_no_viewer_draws(hakobi: Command, tmp_path: Path) -> None:
    for kind in ("NETCDF4", "NETCDF3_CLASSIC"):
        path = tmp_path / f"{kind.lower()}.nc"
        with netCDF4.Dataset(path, "w", format=kind) as file:
            file.source = "a model"
            for name, size in (("time", None), ("lat", 3), ("lon", 4)):
                file.createDimension(name, size)
            time_ = file.createVariable("time", "f8", ("time",))
            time_.units, time_[:] = "hours since 2000-01-01", [0, 6]
            t = file.createVariable("t", "f4", ("time", "lat", "lon"))
            t.units, t.long_name = "K", "temperature"
            t[:] = np.arange(24).reshape(2, 3, 4)
            file.createVariable("mean", "f8", ("time",))[:] = [5, 7]
            file.createVariable("profile", "f8", ("lat",))[:] = [1, 2, 3]
            file.createVariable("total", "i4", ())[:] = 9
        [record] = told(hakobi, path)
        assert (record["source"], record["times"]) == ("a model", [0, 6])
        known = {this["name"]: (this["shape"], this["least"], this["greatest"]) for this in record["fields"]}
        assert known == {
            "t": ([3, 4], 0, 23), "mean": ([], 5, 7), "profile": ([3], 1, 3), "total": ([], 9, 9),
        }  # fmt: skip
    assert hakobi("ls", tmp_path).stdout.count("temperature") == 2


def test_a_mesh_is_listed_with_its_cells_and_vectors_once(hakobi: Command, tmp_path: Path) -> None:
    mesh = block("hexahedra", (2, 3, 4))
    velocity = np.ones((24, 3))
    for number in range(2):
        write_mesh(tmp_path / f"run_{number}.hdf", [mesh], None, {"U": velocity, "p": np.arange(24.0)}, 5.0 * number)
    [record] = told(hakobi, tmp_path)
    assert (record["kind"], record["times"], record["time_units"]) == ("vtkhdf", [0, 5], "s")
    assert record["notes"] == ["mesh: 60 points, 24 cells, 1 part"]
    assert [(f["name"], f["dims"], f["shape"]) for f in record["fields"]] == [
        ("U magnitude", ["cells"], [24]),
        ("p", ["cells"], [24]),
    ]
    assert record["fields"][0]["least"] == pytest.approx(3**0.5)


def test_a_file_that_is_not_stored_whole_is_named_by_ls_and_doctor(hakobi: Command, tmp_path: Path) -> None:
    series(tmp_path)
    (tmp_path / "run_000001.nc.hakobi-pending-4").touch()
    result = hakobi("ls", tmp_path)
    assert result.status == 1
    assert "run_000001.nc is not whole: run_000001.nc.hakobi-pending… says so" in result.stdout
    assert "3 steps (0 to 2)" in result.stdout
    told = hakobi("doctor", "--quick", "--storage", tmp_path).stdout
    assert "run_000001.ncisnotwhole" in "".join(told.split())  # its lines are wrapped, also within a name


def test_steps_that_cannot_be_read_are_a_sentence_each_and_the_rest_goes_on(hakobi: Command, tmp_path: Path) -> None:
    series(tmp_path, 5)
    whole = (tmp_path / "run_000001.nc").read_bytes()
    (tmp_path / "run_000001.nc").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "run_000002.nc").write_bytes(b"no result")
    with h5py.File(tmp_path / "run_000003.nc", "w") as file:
        file.attrs["source"] = "somebody"
    result = hakobi("ls", tmp_path / "run")
    assert result.status == 1
    assert result.stdout.startswith("run_######.nc: 3 steps (0 to 4), 2 missing between them, NetCDF-4 or HDF5")
    for line in ("run_000001.nc is no whole NetCDF-4 or HDF5 file", "run_000002.nc is no whole NetCDF-4 or HDF5 file",
                 "run_000003.nc has no field", "eta is in 2 of 3 steps"):  # fmt: skip
        assert line in result.stdout.splitlines()


def test_links_that_lead_nowhere_are_said(hakobi: Command, tmp_path: Path) -> None:
    path = write_step(tmp_path / "a.nc", {"eta": wave((4, 6))})
    with h5py.File(path, "a") as file:
        file["old"] = h5py.SoftLink("/gone")
        file["there"] = h5py.ExternalLink("gone.nc", "/eta")
    result = hakobi("ls", path)
    assert result.status == 0
    assert "not listed: old: a link to /gone, which is not there" in result.stdout.splitlines()
    assert "not listed: there: a link to /eta in gone.nc" in result.stdout.splitlines()


def test_a_mesh_whose_file_is_gone_is_one_sentence_for_all_its_steps(hakobi: Command, tmp_path: Path) -> None:
    mesh = block("hexahedra", (2, 3, 4))
    for number in range(3):
        write_mesh(tmp_path / f"run_{number}.hdf", [mesh], None, {"p": np.arange(24.0)}, mesh_in="run.mesh")
    (tmp_path / "run.mesh").unlink()
    result = hakobi("ls", tmp_path)
    assert result.status == 1
    line = "run_0.hdf has its mesh in run.mesh: No such file or directory (and 2 steps like it)"
    assert line in result.stdout.splitlines()


def test_a_folder_without_results_is_one_sentence(hakobi: Command, tmp_path: Path) -> None:
    result = hakobi("ls", tmp_path)
    assert result.status == 2
    assert "no results are in this folder" in result.line()
    assert hakobi("ls", tmp_path / "nothing").status == 2


def test_many_series_are_a_row_each(hakobi: Command, tmp_path: Path) -> None:
    for name in "abcdefg":
        write_step(tmp_path / f"{name}.nc", {"eta": wave((4, 6))})
    result = hakobi("ls", tmp_path)
    assert result.status == 0
    assert len(result.stdout.splitlines()) == 12
    assert result.stdout.splitlines()[-1] == f"the fields of one: hakobi ls {tmp_path}/a.nc"


def test_a_thousand_steps_are_looked_at_and_few_are_surveyed(
    hakobi: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hakobi.post import catalogue

    write_step(tmp_path / "run_000000.nc", {"eta": wave((4, 6))})
    for number in range(1, 1000):
        (tmp_path / f"run_{number:06d}.nc").hardlink_to(tmp_path / "run_000000.nc")
    opened = []
    own = catalogue.open_step
    monkeypatch.setattr(catalogue, "open_step", lambda path, root: opened.append(path) or own(path, root))
    begin = time.process_time()
    result = hakobi("ls", tmp_path)
    taken_s = time.process_time() - begin
    assert result.stdout.startswith("run_######.nc: 1000 steps (0 to 999)")
    assert len(opened) == 2
    assert taken_s < 2


@needs_build
@pytest.mark.programs
@pytest.mark.once
def test_a_store_is_listed_with_its_keywords_and_last_fields(hakobi: Command, tmp_path: Path) -> None:
    from hakobi import open_store

    with open_store(tmp_path / "store", "flow", sync=False) as store:
        for step in range(3):
            for name in ("p", "u"):
                key = f"case=a,run=1,variable={name},step={step},block=0"
                store.archive(key, np.full((3, 4), step, np.float32))
        store.archive("case=a,run=1,variable=line,step=2,block=0", np.zeros(5))
    result = hakobi("ls", tmp_path / "store")
    assert result.status == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("store: 3 dates and times, field store, ")
    assert lines[4].split() == ["p", "float32", "y", "3,", "x", "4", "2", "2"]
    assert "case=a, run=1, block=0" in lines
    assert "step: 3 values: 0, 1, 2" in lines
    assert "not listed: line: it does not have two or three dimensions" in lines
    assert told(hakobi, tmp_path / "store")[0]["kind"] == "store"
