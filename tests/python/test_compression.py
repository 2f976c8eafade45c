"""Compressed fields: read by other people's programs and by ours, rounded within the bound, the same from all ranks."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import hakobi
from hakobi import launch, programs
from hakobi.programs import Program
from running import run_python

pytestmark = [pytest.mark.programs, pytest.mark.once]

FLAVOUR = programs.flavour()

WRITE = """
import sys
import numpy as np
import numpy.typing as npt
import hakobi

prefix, method = sys.argv[1:]
comm = hakobi.Comm.duplicate()
shape = (500, 700)
y, x = np.indices(shape)
eta = np.sin(0.02 * y) * np.cos(0.03 * x) + 1e-3 * np.sin(7.0 * x * y)
block = hakobi.split(shape, comm.size, comm.rank)
out = hakobi.Output.create(comm, prefix, method=method, compression="deflate:2")
out.begin_step(0.0)
for name, values, options in (
    ("eta", eta, {}),
    ("rounded", eta, {"significant_bits": 9}),
    ("single", eta.astype(np.float32), {"compression": "zstd", "significant_bits": 12}),
    ("plain", eta, {"compression": "none"}),
    ("mask", (eta > 0).astype(np.int8), {"significant_bits": 3}),
):
    out.put(name, "m", block, np.ascontiguousarray(values[block.slices]), **options)
out.end_step()
assert out.times.encode_s > 0
out.close()
"""


def write(folder: Path, name: str, ranks: int, method: str) -> Path:
    script = folder / "write.py"
    script.write_text(WRITE)
    python = Program(Path(sys.executable), FLAVOUR)
    finished = launch.run(python, [str(script), str(folder / name), method], ranks, timeout_s=60)
    assert finished.status == 0, finished.stderr
    return folder / f"{name}_000000.nc"


def values() -> npt.NDArray[np.float64]:
    y, x = np.indices((500, 700))
    return np.asarray(np.sin(0.02 * y) * np.cos(0.03 * x) + 1e-3 * np.sin(7.0 * x * y))


def test_files_are_the_same_and_read_by_others(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = write(tmp_path, "one", 1, "root")
    for ranks, method in ((2, "pipelined"), (3, "writers") if FLAVOUR == "openmpi" else (2, "writers")):
        other = write(tmp_path, method, ranks, method)
        assert hashlib.sha256(other.read_bytes()).digest() == hashlib.sha256(path.read_bytes()).digest(), method
    with h5py.File(path) as file:
        assert np.array_equal(file["eta"][0], values())
        assert np.array_equal(file["plain"][0], values())
        assert np.array_equal(file["mask"][0], values() > 0)
        assert (file["eta"].compression, file["eta"].compression_opts, file["eta"].shuffle) == ("gzip", 2, True)
        assert file["plain"].chunks is None
        error = np.abs(file["rounded"][0] - values())
        assert np.all(error <= np.abs(values()) * 2.0**-10)
        assert error.max() > 0
        assert file["rounded"].attrs["_QuantizeBitRoundNumberOfSignificantBits"] == 9
        assert "_QuantizeBitRoundNumberOfSignificantBits" not in file["mask"].attrs
        assert file["rounded"].id.get_storage_size() < file["eta"].id.get_storage_size() / 2
    with hakobi.Input.open(tmp_path / "one") as steps:
        single = steps.read("single")
        assert np.all(np.abs(single - values().astype(np.float32)) <= np.abs(values()) * 2.0**-12.9)
        assert np.array_equal(steps.read("eta"), values())


def test_ncdump_shows_netcdfs_own_filters(tmp_path: Path) -> None:
    if shutil.which("ncdump") is None:
        pytest.skip("no ncdump")
    path = write(tmp_path, "run", 1, "root")
    shown = subprocess.run(["ncdump", "-hs", path], capture_output=True, text=True, check=True).stdout
    for line in (
        "eta:_ChunkSizes = 1, 250, 350 ;",
        'eta:_Shuffle = "true" ;',
        "eta:_DeflateLevel = 2 ;",
        'single:_Filter = "32015,3" ;',
        "rounded:_QuantizeBitRoundNumberOfSignificantBits = 9 ;",
        'plain:_Storage = "contiguous" ;',
    ):
        assert line in shown, line
    text = subprocess.run(["ncdump", "-v", "mask", path], capture_output=True, text=True, check=True).stdout
    numbers = text[text.index("mask =") + 6 :].rstrip("}\n ;").replace("\n", " ").split(",")
    assert sum(int(number) for number in numbers) == int((values() > 0).sum())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"compression": "gzip"}, "unknown compression 'gzip'"),
        ({"compression": "zstd:40"}, "zstd's levels are 1 to 22"),
        ({"significant_bits": 5}, "rounding alone saves nothing"),
        ({"compression": "zstd", "significant_bits": 60}, "significant_bits is 60"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: dict[str, object], reason: str) -> None:
    program = f"""
import hakobi
try:
    hakobi.Output.create(hakobi.Comm.duplicate(), {str(tmp_path / "run")!r}, **{options!r})
except hakobi.InputError as error:
    print(error)
"""
    done = run_python(program, tmp_path)
    assert reason in done.stdout, done.stdout + done.stderr


def test_a_filter_that_is_not_there_is_named(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "run_000000.nc", "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((100, 100))
        properties.set_filter(310, h5py.h5z.FLAG_OPTIONAL, (1, 2))
        space = h5py.h5s.create_simple((100, 100))
        dataset = h5py.h5d.create(file.id, b"packed", h5py.h5t.NATIVE_DOUBLE, space, dcpl=properties)
        dataset.write_direct_chunk((0, 0), b"something", 0)
    with hakobi.Input.open(tmp_path / "run") as steps, pytest.raises(hakobi.HakobiError, match="filter 310"):
        steps.read("packed")
