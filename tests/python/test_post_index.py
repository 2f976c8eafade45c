"""`hakobi index`: overviews of steps."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from hakobi import progress
from hakobi.errors import FormatError
from hakobi.post import indexing, reduction, tiles
from hakobi.post.catalogue import Catalogue
from hakobi.post.overview import Overview, path_of
from hakobi.post.pyramid import levels_of
from posting import Array, open_step, wave, write_step
from running import Result, start

Command = Callable[..., Result]


def coarse(values: Array, level: int) -> Array:
    """Means by the rule, the slow way: halves of halves, without the cells that are NaN."""
    for _ in range(level):
        padded = np.pad(values, [(0, n % 2) for n in values.shape], constant_values=np.nan)
        pairs = padded.reshape([m for n in padded.shape for m in (n // 2, 2)])
        axes = tuple(range(1, 2 * values.ndim, 2))
        valid = ~np.isnan(pairs)
        with np.errstate(invalid="ignore"):
            values = np.where(valid, pairs, 0).sum(axes) / valid.sum(axes)
    return values


def read_level(overview: Overview, field: str, level: int, time: int = 0) -> Array:
    found = overview.fields[field]
    shape = found.shards[time][level].level.shape
    values = overview.read(field, time, level, tuple((0, n) for n in shape))
    return values.astype(float) * found.scale + found.offset


@pytest.mark.parametrize("shape", [(37, 53), (300, 530), (1, 9), (7, 70, 65), (33, 34, 100), (2, 2, 2)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_levels_are_means_without_the_missing_cells(tmp_path: Path, shape: tuple[int, ...], dtype: str) -> None:
    values = wave(shape, dtype=dtype) + 273
    outcome = indexing.make_overview(write_step(tmp_path / "a.nc", {"eta": values}), unit_bytes=1 << 16)
    assert outcome.state == "made", outcome.reason
    overview = Overview(path_of(tmp_path / "a.nc"))
    for level in levels_of(shape):
        expected = coarse(values.astype(float), level.number)
        np.testing.assert_allclose(read_level(overview, "eta", level.number), expected, atol=5e-3)
    told = overview.fields["eta"].statistics[0]
    assert (told["min"], told["max"]) == (np.nanmin(values), np.nanmax(values))
    assert told["num_nan"] == np.isnan(values).sum()
    assert told["mean"] == pytest.approx(np.nanmean(values, dtype=float), rel=1e-6)


def test_others_open_an_overview(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    values = wave((70, 65, 100))
    write_step(tmp_path / "a.nc", {"eta": values, "eta_max": values + 1})
    indexing.make_overview(tmp_path / "a.nc")
    path = path_of(tmp_path / "a.nc")
    assert zipfile.ZipFile(path).testzip() is None
    store = zarr.storage.ZipStore(path, mode="r")
    group = zarr.open_group(store, mode="r")
    array = group["4/eta"]
    read = array[:].astype(float) * array.attrs["scale_factor"] + array.attrs["add_offset"]
    np.testing.assert_allclose(read, coarse(values.astype(float), 2), atol=3e-3)
    assert group["min/2/eta"][0, 0, 1] == np.nanmin(values[:64, :64, 64:])
    assert group["max/16/eta"][0, 0, 0] == np.nanmax(values)
    assert group["2/x"][0] == 10.25
    store.close()


@pytest.mark.parametrize(
    "values",
    [
        np.full((40, 50), np.nan, "f4"),
        np.full((40, 50), 3.25, "f4"),
        np.full((40, 50), 1e-300, "f8") * np.linspace(1, 2, 50),
        np.full((40, 50), 1e300, "f8") * np.linspace(-1, 1, 50),
        np.where(np.arange(2000).reshape(40, 50) % 400 == 0, np.inf, 1.0).astype("f4"),
        np.where(np.arange(2000).reshape(40, 50) == 7, 1e30, 1.0).astype("f4"),
        np.arange(2000, dtype="i4").reshape(40, 50) - 1000,
        np.arange(2000, dtype=">f4").reshape(40, 50),
    ],
    ids=["nan", "one-value", "tiny", "huge", "infinities", "outlier", "integers", "big-endian"],
)
def test_values_that_are_no_smooth_field(tmp_path: Path, values: Array) -> None:
    outcome = indexing.make_overview(write_step(tmp_path / "a.nc", {"eta": values}))
    assert outcome.state == "made", outcome.reason
    overview = Overview(path_of(tmp_path / "a.nc"))
    with np.errstate(over="ignore"):
        expected = coarse(values.astype(float), 1)
    read = read_level(overview, "eta", 1)
    assert np.array_equal(np.isnan(read), np.isnan(expected))
    assert np.array_equal(np.isposinf(read), np.isposinf(expected))
    usual = np.isfinite(expected) & (np.abs(expected) < 1e29) if values.dtype.itemsize == 4 else np.isfinite(expected)
    size = np.abs(expected[usual]).max(initial=0)
    np.testing.assert_allclose(read[usual], expected[usual], atol=size * 1e-3)


def test_several_times_in_one_file(tmp_path: Path) -> None:
    values = np.stack([wave((30, 40), phase) for phase in (0.0, 1.0, 2.0)])
    with h5py.File(tmp_path / "a.nc", "w") as file:
        file.create_dataset("eta", data=values, maxshape=(None, 30, 40), chunks=(1, 30, 40))
    assert indexing.make_overview(tmp_path / "a.nc").state == "made"
    overview = Overview(path_of(tmp_path / "a.nc"))
    for number in range(3):
        expected = coarse(values[number].astype(float), 2)
        np.testing.assert_allclose(read_level(overview, "eta", 2, number), expected, atol=5e-3)


def test_bytes_do_not_depend_on_units_or_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"eta": wave((70, 130, 100)), "u": wave((70, 130, 100), 1)}
    contents, files = set(), []
    monkeypatch.setattr(indexing, "_SMALL_BYTES", 0)
    for name, threads, memory in (("a", 1, 1 << 30), ("b", 1, 1 << 20), ("c", 2, 1 << 30), ("d", 3, 1 << 20)):
        (tmp_path / name).mkdir()
        write_step(tmp_path / name / "s.nc", values)
        os.utime(tmp_path / name / "s.nc", ns=(1, 1))
        [outcome] = indexing.make_overviews([tmp_path / name / "s.nc"], threads, memory)
        assert outcome.state == "made", outcome.reason
        overview = Overview(path_of(tmp_path / name / "s.nc"))
        contents.add(b"".join(read_level(overview, "eta", k).tobytes() for k in (1, 2, 3)))
        files.append(path_of(tmp_path / name / "s.nc").read_bytes())
        assert zipfile.ZipFile(path_of(tmp_path / name / "s.nc")).testzip() is None
    assert len(contents) == 1
    assert files[1] == files[3]


def test_values_that_do_not_lie_in_the_file_as_they_are(tmp_path: Path) -> None:
    """Chunks, filters, packed integers, other orders of bytes, NetCDF's classic formats: the same levels."""
    values = np.round(wave((40, 90, 70), dtype="f8"), 2)
    whole = np.where(np.isnan(values), -9999, np.round(100 * values)).astype("i2")
    for name, create in (
        ("chunks", {"chunks": (1, 7, 90, 70)}),
        ("deflate", {"chunks": (1, 40, 9, 70), "compression": 4}),
    ):
        write_step(tmp_path / f"{name}.nc", {"eta": values}, **create)
    write_step(tmp_path / "order.nc", {"eta": values.astype(">f8")})
    with h5py.File(write_step(tmp_path / "packed.nc", {"eta": whole}), "r+") as file:
        file["eta"].attrs.update({"scale_factor": 0.01, "add_offset": 0.0, "_FillValue": np.int16(-9999)})
    netcdf = pytest.importorskip("netCDF4")
    for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
        with netcdf.Dataset(tmp_path / f"{kind}.nc", "w", format=kind) as file:
            for axis, size in zip("tzyx", (None, *values.shape), strict=True):
                file.createDimension(axis, size)
            variable = file.createVariable("eta", "f8", tuple("tzyx"))
            other = file.createVariable("other", "i2", ("t", "y", "x"))
            for time in range(2):
                variable[time] = values + time
                other[time] = whole[3] + time
    for path in sorted(tmp_path.glob("*.nc")):
        outcome = indexing.make_overview(path, unit_bytes=1 << 18, threads=2)
        assert outcome.state == "made", outcome.reason
        overview = Overview(path_of(path))
        for time in range(len(overview.fields["eta"].shards)):
            for level in levels_of(values.shape):
                expected = coarse(values + time, level.number)
                np.testing.assert_allclose(read_level(overview, "eta", level.number, time), expected, atol=1e-2)


