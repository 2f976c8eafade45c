"""NetCDF's classic formats (CDF-1, CDF-2, CDF-5) as steps: the header read here, values by `pread` from their place.

The format is a page of grammar ("NetCDF Classic Format Specification", Unidata; CDF-5: PnetCDF) and says where all
values lie, which no library tells. So there is no further dependency, and nothing of a file is read but what is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hakobi.errors import FormatError
from hakobi.post.curvilinear import on_maps
from hakobi.post.packing import Packing, never_written
from hakobi.post.place import OpenFile
from hakobi.post.source import (
    MOST_COORDINATES,
    MOST_FIELDS,
    NAMING_ATTRIBUTES,
    Array,
    Axis,
    Field,
    Found,
    Times,
    axis_of,
    is_time,
    with_coordinates_marked,
)
from hakobi.post.times import take_times, time_rank

_TYPES = {1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8", 7: "u1", 8: ">u2", 9: ">u4", 10: ">i8", 11: ">u8"}
_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12
_MOST_ENTRIES, _MOST_HEADER_BYTES = 100_000, 64 << 20
#: No file is so large.
_MOST_OFFSET_BYTES = 1 << 60
_STREAMING = {4: 0xFFFFFFFF, 8: 0xFFFFFFFFFFFFFFFF}


@dataclass(frozen=True)
class _Variable:
    name: str
    dimensions: tuple[int, ...]
    attributes: dict[str, Any]
    dtype: np.dtype[Any]
    begin: int


class _Header:
    """Reads the header's grammar. Raises FormatError."""

    def __init__(self, file: OpenFile) -> None:
        self._file, self._name, self._at, self._data = file, file.path.name, 0, b""
        version = self._take(4)[3]
        if version not in (1, 2, 5):
            raise self._damage()
        self._count_bytes, self._offset_bytes = (8 if version == 5 else 4), (4 if version == 1 else 8)
        num_records = self._number(self._count_bytes)
        self.num_records = -1 if num_records == _STREAMING[self._count_bytes] else num_records
        self.dimensions = [(self._text(), self._count()) for _ in range(self._entries(_DIMENSIONS))]
        self.attributes = self._attributes()
        self.variables = [self._variable() for _ in range(self._entries(_VARIABLES))]

    def _damage(self) -> FormatError:
        return FormatError(f"{self._name} is no whole NetCDF file: its header is damaged")

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= _MOST_HEADER_BYTES or self._at + size > _MOST_HEADER_BYTES:
            raise self._damage()
        while len(self._data) < self._at + size:
            more = self._file.read(max(65536, self._at + size - len(self._data)), len(self._data))
            if not more:
                raise self._damage()
            self._data += more
        self._at += size
        return self._data[self._at - size : self._at]

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def _count(self) -> int:
        return self._number(self._count_bytes)

    def _entries(self, tag: int) -> int:
        found, count = self._number(4), self._count()
        if (found != tag and (found, count) != (0, 0)) or count > _MOST_ENTRIES:
            raise self._damage()
        return count

    def _padded(self, size: int) -> bytes:
        data = self._take(size)
        self._take(-size % 4)
        return data

    def _text(self) -> str:
        return self._padded(self._count()).decode(errors="replace")

    def _attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for _ in range(self._entries(_ATTRIBUTES)):
            name, kind, count = self._text(), self._number(4), self._count()
            if kind not in _TYPES:
                raise self._damage()
            dtype = np.dtype(_TYPES[kind])
            data = self._padded(count * dtype.itemsize)
            found[name] = data.decode(errors="replace") if kind == 2 else np.frombuffer(data, dtype)
        return found

    def _variable(self) -> _Variable:
        name, rank = self._text(), self._count()
        if rank > 1024:
            raise self._damage()
        dimensions = tuple(self._count() for _ in range(rank))
        attributes, kind, _ = self._attributes(), self._number(4), self._count()
        if kind not in _TYPES or any(d >= len(self.dimensions) for d in dimensions):
            raise self._damage()
        begin = self._number(self._offset_bytes)
        if not 0 <= begin < _MOST_OFFSET_BYTES:
            raise self._damage()
        return _Variable(name, dimensions, attributes, np.dtype(_TYPES[kind]), begin)


