"""The ZIP file that an overview is: a Zarr 3 store whose entries are stored as they are.

Python's zipfile writes one entry after the other; here several processes fill entries whose sizes are known:
places are given out first (`Writer.reserve`), bytes are written by anybody, checksums of pieces are combined
(`combine_crc32`). Every entry has a ZIP64 extra field, so that sizes are not limited.
"""

from __future__ import annotations

import functools
import os
import struct
import zlib
from dataclasses import dataclass

_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_EXTRA = struct.Struct("<HHQQ")
_CENTRAL_EXTRA = struct.Struct("<HHQQQ")
_END64 = struct.Struct("<IQHHIIQQQQ")
_LOCATOR = struct.Struct("<IIQI")
_END = struct.Struct("<IHHHHIIH")
_VERSION = 45  # of ZIP: ZIP64
_UTF8 = 0x800
_DATE = (0 << 9) | (1 << 5) | 1  # 1 January 1980: equal inputs make equal files
_MANY = 0xFFFFFFFF


@dataclass(frozen=True)
class Entry:
    """One file of the store: where its bytes are."""

    name: str
    header_bytes: int
    offset_bytes: int
    num_bytes: int


class Writer:
    """Lays entries out one behind the other and writes their headers and the directory; `fd` is not closed."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._end = 0
        self._done: list[tuple[Entry, int]] = []

    def reserve(self, name: str, num_bytes: int) -> Entry:
        """A place for an entry whose bytes come later."""
        header = _LOCAL.size + len(name.encode()) + _EXTRA.size
        entry = Entry(name, header, self._end + header, num_bytes)
        self._end = entry.offset_bytes + num_bytes
        return entry

    def complete(self, entry: Entry, crc32: int) -> None:
        """Writes the header of an entry whose bytes are in place."""
        name = entry.name.encode()
        header = _LOCAL.pack(0x04034B50, _VERSION, _UTF8, 0, 0, _DATE, crc32, _MANY, _MANY, len(name), _EXTRA.size)
        extra = _EXTRA.pack(1, 16, entry.num_bytes, entry.num_bytes)
        write_all(self._fd, header + name + extra, entry.offset_bytes - entry.header_bytes)
        self._done.append((entry, crc32))

    def add(self, name: str, data: bytes) -> None:
        """An entry whose bytes are known."""
        entry = self.reserve(name, len(data))
        write_all(self._fd, data, entry.offset_bytes)
        self.complete(entry, zlib.crc32(data))

    def finish(self) -> None:
        """Writes the directory, with which the file is whole."""
        directory = b"".join(self._directory_line(entry, crc32) for entry, crc32 in self._done)
        count, start = len(self._done), self._end
        tail = _END64.pack(0x06064B50, 44, _VERSION, _VERSION, 0, 0, count, count, len(directory), start)
        tail += _LOCATOR.pack(0x07064B50, 0, start + len(directory), 1)
        tail += _END.pack(0x06054B50, 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), _MANY, _MANY, 0)
        write_all(self._fd, directory + tail, start)
        self._end += len(directory) + len(tail)
        os.ftruncate(self._fd, self._end)

    @staticmethod
    def _directory_line(entry: Entry, crc32: int) -> bytes:
        name = entry.name.encode()
        head = (0x02014B50, _VERSION, _VERSION, _UTF8, 0, 0, _DATE, crc32, _MANY, _MANY)
        line = _CENTRAL.pack(*head, len(name), _CENTRAL_EXTRA.size, 0, 0, 0, 0, _MANY)
        start = entry.offset_bytes - entry.header_bytes
        return line + name + _CENTRAL_EXTRA.pack(1, 24, entry.num_bytes, entry.num_bytes, start)


def write_all(fd: int, data: bytes | memoryview, offset: int) -> None:
    """Writes all of `data` at `offset`. Raises OSError."""
    view = memoryview(data).cast("B")
    while view:
        count = os.pwrite(fd, view, offset)
        view, offset = view[count:], offset + count


def _times(a: int, b: int) -> int:
    """Product of two polynomials modulo CRC-32's, bits reflected (bit 31 is x^0)."""
    product = 0
    while b:
        if b & 0x80000000:
            product ^= a
        b = (b << 1) & 0xFFFFFFFF
        a = (a >> 1) ^ (0xEDB88320 if a & 1 else 0)
    return product


@functools.lru_cache(maxsize=64)
def _power(num_bytes: int) -> int:
    """x^(8 num_bytes) modulo CRC-32's polynomial."""
    result, square, exponent = 0x80000000, 0x40000000, 8 * num_bytes
    while exponent:
        if exponent & 1:
            result = _times(square, result)
        square = _times(square, square)
        exponent >>= 1
    return result


def combine_crc32(first: int, second: int, second_bytes: int) -> int:
    """The CRC-32 of two pieces one behind the other, from theirs and the second's length.

    >>> combine_crc32(zlib.crc32(b"one "), zlib.crc32(b"two"), 3) == zlib.crc32(b"one two")
    True
    """
    return _times(_power(second_bytes), first) ^ second
