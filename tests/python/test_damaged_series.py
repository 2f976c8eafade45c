"""Zarr groups, series of files and markers of stages that were damaged, or made by somebody who means harm: the
library, `hakobi ls` and the viewer read what is right in them, or say in a sentence what is wrong. None crashes,
hangs, follows a name out of the folder or takes other values for the field's.

Each kind is one damage to a series that was whole. One process looks at all of them, each in a process of its own.
`make test` looks at SAMPLE, `make nightly` at the others.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hakobi import launch, programs
from running import run_python

pytestmark = pytest.mark.programs

WRITER = """
import sys
import numpy as np
import hakobi
comm = hakobi.Comm.duplicate()
ny, nx = 300, 500
axes = [hakobi.Axis("lat", "degrees_north", np.linspace(-10, 10, ny), "latitude"),
        hakobi.Axis("lon", "degrees_east", np.linspace(0, 20, nx), "longitude")]
whole = np.arange(ny * nx).reshape(ny, nx) * 0.5
block = hakobi.split((ny, nx), comm.size, comm.rank)
for format in ("zarr", "netcdf4"):
    out = hakobi.Output.create(comm, f"{format}/run", format=format, axes=axes, title="a test",
                               time_units="seconds since 2011-03-11 05:46:24")
    for step in range(2):
        out.begin_step(60.0 * step)
        out.put("eta", "m", block, whole + step, fill_value=-9999.0)
        out.put("packed", "1", block, whole - step, compression="zstd:3" if format == "zarr" else "deflate:3")
        if step == 0 or format != "zarr":
            out.put("mask", "1", block, (whole > 100).astype(np.int8), is_static=True)
        out.end_step()
    out.close()
comm.free()
"""

# Prints what the library, `hakobi ls` and the viewer say of each folder.
LOOK = """
import json, os, signal, sys, traceback
from pathlib import Path
import numpy as np
import hakobi
from hakobi import _library
from hakobi.errors import HakobiError
from hakobi.post import server
from hakobi.post.catalogue import Catalogue
from hakobi.post.contents import contents_of
from hakobi.post.looking import Looker, Place
from hakobi.post.reaching import is_current
_library.load()
whole = np.arange(300 * 500).reshape(300, 500) * 0.5
right = {"eta": lambda step: whole + step, "packed": lambda step: whole - step,
         "mask": lambda step: (whole > 100).astype(np.int8)}

def is_right(name, step, values):
    return name in right and np.array_equal(values, right[name](step))

def library(folder):
    said = []
    try:
        with hakobi.Input.open(folder / "run") as steps:
            for step in steps.steps:
                for name in steps.fields_of(step):
                    try:
                        if not is_right(name, step, steps.read(name, step=step)):
                            said.append(("wrong", f"{name} of step {step}"))
                    except HakobiError as error:
                        said.append(("error", str(error)))
            return [*said, ("read", repr(steps.steps))]
    except HakobiError as error:
        return [("error", str(error))]

def listed(folder):
    said = []
    try:
        for series in Catalogue(folder).series.values():
            found = contents_of(series, folder)
            said += [("error", text) for text in (*found.problems, *found.notes)]
            said += [("read", series.key)] if found.fields else []
    except HakobiError as error:
        said.append(("error", str(error)))
    return said

def viewer(folder):
    said = []
    looker = Looker(folder)
    def refused(error):
        answer = server._failure(error)
        kind = "error" if answer.status_code in (400, 403, 404, 422, 503) else "wrong"
        said.append((kind, f"{answer.status_code} {answer.body.decode().strip()} {error!r}"))
    try:
        all_series = list(Catalogue(folder).series.values())
    except HakobiError as error:
        return [("error", str(error))]
    for series in all_series:
        for number in map(int, series.numbers):
            try:
                told = looker.start(Place.of(series, number, 0))
                json.dumps(told, allow_nan=False)
                opened = looker._steps.get(series, number)
            except Exception as error:
                refused(error)
                continue
            for this in opened.step.fields.values():
                for time in range(max(1, this.num_times)):
                    try:
                        box = tuple((0, n) for n in this.shape)
                        values = opened.step.read(this.name, time, box)
                        if not is_right(this.name, max(0, number) + time, values):
                            said.append(("wrong", f"{this.name} at {time} of {series.key}"))
                    except Exception as error:
                        refused(error)
            said.append(("read", series.key))
    return said

