"""A series that Hakobi wrote as one Zarr group (format "zarr"): all its steps as the times of one file.

The group's metadata say everything but values. A shard is one field at one time; its index, at the end, says where each
chunk is. src/format/zarr/store.hpp describes both. What does not hold to it is no such series, or damaged: names of
arrays above all, which are followed.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hakobi.errors import FormatError
from hakobi.post.packing import Packing
from hakobi.post.place import Identity, Location, OpenFile
from hakobi.post.reaching import is_inside, open_inside, seen
from hakobi.post.source import (
    MOST_COORDINATES,
    MOST_FIELDS,
    NAMING_ATTRIBUTES,
    Array,
    Box,
    Field,
    Found,
    axis_of,
    with_coordinates_marked,
)

SUFFIX, METADATA = ".zarr", "zarr.json"
_MARK = "hakobi_store"
_MOST_METADATA = 64 << 20
_INDEX_ENTRY = 16
_CHECKSUM = 4
_TIMES_A_CHUNK = 1024
_BLOSC_HEADER = struct.Struct("<BBBBIII")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_TYPES = {f"{kind}{bits}" for kind, sizes in (("float", (32, 64)), ("int", (8, 16, 32, 64)), ("uint", (8, 16, 32, 64)))
          for bits in sizes}  # fmt: skip
#: Exceptions of reading JSON that is not what it should be.
_ERRORS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def is_store(folder: Location) -> bool:
    """Whether it is a folder, and no link to one, that has a group's metadata."""
    return folder.name.endswith(SUFFIX) and is_inside(folder, METADATA)


@dataclass(frozen=True)
class _Stored:
    """An array, as its document describes it. Extents are without time where `has_time`."""

    name: str
    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    shard: tuple[int, ...]
    chunk: tuple[int, ...]
    has_time: bool
    compressor: str  # "": none
    attributes: dict[str, Any]

    @classmethod
    def of(cls, name: str, document: Any) -> _Stored:
        """Raises ValueError, and the rest of _ERRORS."""
        dims, shape = tuple(map(_checked_text, document["dimension_names"])), _lengths(document["shape"], 0)
        shard, codecs = _lengths(document["chunk_grid"]["configuration"]["chunk_shape"], 1), document["codecs"]
        key, chunk = document["chunk_key_encoding"], shard
        if document["data_type"] not in _TYPES or key != {"name": "default", "configuration": {"separator": "."}}:
            raise ValueError(f"{name} is not stored as Hakobi stores fields")
        if codecs[0]["name"] == "sharding_indexed":
            inner = codecs[0]["configuration"]
            chunk, codecs = _lengths(inner["chunk_shape"], 1), inner["codecs"]
            if inner.get("index_location", "end") != "end":
                raise ValueError(f"{name} has the indexes of its shards elsewhere")
        compressor = _compressor(name, np.dtype(document["data_type"]), codecs)
        has_time = dims[:1] == ("time",) and dims != (name,)
        if not len(dims) == len(shape) == len(shard) == len(chunk) or (has_time and (shard[0], chunk[0]) != (1, 1)):
            raise ValueError(f"{name} has chunks of other dimensions")
        if has_time:
            dims, shape, shard, chunk = dims[1:], shape[1:], shard[1:], chunk[1:]
        if any(b % c for b, c in zip(shard, chunk, strict=True)) or (
            dims != (name,) and any(a > b for a, b in zip(shape, shard, strict=True))
        ):
            raise ValueError(f"{name} has chunks that do not fit its shape")
        if math.prod(shard) > 1 << 60 or not isinstance(document["attributes"], dict):
            raise ValueError(f"{name} is no array")
        return cls(name, np.dtype(document["data_type"]), dims, shape, shard, chunk, has_time, compressor,
                   document["attributes"])  # fmt: skip

    @property
    def is_line(self) -> bool:
        """Whether the array is one of times, or of an axis."""
        return self.dims == (self.name,)

    def key(self, time: int) -> str:
        """The name of a time's shard."""
        return ".".join(["c", *([str(max(0, time))] if self.has_time else []), *("0" for _ in self.shape)])


def _checked_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a dimension has no name")
    return value


def _lengths(values: Any, least: int) -> tuple[int, ...]:
    if not isinstance(values, list) or any(type(n) is not int or not least <= n < 1 << 62 for n in values):
        raise ValueError("lengths are not what they can be")
    return tuple(values)


def _compressor(name: str, dtype: np.dtype[Any], codecs: Any) -> str:
    first, *rest = codecs
    is_plain = first["name"] == "bytes" and (
        dtype.itemsize == 1 or first["configuration"] == {"endian": "little"}
    )  # fmt: skip
    if is_plain and not rest:
        return ""
    if not is_plain or len(rest) != 1 or rest[0]["name"] != "blosc":
        raise ValueError(f"{name} is not stored as Hakobi stores fields")
    return _checked_text(rest[0]["configuration"]["cname"])


