"""NetCDF-4 and plain HDF5 files, whoever wrote them, as steps: HDF5 says what is in a file, and where."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hakobi.errors import FormatError
from hakobi.post.curvilinear import on_maps
from hakobi.post.methods import over_time
from hakobi.post.packing import Packing, never_written
from hakobi.post.place import OpenFile
from hakobi.post.source import (
    MOST_COORDINATES,
    MOST_FIELDS,
    NAMING_ATTRIBUTES,
    TIME_NAMES,
    Array,
    Axis,
    Box,
    Field,
    Found,
    Times,
    axis_of,
    is_time,
    with_coordinates_marked,
)
from hakobi.post.times import take_times, time_rank

#: HDF5's own filters, and those of its registry that netCDF and Hakobi use.
_FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32", 4: "szip", 307: "bzip2", 32001: "blosc", 32015: "zstd"}
#: Why a field of numbers is described but not drawn.
_NARROW = ("one dimension only", "one dimension and time only")
#: HDF5's library is not for several threads at once; h5py's own lock does not span calls.
LOCK = threading.Lock()
#: Files that nobody uses any more, and that were given up while LOCK was held.
_given_up: collections.deque[Any] = collections.deque()
#: Exceptions of h5py for damaged files.
ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError)


def open_hdf5(file: OpenFile) -> Any:
    """An h5py file. Called with LOCK held.

    Raises FormatError.
    """
    import h5py

    try:
        return h5py.File(file.for_hdf5(), "r", locking=False)
    except OSError as error:
        raise FormatError(f"{file.path.name} is no whole NetCDF-4 or HDF5 file") from error


def is_elsewhere(dataset: Any) -> bool:
    """Whether HDF5 would take its values from files that it names, wherever these are. Nobody here asks it to."""
    return bool(dataset.is_virtual or dataset.external)


def is_own(group: Any, path: str) -> bool:
    """Whether a path leads to something in the same file, without links."""
    import h5py

    for part in filter(None, path.split("/")):
        if not isinstance(group, h5py.Group) or not isinstance(group.get(part, getlink=True), h5py.HardLink):
            return False
        group = group[part]
    return True


def give_up(file: Any) -> None:
    """Closes a file that nobody uses: at once, or where LOCK is held, when the next file is opened. Never waits: the
    garbage collector calls destructors in any thread, also in the one that holds LOCK."""
    _given_up.append(file)
    if LOCK.acquire(blocking=False):
        try:
            _close_given_up()
        finally:
            LOCK.release()


def _close_given_up() -> None:
    """Called with LOCK held."""
    while _given_up:
        with contextlib.suppress(Exception):
            _given_up.popleft().close()


def survey(opened: OpenFile, mesh_in: Callable[[Any], Found | None]) -> Found:
    """Finds what is in the file: a mesh, where `mesh_in` finds one in it, or fields. Raises FormatError."""
    with LOCK:
        _close_given_up()
        file = open_hdf5(opened)
        try:
            found = mesh_in(file) or _Survey(file, opened.path.name).take()
        except ERRORS as error:
            file.close()
            raise FormatError(f"{opened.path.name} is damaged: HDF5 cannot read what it holds") from error
        except BaseException:
            file.close()
            raise
        shown = (*found.fields.values(), *found.undrawn.values())
        if found.mesh is None and all(f.offset_bytes is not None for f in shown):
            file.close()
        elif found.mesh is None:
            found.reader = _Packed(file, opened)
    return found


class _Packed:
    """Reads chunked and compressed values, and those of fields with more directions than three."""

    def __init__(self, file: Any, opened: OpenFile) -> None:
        self._file, self._opened, self._name = file, opened, opened.path.name

    def read(self, this: Field, time: int, box: Box) -> Array:
        slices = tuple(slice(start, stop) for start, stop in box)
        with LOCK:
            if self._file is None:
                raise FormatError(f"{self._name} was closed")
            dataset = self._file[this.name]
            lead = dataset.ndim - len(box)
            place = ((time,) if this.num_times else ()) + (0,) * (lead - bool(this.num_times))
            try:
                if self._opened.fileno() < 0 and dataset.chunks:
                    self._opened.will_read(_chunks_of(dataset, place, box))
                values: Array = np.asarray(dataset[place + slices])
            except (OSError, RuntimeError, ValueError) as error:
                raise FormatError(f"{self._name}: HDF5 cannot read {this.name!r}") from error
        return values

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            give_up(file)


def _chunks_of(dataset: Any, place: tuple[int, ...], box: Box) -> Iterator[tuple[int, int]]:
    """Offset and length in the file of each chunk that a box touches."""
    starts = (*((at, at + 1) for at in place), *box)
    grids = [range(a // size * size, b, size) for (a, b), size in zip(starts, dataset.chunks, strict=True)]
    for at in itertools.product(*grids):
        chunk = dataset.id.get_chunk_info_by_coord(at)
        if chunk.byte_offset is not None:
            yield chunk.byte_offset, chunk.size


class _Survey:
    """Collects the contents of a file: fields, their axes, times. Called with LOCK held."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name
        self._fields: dict[str, Field] = {}
        self._left_out: dict[str, str] = {}
        self._axes: dict[Any, Axis] = {}
        self._times: list[str] = []  # variables of times
        self._lengths: dict[str, tuple[float, float] | None] = {}  # of the intervals of times, by their scales
        self._scales_of: dict[str, str] = {}  # the dimension scale of each field that is along times

    def take(self) -> Found:
        import h5py

        names: list[str] = []

        def visit(name: str, item: Any) -> int | None:
            if isinstance(item, h5py.Dataset):
                names.append(name)
            return 1 if len(names) >= MOST_FIELDS else None

        self._file.visititems(visit)
        places = {name: place for place, name in enumerate(self._file)}  # in the order of creation, where that is known
        names.sort(key=lambda name: places[name.partition("/")[0]])
        found = Found(self._fields, left_out=self._left_out, source=attribute_text(self._file, "source"))
        self._times = [name for name in names if self._is_time(name)]
        for name in names:
            dataset = self._file[name]
            if self._is_coordinate(name, dataset):
                continue
            reason = self._reason_against(dataset)
            if not reason:
                self._fields[name] = self._field(name, dataset)
            elif dataset.ndim >= 2:
                self._left_out[name] = reason
            if reason in _NARROW:
                found.undrawn[name] = self._narrow(name, dataset)
        self._left_out.update(self._broken_links())
        self._take_times(found)
        texts = (attribute_text(self._file[name], word) for name in names for word in NAMING_ATTRIBUTES)
        fields = with_coordinates_marked(self._fields.values(), texts)
        naming = {name: attribute_text(self._file[name], "coordinates") for name in fields}
        found.fields = on_maps(fields.values(), naming, self._flat)
        return found

    def _broken_links(self) -> dict[str, str]:
        """Names of the root group that lead to nothing in this file."""
        import h5py

        broken = {}
        for name in self._file:
            link = self._file.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                broken[name] = f"a link to {link.path} in {link.filename}"
            elif isinstance(link, h5py.SoftLink) and not is_own(self._file, link.path):
                broken[name] = f"a link to {link.path}, which is not there"
        return broken

    def _flat(self, name: str) -> tuple[str, Array] | None:
        """Units and values of a variable in two dimensions, or in time and two where they are equal at all times."""
        field = self._fields.get(name)
        if field is None or len(field.shape) != 2:
            return None
        dataset = self._file[name]
        if not field.num_times:
            return field.units, field.unpacking.values(dataset[()])
        first = dataset[0]
        is_one = np.array_equal(first, dataset[-1], equal_nan=True)
        return (field.units, field.unpacking.values(first)) if is_one else None

    def _is_time(self, name: str) -> bool:
        """Whether it is a time, or several in a row."""
        dataset = self._file[name]
        return _is_row(dataset) and is_time(name, partial(attribute_text, dataset))

    def _take_times(self, found: Found) -> None:
        """The times of the file's steps, and those of fields along others."""
        sizes = {field.num_times for field in self._fields.values() if field.num_times}
        scales = set(self._scales_of.values())

        def rank(name: str) -> tuple[bool, ...]:
            dataset = self._file[name]
            is_of_fields = f"/{name}" in scales or (not scales and dataset.size in sizes)
            rank = time_rank(name, attribute_text(dataset, "standard_name"), is_of_fields)
            return (_is_pure(dataset) and not is_of_fields, *rank)

        times = [(rank(name), name, self._scale_along(self._file[name])) for name in self._times]
        take_times(found, times, self._scales_of, partial(times_in, self._file))

    def _scale_along(self, dataset: Any) -> str:
        """The name of the dimension that a variable in one dimension or none is along; "": not known."""
        scale = dataset if dataset.is_scale else self._scale(dataset, 0) if dataset.ndim else None
        return "" if scale is None else str(scale.name)

    @staticmethod
    def _is_coordinate(name: str, dataset: Any) -> bool:
        short = name.rpartition("/")[2]
        return dataset.ndim < 2 and (dataset.is_scale or short.lower() in TIME_NAMES)

    def _reason_against(self, dataset: Any) -> str:
        if dataset.dtype.kind not in "fiu" or dataset.dtype.itemsize > 8:
            return "not a field of numbers"
        if is_elsewhere(dataset):
            return "its values are in other files"
        if dataset.size == 0 or dataset.ndim < 2:
            return "empty" if dataset.size == 0 else _NARROW[0]
        if dataset.ndim == 2 and dataset.shape[0] == 1:
            scale = self._scale(dataset, 0)
            if self._is_time_scale(scale):
                return _NARROW[1]
        return ""

    def _field(self, name: str, dataset: Any) -> Field:
        has_time = self._has_time(dataset)
        num_axes = min(3, dataset.ndim - has_time)
        axes = tuple(self._axis(dataset, d) for d in range(dataset.ndim - num_axes, dataset.ndim))
        offset = None
        filters = _filters(dataset.id.get_create_plist())
        outer = range(int(has_time), dataset.ndim - num_axes)
        extra = [dataset.shape[d] for d in outer]
        if dataset.chunks is None and not filters and math.prod(extra) == 1:
            offset = dataset.id.get_offset()
        packing = packing_of(dataset)
        if has_time and (scale := self._scale(dataset, 0)) is not None:
            self._scales_of[name] = str(scale.name)
        return Field(
            name=name,
            axes=axes,
            num_times=dataset.shape[0] if has_time else 0,
            dtype=packing.dtype,
            units=attribute_text(dataset, "units"),
            long_name=self._long_name(name, dataset, has_time),
            standard_name=attribute_text(dataset, "standard_name"),
            offset_bytes=offset,
            packing=packing,
            chunk_bytes=math.prod(dataset.chunks) * dataset.dtype.itemsize if filters and dataset.chunks else 0,
            filters=filters,
            outer_axes=tuple(self._axis(dataset, d) for d in outer) if math.prod(extra) != 1 else (),
        )

    def _long_name(self, name: str, dataset: Any, has_time: bool) -> str:
        """With what the values stand for along time, where that is no moment: `air temperature, mean over 6 h`."""
        long_name = attribute_text(dataset, "long_name")
        cell_methods = attribute_text(dataset, "cell_methods")
        scale = self._scale(dataset, 0) if has_time and "time:" in cell_methods else None
        if scale is None:
            return long_name
        method = over_time(cell_methods, self._lengths_along(scale), attribute_text(scale, "units"))
        return f"{long_name or name}, {method}" if method else long_name

    def _lengths_along(self, scale: Any) -> tuple[float, float] | None:
        """The least and the greatest length of the intervals that times stand for, by their bounds."""
        name = str(scale.name)
        if name not in self._lengths:
            self._lengths[name] = None
            path = attribute_text(scale, "bounds")
            with contextlib.suppress(*ERRORS):
                bounds = scale.parent[path] if path and is_own(scale.parent, path) else None
                shape: tuple[int, ...] = getattr(bounds, "shape", None) or ()
                is_of_pairs = len(shape) == 2 and shape[1] == 2 and 0 < shape[0] < MOST_COORDINATES
                if bounds is not None and is_of_pairs and bounds.dtype.kind in "fiu" and not is_elsewhere(bounds):
                    values = np.asarray(bounds[()], np.float64)
                    lengths = values[:, 1] - values[:, 0]
                    self._lengths[name] = float(lengths.min()), float(lengths.max())
        return self._lengths[name]

    def _narrow(self, name: str, dataset: Any) -> Field:
        """A field in one direction or none, perhaps with time."""
        this = self._field(name, dataset)
        self._scales_of.pop(name, None)
        if not this.axes or this.axes[0].name.lower() not in TIME_NAMES:
            return this
        return dataclasses.replace(this, axes=this.axes[1:], num_times=this.axes[0].size)

    def _has_time(self, dataset: Any) -> bool:
        if dataset.ndim < 3:
            return False
        scale = self._scale(dataset, 0)
        if dataset.maxshape[0] is None or self._is_time_scale(scale):
            return True
        return dataset.ndim > 3 and (scale is None or self._may_be_along_times(scale))

    @staticmethod
    def _is_time_scale(scale: Any) -> bool:
        return scale is not None and is_time(str(scale.name), partial(attribute_text, scale))

    def _may_be_along_times(self, scale: Any) -> bool:
        """Whether a variable of times is along a dimension of another name, or none is along any."""
        times = [dataset for dataset in map(self._file.get, self._times) if dataset.ndim and not _is_pure(dataset)]
        return not times or any(self._scale_along(dataset) == scale.name for dataset in times)

    @staticmethod
    def _scale(dataset: Any, direction: int) -> Any:
        scales = dataset.dims[direction]
        return scales[0] if len(scales) else None

    def _axis(self, dataset: Any, direction: int) -> Axis:
        size = dataset.shape[direction]
        scale = self._scale(dataset, direction)
        if scale is None:
            behind = dataset.ndim - direction
            return Axis("zyx"[-behind] if behind <= 3 else f"axis {direction}", size)
        key = (scale.name, size)
        if key not in self._axes:
            self._axes[key] = self._axis_of_scale(scale, size)
        return self._axes[key]

    @staticmethod
    def _axis_of_scale(scale: Any, size: int) -> Axis:
        name = str(scale.name).rpartition("/")[2]
        values = None
        has_numbers = scale.shape == (size,) and scale.dtype.kind in "fiu" and not is_elsewhere(scale)
        if not _is_pure(scale) and has_numbers and size <= MOST_COORDINATES:
            values = packing_of(scale).values(scale[()]).astype(np.float64)
        return axis_of(name, size, values, partial(attribute_text, scale))


