"""Input and files that others wrote, or that are damaged: the right values, or a FormatError that names the file.
Each is read by a process of its own, which a hang or a crash of the HDF5 library would end."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from hakobi import programs
from running import run_python

pytestmark = [pytest.mark.programs, pytest.mark.once]

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "build" / programs.flavour() / "lib" / "libhakobi.so").is_file():
    pytest.skip("the library is not built", allow_module_level=True)

READER = """
import json, sys
import hakobi
from hakobi.errors import HakobiError
found = {}
try:
    with hakobi.Input.open(sys.argv[1]) as steps:
        found["dims"] = {name: list(steps.field(name).dims) for name in steps.fields}
        found["why"] = {name: steps.explain(name) for name in steps.fields}
        found["notes"] = {name: str(value) for name, value in steps.attributes.items()}
        found["values"], found["errors"] = {}, {}
        for name in sys.argv[2:]:
            try:
                found["values"][name] = steps.read(name).ravel().tolist()
            except HakobiError as error:
                found["errors"][name] = [type(error).__name__, str(error)]
except HakobiError as error:
    found["error"] = [type(error).__name__, str(error)]
print(json.dumps(found))
"""


def read(folder: Path, *names: str, prefix: str = "run") -> dict[str, Any]:
    done = run_python(READER, folder, str(folder / prefix), *names)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def seven(path: Path, **options: Any) -> None:
    with h5py.File(path, "w") as file:
        file["pad"] = np.full(3000, 5.0)
        file.create_dataset("eta", data=np.full((4, 5), 7.0), **options)


@pytest.mark.parametrize("options", [{}, {"chunks": (2, 5)}, {"chunks": (2, 5), "compression": "gzip"}], ids=str)
def test_a_field_behind_a_link_to_another_file(tmp_path: Path, options: dict[str, Any]) -> None:
    seven(tmp_path / "other.h5", **options)
    with h5py.File(tmp_path / "run_000000.nc", "w") as file:
        file["u"] = np.full((200, 200), 3.0)
        file["eta"] = h5py.ExternalLink("other.h5", "eta")
    found = read(tmp_path, "eta")
    assert found["values"]["eta"] == [7.0] * 20
    assert "kept in another file" in found["why"]["eta"]


def test_dimensions_of_a_field_in_another_file_are_its_own(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["eta"] = np.arange(12.0).reshape(3, 4)
        for place, (name, length) in enumerate({"there_y": 3, "there_x": 4}.items()):
            file[name] = np.arange(float(length))
            file[name].make_scale(name)
            file["eta"].dims[place].attach_scale(file[name])
    with h5py.File(tmp_path / "run_000000.nc", "w") as file:
        file["eta"] = h5py.ExternalLink("other.h5", "eta")
    found = read(tmp_path, "eta")
    assert found["dims"]["eta"] == ["there_y", "there_x"]
    assert found["values"]["eta"] == np.arange(12.0).tolist()


def test_values_that_hdf5_keeps_elsewhere_or_in_another_form(tmp_path: Path) -> None:
    expected = np.arange(20.0).reshape(4, 5)
    with h5py.File(tmp_path / "source.h5", "w") as file:
        file["eta"] = expected
    with h5py.File(tmp_path / "run_000000.nc", "w", userblock_size=1024) as file:
        file["plain"] = expected
        file.create_dataset("packed", data=expected, chunks=(2, 5), compression="gzip", shuffle=True)
        file.create_dataset("outside", (4, 5), "f8", external=[(str(tmp_path / "raw"), 16, 160)])
        file["outside"][...] = expected
        layout = h5py.VirtualLayout((4, 5), "f8")
        layout[...] = h5py.VirtualSource("source.h5", "eta", (4, 5))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("never", (4, 5), "f8", fillvalue=9.0)
        file.create_dataset("big", data=expected, dtype=">f8")
        file.create_dataset("half", data=expected, dtype="<f2")
        file.create_dataset("packed_half", data=expected, dtype=">f2", chunks=(2, 5), compression="gzip")
        # A number of 32 bits of which 24 are used, from bit 4 on.
        narrow = h5py.h5t.STD_I32LE.copy()
        narrow.set_precision(24)
        narrow.set_offset(4)
        space = h5py.h5s.create_simple((4, 5))
        h5py.h5d.create(file.id, b"narrow", narrow, space).write(
            h5py.h5s.ALL, h5py.h5s.ALL, expected.astype("i4"), h5py.h5t.NATIVE_INT32
        )
        file["twice"] = h5py.ExternalLink("run_000000.nc", "plain")
    os.chdir(tmp_path)
    names = ("plain", "packed", "outside", "virtual", "never", "big", "half", "packed_half", "narrow", "twice")
    found = read(tmp_path, *names)
    assert found["errors"] == {}
    for name in names:
        assert found["values"][name] == (np.full(20, 9.0) if name == "never" else expected.ravel()).tolist(), name
    assert "contiguous at byte" in found["why"]["plain"]
    assert "numbers of another form" in found["why"]["narrow"]


@pytest.mark.parametrize("name", ["time", "x"])
def test_a_chunk_larger_than_any_file_is_refused(tmp_path: Path, name: str) -> None:
    with h5py.File(tmp_path / "run_000000.nc", "w") as file:
        file["eta"] = np.zeros((1, 4))
        for at, (scale, length) in enumerate({"time": 1, "x": 4}.items()):
            chunks = (1 << 28,) if scale == name else (length,)
            file.create_dataset(scale, (length,), "f8", maxshape=(None,), chunks=chunks)
            file[scale].make_scale(scale)
            file["eta"].dims[at].attach_scale(file[scale])
    kind, text = read(tmp_path, "eta")["error"]
    assert kind == "FormatError"
    assert "impossible chunk" in text
    assert "run_000000.nc" in text


def test_a_link_to_a_pipe_is_no_field(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with h5py.File(tmp_path / "run_000000.nc", "w") as file:
        file["u"] = np.full(4, 3.0)
        file["eta"] = h5py.ExternalLink("pipe", "eta")
    assert read(tmp_path, "u")["values"]["u"] == [3.0] * 4


def virtual(path: Path, name: str, source: str, source_name: str, *, unlimited: bool) -> None:
    most = (None, 5) if unlimited else (4, 5)
    with h5py.File(path, "a") as file:
        layout = h5py.VirtualLayout((4, 5), "f8", maxshape=most)
        there = h5py.VirtualSource(source, source_name, (4, 5), maxshape=most)
        rows = slice(0, h5py.h5s.UNLIMITED) if unlimited else slice(None)
        layout[rows, :] = there[rows, :]
        file.create_virtual_dataset(name, layout)


@pytest.mark.parametrize("unlimited", [False, True])
@pytest.mark.parametrize(
    "chain",
    [
        [("run_000000.nc", "u", ".", "u")],
        [("run_000000.nc", "u", "run_000000.nc", "u")],
        [("run_000000.nc", "u", ".", "v"), ("run_000000.nc", "v", ".", "u")],
        [("run_000000.nc", "u", "b.h5", "v"), ("b.h5", "v", "run_000000.nc", "u")],
    ],
    ids=str,
)
def test_a_virtual_data_set_of_itself_is_refused(
    tmp_path: Path, chain: list[tuple[str, str, str, str]], unlimited: bool
) -> None:
    for file, name, source, source_name in chain:
        virtual(tmp_path / file, name, source, source_name, unlimited=unlimited)
    found = read(tmp_path, "u")
    kind, text = found["error"]
    assert kind == "FormatError"
    assert "run_000000.nc" in text
    assert "shows itself" in text


def scaled(path: Path) -> None:
    with h5py.File(path, "w", libver="v108") as file:
        file.attrs["note"] = "of any length"
        file["eta"] = np.arange(12.0).reshape(3, 4)
        for place, (name, length) in enumerate({"y": 3, "x": 4}.items()):
            file[name] = np.arange(float(length))
            file[name].make_scale(name)
            file["eta"].dims[place].attach_scale(file[name])


def test_times_from_other_dates_are_no_numbers_in_the_last_ones_units(tmp_path: Path) -> None:
    units = ("hours since 2020-01-01", "hours since 2020-01-02", "hours since 2020-01-02")
    for step, name in enumerate(units):
        with h5py.File(tmp_path / f"run_{step:06d}.nc", "w") as file:
            time = file.create_dataset("time", data=np.array([6.0]), maxshape=(None,), chunks=(1,))
            time.attrs["units"] = name
            time.make_scale("time")
            eta = file.create_dataset("eta", data=np.full((1, 4), 7.0), maxshape=(None, 4), chunks=(1, 4))
            eta.dims[0].attach_scale(time)
    script = (
        "import sys, hakobi\n"
        "with hakobi.Input.open(sys.argv[1]) as steps:\n    print(steps.steps, steps.times, steps.time_units)\n"
    )
    done = run_python(script, tmp_path, str(tmp_path / "run"))
    assert done.stdout == "[0, 1, 2] [nan, 6.0, 6.0] hours since 2020-01-02\n", done.stderr


def test_names_and_texts_of_a_whole_file(tmp_path: Path) -> None:
    scaled(tmp_path / "run_000000.nc")
    found = read(tmp_path, "eta")
    assert found["dims"] == {"eta": ["y", "x"]}
    assert found["notes"]["note"] == "of any length"


@pytest.mark.parametrize("size", [0, 24, 3000, 1 << 20, 1 << 60])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_damaged_global_heap_is_said(tmp_path: Path, nth: int, size: int) -> None:
    """The size of the nth object in it, which HDF5 does not check: 0 makes it loop, a large one write past its end."""
    path = tmp_path / "run_000000.nc"
    scaled(path)
    content = bytearray(path.read_bytes())
    at = content.index(b"GCOL") + 16
    for _ in range(nth - 1):
        at += 16 + (struct.unpack_from("<Q", content, at + 8)[0] + 7) // 8 * 8
    struct.pack_into("<Q", content, at + 8, size)
    path.write_bytes(content)
    found = read(tmp_path, "eta")
    assert found["error"][0] == "FormatError", found
    assert str(path) in found["error"][1]


def test_a_heap_whose_free_space_has_no_size(tmp_path: Path) -> None:
    path = tmp_path / "run_000000.nc"
    scaled(path)
    content = bytearray(path.read_bytes())
    at = content.index(b"GCOL") + 16
    while struct.unpack_from("<H", content, at)[0] != 0:
        at += 16 + (struct.unpack_from("<Q", content, at + 8)[0] + 7) // 8 * 8
    struct.pack_into("<Q", content, at + 8, 0)
    path.write_bytes(content)
    found = read(tmp_path, "eta")
    assert found["error"][0] == "FormatError", found
    assert "global heap" in found["error"][1]


@pytest.mark.parametrize("nth", range(6))
def test_a_damaged_attribute_is_said(tmp_path: Path, nth: int) -> None:
    """The version of its message, which nothing protects in HDF5's first format."""
    path = tmp_path / "run_000000.nc"
    with h5py.File(path, "w", libver="earliest") as file:
        file["eta"] = np.arange(12.0).reshape(3, 4)
        for i in range(6):
            file["eta"].attrs[f"note {i}"] = float(i)
    content = bytearray(path.read_bytes())
    content[content.index(f"note {nth}".encode()) - 8] = 99
    path.write_bytes(content)
    found = read(tmp_path, "eta")
    assert found["error"][0] == "FormatError", found
    assert str(path) in found["error"][1]