class Store:
    """A group's arrays. `read` is `hakobi.post.source.Reader`'s."""

    def __init__(self, folder: Location) -> None:
        """Raises FormatError where it is no group of Hakobi's, or a damaged one; OSError."""
        self.folder = folder
        text, self.identity = _whole(folder, METADATA)
        try:
            if len(text) > _MOST_METADATA:
                raise ValueError("too long")
            root = json.loads(text)
            if root["attributes"].get(_MARK) != 1:
                raise ValueError("another's")
            self.attributes: dict[str, Any] = root["attributes"]
            documents = root["consolidated_metadata"]["metadata"].items()
        except _ERRORS as error:
            raise FormatError(f"{folder.name} is no series that Hakobi wrote as Zarr ({_why(error)})") from error
        try:
            for name, _ in documents:
                if not _NAME.fullmatch(name):
                    raise ValueError(f"an array {name[:60]!r}, which is no name of a field or an axis")
            self.arrays = {name: _Stored.of(name, document) for name, document in documents}
            self.times = self._times()
        except _ERRORS as error:
            raise FormatError(f"{folder.name}: its metadata are damaged: {_why(error)}") from error

    def close(self) -> None:
        """Nothing is held open."""

    def _times(self) -> list[float]:
        time = self.arrays.get("time")
        if time is None:
            return []
        if not time.is_line or time.shard != (_TIMES_A_CHUNK,) or time.dtype != np.float64:
            raise ValueError("the steps have no times")
        num = time.shape[0]
        if num > MOST_COORDINATES:
            raise ValueError(f"{num} steps, of which not more than {MOST_COORDINATES} are shown")
        parts = [self._doubles("time", i, _TIMES_A_CHUNK) for i in range(math.ceil(num / _TIMES_A_CHUNK))]
        return [float(t) for part in parts for t in part][:num]

    @property
    def time_texts(self) -> tuple[str, str]:
        """Units and calendar of the times."""
        told = self.arrays["time"].attributes if "time" in self.arrays else {}
        return _text(told, "units"), _text(told, "calendar")

    def _doubles(self, name: str, chunk: int, count: int) -> Array:
        key = f"c.{chunk}"
        try:
            data, _ = _whole(self.folder, name, key)
        except FileNotFoundError:
            raise ValueError(f"{name}/{key} is missing") from None
        if len(data) != 8 * count:
            raise ValueError(f"{name}/{key} is torn")
        return np.frombuffer(data, "<f8")

    def line(self, name: str) -> Array | None:
        """The coordinates of an axis; None where it has none, or too many. Raises ValueError for damaged ones."""
        this = self.arrays.get(name)
        if this is None or not this.is_line or this.shape[0] > MOST_COORDINATES:
            return None
        if this.dtype != np.float64:
            raise ValueError(f"{name} has coordinates of another type")
        return self._doubles(name, 0, this.shape[0])

    def num_bytes_at(self, time: int) -> int:
        """The bytes of one time's fields, those without time among them."""
        fields = (this for this in self.arrays.values() if not this.is_line)
        found = (seen(self.folder / this.name / this.key(time)) for this in fields)
        return sum(identity.num_bytes for identity in found if identity is not None)

    def read(self, this: Field, time: int, box: Box) -> Array | None:
        """Values of a field at one time, as they are stored; None where the step is without the field, which for whole
        numbers no fill value says."""
        stored = self.arrays[this.name]
        ranges = (*((0, 1) for _ in this.outer_axes), *box)
        key = stored.key(time)
        result = np.empty([b - a for a, b in ranges], stored.dtype)
        try:
            file = open_inside(self.folder, this.name, key)
        except FileNotFoundError:
            return None
        try:
            chunk, places = stored.chunk, _places(stored, file)
            wanted = []
            for index in np.ndindex(*(places.shape[:-1])):
                starts = [i * n for i, n in zip(index, chunk, strict=True)]
                both = [
                    (max(a, s), min(b, s + n)) for (a, b), s, n in zip(ranges, starts, chunk, strict=True)
                ]  # fmt: skip
                if all(a < b for a, b in both):
                    offset, length = (int(word) for word in places[index])
                    wanted.append((starts, both, offset, bytearray(length)))
            file.fill([(memoryview(packed), offset) for _, _, offset, packed in wanted])
            for starts, both, _, packed in wanted:
                plain = _unpacked(stored, packed) if stored.compressor else bytes(packed)
                values = np.frombuffer(plain, stored.dtype).reshape(chunk)
                result[tuple(slice(a - r[0], b - r[0]) for (a, b), r in zip(both, ranges, strict=True))] = values[
                    tuple(slice(a - s, b - s) for (a, b), s in zip(both, starts, strict=True))
                ]
        except (*_ERRORS, struct.error, RuntimeError) as error:
            raise FormatError(f"{self.folder.name}/{this.name}/{key} is damaged: {_why(error)}") from error
        finally:
            file.close()
        return result.reshape([b - a for a, b in box])


