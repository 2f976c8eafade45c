"""Opens, lists and looks at what lies at a place, of this machine or in a bucket: the only ones who ask which."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hakobi.post import objects
from hakobi.post.place import Entry, Identity, Location, ObjectPath, OpenFile, too_short


def open_location(path: Location) -> OpenFile:
    """A link is not followed, nothing is waited for but an object's server. Raises OSError."""
    if isinstance(path, Path):
        return _LocalFile.open(path)
    return objects.ObjectFile.open(path)


def seen(path: Location) -> Identity | None:
    """What is there now; of an object what was there in the last two seconds. None where nothing is, or it cannot be
    told."""
    try:
        if isinstance(path, Path):
            return Identity.of(path, path.stat(follow_symlinks=False))
        return objects.recently_seen(path)
    except OSError:
        return None


def is_current(identity: Identity) -> bool:
    """Whether the name still leads to it."""
    return seen(identity.path) == identity


def entries_of(folder: Location) -> Iterator[Entry]:
    """In no order; links are neither. Raises OSError."""
    if isinstance(folder, ObjectPath):
        yield from objects.entries_of(folder)
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            yield Entry(entry.name, entry.is_file(follow_symlinks=False), entry.is_dir(follow_symlinks=False))


def size_below(folder: Location) -> int:
    """The bytes of all files. Raises OSError."""
    if isinstance(folder, ObjectPath):
        return objects.size_below(folder)
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


class _LocalFile:
    def __init__(self, path: Path, fd: int) -> None:
        self.path: Location = path
        self._fd = fd
        self.identity = Identity.of(path, os.fstat(fd))

    @classmethod
    def open(cls, path: Path) -> _LocalFile:
        return cls(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK))

    def read(self, count: int, offset: int) -> bytes:
        return os.pread(self._fd, count, offset)

    def fill(self, parts: Iterable[tuple[memoryview, int]]) -> None:
        for view, offset in parts:
            while view:
                count = os.preadv(self._fd, [view[: 1 << 30]], offset)
                if count == 0:
                    raise too_short(self.path)
                view, offset = view[count:], offset + count

    def for_hdf5(self) -> Any:
        return f"/proc/self/fd/{self._fd}"  # what was checked is what is read

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        pass

    def fileno(self) -> int:
        return self._fd

    def another(self) -> _LocalFile:
        assert isinstance(self.path, Path)
        return _LocalFile(self.path, os.dup(self._fd))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