MESH = """
import sys
import hakobi
from hakobi.errors import HakobiError
try:
    with hakobi.Input.open(sys.argv[1]) as steps:
        steps.read_mesh()
except HakobiError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    "name", ["NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds", "Offsets", "Connectivity"]
)
@pytest.mark.parametrize("number", [-1, 1 << 60, 5])
def test_a_damaged_mesh_is_a_format_error_that_names_the_file(tmp_path: Path, name: str, number: int) -> None:
    path = tmp_path / "run_000000.hdf"
    arrays = {
        "NumberOfPoints": np.array([3]),
        "NumberOfCells": np.array([1]),
        "NumberOfConnectivityIds": np.array([3]),
        "Points": np.eye(3),
        "Connectivity": np.arange(3),
        "Offsets": np.array([0, 3]),
        "Types": np.array([5], np.uint8),
    }
    arrays[name] = arrays[name].copy()
    arrays[name][-1] = number
    with h5py.File(path, "w") as file:
        grid = file.create_group("VTKHDF")
        grid.attrs["Type"] = np.bytes_(b"UnstructuredGrid")
        for each, values in arrays.items():
            grid[each] = values
    done = run_python(MESH, tmp_path, str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("FormatError"), done.stdout
    assert str(path) in done.stdout


def test_a_meshs_array_behind_a_link_is_read_where_the_link_leads(tmp_path: Path) -> None:
    """Neither the file nor the place in it has to be called as Hakobi would."""
    (tmp_path / "there").mkdir()
    with h5py.File(tmp_path / "there" / "points.h5", "w") as file:
        file["pad"] = np.full(3000, 5.0)
        file["elsewhere"] = np.full(3, 7.0)
    with h5py.File(tmp_path / "run_000000.hdf", "w") as file:
        grid = file.create_group("VTKHDF")
        grid.attrs["Type"] = np.bytes_(b"UnstructuredGrid")
        for name in ("NumberOfPoints", "NumberOfConnectivityIds"):
            grid[name] = np.array([3])
        grid["NumberOfCells"], grid["Points"], grid["Connectivity"] = np.array([1]), np.eye(3), np.arange(3)
        grid["Offsets"], grid["Types"] = np.array([0, 3]), np.array([5], np.uint8)
        grid.create_group("PointData")["eta"] = h5py.ExternalLink("there/points.h5", "elsewhere")
    found = read(tmp_path, "eta")
    assert found["errors"] == {}
    assert found["values"]["eta"] == [7.0, 7.0, 7.0]