def survey(file: OpenFile) -> Found:
    """Finds what is in the file. Raises FormatError."""
    return _Survey(file).take()


class _Survey:
    def __init__(self, file: OpenFile) -> None:
        self._file, self._head = file, _Header(file)
        self._by_name = {v.name: v for v in self._head.variables}
        self._axes: dict[int, Axis] = {}
        self._times = [v for v in self._head.variables if _is_time(v)]
        records = [v for v in self._head.variables if self._is_record(v)]
        sizes = [self._one_bytes(v) for v in records]
        # Rows of records are padded to 4 bytes, but for a single variable of a short type.
        self._record_bytes = sizes[0] if len(sizes) == 1 else sum(-(-size // 4) * 4 for size in sizes)
        if self._head.num_records < 0:
            begin = min((v.begin for v in records), default=0)
            self._head.num_records = max(0, file.identity.num_bytes - begin) // max(1, self._record_bytes)

    def _is_record(self, variable: _Variable) -> bool:
        return bool(variable.dimensions) and self._head.dimensions[variable.dimensions[0]][1] == 0

    def _size(self, dimension: int) -> int:
        return self._head.dimensions[dimension][1] or self._head.num_records

    def _one_bytes(self, variable: _Variable) -> int:
        """The bytes of one record, or of a variable without records."""
        inner = variable.dimensions[1:] if self._is_record(variable) else variable.dimensions
        return variable.dtype.itemsize * math.prod(self._head.dimensions[d][1] for d in inner)

    def _stride_bytes(self, variable: _Variable) -> int:
        """From one entry of its first dimension to the next."""
        rest = math.prod(self._size(d) for d in variable.dimensions[1:])
        return self._record_bytes if self._is_record(variable) else variable.dtype.itemsize * rest

    def take(self) -> Found:
        source = self._head.attributes.get("source")
        found = Found(kind="classic", source=source[:1000] if isinstance(source, str) else "")
        for variable in self._head.variables:
            shape = tuple(self._size(d) for d in variable.dimensions)
            has_time = self._has_time(variable)
            inner = variable.dimensions[has_time:]
            if len(inner) < 2 and self._is_narrow(variable, shape):
                found.undrawn[variable.name] = self._field(variable, inner, shape[0] if has_time else 0)
            if len(shape) < 2 or len(found.fields) >= MOST_FIELDS:
                continue
            if variable.dtype.kind not in "fiu":
                found.left_out[variable.name] = "not a field of numbers"
            elif math.prod(shape) == 0:
                found.left_out[variable.name] = "empty"
            elif len(inner) < 2:
                found.left_out[variable.name] = "one dimension and time only"
            else:
                found.fields[variable.name] = self._field(variable, inner, shape[0] if has_time else 0)
        texts = (_text(v, word) for v in self._head.variables for word in NAMING_ATTRIBUTES)
        fields = with_coordinates_marked(found.fields.values(), texts)
        naming = {name: _text(self._by_name[name], "coordinates") for name in fields}
        found.fields = on_maps(fields.values(), naming, lambda name: self._flat(fields.get(name)))
        self._take_times(found)
        return found

    def _is_narrow(self, variable: _Variable, shape: tuple[int, ...]) -> bool:
        """Whether it is a field of numbers in less than two directions, and no coordinate."""
        names = {self._head.dimensions[d][0] for d in variable.dimensions}
        is_coordinate = variable.name in names or is_time(variable.name, lambda _: "")
        return variable.dtype.kind in "fiu" and math.prod(shape) > 0 and not is_coordinate

    def _flat(self, field: Field | None) -> tuple[str, Array] | None:
        """Units and values of a variable in two dimensions, or in time and two where they are equal at all times."""
        if field is None or len(field.shape) != 2 or field.offset_bytes is None:
            return None
        if field.num_bytes > _MOST_HEADER_BYTES:
            return None
        stride = field.time_stride_bytes or field.num_bytes
        places = sorted({field.offset_bytes, field.offset_bytes + max(0, field.num_times - 1) * stride})
        parts = [self._file.read(field.num_bytes, place) for place in places]
        if len(parts[0]) != field.num_bytes or parts[0] != parts[-1]:
            return None
        return field.units, field.unpacking.values(np.frombuffer(parts[0], field.dtype).reshape(field.shape))

    def _has_time(self, variable: _Variable) -> bool:
        if not variable.dimensions:
            return False
        first = variable.dimensions[0]
        name = self._head.dimensions[first][0]
        scale = self._by_name.get(name)
        if is_time(name, partial(_text, scale) if scale is not None else lambda _: "") or self._is_record(variable):
            return True
        known = [time.dimensions for time in self._times if time.dimensions]
        return len(variable.dimensions) > 3 and (not known or (first,) in known)

    def _field(self, variable: _Variable, inner: tuple[int, ...], num_times: int) -> Field:
        """`inner` are its dimensions without time: of those before the last three the first entry is read."""
        packing = _packing(variable)
        outer, inner = inner[:-3], inner[-3:]
        is_deep = math.prod(self._size(d) for d in outer) != 1
        return Field(
            name=variable.name,
            axes=tuple(self._axis(d) for d in inner),
            num_times=num_times,
            dtype=packing.dtype,
            units=_text(variable, "units"),
            long_name=_text(variable, "long_name"),
            standard_name=_text(variable, "standard_name"),
            offset_bytes=variable.begin,
            packing=packing,
            time_stride_bytes=self._stride_bytes(variable) if num_times else 0,
            outer_axes=tuple(self._axis(d) for d in outer) if is_deep else (),
        )

    def _values(self, variable: _Variable) -> list[float]:
        """The values of a variable in one dimension or none."""
        size = self._size(variable.dimensions[0]) if variable.dimensions else 1
        stride = self._stride_bytes(variable)
        if variable.dtype.kind not in "fiu" or size > MOST_COORDINATES or size * stride > _MOST_HEADER_BYTES:
            return []
        data = self._file.read(max(0, (size - 1) * stride + variable.dtype.itemsize), variable.begin)
        count = (len(data) - variable.dtype.itemsize) // stride + 1
        values = np.ndarray((max(0, count),), variable.dtype, data, strides=(stride,))
        return [float(v) for v in _packing(variable).values(values)] if count == size else []

    def _take_times(self, found: Found) -> None:
        """The times of the file's steps, and those of fields along others."""
        along = {name: self._first(self._by_name[name]) for name, field in found.fields.items() if field.num_times}

        def is_scale(variable: _Variable) -> bool:
            return variable.name in (self._head.dimensions[d][0] for d in variable.dimensions)

        def rank(variable: _Variable) -> tuple[bool, ...]:
            is_of_fields = is_scale(variable) and self._first(variable) in along.values()
            return time_rank(variable.name, _text(variable, "standard_name"), is_of_fields)

        records = (v for v in self._head.variables if len(v.dimensions) == 1 and self._is_record(v) and is_scale(v))
        candidates = {v.name: v for v in (*self._times, *records)}.values()
        times = [(rank(v), v.name, self._first(v)) for v in candidates]
        take_times(found, times, along, self._times_in)

    def _first(self, variable: _Variable) -> str:
        """The name of the dimension that a variable is along; "": none."""
        return self._head.dimensions[variable.dimensions[0]][0] if variable.dimensions else ""

    def _times_in(self, name: str) -> Times:
        variable = self._by_name[name]
        return Times(tuple(self._values(variable)), _text(variable, "units"), _text(variable, "calendar"))

    def _axis(self, dimension: int) -> Axis:
        if dimension not in self._axes:
            name, size = self._head.dimensions[dimension][0], self._size(dimension)
            scale = self._by_name.get(name)
            if scale is not None and scale.dimensions == (dimension,):
                made = axis_of(name, size, np.array(self._values(scale)), partial(_text, scale))
            else:
                made = Axis(name, size)
            self._axes[dimension] = made
        return self._axes[dimension]


def _text(variable: _Variable, name: str) -> str:
    value = variable.attributes.get(name)
    return value[:1000] if isinstance(value, str) else ""


def _packing(variable: _Variable) -> Packing:
    return Packing.of(variable.dtype, variable.attributes.get, never_written(variable.dtype))


def _is_time(variable: _Variable) -> bool:
    """Whether it is a time, or several in a row."""
    is_numbers = len(variable.dimensions) < 2 and variable.dtype.kind in "fiu"
    return is_numbers and is_time(variable.name, partial(_text, variable))
