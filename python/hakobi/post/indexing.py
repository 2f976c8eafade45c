"""`hakobi index`: makes the overviews of a series' steps.

How a step's overview comes about:
 1. A sample of each field fixes offset and scale (hakobi.post.reduction.scaling), and the extremes that level 1 finds
    widen it where float16 would not hold them: then level 1 is made again.
 2. Level 1 is reduced from the step's file, each coarser level from the one before it, in units (pyramid.units_of) that
    processes take as they come (hakobi.post.reducer). A unit reads long pieces, ahead of what is being reduced, and
    writes one contiguous piece of the temporary file.
 3. What a unit found (checksum, extremes, sample) is one line of a journal beside it. A run that was killed goes on
    behind the lines, if step, layout and boot are the same: then the kernel has every byte that a line tells of.
 4. Metadata and directory are written, the file is synced and renamed, the journal removed.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import itertools
import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from dataclasses import field as member
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import FormatError, HakobiError, StorageError
from hakobi.file_lock import lock
from hakobi.post import reducer, reduction, zarr
from hakobi.post.container import Entry, Writer, combine_crc32, write_all
from hakobi.post.overview import FORMAT, Overview, fingerprint, path_of
from hakobi.post.pyramid import Level, Unit, levels_of, units_of
from hakobi.post.source import Field, Step
from hakobi.post.workers import map_ahead, workers

Array = NDArray[Any]

#: Values that percentiles and histogram are taken from, a field.
SAMPLE_SIZE = 1 << 17
PERCENTILES = (0.5, 1, 2, 5, 10, 25, 50, 75, 90, 95, 98, 99, 99.5)
_BINS = 64
#: A whole step below this is one process's work.
_SMALL_BYTES = 256 << 20
#: Steps, or units of a step, that are handed out a process.
_AHEAD = 4


@dataclass(frozen=True)
class Outcome:
    """What became of one step."""

    path: Path
    state: str  # made, kept, failed
    num_bytes: int = 0
    overview_bytes: int = 0
    reason: str = ""


@dataclass(frozen=True)
class _Job:
    """One unit of one level of one field."""

    step: str
    part: str
    field: str
    time: int
    level: Level
    unit: Unit
    offset: float
    scale: float
    target_bytes: int  # where the level's shard begins in the temporary file
    finer_bytes: int  # where the finer level's does; -1: the field itself
    finer: Level | None


_NONE = np.empty(0)


@dataclass(frozen=True)
class _Done:
    """What a unit found. Level 1 only: the bricks' extremes, the sum, and a sample of the values."""

    crc32: int
    low: Array = member(default_factory=lambda: _NONE)
    high: Array = member(default_factory=lambda: _NONE)
    sum: float = 0.0
    num_nan: int = 0
    sample: Array = member(default_factory=lambda: _NONE)

    def to_json(self) -> list[Any]:
        arrays = (self.low, self.high, self.sample)
        texts = [base64.b64encode(a.astype("<f8").tobytes()).decode() for a in arrays]
        return [self.crc32, self.sum if math.isfinite(self.sum) else str(self.sum), self.num_nan, *texts]

    @classmethod
    def from_json(cls, text: list[Any]) -> _Done:
        low, high, sample = (np.frombuffer(base64.b64decode(t, validate=True), "<f8") for t in text[3:])
        return cls(int(text[0]), low, high, float(text[1]), int(text[2]), sample)


_steps: dict[str, Step] = {}


def _step_of(path: str) -> Step:
    """The step, kept open by this process from unit to unit."""
    if path not in _steps or not _steps[path].is_current():
        for old in _steps.values():
            old.close()
        _steps.clear()
        _steps[path] = Step.open(Path(path))
    return _steps[path]


