"""Python's own readers of files that others may have made, under a small fuzzer: each input is a right file, damaged. A
reader says what is there, or what is wrong in an error of the tree; nothing else, and that soon.

HAKOBI_FUZZ_S is how long each reader is tried; HAKOBI_SEED repeats a run. Readers that go through HDF5, which has
faults of its own, are tried in processes of theirs (test_damaged_series.py, test_requests_by_a_fuzzer).
"""

from __future__ import annotations

import json
import os
import random
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakobi.errors import HakobiError, InputError
from hakobi.post import grib_keys, indexing
from hakobi.post.grib_scan import Record
from hakobi.post.opening import open_step
from hakobi.post.overview import Overview, path_of
from hakobi.post.staged import staged_text
from hakobi.store import grib_grid
from posting import wave, write_step

FUZZ_S = float(os.environ.get("HAKOBI_FUZZ_S", "1"))
pytestmark = pytest.mark.timeout(120 + FUZZ_S)
#: An input that takes longer is a finding: readers are to say no early.
MOST_S = 10.0
#: Lengths, counts and offsets become these.
NUMBERS = (0, 1, 2, 3, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, (1 << 64) - 1)
WORDS = (b"-1", b"0", b"1e400", b"null", b"[]", b"{}", b'"\\ud800"', b"NaN", b"9" * 20, b"[" * 2000, b"true", b'"../x"')


def damaged(draw: random.Random, data: bytes) -> bytes:
    """A few bytes, numbers or parts of it are others, twice there, or missing."""
    bytes_ = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at = draw.randrange(len(bytes_) + 1)
        end = min(len(bytes_), at + draw.choice((1, 1, 4, 8, 64)))
        match draw.randrange(7):
            case 0:
                bytes_[at:end] = draw.randbytes(end - at)
            case 1:
                order, kind = draw.choice("<>"), draw.choice("BIQ")
                number = struct.pack(order + kind, draw.choice(NUMBERS) % (1 << (8 * struct.calcsize(order + kind))))
                bytes_[at : at + len(number)] = number
            case 2:
                del bytes_[at:end]
            case 3:
                bytes_[at:at] = bytes_[at:end] * draw.choice((1, 2, 50))
            case 4:
                bytes_ = bytes_[:at] or bytes_
            case 5:  # a word of a text
                digits = [i for i, byte in enumerate(bytes_) if chr(byte).isdigit()]
                if digits:
                    where = draw.choice(digits)
                    bytes_[where : where + 1] = draw.choice(WORDS)
            case 6:
                places = [i for i, byte in enumerate(bytes_) if byte in b'"[{,:']
                if places:
                    where = draw.choice(places)
                    bytes_[where : where + draw.choice((1, 5, 20))] = draw.choice(WORDS)
    return bytes(bytes_)


