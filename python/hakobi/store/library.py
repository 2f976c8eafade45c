"""hakobi_store.h for Python: Store, Listing, Field. hakobi/store/__init__.py has the overview."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from ctypes import c_char_p, c_int64, c_void_p
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from hakobi._capi import CONSTANTS, FieldInfoC, SelectionC, StoreOptionsC
from hakobi._library import check, load, shown
from hakobi.attributes import int_for_c, text_for_c, yes_or_no
from hakobi.errors import InputError, unknown_name
from hakobi.words import bytes_text, count_text

if TYPE_CHECKING:
    import xarray

#: A key or a request: "keyword=value,…", the values by keyword, or a field of a listing: itself alone. In a
#: request a value may be a list, or a slice (both ends belong to it, as in xarray's label slices).
Values = Union[str, Mapping[str, Any], "Field"]

#: Options that are a yes or no, and those that are numbers; the others are texts.
_YES_OR_NO = ("asynchronous", "sync", "sync_directory", "huge_pages", "direct")
_NUMBERS = {"num_buffers": 32, "num_threads": 32, "buffer_bytes": 64, "pad_bytes": 64}

_RECEIVER = ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_void_p, c_int64)


def _options_for_c(options: Mapping[str, str | int | bool]) -> StoreOptionsC:
    """Options of C++'s StoreOptions for C. Raises InputError."""
    made = StoreOptionsC()
    for name, value in options.items():
        try:
            if name in _YES_OR_NO:
                setattr(made, name, yes_or_no(int_for_c(value)))
            elif name in _NUMBERS:
                setattr(made, name, int_for_c(value, _NUMBERS[name]))
            elif name in ("schema", "writer"):
                setattr(made, name, text_for_c(f"option {name}", str(value)))
            else:
                raise unknown_name("option", name, ("schema", "writer", *_NUMBERS, *_YES_OR_NO))
        except TypeError:
            raise InputError(f"option {name}: {value!r} is no number") from None
    return made


def _value_text(value: Any) -> str:
    if isinstance(value, slice):
        if value.start is None or value.stop is None:
            raise InputError("a slice in a request has both ends: slice(0, 24) or slice(0, 24, 6)")
        step = "" if value.step is None else f"/by/{value.step}"
        return f"{value.start}/to/{value.stop}{step}"
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        return str(value)
    return "/".join(str(entry) for entry in value)


def text_of(values: Values) -> str:
    """A key or request as text.

    >>> text_of({"param": ["t", "u"], "step": slice(0, 24, 6), "number": 3})
    'param=t/u,step=0/to/24/by/6,number=3'
    """
    if isinstance(values, str | Field):
        return str(values)
    return ",".join(f"{keyword}={_value_text(value)}" for keyword, value in values.items())


@dataclass(frozen=True, repr=False)
class Field:
    """One field of a listing: where it is and what it is called.

    `str(field)`, the line that `hakobi store list` prints, is a request for this field alone; a request of its `keys`
    also selects fields with these keywords and more.
    """

    keys: dict[str, str]
    form: str
    path: str
    offset: int
    length: int
    checksum: int
    flushed_ns: int
    is_replaced: bool
    line: str

    def __str__(self) -> str:
        return self.line

    def __repr__(self) -> str:
        return shown(self, f"{self.line}, {self.form or 'bytes'}, {bytes_text(self.length)}")


class Listing(Sequence[Field]):
    """The fields that a request selected when it was asked. Fields are made as they are looked at."""

    def __init__(self, store: Store, handle: c_void_p) -> None:
        self._store, self._handle, self._library = store, handle, store._library
        self._size: int = self._library.hakobi_listing_size(handle)

    def __repr__(self) -> str:
        return shown(self, f"{count_text(self._size, 'field')} of {self._store.path}")

    def __del__(self) -> None:
        handle, self._handle = self._handle, c_void_p()
        self._library.hakobi_listing_free(handle)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        info = FieldInfoC()
        check(self._library, self._library.hakobi_listing_get(self._handle, at, info))
        line = info.key.decode()
        keys = dict(item.split("=", 1) for item in line.split(",") if not item.endswith("="))
        return Field(
            keys,
            info.form.decode(),
            info.file.decode(),
            info.offset_bytes,
            info.length_bytes,
            info.checksum,
            info.flushed_ns,
            bool(info.is_replaced),
            line,
        )

    def keywords(self) -> list[str]:
        """The keywords that the fields have, in the schema's order."""
        found = c_char_p()
        check(self._library, self._library.hakobi_listing_keywords(self._handle, found))
        text = (found.value or b"").decode()
        return text.split(",") if text else []

    def column(self, keyword: str) -> tuple[npt.NDArray[np.int32], list[str]]:
        """A keyword's values of all fields: for each its number among the different ones, and those, in order."""
        codes = np.empty(len(self), np.int32)
        count = c_int64()
        check(
            self._library,
            self._library.hakobi_listing_column(self._handle, keyword.encode(), codes.ctypes.data_as(c_void_p), count),
        )
        return codes, [self._library.hakobi_listing_value(self._handle, i).decode() for i in range(count.value)]

    def read(self, index: int, offset: int = 0, length: int | None = None) -> bytearray:
        """Bytes of field `index`: all, or `length` of them from `offset` on. Not held against its checksum."""
        if length is None:
            length = self[index].length - offset
        bytes_ = bytearray(max(length, 0))
        memory = (ctypes.c_char * len(bytes_)).from_buffer(bytes_) if bytes_ else None
        check(
            self._library,
            self._library.hakobi_store_read(self._store._handle, self._handle, index, offset, memory, length),
        )
        return bytes_