def _reduce(job: _Job) -> _Done:
    """Reduces one unit and writes its bricks."""
    fd = os.open(job.part, os.O_RDWR | os.O_CLOEXEC)
    try:
        target = (fd, job.target_bytes + job.unit.first * job.level.brick_bytes)
        if job.finer is not None:
            source = reducer.Source(job.finer.shape, None, fd, job.finer_bytes, "half", job.finer.brick)
            return _Done(reducer.reduce(source, job.unit.box, job.level.brick, (0.0, 1.0), target).crc32)
        whole = math.prod(job.level.shape) << len(job.level.shape)
        stride = max(1, whole // SAMPLE_SIZE) | 1 if whole > SAMPLE_SIZE else 1
        source = _step_of(job.step).source(job.field, job.time, job.unit.box)
        found = reducer.reduce(source, job.unit.box, job.level.brick, (job.offset, job.scale), target, stride)
    finally:
        os.close(fd)
    return _Done(found.crc32, found.low, found.high, found.sum, found.num_nan, found.sample)


@dataclass
class _Values:
    """A field at one time on its way: where its shards are, and what its units found."""

    field: Field
    time: int
    offset: float
    scale: float
    shards: dict[int, tuple[Level, Entry]]
    crcs: dict[int, int] = member(default_factory=dict)
    found: list[_Done] = member(default_factory=list)

    def extremes(self) -> tuple[Array, Array]:
        """Smallest and largest value of each brick of level 1."""
        return np.concatenate([d.low for d in self.found]), np.concatenate([d.high for d in self.found])

    def statistics(self) -> dict[str, Any]:
        low, high = self.extremes()
        sample = np.concatenate([d.sample for d in self.found])
        num_nan = sum(d.num_nan for d in self.found)
        return statistics_of(
            math.prod(self.field.shape), low, high, math.fsum(d.sum for d in self.found), num_nan, sample
        )


class _Maker:
    """Makes one step's overview; `run` maps jobs to what they found, in order."""

    def __init__(self, step: Step, run: Callable[[Iterable[_Job]], Iterator[_Done]], unit_bytes: int) -> None:
        self._step, self._run, self._unit_bytes = step, run, unit_bytes
        self._final = path_of(step.path)
        self._part = self._final.with_name(f".{self._final.name}.part")
        self._journal = self._final.with_name(f".{self._final.name}.journal")

    def make(self) -> int:
        """Returns the overview's size. Raises HakobiError, OSError; what is left is gone on with by the next run."""
        fd = os.open(self._part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            try:
                lock(fd, wait=False)
            except BlockingIOError as error:
                raise StorageError(f"{self._part.name}: another `hakobi index` is at work on it") from error
            if self._final.exists() and _is_whole(self._final, self._step):
                self._part.unlink(missing_ok=True)
                return self._final.stat().st_size
            self._fill(fd)
            if not self._step.is_current():
                raise FormatError(f"{self._step.path.name} changed while it was read")
            os.fsync(fd)
            size = os.fstat(fd).st_size
            self._part.rename(self._final)
            self._journal.unlink(missing_ok=True)
            return size
        finally:
            os.close(fd)

    def _fill(self, fd: int) -> None:
        writer = Writer(fd)
        values = [v for f in self._step.fields.values() for v in self._begin(f, writer)]
        with self._open_journal(values) as (known, journal):
            for _, group in itertools.groupby(values, lambda these: these.field.name):
                times = list(group)
                self._reduce_first(times, known, journal)
                for these in times:
                    for number in list(these.shards)[1:]:
                        self._reduce(these, number, known, journal)
        self._finish(writer, fd, values)

    def _begin(self, this: Field, writer: Writer) -> Iterator[_Values]:
        offset, scale = reduction.scaling(self._sample(this))
        for time in range(max(1, this.num_times)):
            shards = {}
            for level in levels_of(this.shape):
                name = zarr.shard_name(this, level.number, time)
                shards[level.number] = (level, writer.reserve(name, level.num_bytes))
            yield _Values(this, time, offset, scale, shards)

    def _sample(self, this: Field) -> Array:
        """A few hundred pieces of up to 64 values, evenly over the field's times and rows."""
        width = min(64, this.shape[-1])
        leading = (max(1, this.num_times), *this.shape[:-1])
        rows = math.prod(leading)
        count = min(rows, 256)
        pieces = []
        for number in range(count):
            time, *at = np.unravel_index(number * (rows - 1) // max(1, count - 1), leading)
            start = (number * 7919) % (this.shape[-1] - width + 1)
            box = (*((int(i), int(i) + 1) for i in at), (start, start + width))
            pieces.append(self._step.read(this.name, int(time), box).ravel())
        return np.concatenate(pieces)

    @contextlib.contextmanager
    def _open_journal(self, values: list[_Values]) -> Iterator[tuple[dict[str, _Done], Any]]:
        """What an earlier run left (key -> what was found), and the file to add to."""
        head = {
            "source": [
                self._step.identities[0].num_bytes,
                self._step.identities[0].mtime_ns,
                fingerprint(self._step.fileno()),
            ],
            "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            "unit_bytes": self._unit_bytes,
            "shards": [[v.offset, v.scale, [e.offset_bytes for _, e in v.shards.values()]] for v in values],
        }
        known: dict[str, _Done] = {}
        with contextlib.suppress(OSError, ValueError, TypeError, IndexError):
            first, *rest = self._journal.read_text().splitlines()
            if json.loads(first) == head:
                for line in rest:
                    key, found = json.loads(line)
                    known[key] = _Done.from_json(found)
        lines = [json.dumps(head)] + [json.dumps([key, found.to_json()]) for key, found in known.items()]
        self._journal.write_text("\n".join(lines) + "\n")
        with self._journal.open("a") as file:
            yield known, file

    def _reduce_first(self, times: list[_Values], known: dict[str, _Done], journal: Any) -> None:
        """Level 1 of a field, which finds its extremes: again where they are more than float16 holds in the scale of
        the sample."""
        for these in times:
            self._reduce(these, 1, known, journal)
        extremes = np.concatenate([e for these in times for e in these.extremes()])
        scale = reduction.widened(times[0].offset, times[0].scale, extremes)
        if scale > times[0].scale:
            for these in times:
                these.scale = scale
                self._reduce(these, 1, known, journal)

    def _reduce(self, values: _Values, number: int, known: dict[str, _Done], journal: Any) -> None:
        """One level of a field at one time; the finer one is there."""
        level, entry = values.shards[number]
        finer = values.shards.get(number - 1)
        shape = values.field.shape if finer is None else finer[0].shape
        item = values.field.value_type.itemsize if finer is None else 4
        jobs = [
            _Job(
                str(self._step.path), str(self._part), values.field.name, values.time, level, unit, values.offset,
                values.scale, entry.offset_bytes, -1 if finer is None else finer[1].offset_bytes, finer and finer[0],
            )
            for unit in units_of(level, shape, item, self._unit_bytes)
        ]  # fmt: skip
        keys = [f"{values.time} {number} {job.unit.first} {values.scale} {values.field.name}" for job in jobs]
        fresh = self._run([job for job, key in zip(jobs, keys, strict=True) if key not in known])
        crc = 0
        if number == 1:
            values.found.clear()
        for job, key in zip(jobs, keys, strict=True):
            if key in known:
                found = known[key]
            else:
                found = next(fresh)
                if self._step.num_bytes >= _SMALL_BYTES:
                    journal.write(json.dumps([key, found.to_json()]) + "\n")
                    journal.flush()
            crc = combine_crc32(crc, found.crc32, job.unit.count * level.brick_bytes)
            if number == 1:
                values.found.append(found)
        values.crcs[number] = crc

    def _finish(self, writer: Writer, fd: int, values: list[_Values]) -> None:
        told: dict[str, Any] = {}
        for these in values:
            for number, (level, entry) in these.shards.items():
                index = zarr.shard_index(level)
                write_all(fd, index, entry.offset_bytes + level.num_bricks * level.brick_bytes)
                writer.complete(entry, combine_crc32(these.crcs[number], zlib.crc32(index), len(index)))
            zarr.write_extremes(writer, these.field, these.time, *these.extremes())
            head = {"shape": these.field.shape, "offset": these.offset, "scale": these.scale, "times": []}
            told.setdefault(these.field.name, head)["times"].append(
                {
                    "levels": {number: entry.offset_bytes for number, (_, entry) in these.shards.items()},
                    "statistics": these.statistics(),
                }
            )
        for these in values:
            if these.time == 0:
                zarr.write_metadata(writer, these.field, these.offset, these.scale)
        zarr.write_groups(writer, list(self._step.fields.values()))
        source = {
            "name": self._step.path.name,
            "num_bytes": self._step.num_bytes,
            "mtime_ns": self._step.identities[0].mtime_ns,
            "content": fingerprint(self._step.fileno()),
        }
        zarr.write_root(writer, {"format": FORMAT, "source": source, "fields": told})
        writer.finish()


def statistics_of(
    num_values: int, low: Array, high: Array, total: float, num_nan: int, sample: Array
) -> dict[str, Any]:
    """What is told of a field: extremes, mean and the count of NaN are of every value, the rest of a sample. What JSON
    has no word for (an infinite mean) is left out."""
    result: dict[str, Any] = {"num_values": num_values, "num_nan": num_nan}
    if num_nan < num_values and low.size:
        result |= {"min": float(np.nanmin(low)), "max": float(np.nanmax(high)), "mean": total / (num_values - num_nan)}
    values = sample[np.isfinite(sample)]
    if values.size:
        with np.errstate(all="ignore"):
            result["std"] = float(values.std())
            points = reduction.percentiles(values, PERCENTILES)
        result["percentiles"] = dict(zip(map(str, PERCENTILES), points, strict=True))
        first, last = float(values.min()), float(values.max())
        counts = [int(values.size)]
        if np.isfinite(last - first) and (last - first) / _BINS > abs(last) * 1e-15:
            counts = [int(n) for n in np.histogram(values, bins=_BINS, range=(first, last))[0]]
        result["histogram"] = {"counts": counts, "from": first, "to": last}
        result["num_sampled"] = int(values.size)
    return {key: value for key, value in result.items() if not isinstance(value, float) or math.isfinite(value)}


def _is_whole(path: Path, step: Step) -> bool:
    try:
        found = Overview(path)
    except (HakobiError, OSError):
        return False
    try:
        return found.is_of(step.fileno()) and set(found.fields) == set(step.fields)
    finally:
        found.close()


def make_overview(
    path: Path, unit_bytes: int = 128 << 20, executor: Executor | None = None, processes: int = 1
) -> Outcome:
    """Makes one step's overview unless there is one that fits; with an executor by its processes together."""
    try:
        step = Step.open(path)
    except FormatError as error:
        return Outcome(path, "failed", reason=str(error))
    except OSError as error:
        return Outcome(path, "failed", reason=f"{path.name}: {error.strerror}")
    try:
        if step.mesh is not None:  # coarse surfaces are made when they are asked for
            return Outcome(path, "kept", step.num_bytes)
        if not step.fields:
            return Outcome(path, "failed", step.num_bytes, reason=f"{path.name} has no field in 2-D or 3-D")
        final = path_of(path)
        if final.exists() and _is_whole(final, step):
            return Outcome(path, "kept", step.num_bytes, final.stat().st_size)
        run: Callable[[Iterable[_Job]], Iterator[_Done]] = (
            (lambda jobs: map_ahead(executor, _reduce, jobs, _AHEAD * processes))
            if executor
            else (lambda jobs: map(_reduce, jobs))
        )
        size = _Maker(step, run, unit_bytes).make()
        return Outcome(path, "made", step.num_bytes, size)
    except HakobiError as error:
        return Outcome(path, "failed", step.num_bytes, reason=str(error))
    except OSError as error:
        return Outcome(path, "failed", step.num_bytes, reason=f"{path.name}: {error.strerror}")
    finally:
        step.close()


def make_overviews(paths: list[Path], processes: int, memory_bytes: int) -> Iterator[Outcome]:
    """Makes the overviews of many steps, in order: small steps side by side, a large one by all processes together.
    Raises RunError where one of them was ended."""
    # A unit is held several times: as read, as sums, as means, as bricks.
    unit_bytes = max(4 << 20, memory_bytes // (4 * max(1, processes)))
    make = functools.partial(make_overview, unit_bytes=unit_bytes)
    if processes <= 1:
        yield from map(make, paths)
        return
    with workers(processes) as executor:
        for is_small, group in itertools.groupby(paths, lambda path: _size(path) < _SMALL_BYTES):
            if is_small:
                yield from map_ahead(executor, make, group, _AHEAD * processes)
            else:
                yield from (make(path, executor=executor, processes=processes) for path in group)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
