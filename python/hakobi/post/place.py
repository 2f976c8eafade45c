"""Where results lie: files of this machine, and objects by their address (`s3://bucket/run`, also gs:, az:, https:).

An object is read by ranges, some at a time: ranges that nearly touch are one request, long ones several. Every request
names the version that was opened, so that an object that is replaced meanwhile is an error and not a mixture. obstore
signs, retries and keeps connections; it takes credentials and the endpoint from the variables that the provider's own
tools know (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, …), and none of them is in a message of ours.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import posixpath
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from hakobi.errors import FormatError, InputError

#: A gap that is read over costs less than another request: at 1 Gbit/s 2 ms, as long as a request waits.
_JOINED_GAP = 256 << 10
#: Longer ranges are several requests, which one connection would serve one after the other.
_MOST_REQUEST = 8 << 20
_REQUESTS = 8
#: What HDF5 reads of metadata comes by blocks.
_BLOCK, _MOST_BLOCKS = 256 << 10, 128
#: Compressed chunks of one view, which are asked for together.
_MOST_FETCHED = 64 << 20
_RETRIES: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=20)}
#: How long it is believed that an object is still the one that was seen.
_BELIEVED_S = 2.0
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://([^/]*)/*(.*)", re.DOTALL)
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
        if found is None or found[1] not in _SCHEMES or not found[2]:
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

    def is_current(self) -> bool:
        """Whether the name still leads to it."""
        return seen(self.path) == self

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
        """What h5py opens."""

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        """HDF5 reads these (offset, length) next: of an object, all are asked for at once. Raises as `fill`."""

    def fileno(self) -> int:
        """The descriptor; -1 of an object."""

    def another(self) -> OpenFile:
        """The same file, to be closed by itself."""

    def close(self) -> None: ...


def open_location(path: Location) -> OpenFile:
    """A link is not followed, nothing is waited for but an object's server. Raises OSError."""
    return _LocalFile.open(path) if isinstance(path, Path) else _Object.open(path)


def seen(path: Location) -> Identity | None:
    """What is there now; of an object what was there in the last two seconds. None where nothing is, or it cannot be
    told."""
    try:
        if isinstance(path, Path):
            return Identity.of(path, path.stat(follow_symlinks=False))
        return _recently_seen(path)
    except OSError:
        return None


@dataclass(frozen=True)
class Entry:
    """What is directly in a folder."""

    name: str
    is_file: bool
    is_folder: bool


def entries_of(folder: Location) -> Iterator[Entry]:
    """In no order; links are neither. Raises OSError."""
    if isinstance(folder, ObjectPath):
        yield from _listed(folder)
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            yield Entry(entry.name, entry.is_file(follow_symlinks=False), entry.is_dir(follow_symlinks=False))


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
                    raise _too_short(self.path)
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


def _too_short(path: Location) -> FormatError:
    return FormatError(f"{path.name} is shorter than it says: torn, or still being written")


# Objects


@functools.cache
def _store(address: str) -> Any:
    from obstore.store import from_url

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    is_plain = address.startswith("http:") or endpoint.startswith("http:")
    options: Any = {"allow_http": is_plain, "timeout": "30s", "connect_timeout": "5s"}
    config: Any = {"endpoint": endpoint} if address.startswith("s3") and endpoint else None
    try:
        with _told(ObjectPath(address, "")):
            return from_url(address, config=config, client_options=options, retry_config=_RETRIES)
    except OSError as error:
        raise InputError(f"{address}: {error.strerror}") from error


@contextlib.contextmanager
def _told(path: ObjectPath) -> Iterator[None]:
    """What obstore raises as OSError with one line, and an object that was replaced as FormatError."""
    from obstore import exceptions

    try:
        yield
    except exceptions.PreconditionError as error:
        raise FormatError(f"{path.name} was replaced while it was read: open it again") from error
    except (exceptions.BaseError, FileNotFoundError) as error:
        raise _error_of(str(error), path) from error


def _error_of(text: str, path: ObjectPath) -> OSError:
    """By the status and the code of S3 that stand in what obstore says. Addresses in it, which may be signed, are left
    out.

    >>> _error_of("Generic S3 error: GET http://h/b?X-Amz=1 in 2s - 403 Forbidden: <Code>RequestTimeTooSkewed</Code>",
    ...           ObjectPath("s3://b", "k"))
    PermissionError(13, 'the server refuses: RequestTimeTooSkewed')
    """
    code = re.search(r"<Code>(\w+)</Code>", text)
    if "404 Not Found" in text and (code is None or code[1] in ("NoSuchBucket", "NoSuchKey")):
        return FileNotFoundError(2, "there is no such object or bucket", str(path))
    if re.search(r"\b40[134] ", text):
        return PermissionError(13, f"the server refuses: {code[1] if code else 'these credentials'}", str(path))
    line = re.sub(r"[a-z0-9+.-]+://\S+", "…", text.partition("\n")[0])
    return OSError(5, (line.partition(": ")[2] or line)[:300], str(path))


def _identity(path: ObjectPath, said: Any) -> Identity:
    modified = said["last_modified"]
    tag = said.get("version") or said.get("e_tag") or ""
    return Identity(path, int(said["size"]), int(modified.timestamp() * 1e9), str(tag))


def _head(path: ObjectPath) -> Identity:
    import obstore

    with _told(path):
        return _identity(path, obstore.head(_store(path.store), path.key))


_seen_lock = threading.Lock()
_seen: OrderedDict[ObjectPath, tuple[float, Identity | None]] = OrderedDict()


