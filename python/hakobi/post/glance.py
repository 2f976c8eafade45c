"""Looks at a step's file: its times and the names in it, in a fraction of a millisecond.

So a series of a thousand steps is looked through, file by file, where a whole survey (hakobi.post.opening) of one file
for each layout says the rest.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from hakobi.errors import FormatError
from hakobi.post import classic, grib, zarr_store
from hakobi.post.grib_scan import HEAD_BYTES, is_grib
from hakobi.post.grib_scan import SUFFIXES as GRIB_SUFFIXES
from hakobi.post.hdf5 import ERRORS, LOCK, is_own, open_hdf5, times_in, times_name_in
from hakobi.post.place import Location, OpenFile
from hakobi.post.reaching import open_location, size_below
from hakobi.post.source import Times
from hakobi.post.vtkhdf import STEPS, TIME_NAMES

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


def glance(path: Location, times_of: dict[tuple[str, ...], str] | None = None) -> Glance:
    """`times_of` are the variables of times in files that were looked at, by layout; this one's is added. So one file
    of each layout is surveyed, which tells its times by all in it. Raises FormatError (torn, still being written,
    of another kind), OSError."""
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
                return _of_hdf5(file, {} if times_of is None else times_of)
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


def _of_hdf5(opened: OpenFile, times_of: dict[tuple[str, ...], str]) -> Glance:
    """By HDF5's own calls: h5py's objects take several times as long."""
    from h5py import File, h5a, h5f, h5g

    if opened.fileno() >= 0:
        file = h5f.open(opened.for_hdf5().encode(), h5f.ACC_RDONLY, _without_locks())
    else:
        file = open_hdf5(opened).id
    try:
        names = list(h5g.open(file, b"/"))
        is_mesh = b"VTKHDF" in names and _is_own(file, b"VTKHDF")
        if is_mesh:
            root = h5g.open(file, b"VTKHDF")
            groups = [name for name in _GROUPS if name.rpartition(b"/")[2] in root and _is_own(file, name)]
            names = [group + b"/" + name for group in groups for name in h5g.open(file, group)]
        layout = tuple(name.decode(errors="replace") for name in names)
        times = _times_of_mesh(File(file)) if is_mesh else _times(File(file), opened.path.name, layout, times_of)
        num_steps = len(times.values) if times.values and h5a.exists(file, b"hakobi_steps") else 1
    finally:
        file.close()
    return Glance(times.values, layout, opened.identity.num_bytes, num_steps, times.units, times.calendar)


def _is_own(file: Any, path: bytes) -> bool:
    """Whether a path leads to something in the same file, without links."""
    from h5py import h5l

    parts = path.split(b"/")
    return all(file.links.get_info(b"/".join(parts[: n + 1])).type == h5l.TYPE_HARD for n in range(len(parts)))


def _times(file: Any, path_name: str, layout: tuple[str, ...], times_of: dict[tuple[str, ...], str]) -> Times:
    name = times_of.get(layout)
    if name is None or (name and not is_own(file, name)):
        try:
            name = times_of[layout] = times_name_in(file, path_name)
        except ERRORS:  # who opens it says that it is damaged
            return Times()
    return times_in(file, name)


def _times_of_mesh(file: Any) -> Times:
    """As hakobi.post.vtkhdf takes them: of the steps in the file, else of the one."""
    if times_in(file, STEPS).values:
        return times_in(file, STEPS)
    found = (times_in(file, f"VTKHDF/FieldData/{name}") for name in TIME_NAMES)
    return next((times for times in found if len(times.values) == 1), Times())
