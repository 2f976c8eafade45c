"""A step's file as what can be looked at: its fields in 2-D and 3-D, their coordinates, and boxes of their values.

NetCDF-4 and plain HDF5 files, whoever wrote them. HDF5 says what is in the file; values of contiguous data sets come by
`pread` from their place, others (chunked, compressed) through HDF5. A file is opened for reading only, without locks,
and never mapped: one that is cut short under a reader is an error and not a signal.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakobi.errors import FormatError, InputError
from hakobi.post import reducer

Array = NDArray[Any]
Box = tuple[tuple[int, int], ...]

#: HDF5's library is not for several threads at once; h5py's own lock does not span calls.
_HDF5 = threading.Lock()
_MOST_FIELDS, _MOST_COORDINATES = 2000, 1 << 20
#: Reading a whole row is cheaper than one request a value up to this length.
_ROW_BYTES = 64 << 10
_TIME_NAMES = {"time", "t", "step", "steps", "times"}


@dataclass(frozen=True)
class Axis:
    """One direction of a field: its name, and the coordinates of its cells where the file has them."""

    name: str
    size: int
    coordinates: tuple[float, ...] | None = None
    units: str = ""
    kind: str = ""  # lat, lon or "" (from units and standard_name)


@dataclass(frozen=True)
class Field:
    """One field of a step. `shape` is that of one time, C order; `num_times` is 0 where it has no time axis."""

    name: str
    axes: tuple[Axis, ...]
    num_times: int
    dtype: np.dtype[Any]
    units: str = ""
    long_name: str = ""
    offset_bytes: int | None = None  # of contiguous values
    fill: tuple[float, ...] = ()
    packing: tuple[float, float] | None = None  # scale_factor, add_offset

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def num_bytes(self) -> int:
        """Of one time, in the file."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def value_type(self) -> np.dtype[Any]:
        """float32 or float64: what `Step.read` returns."""
        narrow = self.dtype.itemsize <= (4 if self.dtype.kind == "f" else 2)
        return np.dtype(np.float32 if narrow and self.packing is None else np.float64)


@dataclass
class Step:
    """One open file. Any thread may read; `close` when nobody does."""

    path: Path
    fields: dict[str, Field]
    times: tuple[float, ...]
    time_units: str
    left_out: dict[str, str]
    num_bytes: int
    mtime_ns: int
    inode: int
    _fd: int = -1
    _hdf5: Any = field(default=None, repr=False)

    @classmethod
    def open(cls, path: Path) -> Step:
        """Raises FileNotFoundError, PermissionError, FormatError (torn, still being written, of another kind)."""
        import h5py

        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            status = os.fstat(fd)
            # Through the descriptor: what was checked is what is read.
            with _HDF5:
                try:
                    file = h5py.File(f"/proc/self/fd/{fd}", "r", locking=False)
                except OSError as error:
                    raise FormatError(f"{path.name} is no whole NetCDF-4 or HDF5 file") from error
                try:
                    fields, times, units, left_out = _Survey(file, path.name).take()
                except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError) as error:
                    file.close()
                    raise FormatError(f"{path.name} is damaged: HDF5 cannot read what it holds") from error
                if all(f.offset_bytes is not None for f in fields.values()):
                    file.close()
                    file = None
            return cls(
                path, fields, times, units, left_out, status.st_size, status.st_mtime_ns, status.st_ino, fd, file
            )
        except BaseException:
            os.close(fd)
            raise

    def close(self) -> None:
        if self._hdf5 is not None:
            with _HDF5, contextlib.suppress(Exception):
                self._hdf5.close()
            self._hdf5 = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Step:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self._fd

    def is_current(self) -> bool:
        """Whether the name still leads to this file as it was opened."""
        try:
            status = self.path.stat(follow_symlinks=False)
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns, status.st_ino) == (self.num_bytes, self.mtime_ns, self.inode)

    def read(self, name: str, time: int, box: Box) -> Array:
        """Values of a box (start and stop a direction), float32 or float64, NaN where the file says that there is no
        value. Raises FormatError where the file is shorter than it says, OSError where the storage fails."""
        this = self.fields[name]
        if this.offset_bytes is None:
            raw = self._read_hdf5(this, time, box)
        else:
            raw = self._read_bytes(this, this.offset_bytes + max(0, time) * this.num_bytes, box)
        return _decode(this, raw)

    def source(self, name: str, time: int, box: Box) -> reducer.Source:
        """The box for hakobi.post.reducer: at its place in the file where the values lie there as they are."""
        this = self.fields[name]
        if this.offset_bytes is None or this.packing is not None or this.dtype not in (np.float32, np.float64):
            return reducer.Source(this.shape, self.read(name, time, box))
        place = this.offset_bytes + max(0, time) * this.num_bytes
        return reducer.Source(this.shape, None, self._fd, place, str(this.dtype), fills=this.fill)

    def _read_hdf5(self, this: Field, time: int, box: Box) -> Array:
        slices = tuple(slice(start, stop) for start, stop in box)
        with _HDF5:
            if self._hdf5 is None:
                raise FormatError(f"{self.path.name} was closed")
            dataset = self._hdf5[this.name]
            lead = dataset.ndim - len(box)
            try:
                values: Array = dataset[
                    ((time,) if this.num_times else ()) + (0,) * (lead - bool(this.num_times)) + slices
                ]
            except (OSError, RuntimeError, ValueError) as error:
                raise FormatError(f"{self.path.name}: HDF5 cannot read {this.name!r}") from error
        return values

    def _read_bytes(self, this: Field, start: int, box: Box) -> Array:
        """Contiguous values: as few requests as the box allows, rows read whole where they are short."""
        shape = this.shape
        item = this.dtype.itemsize
        # The last direction that the box does not take whole; everything behind it is contiguous.
        cut = max((d for d, (a, b) in enumerate(box) if (a, b) != (0, shape[d])), default=-1)
        if cut == len(shape) - 1 and shape[-1] * item <= _ROW_BYTES and box[-2] != (0, 1):
            whole = (*box[:-1], (0, shape[-1]))
            return np.ascontiguousarray(self._read_bytes(this, start, whole)[..., box[-1][0] : box[-1][1]])
        result = np.empty([b - a for a, b in box], this.dtype)
        rows = result.reshape(-1, math.prod(result.shape[max(0, cut) :]))
        for row, index in zip(rows, _leading(box[: max(0, cut)]), strict=True):
            at = 0
            for position, extent in zip((*index, *(a for a, _ in box[max(0, cut) :])), shape, strict=True):
                at = at * extent + position
            self._fill(row, start + at * item)
        return result

    def _fill(self, row: Array, offset: int) -> None:
        view = memoryview(row.view(np.uint8).data)
        while view:
            count = os.preadv(self._fd, [view[: 1 << 30]], offset)
            if count == 0:
                raise FormatError(f"{self.path.name} is shorter than it says: torn, or still being written")
            view, offset = view[count:], offset + count