def look(reader, folder):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends the process
        try:
            said = reader(folder)
        except BaseException:
            said = [("wrong", traceback.format_exc())]
        with os.fdopen(theirs, "w") as pipe:
            json.dump(said, pipe)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if text else [("wrong", f"ended with {status}")]

for folder in sorted(Path(sys.argv[1]).iterdir()):
    found = {reader.__name__: look(reader, folder) for reader in (library, listed, viewer)}
    print(json.dumps([folder.name, found]), flush=True)
"""

Damage = Callable[[Path], None]
#: By name: the series that is damaged, and how.
KINDS: dict[str, tuple[str, Damage]] = {}


def kind(series: str, name: str) -> Callable[[Damage], Damage]:
    def add(damage: Damage) -> Damage:
        assert name not in KINDS
        KINDS[name] = (series, damage)
        return damage

    return add


def put(path: Path, data: bytes) -> None:
    """Replaces a file, which may have another name in the series that was whole."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def of_group(name: str, change: Callable[[dict[str, Any]], object]) -> None:
    """A change to what zarr.json says."""

    @kind("zarr", name)
    def damage(folder: Path) -> None:
        path = folder / "run.zarr/zarr.json"
        document = json.loads(path.read_bytes())
        change(document)
        put(path, json.dumps(document).encode())


