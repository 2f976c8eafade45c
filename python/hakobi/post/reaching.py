"""Opens, lists and looks at what lies at a place, of this machine or in a bucket: the only ones who ask which.

A name that stands in a file is followed by `open_inside` and `is_inside` alone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hakobi.errors import FormatError
from hakobi.post import objects
from hakobi.post.place import Entry, Identity, Location, ObjectPath, OpenFile, too_short

_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def open_location(path: Location) -> OpenFile:
    """A link is not followed, nothing is waited for but an object's server. Raises OSError."""
    if isinstance(path, Path):
        return _LocalFile.open(path)
    return objects.ObjectFile.open(path)


def open_inside(folder: Location, *names: str) -> OpenFile:
    """A file in a folder, or in a folder of it: no name leads out of it, by links either. Raises FormatError for what
    is no name, OSError."""
    path = _inside(folder, names)
    if not isinstance(path, Path):
        return objects.ObjectFile.open(path)
    with _passed(path, folder, names) as last:
        file = _LocalFile(path, os.open(names[-1], _READING, dir_fd=last))
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise FormatError(_no_file(path, folder))
        return file


def is_inside(folder: Location, *names: str) -> bool:
    """Whether `open_inside` would find something there. `folder` is no link either."""
    path = _inside(folder, names)
    if not isinstance(path, Path):
        return seen(path) is not None
    try:
        with _passed(path, folder, names, os.O_NOFOLLOW) as last:
            os.stat(names[-1], dir_fd=last, follow_symlinks=False)
    except (FormatError, OSError):
        return False
    return True


def _inside(folder: Location, names: tuple[str, ...]) -> Location:
    """Raises FormatError for what is no name."""
    for name in names:
        if not name or name in (".", "..") or "/" in name or "\0" in name:
            raise FormatError(f"{folder.name} names a file that is not in it: {name[:60]!r}")
        folder = folder / name
    return folder


@contextlib.contextmanager
def _passed(path: Path, folder: Location, names: tuple[str, ...], first: int = 0) -> Iterator[int]:
    """The descriptor of the folder that has the last of the names. Raises OSError."""
    passing = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    at = os.open(str(folder), passing | first)
    try:
        for name in names[:-1]:
            further = os.open(name, passing | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = further
        yield at
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            raise FormatError(_no_file(path, folder)) from error
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(at)


def _no_file(path: Path, folder: Path | ObjectPath) -> str:
    return f"{folder.name}: {path.relative_to(str(folder))} is no regular file, or a link is on the way to it"


def seen(path: Location) -> Identity | None:
    """The identity of what is there now; for an object, of what was there in the last two seconds. None where nothing
    is, or it cannot be told."""
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


#: No file has more bytes, whatever a damaged one says.
_MOST_OFFSET = (1 << 63) - 1


class _LocalFile:
    def __init__(self, path: Path, fd: int) -> None:
        self.path: Location = path
        self._fd = fd
        self.identity = Identity.of(path, os.fstat(fd))

    @classmethod
    def open(cls, path: Path) -> _LocalFile:
        return cls(path, os.open(path, _READING))

    def read(self, count: int, offset: int) -> bytes:
        return os.pread(self._fd, count, offset) if offset <= _MOST_OFFSET else b""

    def fill(self, parts: Iterable[tuple[memoryview, int]]) -> None:
        for view, offset in parts:
            while view:
                if offset > _MOST_OFFSET:
                    raise too_short(self.path)
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
