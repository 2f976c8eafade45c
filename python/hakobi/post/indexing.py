"""`hakobi index`: has the overviews of a series' steps made by src/overview, through ctypes.

`libhakobi_overview.so` needs no MPI. It is looked for in $HAKOBI_PREFIX/lib when HAKOBI_PREFIX is set; else in the
source tree's build/<mpi>/lib, beside this package (where a wheel has it), and in the `lib` folder of this Python's
environment. It reads values that lie in the file as they are by itself, and others by a call back to Step.read. Its
overview is under a temporary name until it is whole; a run that was killed is gone on with by its journal.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, c_char, c_char_p, c_double, c_int, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hakobi import programs
from hakobi.errors import FormatError, HakobiError, InputError, StorageError
from hakobi.file_lock import lock
from hakobi.post.opening import open_step
from hakobi.post.overview import Overview, fingerprint, path_of
from hakobi.post.source import Field, Step

LIBRARY = "libhakobi_overview.so"
_FORMAT, _OUT_OF_MEMORY, _INTERNAL = 7, 8, 12
#: A whole step below this is one thread's work, and has no journal.
_SMALL_BYTES = 256 << 20


@dataclass(frozen=True)
class Outcome:
    """The outcome of one step."""

    path: Path
    state: str  # made, kept, failed
    num_bytes: int = 0
    overview_bytes: int = 0
    reason: str = ""


class _Axis(ctypes.Structure):
    _fields_ = (("name", c_char_p), ("units", c_char_p), ("values", POINTER(c_double)), ("length", c_int64))


class _Field(ctypes.Structure):
    _fields_ = (
        *((name, c_char_p) for name in ("name", "units", "long_name")),
        ("axes", POINTER(_Axis)),
        *((name, c_int64) for name in ("num_axes", "is_float64", "num_times", "offset_bytes", "time_stride_bytes")),
        *((name, c_double) for name in ("fill", "missing")),
    )


_Read = ctypes.CFUNCTYPE(c_int, c_int64, c_int64, POINTER(c_int64), c_void_p)


class _Job(ctypes.Structure):
    """Job of src/overview/c_interface.cpp."""

    _fields_ = (
        *((name, c_char_p) for name in ("name", "journal", "journal_head")),
        ("fields", POINTER(_Field)),
        *((name, c_int64) for name in ("num_fields", "step_fd", "target_fd", "most_bytes", "num_threads")),
        ("read", _Read),
        ("stop", POINTER(c_int)),
        ("text", c_char * 256),
    )


def _folders() -> Iterator[Path]:
    if prefix := programs.prefix():
        yield from (found.parent for found in sorted(prefix.glob(f"lib*/**/{LIBRARY}")))
        return
    tree = programs.source_tree()
    if tree:
        yield from (tree / "build" / name / "lib" for name in (programs.flavour(), *programs.FLAVOURS))
    yield Path(__file__).resolve().parents[1] / "lib"
    yield Path(sys.prefix) / "lib"


@cache
def _load() -> ctypes.CDLL:
    """Raises InputError where the library is not there."""
    path = next((folder / LIBRARY for folder in _folders() if (folder / LIBRARY).is_file()), None)
    how = "build it with 'make'" if programs.source_tree() else "set HAKOBI_PREFIX to an installation of Hakobi"
    if path is None:
        raise InputError(f"{LIBRARY}, which makes overviews, is not there: {how}")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise InputError(f"cannot load {path}: {error}") from error
    library.hakobi_overview_make.restype = c_int
    library.hakobi_overview_make.argtypes = (POINTER(_Job),)
    return library


class _Call:
    """One call of the library for a step: its arguments, and the values that it asks for."""

    def __init__(self, step: Step) -> None:
        assert step.file is not None
        self._step, self._file = step, step.file
        self._fields = [
            this.on_map[1] if this.on_map else this for this in step.fields.values()
        ]  # as they are in the file
        self._error: BaseException | None = None
        self._read = _Read(self._give)

    def make(self, fd: int, unit_bytes: int, threads: int, journal: str, stop: c_int) -> None:
        """Fills the overview's file. Raises HakobiError, OSError, MemoryError."""
        identity = self._step.identities[0]
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        head = json.dumps([identity.num_bytes, identity.mtime_ns, fingerprint(self._file), boot, unit_bytes])
        fields = (_Field * len(self._fields))(*map(self._describe, self._fields))
        name, text = os.fsencode(self._step.path.name), os.fsencode(journal)
        job = _Job(name, text, head.encode(), fields, len(fields), self._file.fileno(), fd, unit_bytes, threads)
        job.read, job.stop = self._read, ctypes.pointer(stop)
        code = _load().hakobi_overview_make(ctypes.byref(job))
        if self._error is not None:
            raise self._error
        if code == _OUT_OF_MEMORY:
            raise MemoryError
        if code:
            told = f"{self._step.path.name}: {job.text.decode(errors='replace')}"
            raise {_FORMAT: FormatError, _INTERNAL: HakobiError}.get(code, StorageError)(told)

    @staticmethod
    def _describe(this: Field) -> _Field:
        axes = (_Axis * len(this.axes))()
        for axis, given in zip(axes, this.axes, strict=True):
            axis.name, axis.units, axis.length = given.name.encode(), given.units.encode(), given.size
            if given.coordinates is not None:
                axis.values = (c_double * given.size)(*given.coordinates)
        packing, is_float = this.unpacking, this.dtype in (np.float32, np.float64)
        is_plain = is_float and packing.scaling is None and len(packing.missing) <= 2
        lies_there = this.offset_bytes is not None and is_plain
        fill, missing = (*(packing.missing if lies_there else ()), math.nan, math.nan)[:2]
        place = (this.offset_bytes, this.time_stride_bytes or this.num_bytes) if lies_there else (-1, 0)
        texts = (text.encode() for text in (this.name, this.units, this.long_name))
        return _Field(*texts, axes, len(axes), this.value_type == np.float64, this.num_times, *place, fill, missing)

    def _give(self, number: int, time: int, box: Any, target: int) -> int:
        """Values as Step.read has them. An error is kept for `make`."""
        try:
            this = self._fields[number]
            limits = [(box[2 * d], box[2 * d + 1]) for d in range(3)][3 - len(this.shape) :]
            at, step = (time, tuple(limits)), self._step
            is_as_shown = step.fields[this.name] is this
            read = step.read(this.name, *at) if is_as_shown else step.read_cells(this, *at)
            values = np.ascontiguousarray(read, this.value_type)
            ctypes.memmove(target, values.ctypes.data, values.nbytes)
        except BaseException as error:
            self._error = error
            return _INTERNAL
        return 0


