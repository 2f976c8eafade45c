"""What a GRIB message says of itself in words: its parameter's name and unit, and when it is valid. ecCodes knows.

A process that looks at stores has one thread; ecCodes is not safe in several. Without ecCodes nothing is told.
"""

from __future__ import annotations

import ctypes
import datetime
import functools
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_long, c_size_t, c_void_p
from dataclasses import dataclass

_UNKNOWN = ("", "unknown", "Unknown", "~", "undef", "Experimental product")
EPOCH = "seconds since 1970-01-01 00:00:00"


@dataclass(frozen=True)
class Words:
    """`name` is the parameter's, as "Temperature"; `valid_s` counts from EPOCH, None where there is no date."""

    name: str = ""
    units: str = ""
    valid_s: float | None = None


@functools.cache
def _library() -> ctypes.PyDLL | None:
    """ecCodes, as hakobi's own library looks for it; called with Python's lock held."""
    named = os.environ.get("HAKOBI_ECCODES")
    for name in [named] if named else ["libeccodes.so.0", "libeccodes.so"]:
        try:
            library = ctypes.PyDLL(name)
            library.grib_handle_new_from_message.restype = c_void_p
            library.grib_handle_new_from_message.argtypes = [c_void_p, c_char_p, c_size_t]
            library.grib_handle_delete.argtypes = [c_void_p]
            library.grib_get_string.argtypes = [c_void_p, c_char_p, c_char_p, POINTER(c_size_t)]
            library.grib_get_long.argtypes = [c_void_p, c_char_p, POINTER(c_long)]
            for function in (library.grib_handle_delete, library.grib_get_string, library.grib_get_long):
                function.restype = c_int
        except (OSError, AttributeError):
            continue
        return library
    return None


def words_of(message: bytes) -> Words:
    """Never raises: what is not known is left empty."""
    library = _library()
    handle = library.grib_handle_new_from_message(None, message, len(message)) if library else None
    if library is None or not handle:
        return Words()
    try:
        name, units = (_text(library, handle, key) for key in (b"name", b"units"))
        return Words(name, units, _valid_s(library, handle))
    finally:
        library.grib_handle_delete(handle)


def _text(library: ctypes.PyDLL, handle: int, key: bytes) -> str:
    buffer, size = ctypes.create_string_buffer(512), c_size_t(512)
    if library.grib_get_string(handle, key, buffer, byref(size)):
        return ""
    text = buffer.value.decode(errors="replace").strip()
    return "" if text in _UNKNOWN else text


def _valid_s(library: ctypes.PyDLL, handle: int) -> float | None:
    date, clock = c_long(), c_long()
    for key, value in ((b"validityDate", date), (b"validityTime", clock)):
        if library.grib_get_long(handle, key, byref(value)):
            return None
    try:
        day = datetime.datetime.strptime(f"{date.value:08}", "%Y%m%d").replace(tzinfo=datetime.UTC)
    except ValueError:
        return None
    return day.timestamp() + 3600.0 * (clock.value // 100) + 60.0 * (clock.value % 100)