def of_array(array: str, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    of_group(f"{array}: {name}", lambda root: change(root["consolidated_metadata"]["metadata"][array]))


def of_file(series: str, path: str, name: str, change: Callable[[bytes], bytes]) -> None:
    @kind(series, f"{path}: {name}".replace("/", " "))
    def damage(folder: Path) -> None:
        put(folder / path, change((folder / path).read_bytes()))


def of_place(series: str, path: str) -> None:
    """Something else has the name of a file, or of a folder."""

    def add(name: str, make: Callable[[Path, Path], object]) -> None:
        @kind(series, f"{path}: {name}".replace("/", " "))
        def damage(folder: Path) -> None:
            elsewhere = folder.parent.parent / "elsewhere" / folder.name
            elsewhere.parent.mkdir(exist_ok=True)
            (folder / path).rename(elsewhere)
            make(folder / path, elsewhere)

    add("a link", lambda here, there: here.symlink_to(there))
    add("a pipe", lambda here, _: os.mkfifo(here))
    add("a folder", lambda here, _: here.mkdir())


def renamed(root: dict[str, Any], name: str) -> None:
    arrays = root["consolidated_metadata"]["metadata"]
    arrays[name] = arrays.pop("eta")


def chunk_grid(document: dict[str, Any]) -> dict[str, Any]:
    configuration: dict[str, Any] = document["chunk_grid"]["configuration"]
    return configuration


for text in ("../../elsewhere/eta", "/etc", "", ".", "..", "eta/../../x", "eta\0", "eta/eta", "é"):
    of_group(f"a name {text.encode().hex()}", lambda root, text=text: renamed(root, text))
of_group("no attributes", lambda root: root.pop("attributes"))
of_group("attributes a list", lambda root: root.update(attributes=[1]))
of_group("another version", lambda root: root["attributes"].update(hakobi_store=2))
of_group("a version in words", lambda root: root["attributes"].update(hakobi_store="1"))
of_group("no arrays", lambda root: root.pop("consolidated_metadata"))
of_group("arrays a list", lambda root: root["consolidated_metadata"].update(metadata=[1, 2]))
of_group("an array null", lambda root: root["consolidated_metadata"]["metadata"].update(eta=None))
of_group("an array a text", lambda root: root["consolidated_metadata"]["metadata"].update(eta="eta"))
for number in (1 << 26, 1 << 32, 1 << 62, -1, 1025, 1.5, "2", None):
    of_array("time", f"{number!r} steps", lambda time, number=number: time.update(shape=[number]))
of_array("time", "no length", lambda time: time.update(shape=[]))
of_array("time", "no shape", lambda time: time.pop("shape"))
of_array("time", "no chunks", lambda time: time.pop("chunk_grid"))
of_array("time", "chunks of 0", lambda time: chunk_grid(time).update(chunk_shape=[0]))
of_array("lat", "longer", lambda lat: lat.update(shape=[301]))
of_array("lat", "very long", lambda lat: lat.update(shape=[(1 << 61) + 300]))
of_array("eta", "longer than its chunks", lambda eta: eta.update(shape=[2, 1 << 40, 500]))
of_array("eta", "of negative length", lambda eta: eta.update(shape=[2, -300, 500]))
of_array("eta", "of length 300.5", lambda eta: eta.update(shape=[2, 300.5, 500]))
of_array("eta", "of a length in words", lambda eta: eta.update(shape=[2, "300", 500]))
of_array("eta", "of other dimensions", lambda eta: eta.update(shape=[2, 300]))
of_array("eta", "nameless dimensions", lambda eta: eta.pop("dimension_names"))
of_array("eta", "dimensions with numbers for names", lambda eta: eta.update(dimension_names=[1, 2, 3]))
of_array("eta", "another type", lambda eta: eta.update(data_type="float32"))
of_array("eta", "an unknown type", lambda eta: eta.update(data_type="float128"))
of_array("eta", "a type that is none", lambda eta: eta.update(data_type=[8]))
of_array("eta", "chunks of 0", lambda eta: chunk_grid(eta).update(chunk_shape=[1, 0, 500]))
of_array("eta", "huge chunks", lambda eta: chunk_grid(eta).update(chunk_shape=[1, 300 << 40, 500]))
of_array("eta", "two steps a chunk", lambda eta: chunk_grid(eta).update(chunk_shape=[2, 300, 500]))
of_array("eta", "no codec", lambda eta: eta.update(codecs=[]))
of_array("eta", "an unknown codec", lambda eta: eta.update(codecs=[{"name": "sz3"}]))
of_array("eta", "codecs in words", lambda eta: eta.update(codecs="bytes"))
of_array("eta", "other keys", lambda eta: eta["chunk_key_encoding"].update(name="v2"))
of_array("eta", "attributes a text", lambda eta: eta.update(attributes="m"))
of_array("eta", "a fill value that is none", lambda eta: eta["attributes"].update(_FillValue="!"))
of_array("packed", "larger chunks", lambda this: this["codecs"][0]["configuration"].update(chunk_shape=[1, 300, 500]))

for name, data in {
    "empty": b"",
    "zeros": bytes(4000),
    "no JSON": b"not JSON",
    "not UTF-8": b'{"attributes": "\xff\xfe"}',
    "a list": b"[1, 2]",
    "null": b"null",
    "deep": b"[" * 200_000,
}.items():
    of_file("zarr", "run.zarr/zarr.json", name, lambda _, data=data: data)
of_file("zarr", "run.zarr/zarr.json", "torn", lambda data: data[: len(data) // 2])
of_file("zarr", "run.zarr/time/c.0", "torn", lambda data: data[:100])
of_file("zarr", "run.zarr/time/c.0", "longer", lambda data: data + data)
of_file("zarr", "run.zarr/lat/c.0", "torn", lambda data: data[:100])
of_file("zarr", "run.zarr/packed/zarr.json", "torn", lambda data: data[:100])
of_file("zarr", "run.zarr/packed/zarr.json", "another type", lambda data: data.replace(b"float64", b"float32"))
for array in ("eta", "packed"):
    shard = f"run.zarr/{array}/c.1.0.0"
    of_file("zarr", shard, "empty", lambda _: b"")
    of_file("zarr", shard, "torn", lambda data: data[: len(data) // 2])
    of_file(
        "zarr", shard, "an index that leads out", lambda data: data[:-36] + struct.pack("<4QI", 0, 8, 1 << 62, 9, 0)
    )
for at, byte in ((3, 0), (3, 4), (4, 255), (7, 127), (12, 255), (0, 9), (2, 255)):
    of_file("zarr", "run.zarr/packed/c.1.0.0", f"byte {at} of a chunk {byte}",
            lambda data, at=at, byte=byte: data[:at] + bytes([byte]) + data[at + 1:])  # fmt: skip
for path in ("run.zarr/zarr.json", "run.zarr/time/c.0", "run.zarr/eta/c.1.0.0", "run.zarr/packed/c.1.0.0"):
    of_place("zarr", path)


@kind("zarr", "an array's folder a link")
def _link_array(folder: Path) -> None:
    elsewhere = folder.parent.parent / "elsewhere" / "eta"
    elsewhere.parent.mkdir(exist_ok=True)
    (folder / "run.zarr/eta").rename(elsewhere)
    (folder / "run.zarr/eta").symlink_to(elsewhere)


@kind("zarr", "an array's folder a file")
def _file_for_array(folder: Path) -> None:
    shutil.rmtree(folder / "run.zarr/eta")
    put(folder / "run.zarr/eta", b"eta")


for path in ("run_000001.nc", "run.series.nc"):
    of_file("netcdf4", path, "empty", lambda _: b"")
    of_file("netcdf4", path, "8 bytes", lambda data: data[:8])
    of_file("netcdf4", path, "torn", lambda data: data[: len(data) // 2])
    of_file("netcdf4", path, "zeros", lambda data: bytes(len(data)))
    of_file("netcdf4", path, "words", lambda data: b"not a file of values\n" * 400)
    of_file("netcdf4", path, "a head that leads out", lambda data: data[:40] + bytes([255]) * 8 + data[48:])
    of_place("netcdf4", path)


@kind("netcdf4", "pieces of nobody")
def _pieces(folder: Path) -> None:
    (folder / "run_000002.nc.pieces").mkdir()
    put(folder / "run_000002.nc.pieces/0", b"\xff" * 300)


@kind("netcdf4", "a file that was stored and is torn")
def _whole(folder: Path) -> None:
    data = (folder / "run_000001.nc").read_bytes()
    put(folder / "run_000002.nc.0123456789abcdef.whole", data[:1000])


def of_marker(name: str, text: str | bytes, stage: str = "") -> None:
    """`stage`: what of a step the stage has, "": there is no stage."""

    @kind("netcdf4", f"marker: {name}")
    def damage(folder: Path) -> None:
        place = folder.parent.parent / "stages" / folder.name / "run.0123456789abcdef.stage"
        if stage:
            place.mkdir(parents=True)
            data = (folder / "run_000001.nc").read_bytes()
            put(place / "run_000002.nc", data[:1000] if stage == "torn" else b"")
        said = text if isinstance(text, bytes) else text.replace("STAGE", str(place)).encode()
        put(folder / "run.staged", said)


HEAD = "hakobi stage\nnode here\n"
of_marker("empty", "")
of_marker("words", "look elsewhere\n")
of_marker("torn", HEAD + "folder STA")
of_marker("zeros", bytes(200))
of_marker("not UTF-8", HEAD.encode() + b"folder /tmp/\xff\xfe.0123456789abcdef.stage\n")
of_marker("long", HEAD + "folder /" + "x" * 100_000 + ".0123456789abcdef.stage\n")
of_marker("a folder that is not there", HEAD + "folder STAGE\n")
of_marker("a folder without digits", HEAD + "folder /etc\n")
of_marker("no absolute folder", HEAD + "folder run.0123456789abcdef.stage\n")
of_marker("a folder above", HEAD + "folder /../run.0123456789abcdef.stage\n")
of_marker("a torn step on the stage", HEAD + "folder STAGE\n", "torn")
of_marker("an empty step on the stage", HEAD + "folder STAGE\n", "empty")
of_place_of_marker = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link": lambda here: here.symlink_to("/etc/passwd"),
}
for name, make in of_place_of_marker.items():
    KINDS[f"marker: {name}"] = ("netcdf4", lambda folder, make=make: make(folder / "run.staged"))

KINDS |= {"whole zarr": ("zarr", lambda _: None), "whole netcdf4": ("netcdf4", lambda _: None)}
#: Kinds that a reader may say nothing of: every value is read, and right.
HARMLESS = {
    "whole zarr", "whole netcdf4", "lat: very long", "time: chunks of 0", "time: no chunks",
    "eta: a fill value that is none", "eta: attributes a text", "packed: larger chunks",
    "run.zarr eta c.1.0.0: an index that leads out", "run.zarr packed zarr.json: torn",
    "run.zarr packed zarr.json: another type", "pieces of nobody",
}  # fmt: skip
HARMLESS |= {f"run_000001.nc: {what}" for what in ("a link", "a pipe", "a folder")}
#: Files that a reader has no use for. The library tells of markers on stderr.
NOT_READ = {("library", "run.series.nc"), ("listed", "run.series.nc"), ("viewer", "run.series.nc"),
            ("library", "marker"), ("viewer", "marker")}  # fmt: skip


#: Each kind of file once.
SAMPLE = {
    "whole zarr", "whole netcdf4", f"a name {b'../../elsewhere/eta'.hex()}", f"time: {1 << 32} steps",
    "run.zarr zarr.json: torn", "run.zarr time c.0: torn", "run.zarr lat c.0: torn",
    "run.zarr packed zarr.json: another type", "run.zarr eta c.1.0.0: an index that leads out",
    "run.zarr packed c.1.0.0: a pipe", "an array's folder a link", "run_000001.nc: torn", "run.series.nc: 8 bytes",
    "pieces of nobody", "a file that was stored and is torn", "marker: a torn step on the stage",
}  # fmt: skip
assert set(KINDS) >= SAMPLE


@pytest.fixture(scope="module")
def said(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """The kinds that this run asks for."""
    asked = [item for item in request.session.items if isinstance(item, pytest.Function) and item.path == request.path]
    names = sorted(item.callspec.params["name"] for item in asked)
    whole = tmp_path_factory.mktemp("whole")
    for series in ("zarr", "netcdf4"):
        (whole / series).mkdir()
    wrote = run_python(WRITER, whole, "")
    assert wrote.returncode == 0, wrote.stderr
    folders = tmp_path_factory.mktemp("damaged") / "all"
    for number, name in enumerate(names):
        series, damage = KINDS[name]
        folder = folders / f"{number:03}"
        shutil.copytree(whole / series, folder, copy_function=os.link)
        damage(folder)
    looked = subprocess.run(
        [sys.executable, "-c", LOOK, str(folders)],
        capture_output=True, text=True, errors="replace", check=False, timeout=600,
        env=launch.environment(programs.flavour(), {}),
    )  # fmt: skip
    assert looked.returncode == 0, looked.stderr
    return {names[int(number)]: found for number, found in map(json.loads, looked.stdout.splitlines())}


@pytest.mark.parametrize(
    "name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.long) for name in sorted(KINDS)]
)
def test_every_reader_reads_what_is_right_or_says_what_is_wrong(
    said: dict[str, dict[str, list[tuple[str, str]]]], name: str
) -> None:
    for reader, entries in said[name].items():
        assert entries or reader == "listed", f"{reader} says nothing"
        for what, text in entries:
            assert what != "wrong", (reader, text)
            is_sentence = what == "read" or ("\n" not in text and "Traceback" not in text and 10 < len(text) < 700)
            assert is_sentence, (reader, text)
        has_noticed = any(what == "error" for what, _ in entries)
        assert has_noticed or name in HARMLESS or (reader, name.partition(":")[0]) in NOT_READ, (reader, entries)