def _recently_seen(path: ObjectPath) -> Identity | None:
    now = time.monotonic()
    with _seen_lock:
        known = _seen.get(path)
    if known is not None and now - known[0] < _BELIEVED_S:
        return known[1]
    try:
        found: Identity | None = _head(path)
    except FileNotFoundError:
        found = None
    _keep_seen(path, found)
    return found


def _keep_seen(path: ObjectPath, found: Identity | None) -> None:
    with _seen_lock:
        _seen[path] = (time.monotonic(), found)
        _seen.move_to_end(path)
        while len(_seen) > 1000:
            _seen.popitem(last=False)


def _listed(folder: ObjectPath) -> Iterator[Entry]:
    import obstore

    with _told(folder):
        said = obstore.list_with_delimiter(_store(folder.store), folder.key or None)
    for prefix in said["common_prefixes"]:
        yield Entry(posixpath.basename(prefix.rstrip("/")), False, True)
    for meta in said["objects"]:
        yield Entry(posixpath.basename(meta["path"]), True, False)


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_REQUESTS, "hakobi-objects")


class _Object:
    def __init__(self, path: ObjectPath, identity: Identity) -> None:
        self.path: Location = path
        self._path, self.identity = path, identity
        self._source: _Blocks | None = None

    @classmethod
    def open(cls, path: ObjectPath) -> _Object:
        found = _head(path)
        _keep_seen(path, found)
        return cls(path, found)

    def _get(self, start: int, stop: int) -> memoryview:
        import obstore

        options: Any = {"range": (start, stop)}
        if self.identity.tag:
            options["if_match"] = self.identity.tag
        else:  # as of a file that was put behind a gateway
            options["if_unmodified_since"] = datetime.fromtimestamp(self.identity.mtime_ns // 10**9 + 1, UTC)
        with _told(self._path):
            data = memoryview(obstore.get(_store(self._path.store), self._path.key, options=options).bytes())
        if len(data) != stop - start:
            raise OSError(5, "the server sent less than was asked for", str(self._path))
        return data

    def read(self, count: int, offset: int) -> bytes:
        stop = min(offset + count, self.identity.num_bytes)
        if offset >= stop:
            return b""
        result = bytearray(stop - offset)
        self.fill([(memoryview(result), offset)])
        return bytes(result)

    def fill(self, parts: Iterable[tuple[memoryview, int]]) -> None:
        pending = sorted((part for part in parts if part[0]), key=lambda part: part[1])
        if pending and pending[-1][1] + len(pending[-1][0]) > self.identity.num_bytes:
            raise _too_short(self.path)
        joined = list(_joined(pending))
        if len(joined) == 1:
            self._fill_joined(joined[0])
        else:
            list(_threads().map(self._fill_joined, joined))

    def _fill_joined(self, parts: list[tuple[memoryview, int]]) -> None:
        start = parts[0][1]
        data = self._get(start, max(offset + len(view) for view, offset in parts))
        for view, offset in parts:
            view[:] = data[offset - start : offset - start + len(view)]

    def for_hdf5(self) -> Any:
        if self._source is None:
            self._source = _Blocks(self)
        return self._source

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        if self._source is not None:
            self._source.fetch(ranges)

    def fileno(self) -> int:
        return -1

    def another(self) -> _Object:
        return self

    def close(self) -> None:
        self._source = None


def _joined(parts: list[tuple[memoryview, int]]) -> Iterator[list[tuple[memoryview, int]]]:
    """Parts by ascending offsets as requests: long parts cut, near ones together."""
    request: list[tuple[memoryview, int]] = []
    stop = 0
    for view, offset in itertools.chain.from_iterable(map(_cut, parts)):
        end = offset + len(view)
        if request and (offset - stop > _JOINED_GAP or end - request[0][1] > _MOST_REQUEST):
            yield request
            request = []
        request.append((view, offset))
        stop = max(stop, end)
    if request:
        yield request


def _cut(part: tuple[memoryview, int]) -> Iterator[tuple[memoryview, int]]:
    view, offset = part
    for at in range(0, len(view), _MOST_REQUEST):
        yield view[at : at + _MOST_REQUEST], offset + at


class _Blocks(io.RawIOBase):
    """An object as HDF5 reads it: small reads come from blocks that are kept, long ones from the server."""

    def __init__(self, file: _Object) -> None:
        super().__init__()
        self._file, self._at = file, 0
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._fetched: dict[tuple[int, int], bytearray] = {}

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Ranges that will be read as they are, once each: of the first 64 MiB."""
        self._fetched, most = {}, _MOST_FETCHED
        for offset, length in ranges:
            most -= length
            if most < 0:
                break
            self._fetched[offset, length] = bytearray(length)
        self._file.fill([(memoryview(data), offset) for (offset, _), data in self._fetched.items()])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.identity.num_bytes}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        view = view[: max(0, min(len(view), self._file.identity.num_bytes - self._at))]
        if (fetched := self._fetched.pop((self._at, len(view)), None)) is not None:
            view[:] = fetched
        elif len(view) > _BLOCK:
            self._file.fill([(view, self._at)])
        else:
            at = self._at
            while view:
                number, inside = divmod(at, _BLOCK)
                data = memoryview(self._block(number))[inside : inside + len(view)]
                view[: len(data)] = data
                view, at = view[len(data) :], at + len(data)
            return self._advance(at - self._at)
        return self._advance(len(view))

    def _advance(self, count: int) -> int:
        self._at += count
        return count

    def _block(self, number: int) -> bytes:
        if number not in self._kept:
            self._kept[number] = self._file.read(_BLOCK, number * _BLOCK)
            while len(self._kept) > _MOST_BLOCKS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(number)
        return self._kept[number]