def _places(stored: _Stored, file: OpenFile) -> Array:
    """Offset and length of each chunk, on their grid. Raises ValueError."""
    size = file.identity.num_bytes
    chunk_bytes = math.prod(stored.chunk) * stored.dtype.itemsize
    grid = [a // b for a, b in zip(stored.shard, stored.chunk, strict=True)]
    num = math.prod(grid)
    if num == 1:
        places = np.array([[0, size]], "<u8")
    else:
        start = size - _CHECKSUM - _INDEX_ENTRY * num
        if start < 0:
            raise ValueError("torn")
        words = bytearray(_INDEX_ENTRY * num)
        file.fill([(memoryview(words), start)])
        places = np.frombuffer(words, "<u8").reshape(num, 2)
        # Chunks are one behind the other, in their order: a checksum would say no more of the index.
        if (places[:, 1] > size).any() or not np.array_equal(places[:, 0], np.cumsum(places[:, 1]) - places[:, 1]):
            raise ValueError("its index does not say where chunks are")
        if places[:, 1].sum() != start:
            raise ValueError("its index leads out of the shard")
    if not stored.compressor and (places[:, 1] != chunk_bytes).any():
        raise ValueError("a chunk has another size")
    return places.reshape(*grid, 2)


def _unpacked(stored: _Stored, packed: bytearray) -> bytes:
    """Raises ValueError, RuntimeError, struct.error."""
    from numcodecs import blosc

    # Blosc's library believes the header.
    _, _, _, element_bytes, values_bytes, block_bytes, chunk_bytes = _BLOSC_HEADER.unpack_from(packed)
    is_right = (element_bytes, values_bytes, block_bytes, chunk_bytes) == (
        stored.dtype.itemsize, (count := math.prod(stored.chunk) * stored.dtype.itemsize), count, len(packed),
    )  # fmt: skip
    if not is_right:
        raise ValueError("a chunk's header is not that of its values")
    return bytes(blosc.decompress(packed))


def _whole(folder: Location, *names: str) -> tuple[bytes, Identity]:
    """Raises FileNotFoundError, OSError."""
    file = open_inside(folder, *names)
    try:
        return file.read(min(file.identity.num_bytes, _MOST_METADATA + 1), 0), file.identity
    finally:
        file.close()


def _why(error: BaseException) -> str:
    """The end of a sentence: what was not found, or what was wrong with it."""
    if isinstance(error, KeyError) and error.args:
        return f"it has no {error.args[0]}"
    is_ours = isinstance(error, ValueError | RuntimeError) and not isinstance(error, RecursionError)
    return str(error)[:200] if is_ours else "a part of it is of another kind than Hakobi writes"


def _packing(this: _Stored) -> Packing:
    fill = this.attributes.get("_FillValue")
    known = {"_FillValue": struct.unpack("<d", base64.b64decode(fill))[0]} if isinstance(fill, str) else {}
    return Packing.of(this.dtype, (this.attributes | known).get)


def _text(attributes: dict[str, Any], name: str) -> str:
    value = attributes.get(name, "")
    return value if isinstance(value, str) else ""


def survey(folder: Location) -> Found:
    """Finds what is in a series' group. Raises FormatError, OSError."""
    store = Store(folder)
    found = Found(reader=store, kind="zarr", num_bytes_at=store.num_bytes_at)
    try:
        for this in store.arrays.values():
            _add(found, store, this)
        found.times = tuple(store.times)
        found.time_units, found.calendar = store.time_texts
        found.source = _text(store.attributes, "source")
        texts = (_text(this.attributes, word) for this in store.arrays.values() for word in NAMING_ATTRIBUTES)
        found.fields = with_coordinates_marked(found.fields.values(), texts)
    except (*_ERRORS, struct.error) as error:
        raise FormatError(f"{folder.name}: its metadata are damaged: {_why(error)}") from error
    return found


def _add(found: Found, store: Store, this: _Stored) -> None:
    if this.is_line or len(found.fields) >= MOST_FIELDS:
        return
    axes = []
    for dim, size in zip(this.dims, this.shape, strict=True):
        attributes = store.arrays[dim].attributes if dim in store.arrays else {}
        values = store.line(dim)
        if values is not None and len(values) != size:
            raise ValueError(f"{this.name} has {size} points along {dim}, which has {len(values)}")
        axes.append(axis_of(dim, size, values, partial(_text, attributes)))
    packing = _packing(this)
    field = Field(
        name=this.name,
        axes=tuple(axes[-3:]),
        num_times=len(store.times) if this.has_time else 0,
        dtype=packing.dtype,
        units=_text(this.attributes, "units"),
        long_name=_text(this.attributes, "long_name"),
        standard_name=_text(this.attributes, "standard_name"),
        packing=packing,
        chunk_bytes=math.prod(this.chunk) * this.dtype.itemsize,
        filters=(this.compressor,) if this.compressor else (),
        outer_axes=tuple(axes[:-3]),
    )
    if len(this.shape) < 2:
        found.left_out[this.name] = "one dimension and time only"
        found.undrawn[this.name] = field
    elif math.prod(this.shape[:-3]) != 1:
        found.left_out[this.name] = "more than three dimensions and time"
    else:
        found.fields[this.name] = field