def test_names_that_paths_have_a_meaning_for(tmp_path: Path) -> None:
    names = ["a/b", "µ", ".hidden", "x__y", "100%", "a b(c)"]
    with h5py.File(tmp_path / "a.nc", "w") as file:
        for number, name in enumerate(names):
            file[name] = np.full((30, 40), 1.0 + number)
    assert indexing.make_overview(tmp_path / "a.nc").state == "made"
    overview = Overview(path_of(tmp_path / "a.nc"))
    assert [read_level(overview, name, 1)[0, 0] for name in names] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    entries = zipfile.ZipFile(path_of(tmp_path / "a.nc")).namelist()
    for name in ("a%2Fb", "%C2%B5", "%2Ehidden", "x_%5Fy", "100%25", "a b(c)"):
        assert f"2/{name}/zarr.json" in entries


def start_long_index(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """`hakobi index` of a field that takes it long, once it is at it, and its journal."""
    with h5py.File(folder / "a.nc", "w") as file:  # 32 GB of zeros, of which no byte is stored
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple((2000, 2000, 2000))
        h5py.h5d.create(file.id, b"eta", h5py.h5t.IEEE_F32LE, space, create)
    process = start("index", folder / "a.nc", "--threads", 2, "--memory", 64)
    journal = folder / ".a.nc.overview.zip.journal"
    until = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 10_000):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    return process, journal


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_work_ends_with_the_command_and_is_gone_on_with(tmp_path: Path, number: signal.Signals) -> None:
    process, journal = start_long_index(tmp_path)
    process.send_signal(number)
    _, told = process.communicate(timeout=10)  # not when all that was begun is done
    if number != signal.SIGKILL:
        assert (process.returncode, told.splitlines()[-1]) == (130, "hakobi index: interrupted")
    left = journal.read_bytes()
    assert not path_of(tmp_path / "a.nc").exists()
    process = start("index", tmp_path / "a.nc", "--threads", 2, "--memory", 64)
    until = time.monotonic() + 60
    while journal.stat().st_size <= len(left):  # behind what is there, not anew
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert journal.read_bytes()[: len(left) // 2] == left[: len(left) // 2]


def test_an_interrupted_run_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces in the journal of a field that is read by a callback are not read again, torn records aside."""
    monkeypatch.setattr(indexing, "_SMALL_BYTES", 0)
    values = wave((300, 64, 64))
    path = write_step(tmp_path / "a.nc", {"eta": values}, chunks=(1, 10, 64, 64))
    read, boxes = indexing.Step.read, []

    def interrupted(self: indexing.Step, name: str, time: int, box: tuple[tuple[int, int], ...]) -> Array:
        if box[2] == (0, 64) and box[1] == (0, 64):  # no piece of the sample
            boxes.append(box[0])
            if len(boxes) == 4:
                raise KeyboardInterrupt
        return read(self, name, time, box)

    monkeypatch.setattr(indexing.Step, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        indexing.make_overview(path, unit_bytes=1 << 18)
    assert not path_of(path).exists()
    with (tmp_path / ".a.nc.overview.zip.journal").open("ab") as journal:
        journal.write(b"torn")
    assert indexing.make_overview(path, unit_bytes=1 << 18).state == "made"
    assert boxes[:3] == [(0, 64), (64, 128), (128, 192)]
    assert boxes[4:] == [(192, 256), (256, 300)]
    for number in (1, 2):
        expected = coarse(values.astype(float), number)
        np.testing.assert_allclose(read_level(Overview(path_of(path)), "eta", number), expected, atol=5e-3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "a.nc.overview.zip"]


def test_what_a_run_has_left_goes_when_the_overview_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_SMALL_BYTES", 0)
    path = write_step(tmp_path / "a.nc", {"eta": wave((40, 50))})
    assert indexing.make_overview(path).state == "made"
    for rest in ("part", "journal"):
        (tmp_path / f".a.nc.overview.zip.{rest}").write_bytes(b"of a run that was killed")
    assert indexing.make_overview(path).state == "kept"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "a.nc.overview.zip"]


@pytest.mark.parametrize(
    ("error", "small_bytes", "left"),
    [(FormatError("torn"), 0, 0), (FormatError("torn"), 1 << 30, 0), (KeyboardInterrupt(), 1 << 30, 0),
     (KeyboardInterrupt(), 0, 1)],
)  # fmt: skip
def test_nothing_is_left_that_no_run_goes_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, small_bytes: int, left: int
) -> None:
    monkeypatch.setattr(indexing, "_SMALL_BYTES", small_bytes)
    path = write_step(tmp_path / "a.nc", {"eta": wave((64, 64, 64))}, chunks=(1, 10, 64, 64))

    def fail(*_: object) -> Array:
        raise error

    monkeypatch.setattr(indexing.Step, "read", fail)
    if isinstance(error, FormatError):
        assert indexing.make_overview(path).reason == "torn"
    else:
        with pytest.raises(KeyboardInterrupt):
            indexing.make_overview(path)
    assert len([p for p in tmp_path.iterdir() if p.name.startswith(".")]) == left


def test_only_the_named_series_gets_overviews(hakobi: Command, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()  # of logs: a series beside it has its name
    (tmp_path / "run" / "log.txt").touch()
    for name in ("run_0", "run_1", "run_rotor_0", "runs_0", "other"):
        write_step(tmp_path / f"{name}.nc", {"eta": wave((40, 50))})
    assert hakobi("index", tmp_path / "run").stdout.startswith("2 overviews made")
    assert sorted(p.name for p in tmp_path.glob("*.zip")) == ["run_0.nc.overview.zip", "run_1.nc.overview.zip"]


def test_progress_is_told_while_overviews_are_made(
    hakobi: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SILENT_S", 0.0)
    for number in range(3):
        write_step(tmp_path / f"run_{number}.nc", {"eta": wave((40, 50))})
    told = hakobi("index", tmp_path).stderr.splitlines()
    assert told[0].startswith("0 of 3 overviews done: run_0.nc")
    assert told[2].startswith("2 of 3 overviews done: run_2.nc, about ")


def test_an_overview_belongs_to_its_steps_content(tmp_path: Path) -> None:
    path = write_step(tmp_path / "a.nc", {"eta": wave((40, 50))})
    indexing.make_overview(path)
    copy = tmp_path / "copy.nc"
    shutil.copyfile(path, copy)
    shutil.copyfile(path_of(path), path_of(copy))
    assert open_step(copy).overview is not None
    with h5py.File(copy, "r+") as file:
        file["eta"][...] += 1
    assert open_step(copy).overview is None
    assert indexing.make_overview(copy).state == "made"
    assert open_step(copy).overview is not None


def test_a_damaged_overview_is_made_again_or_named(tmp_path: Path) -> None:
    path = write_step(tmp_path / "a.nc", {"eta": wave((40, 50))})
    indexing.make_overview(path)
    whole = path_of(path).read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path_of(path).write_bytes(whole[:cut])
        assert open_step(path).overview is None
        assert indexing.make_overview(path).state == "made"
    damaged = bytearray(whole)
    damaged[200] ^= 1
    path_of(path).write_bytes(damaged)
    with pytest.raises(Exception, match="damaged: run `hakobi index` again"):
        read_level(Overview(path_of(path)), "eta", 1)


def test_the_command_tells_what_it_did(hakobi: Command, tmp_path: Path) -> None:
    for number in range(3):
        write_step(tmp_path / f"run_{number:03}.nc", {"eta": wave((40, 50), number)})
    assert hakobi("index", tmp_path / "run", "--threads", 1).stdout.startswith("3 overviews made, 0 kept, 0 failed")
    assert hakobi("index", tmp_path / "run", "--threads", 1).stdout.startswith("0 overviews made, 3 kept, 0 failed")
    torn = tmp_path / "run_003.nc"
    torn.write_bytes((tmp_path / "run_000.nc").read_bytes()[:3000])
    result = hakobi("index", tmp_path, "--threads", 1)
    assert result.status == 1
    assert "run_003.nc" in result.line()
    told = [json.loads(line) for line in hakobi("index", tmp_path, "--threads", 1, "--json").stdout.splitlines()]
    assert [(Path(each["file"]).name, each["state"]) for each in told] == [
        *((f"run_{number:03}.nc", "kept") for number in range(3)),
        ("run_003.nc", "failed"),
    ]
    assert "run_003.nc" in told[3]["reason"]
    result = hakobi("index", tmp_path / "nowhere")
    assert result.status == 2
    assert "no such file" in result.line()


def test_a_runs_prefix_names_its_parts_where_no_series_has_it(tmp_path: Path) -> None:
    for name in ("run_rotor_0.nc", "run_wall_0.nc", "running_0.nc"):
        (tmp_path / name).touch()
    assert sorted(s.key for s in Catalogue(tmp_path / "run").series.values()) == ["run_rotor_#.nc", "run_wall_#.nc"]
    (tmp_path / "run_0.nc").touch()
    assert [s.key for s in Catalogue(tmp_path / "run").series.values()] == ["run_#.nc"]


def test_a_series_is_its_numbers(tmp_path: Path) -> None:
    for name in ("run_9.nc", "run_10.nc", "run_12.nc", "a_007.nc", "a_008.nc", "single.h5", ".hidden_1.nc"):
        (tmp_path / name).touch()
    (tmp_path / "link_1.nc").symlink_to("/etc/hostname")
    found = {s.key: s.numbers.tolist() for s in Catalogue(tmp_path).series.values()}
    assert found == {"run_#.nc": [9, 10, 12], "a_###.nc": [7, 8], "single.h5": [-1]}
    (tmp_path / "named").symlink_to("single.h5")
    assert [s.key for s in Catalogue(tmp_path / "named").series.values()] == ["single.h5"]
    series = next(s for s in Catalogue(tmp_path).series.values() if s.key == "run_#.nc")
    assert [series.path(n).name for n in (9, 10, 12)] == ["run_9.nc", "run_10.nc", "run_12.nc"]


def test_what_shows_a_series_is_not_listed_beside_it(tmp_path: Path) -> None:
    for name in ("run_000000.nc", "run.series.nc", "run.series.000000.nc", "other.series.nc"):
        (tmp_path / name).touch()
    assert {s.key for s in Catalogue(tmp_path).series.values()} == {"run_######.nc", "other.series.nc"}
    assert [s.key for s in Catalogue(tmp_path / "run.series.nc").series.values()] == ["run.series.nc"]
    assert [s.key for s in Catalogue(tmp_path / "run").series.values()] == ["run_######.nc"]


def test_a_million_steps_are_few_runs() -> None:
    from hakobi.post.catalogue import Series

    numbers = np.concatenate([np.arange(0, 500_000), np.arange(500_000, 1_500_000, 2), [7_000_000]])
    series = Series("a", Path(), "", "", 0, numbers)
    assert series.runs() == [[0, 1, 500_001], [500_002, 2, 499_999], [7_000_000, 1, 1]]


def halved(block: Array, offset: float, scale: float) -> Array:
    """The rule of src/overview/reduce.hpp in NumPy: sums in the field's type, with care where they are not finite."""

    def sum_pairs(values: Array) -> Array:
        for axis in range(values.ndim):
            even = (slice(None),) * axis + (slice(0, None, 2),)
            odd = (slice(None),) * axis + (slice(1, None, 2),)
            values = values[even] + values[odd]
        return values

    block = np.pad(block, [(0, n % 2) for n in block.shape], mode="edge")
    with np.errstate(all="ignore"):
        means = sum_pairs(block) * block.dtype.type(0.5**block.ndim)
        wide = block.dtype.type if 1e-30 < scale < 1e30 else np.float64
        normal = (means.astype(wide) - wide(offset)) / wide(scale)
        each = (block.astype(float) - offset) / scale
        careful = sum_pairs(np.where(np.isnan(each), 0, each)) / sum_pairs((~np.isnan(each)).astype(float))
        result = np.where(np.isfinite(means), normal.astype(np.float16), careful.astype(np.float16))
        exact = np.where(np.isfinite(means), normal, careful)
    return np.where(np.isinf(result) & np.isfinite(exact), np.copysign(np.float16(65504), result), result)


@pytest.mark.parametrize("shape", [(70, 131, 97), (65, 64, 200), (300, 1031), (1, 5, 3), (700, 530)])
@pytest.mark.parametrize("kind", ["f4", "f8", "holes", "wild"])
def test_bricks_have_the_bytes_of_the_rule(tmp_path: Path, shape: tuple[int, ...], kind: str) -> None:
    rng = np.random.default_rng(len(kind) + shape[-1])
    values = rng.normal(3, 1000, shape).astype("f8" if kind == "f8" else "f4")
    if kind in ("holes", "wild"):
        values[rng.random(shape) < 0.2] = np.nan
    if kind == "wild":
        for value in (np.inf, -np.inf, 3e38, -3e38, 1e-42, 1e9):
            values[rng.random(shape) < 0.01] = value
    indexing.make_overview(write_step(tmp_path / "a.nc", {"eta": values}), unit_bytes=1 << 20)
    overview = Overview(path_of(tmp_path / "a.nc"))
    found = overview.fields["eta"]
    expected, scaling = values, (found.offset, found.scale)
    for level in levels_of(shape):
        expected = halved(expected, *scaling)
        read = overview.read("eta", 0, level.number, tuple((0, n) for n in level.shape))
        assert np.array_equal(np.isnan(read), np.isnan(expected))
        there = ~np.isnan(expected)
        assert np.array_equal(read.view("<u2")[there], expected.view("<u2")[there]), f"level {level.number}"
        expected, scaling = expected.astype(np.float32), (0.0, 1.0)


def test_a_field_that_ends_early_is_said(tmp_path: Path) -> None:
    path = write_step(tmp_path / "a.nc", {"eta": wave((64, 64, 64))})
    with indexing.open_step(path) as step:
        os.truncate(path, path.stat().st_size // 2)
        with pytest.raises(FormatError, match="shorter than it says"):
            indexing._write(step, 1 << 20, 1, ctypes.c_int())


def test_scaling_keeps_what_it_did_not_see() -> None:
    values = np.array([1e4, -np.inf, np.nan, 5.0, -3.0, 1e30])
    offset, scale = reduction.scaling(np.array([-1.0, 1.0, np.nan, np.inf]))
    halves = halved(np.repeat(np.repeat(values, 2)[None], 2, axis=0), offset, scale)
    assert float(halves[0, 0]) * scale + offset == pytest.approx(10_000, rel=1e-3)
    assert halves[0, 1] == -np.inf
    assert np.isnan(halves[0, 2])
    assert halves[0, 5] == 65504


def level_of(path: Path, name: str, number: int) -> Array:
    """A level as its overview says it."""
    overview = Overview(path_of(path))
    found = overview.fields[name]
    level = found.shards[0][number].level
    read = overview.read(name, 0, number, tuple((0, n) for n in level.shape))
    return read.astype(float) * found.scale + found.offset


@pytest.mark.parametrize(("dtype", "bright"), [("f4", 3e38), ("f8", 1e300), ("f8", -1.7e308)])
def test_a_bright_cell_in_noise_stays_finite_at_every_level(tmp_path: Path, dtype: str, bright: float) -> None:
    values = np.random.default_rng(5).normal(0, 1e-25, (600, 1100)).astype(dtype)
    values[377, 501] = bright
    path = write_step(tmp_path / "a.nc", {"eta": values})
    indexing.make_overview(path)
    for number in (1, 2, 3, 4):
        means = level_of(path, "eta", number)
        assert np.isfinite(means).all()
        assert means[377 >> number, 501 >> number] == pytest.approx(bright / 4**number, rel=5e-3)
        assert np.count_nonzero(means) == 1  # noise is nothing beside it, and colours ask for the exact values


@pytest.mark.parametrize(("dtype", "value"), [("f4", 1.5e38), ("f4", 3.4e38), ("f8", 1.7e308), ("f8", 1e-320)])
def test_means_of_the_largest_and_smallest_values_are_right(tmp_path: Path, dtype: str, value: float) -> None:
    values = np.full((50, 70), value, dtype)
    values[::2] *= -1
    path = write_step(tmp_path / "a.nc", {"same": np.abs(values), "both": values})
    indexing.make_overview(path)
    np.testing.assert_allclose(level_of(path, "same", 1), value, rtol=1e-3)
    assert not level_of(path, "both", 1).any()
    for text in Overview(path_of(path)).fields.values():
        points = text.statistics[0]["percentiles"]
        assert all(abs(point) <= value * 1.001 for point in points.values()), points


@pytest.mark.parametrize("bright", [1e3, 1e10, 1e300, -1.7e308, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("size", [1e-320, 1e-100, 1.0, 1e250])
def test_halves_are_finite_where_values_are(size: float, bright: float) -> None:
    values = np.random.default_rng(6).normal(0, size, 5000)
    values[17] = bright
    offset, scale = reduction.scaling(values)
    assert np.isfinite([offset, scale]).all()
    scale = reduction.widened(offset, scale, values)
    halves = reduction.to_halves(values, offset, scale)
    for kind in (np.isfinite, np.isnan, np.isposinf, np.isneginf):
        assert np.array_equal(kind(halves), kind(values))
    there = np.isfinite(values)
    read = halves[there].astype(float) * scale + offset
    error = reduction.errors(halves[there], scale) + 1e-323
    assert (np.abs(read / 2 - values[there] / 2) <= 1.001 * error / 2).all()


def test_colours_ask_for_exact_values_where_halves_do_not_tell_them_apart() -> None:
    halves = np.array([0, 1, 1000, 65504, np.nan, np.inf, -np.inf], np.float16)
    resolves = lambda these, low, high: reduction.resolves(these, 0.0, 1.0, low, high)  # noqa: E731
    assert resolves(halves[:2], -1, 1)
    assert not resolves(halves[:2], 0.9, 1.01)  # a colour is 0.0004, float16 of 1 is right to 0.0005
    assert resolves(halves[:2], 2, 2.001)  # neither is between them
    assert not resolves(halves[2:3], 999.9, 1000.1)
    assert not resolves(halves[:1], 0, 1e-6)  # 0 may be 3e-8
    assert resolves(halves[:4], -1, 1)  # 65504 may be more, and is beyond the end anyway
    assert not resolves(halves[:4], 0, 1e6)
    assert resolves(halves[4:], -1e-9, 1e-9)


def test_means_without_an_overview_count_each_cell_once() -> None:
    values = np.array([[1, 2, 5], [np.nan, 6, np.nan]])
    np.testing.assert_array_equal(tiles._means(values, 2, [0, 1]), [[3, 5]])
    np.testing.assert_array_equal(tiles._means(values[None], 2, [1, 2]), [[[3, 5]]])