def _rests_of(final: Path) -> tuple[Path, Path]:
    """Where an overview is until it is whole, and the journal of a long run."""
    return final.with_name(f".{final.name}.part"), final.with_name(f".{final.name}.journal")


def _remove_rests(final: Path) -> None:
    for path in _rests_of(final):
        path.unlink(missing_ok=True)


def _write(step: Step, unit_bytes: int, threads: int, stop: c_int) -> int:
    """Makes a step's overview and returns its size. Raises HakobiError, OSError; what is left is gone on with by the
    next run."""
    assert isinstance(step.path, Path)
    final = path_of(step.path)
    part, journal = _rests_of(final)
    fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        try:
            lock(fd, wait=False)
        except BlockingIOError as error:
            raise StorageError(f"{part.name}: another `hakobi index` is at work on it") from error
        if final.exists() and _is_whole(final, step):
            _remove_rests(final)
            return final.stat().st_size
        is_small = step.num_bytes < _SMALL_BYTES
        try:
            _Call(step).make(fd, unit_bytes, threads, "" if is_small else str(journal), stop)
        except BaseException as error:
            if is_small or isinstance(error, FormatError):  # of which nothing is gone on with
                _remove_rests(final)
            raise
        if not step.is_current():
            _remove_rests(final)
            raise FormatError(f"{step.path.name} changed while it was read")
        os.fsync(fd)
        size = os.fstat(fd).st_size
        part.rename(final)
        journal.unlink(missing_ok=True)
        return size
    finally:
        os.close(fd)


def _is_whole(path: Path, step: Step) -> bool:
    try:
        found = Overview(path)
    except (HakobiError, OSError):
        return False
    try:
        return step.file is not None and found.is_of(step.file) and set(found.fields) == set(step.fields)
    finally:
        found.close()


def make_overview(path: Path, unit_bytes: int = 128 << 20, threads: int = 1, stop: c_int | None = None) -> Outcome:
    """Makes one step's overview unless there is one that fits."""
    num_bytes = 0
    try:
        with open_step(path) as step:
            num_bytes = step.num_bytes
            # Coarse surfaces are made when they are asked for, means over levels of the atmosphere by nobody.
            if step.mesh is not None or step.found.kind == "grib":
                return Outcome(path, "kept", num_bytes)
            if not step.fields:
                return Outcome(path, "failed", num_bytes, reason=f"{path.name} has no field in 2-D or 3-D")
            final = path_of(path)
            if final.exists() and _is_whole(final, step):
                _remove_rests(final)
                return Outcome(path, "kept", num_bytes, final.stat().st_size)
            return Outcome(
                path, "made", num_bytes, _write(step, unit_bytes, threads, c_int() if stop is None else stop)
            )
    except HakobiError as error:
        return Outcome(path, "failed", num_bytes, reason=str(error))
    except OSError as error:
        return Outcome(path, "failed", num_bytes, reason=f"{path.name}: {error.strerror}")


def make_overviews(paths: list[Path], threads: int, memory_bytes: int) -> Iterator[Outcome]:
    """Makes the overviews of many steps, in order: small steps side by side, a large one by all threads together. What
    they are doing is given up where the caller is interrupted."""
    # A unit is held several times: as read, as sums, as means, as bricks.
    unit_bytes = max(4 << 20, memory_bytes // (4 * threads))
    stop = c_int()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for is_small, group in itertools.groupby(paths, lambda path: _size(path) < _SMALL_BYTES):
                if is_small:
                    yield from pool.map(lambda path: make_overview(path, unit_bytes, stop=stop), group)
                    continue
                for path in group:
                    yield pool.submit(make_overview, path, unit_bytes, threads, stop).result()
        except BaseException:
            stop.value = 1
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