def _is_pure(scale: Any) -> bool:
    """Whether it is a dimension of netCDF without a variable of its name: its numbers mean nothing."""
    return attribute_text(scale, "NAME").startswith("This is a netCDF dimension but not a netCDF variable")


def _is_row(dataset: Any) -> bool:
    """Whether it is a number, or some in a row."""
    is_numbers = dataset.ndim < 2 and dataset.dtype.kind in "fiu" and dataset.size <= MOST_COORDINATES
    return is_numbers and not is_elsewhere(dataset)


def times_name_in(file: Any, path_name: str) -> str:
    """The variable of the times of the file's steps; "": none. Called with LOCK held."""
    return _Survey(file, path_name).take().times_name


def times_in(file: Any, name: str) -> Times:
    """Those of the variable `name`; none where it is not in the file, or no such one. Called with LOCK held."""
    import h5py

    dataset = file[name] if name and is_own(file, name) else None
    if not isinstance(dataset, h5py.Dataset) or not _is_row(dataset):
        return Times()
    values = packing_of(dataset).values(np.atleast_1d(dataset[()]))
    return Times(tuple(map(float, values)), attribute_text(dataset, "units"), attribute_text(dataset, "calendar"))


def packing_of(dataset: Any) -> Packing:
    """By its attributes, and by what HDF5 gives where netCDF's library has written nothing."""
    from h5py import h5d

    is_given = dataset.id.get_create_plist().fill_value_defined() == h5d.FILL_VALUE_USER_DEFINED
    fill = dataset.fillvalue if is_given and dataset.dtype.kind in "fiu" else None
    fill = fill if fill is not None and fill == never_written(dataset.dtype) else None

    def attribute(name: str) -> Any:
        return attribute_text(dataset, name) if name == "_Unsigned" else _attribute(dataset, name)

    return Packing.of(dataset.dtype, attribute, fill)


def _filters(properties: Any) -> tuple[str, ...]:
    numbers = [properties.get_filter(i)[0] for i in range(properties.get_nfilters())]
    return tuple(_FILTERS.get(number, f"filter {number}") for number in numbers)


def _attribute(item: Any, name: str) -> Any:
    try:
        return item.attrs[name] if item is not None and name in item.attrs else None
    except (OSError, RuntimeError, TypeError, ValueError):
        return None


def attribute_text(item: Any, name: str) -> str:
    value = _attribute(item, name)
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.ravel()[0]
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return value[:1000] if isinstance(value, str) else ""
