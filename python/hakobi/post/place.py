"""Where results lie: files of this machine, and objects by their address (`s3://bucket/run`, also gs:, az:, https:),
which hakobi.post.objects reads."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hakobi.errors import FormatError, InputError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)/*(.*)", re.DOTALL)
#: The schemes that obstore reads; the path of another one would be that of a file in a folder "gs:".
_SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "http", "https")


@dataclass(frozen=True)
class ObjectPath:
    """An object, or a prefix that stands for a folder. `store` is the address before the key: "s3://bucket"."""

    store: str
    key: str

    @classmethod
    def of(cls, address: str) -> ObjectPath:
        """Raises InputError.

        >>> ObjectPath.of("s3://bucket/out/run").parent
        ObjectPath(store='s3://bucket', key='out')
        """
        found = _ADDRESS.fullmatch(address)
        if found is not None and found[1] not in _SCHEMES:
            known = ", ".join(f"{scheme}://" for scheme in _SCHEMES)
            reason = f"there is no storage '{found[1]}' here: give a path, or an address of objects ({known})"
            raise InputError(f"{address}: {reason}", code="unsupported")
        if found is None or not found[2]:
            raise InputError(f"{address} is no address of objects (s3://bucket/prefix)")
        return cls(f"{found[1]}://{found[2]}", posixpath.normpath(found[3].strip("/") or ".").lstrip("./"))

    @property
    def name(self) -> str:
        return posixpath.basename(self.key) or self.store.rpartition("/")[2]

    @property
    def parent(self) -> ObjectPath:
        return ObjectPath(self.store, posixpath.dirname(self.key))

    def with_name(self, name: str) -> ObjectPath:
        return self.parent / name

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(self.store, posixpath.join(self.key, name))

    def __str__(self) -> str:
        return f"{self.store}/{self.key}" if self.key else self.store

    def below(self, root: ObjectPath) -> str | None:
        """How it is called below `root`; None where it is not."""
        if self.store != root.store:
            return None
        inside = posixpath.relpath(self.key or ".", root.key or ".")
        return None if inside.startswith("..") else inside


Location = Path | ObjectPath


def location_of(text: str | os.PathLike[str] | ObjectPath) -> Location:
    """The place that a user names: an address, or a path of this machine. Raises InputError.

    >>> str(location_of("s3://bucket//run/"))
    's3://bucket/run'
    """
    if isinstance(text, ObjectPath):
        return text
    return ObjectPath.of(text) if isinstance(text, str) and _ADDRESS.fullmatch(text) else Path(text)


def below(path: Location, root: Location) -> str | None:
    """How a file is called below a folder, "." where it is that folder; None where it is elsewhere."""
    if isinstance(path, ObjectPath) and isinstance(root, ObjectPath):
        return path.below(root)
    if isinstance(path, Path) and isinstance(root, Path) and path.is_relative_to(root):
        return os.path.relpath(path, root)
    return None


@dataclass(frozen=True)
class Identity:
    """A file as it was when it was opened: other for every content. `tag` is its inode, or the object's version."""

    path: Location
    num_bytes: int
    mtime_ns: int
    tag: str

    @classmethod
    def of(cls, path: Path, status: os.stat_result) -> Identity:
        return cls(path, status.st_size, status.st_mtime_ns, str(status.st_ino))

    def __str__(self) -> str:
        return f"{self.num_bytes} {self.mtime_ns} {self.tag}"


class OpenFile(Protocol):
    """A file that is open for reading; any thread may read."""

    path: Location
    identity: Identity

    def read(self, count: int, offset: int) -> bytes:
        """At most `count` bytes, fewer only at the end. Raises OSError."""

    def fill(self, parts: Iterable[tuple[memoryview, int]]) -> None:
        """Each memory from its offset. Raises OSError, and FormatError where the file ends before."""

    def for_hdf5(self) -> Any:
        """The argument with which h5py opens it."""

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        """HDF5 reads these (offset, length) next: of an object, all are asked for at once. Raises as `fill`."""

    def fileno(self) -> int:
        """The descriptor; -1 of an object."""

    def another(self) -> OpenFile:
        """The same file, to be closed by itself."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Entry:
    """An entry directly in a folder."""

    name: str
    is_file: bool
    is_folder: bool


def too_short(path: Location) -> FormatError:
    return FormatError(f"{path.name} is shorter than it says: torn, or still being written")