def boxes_of(shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((max(0, length - 4), length) for length in shape)


def read_step(path: Path) -> None:
    with open_step(path) as step:
        for name, this in list(step.fields.items())[:4]:
            try:
                step.read(name, max(0, this.num_times - 1), boxes_of(this.shape))
            except HakobiError:
                continue


def fuzz(seed: int, files: dict[Path, bytes], read: Callable[[], None]) -> int:
    """Damages one of the files at a time; returns how many inputs were tried."""
    draw, end_s, num = random.Random(seed), time.monotonic() + FUZZ_S, 0
    while time.monotonic() < end_s:
        path = draw.choice(list(files))
        content = damaged(draw, files[path])
        path.write_bytes(content)
        begin_s = time.monotonic()
        try:
            read()
        except HakobiError:
            pass
        except BaseException:
            print(f"the damaged {path.name}: {content!r}")
            raise
        assert time.monotonic() - begin_s < MOST_S, content
        path.write_bytes(files[path])
        num += 1
    return num


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_a_classic_file(tmp_path: Path, kind: str, fresh_seed: int) -> None:
    netcdf = pytest.importorskip("netCDF4")
    path = tmp_path / "run.nc"
    with netcdf.Dataset(path, "w", format=kind) as file:
        for name, size in (("time", None), ("lat", 5), ("lon", 6)):
            file.createDimension(name, size)
            file.createVariable(name, "f8", (name,)).units = "m"
        file.createVariable("eta", "f4", ("time", "lat", "lon"), fill_value=-999.0)[:] = np.ones((2, 5, 6))
        file.createVariable("flags", "i2", ("lat", "lon")).scale_factor = 0.5
    assert fuzz(fresh_seed, {path: path.read_bytes()}, lambda: read_step(path)) > 0


@pytest.mark.parametrize("edition", [1, 2])
def test_a_grib_file(tmp_path: Path, edition: int, fresh_seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it but ecCodes, which has faults of its own."""

    def without(*_: object) -> dict[str, str]:
        raise InputError("there is no ecCodes")

    for module in (grib_grid, grib_keys):
        monkeypatch.setattr(module, "grib_texts", without)
    path, samples = tmp_path / "a.grib", Path("/usr/share/eccodes/samples")
    names = [f"{name}_grib{edition}.tmpl" for name in ("regular_ll_pl", "reduced_gg_pl_32", "sh_ml", "regular_ll_sfc")]
    if not samples.is_dir():
        pytest.skip("ecCodes' samples are not installed")
    path.write_bytes(b"".join((samples / name).read_bytes() for name in names))
    assert fuzz(fresh_seed, {path: path.read_bytes()}, lambda: open_step(path).close()) > 0


def test_a_grib_file_whose_product_ends_before_its_member(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grib_keys, "grib_texts", lambda *_: dict.fromkeys(grib_keys._KEYS, "unknown"))
    one = bytes(11) + b"\x00\x07\xd7\x03\x17\x0c\x00\x00" + bytes(2)
    product = bytearray(34)
    product[8], product[17], product[23] = 1, 1, 255  # a member's template; hours; no scale factor
    record = Record(2, 0, {1: one, 3: bytes(72), 4: bytes(product), 5: bytes(21)}, False, (0, 0))
    assert grib_keys.KeyReader().of(record, lambda: b"").member == "unknown"  # ecCodes was asked


def group(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """A series of one step as one group: a field in two chunks, an axis."""

    def array(shape: list[int], chunk: list[int], dims: list[str], codecs: list[Any]) -> dict[str, Any]:
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": "float64",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": "NaN",
            "codecs": codecs,
            "dimension_names": dims,
            "attributes": {"units": "m"},
        }

    plain = [{"name": "bytes", "configuration": {"endian": "little"}}]
    index = {"index_codecs": [*plain, {"name": "crc32c"}], "index_location": "end", "codecs": plain}
    shards = [{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 2, 3], **index}}]
    arrays = {
        "time": array([1], [1024], ["time"], plain),
        "x": array([3], [3], ["x"], plain),
        "eta": array([1, 4, 3], [1, 4, 3], ["time", "y", "x"], shards),
    }
    root = {
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {"hakobi_store": 1, "title": "a run"},
        "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": arrays},
    }
    yield folder / "zarr.json", json.dumps(root).encode()
    yield folder / "time" / "c.0", struct.pack("<1024d", 1.0, *[np.nan] * 1023)
    yield folder / "x" / "c.0", struct.pack("<3d", 1, 2, 3)
    yield folder / "eta" / "c.0.0.0", bytes(96) + struct.pack("<QQQQI", 0, 48, 48, 48, 0)


def test_a_zarr_group(tmp_path: Path, fresh_seed: int) -> None:
    folder, files = tmp_path / "run.zarr", dict(group(tmp_path / "run.zarr"))
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with open_step(folder) as step:
        assert step.read("eta", 0, ((0, 4), (0, 3))).shape == (4, 3)
    assert fuzz(fresh_seed, files, lambda: read_step(folder)) > 0


@pytest.mark.programs
@pytest.mark.once
def test_an_overview(tmp_path: Path, fresh_seed: int) -> None:
    step = write_step(tmp_path / "a.nc", {"eta": wave((300, 530))})
    assert indexing.make_overview(step, unit_bytes=1 << 16).state == "made"

    def read() -> None:
        overview = Overview(path_of(step))
        for name, field in overview.fields.items():
            for number, shard in list(field.shards[0].items())[-1:]:
                overview.read(name, 0, number, boxes_of(shard.level.shape))

    read()
    assert fuzz(fresh_seed, {path_of(step): path_of(step).read_bytes()}, read) > 0


def test_a_stages_marker(tmp_path: Path, fresh_seed: int) -> None:
    marker = tmp_path / "run.staged"
    content = f"hakobi stage\nnode n1\nfolder {tmp_path}/run.0123456789abcdef.stage\n".encode()
    marker.write_bytes(content)
    assert "steps may have not arrived" in staged_text(tmp_path / "run")
    assert fuzz(fresh_seed, {marker: content}, lambda: assert_text(staged_text(tmp_path / "run"))) > 0


def assert_text(text: str) -> None:
    assert text


def test_a_machine_file(tmp_path: Path, fresh_seed: int) -> None:
    machine = pytest.importorskip("hakobi_lab.studies.scale.machine")
    path = tmp_path / "machine.toml"
    content = (Path(machine.__file__).parent / "machines" / "frontier.toml").read_bytes()
    assert fuzz(fresh_seed, {path: content}, lambda: machine.load(path)) > 0