def _leading(box: Box) -> Iterator[tuple[int, ...]]:
    return np.ndindex(*(b - a for a, b in box)) if not box else _shifted(box)


def _shifted(box: Box) -> Iterator[tuple[int, ...]]:
    starts = [a for a, _ in box]
    for index in np.ndindex(*(b - a for a, b in box)):
        yield tuple(s + i for s, i in zip(starts, index, strict=True))


def _decode(this: Field, raw: Array) -> Array:
    values = raw.astype(this.value_type, copy=False)
    missing = None
    for fill in this.fill:
        if not math.isnan(fill):
            found = raw == raw.dtype.type(fill)
            missing = found if missing is None else missing | found
    if this.packing is not None:
        values = values * this.packing[0] + this.packing[1]
    if missing is not None and missing.any():
        values = values.copy() if values is raw else values
        values[missing] = np.nan
    return values


class _Survey:
    """What is in a file: fields, their axes, times. Called with HDF5's lock held."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name
        self._fields: dict[str, Field] = {}
        self._left_out: dict[str, str] = {}
        self._axes: dict[Any, Axis] = {}

    def take(self) -> tuple[dict[str, Field], tuple[float, ...], str, dict[str, str]]:
        import h5py

        names: list[str] = []

        def visit(name: str, item: Any) -> int | None:
            if isinstance(item, h5py.Dataset):
                names.append(name)
            return 1 if len(names) >= _MOST_FIELDS else None

        self._file.visititems(visit)
        times: tuple[float, ...] = ()
        units = ""
        for name in names:
            dataset = self._file[name]
            if self._is_coordinate(name, dataset):
                if name.rpartition("/")[2].lower() in _TIME_NAMES and dataset.ndim <= 1:
                    times, units = self._times(dataset)
                continue
            reason = self._reason_against(dataset)
            if not reason:
                self._fields[name] = self._field(name, dataset)
            elif dataset.ndim >= 2:
                self._left_out[name] = reason
        return self._fields, times, units, self._left_out

    @staticmethod
    def _times(dataset: Any) -> tuple[tuple[float, ...], str]:
        if dataset.dtype.kind not in "fiu" or dataset.size > _MOST_COORDINATES:
            return (), ""
        return tuple(float(value) for value in np.atleast_1d(dataset[()])), _text(dataset, "units")

    @staticmethod
    def _is_coordinate(name: str, dataset: Any) -> bool:
        short = name.rpartition("/")[2]
        return dataset.ndim < 2 and (dataset.is_scale or short.lower() in _TIME_NAMES)

    def _reason_against(self, dataset: Any) -> str:
        if dataset.dtype.kind not in "fiu" or dataset.dtype.itemsize > 8:
            return "not a field of numbers"
        if dataset.is_virtual or dataset.external:
            return "its values are in other files"
        if dataset.size == 0 or dataset.ndim < 2:
            return "empty" if dataset.size == 0 else "one dimension only"
        if dataset.ndim == 2 and dataset.shape[0] == 1:
            scale = self._scale(dataset, 0)
            if scale is not None and str(scale.name).rpartition("/")[2].lower() in _TIME_NAMES:
                return "one dimension and time only"
        return ""

    def _field(self, name: str, dataset: Any) -> Field:
        has_time = self._has_time(dataset)
        num_axes = min(3, dataset.ndim - has_time)
        axes = tuple(self._axis(dataset, d) for d in range(dataset.ndim - num_axes, dataset.ndim))
        offset = None
        filters = dataset.id.get_create_plist().get_nfilters()
        extra = dataset.shape[int(has_time) : dataset.ndim - num_axes]
        if dataset.chunks is None and filters == 0 and math.prod(extra) == 1:
            offset = dataset.id.get_offset()
        scale, shift = _number(dataset, "scale_factor"), _number(dataset, "add_offset")
        return Field(
            name=name,
            axes=axes,
            num_times=dataset.shape[0] if has_time else 0,
            dtype=dataset.dtype,
            units=_text(dataset, "units"),
            long_name=_text(dataset, "long_name"),
            offset_bytes=offset,
            fill=tuple(v for v in (_number(dataset, "_FillValue"), _number(dataset, "missing_value")) if v is not None),
            packing=None if scale is None and shift is None else (1.0 if scale is None else scale, shift or 0.0),
        )

    def _has_time(self, dataset: Any) -> bool:
        if dataset.ndim < 3:
            return False
        scale = self._scale(dataset, 0)
        name = "" if scale is None else str(scale.name).rpartition("/")[2].lower()
        return name in _TIME_NAMES or dataset.maxshape[0] is None or _text(scale, "axis") == "T" or dataset.ndim > 3

    @staticmethod
    def _scale(dataset: Any, direction: int) -> Any:
        scales = dataset.dims[direction]
        return scales[0] if len(scales) else None

    def _axis(self, dataset: Any, direction: int) -> Axis:
        size = dataset.shape[direction]
        scale = self._scale(dataset, direction)
        if scale is None:
            return Axis("zyx"[direction - dataset.ndim], size)
        key = (scale.name, size)
        if key not in self._axes:
            self._axes[key] = self._axis_of_scale(scale, size)
        return self._axes[key]

    @staticmethod
    def _axis_of_scale(scale: Any, size: int) -> Axis:
        name = str(scale.name).rpartition("/")[2]
        units, standard = _text(scale, "units"), _text(scale, "standard_name")
        is_pure = _text(scale, "NAME").startswith("This is a netCDF dimension but not a netCDF variable")
        coordinates = None
        if not is_pure and scale.shape == (size,) and scale.dtype.kind in "fiu" and size <= _MOST_COORDINATES:
            values = scale[()].astype(np.float64)
            coordinates = tuple(float(v) for v in values) if np.isfinite(values).all() else None
        kind = ""
        if standard == "latitude" or units.lower() in {"degrees_north", "degree_north"}:
            kind = "lat"
        elif standard == "longitude" or units.lower() in {"degrees_east", "degree_east"}:
            kind = "lon"
        return Axis(name, size, coordinates, units, kind)


def _attribute(item: Any, name: str) -> Any:
    try:
        return item.attrs[name] if item is not None and name in item.attrs else None
    except (OSError, RuntimeError, TypeError, ValueError):
        return None


def _text(item: Any, name: str) -> str:
    value = _attribute(item, name)
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.ravel()[0]
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return value[:1000] if isinstance(value, str) else ""


def _number(item: Any, name: str) -> float | None:
    value = _attribute(item, name)
    try:
        return None if value is None else float(np.asarray(value).ravel()[0])
    except (TypeError, ValueError, IndexError):
        return None


def find_field(step: Step, name: str) -> Field:
    """The field called `name`. Raises InputError that lists those that are there."""
    if name in step.fields:
        return step.fields[name]
    raise InputError(f"{step.path.name} has no field '{name}' (it has: {', '.join(step.fields) or 'none'})")
