"""The library that halves fields (src/overview/reduce.hpp), through ctypes.

`libhakobi_overview.so` needs no MPI. It is looked for in $HAKOBI_PREFIX/lib when HAKOBI_PREFIX is set; else in the
source tree's build/<mpi>/lib, beside this package (where a wheel has it), and in the `lib` folder of this Python's
environment.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from ctypes import c_char, c_double, c_int, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakobi import programs
from hakobi.errors import FormatError, HakobiError, InputError, StorageError

Array = NDArray[Any]
LIBRARY = "libhakobi_overview.so"
_FORMAT, _OUT_OF_MEMORY = 7, 8
_TYPES = {"float64": 0, "float32": 1, "half": 2}


class _Job(ctypes.Structure):
    """Job of src/overview/c_interface.cpp."""

    _fields_ = (
        ("shape", c_int64 * 3),
        ("box", c_int64 * 2 * 3),
        ("brick", c_int64 * 3),
        ("source_brick", c_int64 * 3),
        ("values", c_void_p),
        ("source_fd", c_int64),
        ("source_offset_bytes", c_int64),
        ("target_fd", c_int64),
        ("target_offset_bytes", c_int64),
        ("type", c_int64),
        ("is_flat", c_int64),
        ("sample_stride", c_int64),
        ("offset", c_double),
        ("scale", c_double),
        ("fills", c_double * 2),
        ("low", c_void_p),
        ("high", c_void_p),
        ("sample", c_void_p),
        ("sum", c_double),
        ("num_nan", c_int64),
        ("crc32", c_int64),
        ("text", c_char * 256),
    )


@dataclass(frozen=True)
class Source:
    """What is halved: values in memory (float32 or float64, the unit's box in C order), or a file's: of that type, or
    halves in bricks of shape `brick`."""

    shape: tuple[int, ...]
    values: Array | None = None
    fd: int = -1
    offset_bytes: int = 0
    type_name: str = "float32"  # of _TYPES
    brick: tuple[int, ...] = ()
    fills: tuple[float, ...] = ()


@dataclass(frozen=True)
class Found:
    """What the unit's own values were; arrays are empty without a stride."""

    crc32: int
    low: Array
    high: Array
    sum: float
    num_nan: int
    sample: Array


def _folders() -> Iterator[Path]:
    if prefix := os.environ.get("HAKOBI_PREFIX"):
        yield from (found.parent for found in sorted(Path(prefix).glob(f"lib*/**/{LIBRARY}")))
        return
    tree = programs.source_tree()
    if tree:
        yield from (tree / "build" / name / "lib" for name in (programs.flavour(), *programs.FLAVOURS))
    yield Path(__file__).resolve().parents[1] / "lib"
    yield Path(sys.prefix) / "lib"


@cache
def load() -> ctypes.CDLL:
    """Raises InputError where the library is not there."""
    path = next((folder / LIBRARY for folder in _folders() if (folder / LIBRARY).is_file()), None)
    how = "build it with 'make'" if programs.source_tree() else "set HAKOBI_PREFIX to an installation of Hakobi"
    if path is None:
        raise InputError(f"{LIBRARY}, which makes overviews, is not there: {how}")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise InputError(f"cannot load {path}: {error}") from error
    library.hakobi_overview_reduce.restype = c_int
    library.hakobi_overview_reduce.argtypes = (ctypes.POINTER(_Job),)
    return library


def reduce(
    source: Source,
    box: tuple[tuple[int, int], ...],
    brick: tuple[int, ...],
    scaling: tuple[float, float],
    target: tuple[int, int],
    sample_stride: int = 0,
) -> Found:
    """Halves the box of the source, as (mean - offset) / scale, into bricks of shape `brick` at `target` (descriptor
    and offset). Raises FormatError where the source is too short, StorageError, MemoryError."""
    flat = len(box) == 2
    lead = (1,) if flat else ()
    cells = [stop - start for start, stop in box]
    num_bricks = math.prod(-(-((n + 1) // 2) // b) for n, b in zip(cells, brick, strict=True)) if sample_stride else 0
    num_sample = -(-math.prod(cells) // sample_stride) if sample_stride else 0
    low, high, sample = np.empty(num_bricks), np.empty(num_bricks), np.empty(num_sample)
    job = _Job(is_flat=flat, sample_stride=sample_stride, offset=scaling[0], scale=scaling[1])
    job.shape[:] = (*lead, *source.shape)
    job.brick[:] = (*lead, *brick)
    job.source_brick[:] = (*lead, *source.brick) if source.brick else (0, 0, 0)
    for place, limits in enumerate(((0, 1), *box) if flat else box):
        job.box[place][:] = limits
    job.fills[:] = (*source.fills, math.nan, math.nan)[:2]
    job.type, job.source_fd, job.source_offset_bytes = _TYPES[source.type_name], source.fd, source.offset_bytes
    values = None if source.values is None else np.ascontiguousarray(source.values)
    if values is not None:
        job.values, job.type = values.ctypes.data, _TYPES[str(values.dtype)]
    job.low, job.high, job.sample = low.ctypes.data, high.ctypes.data, sample.ctypes.data
    job.target_fd, job.target_offset_bytes = target
    code = load().hakobi_overview_reduce(ctypes.byref(job))
    if code:
        text = job.text.decode(errors="replace")
        if code == _OUT_OF_MEMORY:
            raise MemoryError(text)
        raise {_FORMAT: FormatError}.get(code, StorageError if code != 12 else HakobiError)(text)
    return Found(job.crc32, low, high, job.sum, job.num_nan, sample)