class Store:
    """A field store. As a context manager it is flushed and closed at the end of the block; after an error only closed.

    Fields that were archived and not flushed are dropped by `close` and when the object goes.
    """

    def __init__(self, path: str | PathLike[str], **options: str | int | bool) -> None:
        self._handle = c_void_p()
        self._library = load()
        self.path = fspath(path)
        encoded = text_for_c("the path", self.path)
        check(self._library, self._library.hakobi_store_open(encoded, _options_for_c(options), self._handle))

    def __repr__(self) -> str:
        return shown(self, self.path)

    def archive(self, key: Values, data: Any, form: str | None = None) -> None:
        """Takes a field: bytes, or an array, whose type and shape are kept as its form. It shows after `flush`.

        Raises InputError for a key that the schema does not take, StorageError.
        """
        if isinstance(data, np.ndarray):
            if form is None:
                if not data.dtype.isnative or data.dtype.kind not in "fiu":
                    raise InputError(f"an array of {data.dtype.str}: native numbers are taken, or bytes with a form")
                form = f"{data.dtype.name}[{','.join(map(str, data.shape))}]"
            data = np.ascontiguousarray(data)
        view = np.frombuffer(data, np.uint8)
        check(
            self._library,
            self._library.hakobi_store_archive(
                self._handle,
                text_for_c("the key", text_of(key)),
                view.ctypes.data,
                view.size,
                text_for_c("form", form or ""),
            ),
        )

    def archive_grib(self, message: bytes) -> None:
        """Takes each field of a GRIB message by its own keywords. Raises InputError, FormatError, StorageError."""
        view = np.frombuffer(message, np.uint8)
        check(self._library, self._library.hakobi_store_archive_grib(self._handle, view.ctypes.data, view.size))

    def flush(self) -> None:
        """Makes everything archived durable and visible, at once."""
        check(self._library, self._library.hakobi_store_flush(self._handle))

    def list(
        self, request: Values = "", *, replaced: bool = False, file_order: bool = False, strict: bool = True
    ) -> Listing:
        """The fields that a request selects. `strict`: a value that no field has is an InputError."""
        selection = SelectionC(
            order=CONSTANTS["ORDER_FILE" if file_order else "ORDER_KEY"],
            with_replaced=yes_or_no(replaced),
            is_strict=yes_or_no(strict),
        )
        handle = c_void_p()
        check(
            self._library,
            self._library.hakobi_store_list(
                self._handle, text_for_c("the request", text_of(request)), selection, handle
            ),
        )
        return Listing(self, handle)

    def retrieve(self, request: Values | Listing = "") -> Iterator[tuple[Field, bytes]]:
        """The fields that a request selects with their bytes, which are held against their checksums."""
        fields = request if isinstance(request, Listing) else self.list(request)
        most_bytes = 64 << 20
        begin = 0
        while begin < len(fields):
            # A part at a time: memory stays bounded while the caller takes field after field.
            part: list[bytes] = []
            total = 0
            for index in range(begin, len(fields)):
                length = fields[index].length
                if part and total + length > most_bytes:
                    break
                part.append(bytes(fields.read(index)))
                total += length
            for number, data in enumerate(part):
                yield fields[begin + number], data
            begin += len(part)

    def sel(self, **conditions: Any) -> xarray.DataArray:
        """The selected fields as one array whose leading dimensions are the keywords in which they differ.

        Values are read when they are asked for: `store.sel(param="t", step=slice(0, 24))[0].values` reads one field.
        With dask installed the array is chunked, a field a chunk. GRIB fields have latitudes and longitudes in degrees,
        `long_name` and `units`; fields with a date have datetimes too (`valid_time`). Raises InputError where the
        fields make no array, as those on different grids.
        """
        from hakobi.store.arrays import array_of

        return array_of(self.list(conditions))

    def close(self) -> None:
        """Drops what was not flushed and closes the writer. Reading goes on."""
        check(self._library, self._library.hakobi_store_close(self._handle))

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()
        self.close()

    def __del__(self) -> None:
        if self._handle:
            handle, self._handle = self._handle, c_void_p()
            self._library.hakobi_store_free(handle)

    def __getstate__(self) -> dict[str, str]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__init__(state["path"])  # type: ignore[misc]


def open_store(path: str | PathLike[str], schema: str = "", **options: str | int | bool) -> Store:
    """Opens the store at `path`, or makes one with `schema`: weather, grib, flow, lattice, or a schema file.

    `path` is a folder, or as a text a place on object storage: "s3://bucket/prefix", "rados:pool/prefix".

    `options` are those of C++'s StoreOptions: writer, asynchronous, num_buffers, buffer_bytes, num_threads, pad_bytes,
    sync, sync_directory, huge_pages, direct. Raises InputError, StorageError or FormatError.
    """
    if schema:
        options["schema"] = schema
    return Store(path, **options)
