"""Where a file's bytes lie on a parallel file system's servers, in words: Lustre's and CephFS's layouts.

src/storage/lustre_layout.cpp describes the values of Lustre's attribute; CephFS's are texts. Both are read without a
library of theirs.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import struct
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hakobi.words import binary_text, count_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_LUSTRE, _CEPH_FILE, _CEPH_FOLDER = "lustre.lov", "ceph.file.layout", "ceph.dir.layout"
_PLAIN = {0x0BD10BD0: 32, 0x0BD30BD0: 48}  #: magic numbers, and where the objects begin
_COMPOSITE = 0x0BD60BD0
_ON_METADATA_SERVER, _HAS_OBJECTS, _ALL = 0x100, 0x10, 0xFFFF
_COUNT_SERVERS = 0x800866A8
_MOST_NAMED = 8


def of_file(path: Path) -> str:
    """
    "8 stripes of 4 MiB on servers 3 to 10"; "" where the file has no stripes that could be seen. Never raises OSError.
    """
    return _of(path, (_LUSTRE, _CEPH_FILE))


def of_folder(path: Path) -> str:
    """The layout of a new file in a folder, and how many servers there are; "" as above."""
    text = _of(path, (_LUSTRE, _CEPH_FOLDER))
    servers = num_servers(path)
    return f"{text or '1 stripe of 1 MiB'}; {count_text(servers, 'server')}" if servers else text


def num_servers(folder: Path) -> int:
    """A Lustre's servers (OSTs); 0 elsewhere."""
    try:
        with _opened(folder) as descriptor:
            return int(struct.unpack("i", fcntl.ioctl(descriptor, _COUNT_SERVERS, bytes(4))[:4])[0])
    except OSError:
        return 0


def text_of(value: bytes) -> str:
    """In words, what a value of an attribute says; "" where it says no layout.

    >>> text_of(b"stripe_unit=1048576 stripe_count=3 object_size=4194304 pool=cephfs_data")
    '3 stripes of 1 MiB, in objects of 4 MiB'
    >>> text_of(b"nonsense")
    ''
    """
    try:
        if value.startswith(b"stripe_unit="):
            return _ceph_text(value.decode())
        magic = struct.unpack_from("<I", value)[0]
        if magic in _PLAIN:
            return _plain_text(value, True)
        return _composite_text(value) if magic == _COMPOSITE else ""
    except (struct.error, UnicodeDecodeError):
        return ""


def _of(path: Path, names: tuple[str, ...]) -> str:
    try:
        with _opened(path) as descriptor:
            for name in names:
                try:
                    return text_of(os.getxattr(descriptor, name))
                except OSError as error:
                    if error.errno not in (errno.ENOTSUP, errno.ENODATA):
                        raise
    except OSError:
        pass
    return ""


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _ceph_text(value: str) -> str:
    numbers = {name: int(number) for name, number in re.findall(r"(\w+)=(\d{1,19})(?= |$)", value)}
    if not all(numbers.get(name, 0) for name in ("stripe_unit", "stripe_count", "object_size")):
        return ""
    stripes = _stripes_text(numbers["stripe_count"], numbers["stripe_unit"])
    return f"{stripes}, in objects of {binary_text(numbers['object_size'])}"


def _plain_text(value: bytes, has_objects: bool) -> str:
    magic, pattern = struct.unpack_from("<II", value)
    size, count = struct.unpack_from("<IH", value, 24)
    if pattern & _ON_METADATA_SERVER:
        return "on the metadata server"
    text = "a stripe on each server" if count == _ALL else _stripes_text(max(count, 1), size or 1 << 20)
    places = range(_PLAIN[magic], _PLAIN[magic] + 24 * count, 24)
    if not has_objects or count in (0, _ALL) or len(value) < places.stop:
        return text
    servers = [struct.unpack_from("<I", value, place + 20)[0] for place in places]
    text += ", overstriped" if len(set(servers)) < len(servers) else ""
    return f"{text} on {'server' if len(servers) == 1 else 'servers'} {_servers_text(servers)}"


def _composite_text(value: bytes) -> str:
    parts: list[str] = []
    reached = 0
    for number in range(struct.unpack_from("<H", value, 14)[0]):
        flags, begin, end, inner, size = struct.unpack_from("<IQQII", value, 32 + 48 * number + 4)
        if begin == 0 and reached > 0:
            break  # the second mirror
        plain = value[inner : inner + size]
        if begin != reached or len(plain) < size or struct.unpack_from("<I", plain)[0] not in _PLAIN:
            return ""
        reached = end
        to = f"{'then ' if begin else ''}to {binary_text(end)}" if end < 1 << 63 else f"from {binary_text(begin)}"
        if end > begin:
            parts.append(f"{to}: {_plain_text(plain, bool(flags & _HAS_OBJECTS))}")
    return f"composite: {'; '.join(parts)}" if len(parts) > 1 else "".join(parts).partition(": ")[2]


def _stripes_text(count: int, size: int) -> str:
    return f"{count_text(count, 'stripe')} of {binary_text(size)}"


def _servers_text(servers: list[int]) -> str:
    if len(servers) > 2 and servers == list(range(servers[0], servers[0] + len(servers))):
        return f"{servers[0]} to {servers[-1]}"
    return ", ".join(map(str, servers[:_MOST_NAMED])) + (", …" if len(servers) > _MOST_NAMED else "")
