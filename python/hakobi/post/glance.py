"""Looks at a step's file: its times and the names in it, in a fraction of a millisecond.

So a series of a thousand steps is looked through, file by file, where a whole survey (hakobi.post.opening) of one file
for each layout says the rest.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hakobi.errors import FormatError
from hakobi.post import classic, grib, zarr_store
from hakobi.post.grib_scan import HEAD_BYTES, is_grib
from hakobi.post.grib_scan import SUFFIXES as GRIB_SUFFIXES
from hakobi.post.hdf5 import ERRORS, LOCK, attribute_text, open_hdf5, packing_of
from hakobi.post.place import Location, OpenFile
from hakobi.post.reaching import open_location, size_below
from hakobi.post.source import MOST_COORDINATES, TIME_NAMES

#: Where a VTKHDF file has the names of its fields, and its time.
_GROUPS = (b"VTKHDF/PointData", b"VTKHDF/CellData", b"VTKHDF/FieldData")


@dataclass(frozen=True)
class Glance:
    """`times` is empty where the file has none. Files of one series with equal `layout` hold the same fields.
    `num_steps`: those whose numbers follow the file's (Output's steps_per_file)."""

    times: tuple[float, ...]
    layout: tuple[str, ...]
    num_bytes: int
    num_steps: int = 1
    time_units: str = ""
    calendar: str = ""


def glance(path: Location) -> Glance:
    """Raises FormatError (torn, still being written, of another kind), OSError."""
    if zarr_store.is_store(path):
        store = zarr_store.Store(path)
        told = store.time_texts
        return Glance(tuple(store.times), tuple(store.arrays), size_below(path), 1, *told)
    file = open_location(path)
    try:
        size = file.identity.num_bytes
        head = file.read(HEAD_BYTES, 0)
        if is_grib(head) or path.name.endswith(GRIB_SUFFIXES):
            found = grib.survey(file)
            shapes = (f"{this.name} {this.shape} {this.num_times}" for this in found.fields.values())
            return Glance(found.times, (*shapes, *found.problems), size, 1, found.time_units, found.calendar)
        if head[:3] == b"CDF":
            found = classic.survey(file)
            shapes = (f"{this.name} {this.shape} {this.dtype}" for this in found.fields.values())
            return Glance(found.times, (*shapes, *found.undrawn), size, 1, found.time_units, found.calendar)
        with LOCK:
            try:
                return _of_hdf5(file)
            except ERRORS as error:
                raise FormatError(f"{path.name} is no whole NetCDF-4 or HDF5 file") from error
    finally:
        file.close()


@functools.cache
def _without_locks() -> Any:
    from h5py import h5p

    access = h5p.create(h5p.FILE_ACCESS)
    access.set_file_locking(False, True)
    return access


def _of_hdf5(opened: OpenFile) -> Glance:
    """By HDF5's own calls: h5py's objects take several times as long."""
    from h5py import h5a, h5f, h5g

    if opened.fileno() >= 0:
        file = h5f.open(opened.for_hdf5().encode(), h5f.ACC_RDONLY, _without_locks())
    else:
        file = open_hdf5(opened).id
    try:
        names = list(h5g.open(file, b"/"))
        times = _Times()
        if b"VTKHDF" in names and _is_own(file, b"VTKHDF"):
            root = h5g.open(file, b"VTKHDF")
            groups = [name for name in _GROUPS if name.rpartition(b"/")[2] in root and _is_own(file, name)]
            names = [group + b"/" + name for group in groups for name in h5g.open(file, group)]
            times = _times(file, [b"VTKHDF/Steps/Values"] if b"Steps" in root else [])
        times = times if times.values else _times(file, names)
        num_steps = len(times.values) if times.values and h5a.exists(file, b"hakobi_steps") else 1
    finally:
        file.close()
    layout = tuple(name.decode(errors="replace") for name in names)
    return Glance(times.values, layout, opened.identity.num_bytes, num_steps, times.units, times.calendar)


def _is_own(file: Any, path: bytes) -> bool:
    """Whether a path leads to something in the same file, without links."""
    from h5py import h5l

    parts = path.split(b"/")
    return all(file.links.get_info(b"/".join(parts[: n + 1])).type == h5l.TYPE_HARD for n in range(len(parts)))


@dataclass(frozen=True)
class _Times:
    values: tuple[float, ...] = ()
    units: str = ""
    calendar: str = ""


def _times(file: Any, names: list[bytes]) -> _Times:
    """Those of the variable that is one by its name: rather of several times than of one, and that called time."""
    from h5py import Dataset, h5d, h5i, h5o, h5t

    found: list[tuple[bool, bool, int, Any]] = []
    for name in filter(partial(_is_own, file), names):
        short = name.decode(errors="replace").rpartition("/")[2].lower()
        if short not in TIME_NAMES and short not in ("values", "timevalue"):
            continue
        if h5i.get_type(item := h5o.open(file, name)) != h5i.DATASET:
            continue
        dataset, shape = item, item.shape
        created = dataset.get_create_plist()
        is_elsewhere = created.get_layout() == h5d.VIRTUAL or created.get_external_count() > 0
        is_number = dataset.get_type().get_class() in (h5t.INTEGER, h5t.FLOAT)
        if is_elsewhere or len(shape) > 1 or math.prod(shape) > MOST_COORDINATES or not is_number:
            continue
        found.append((math.prod(shape) < 2, short != "time", len(found), dataset))
    if not found:
        return _Times()
    dataset = Dataset(min(found)[-1])
    values = packing_of(dataset).values(np.atleast_1d(dataset[()]))
    return _Times(tuple(map(float, values)), attribute_text(dataset, "units"), attribute_text(dataset, "calendar"))
