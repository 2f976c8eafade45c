"""Objects, read by ranges, some at a time: ranges that nearly touch are one request, long ones several. Each request
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
from datetime import UTC, datetime, timedelta
from typing import Any

from hakobi.errors import FormatError, InputError
from hakobi.post.place import Entry, Identity, Location, ObjectPath, too_short

#: A gap that is read over costs less than another request: at 1 Gbit/s 2 ms, as long as a request waits.
_JOINED_GAP = 256 << 10
#: Longer ranges are several requests, which one connection would serve one after the other.
_MOST_REQUEST = 8 << 20
_REQUESTS = 8
#: HDF5's metadata are read by blocks of this size.
_BLOCK, _MOST_BLOCKS = 256 << 10, 128
#: Compressed chunks of one view, which are asked for together.
_MOST_FETCHED = 64 << 20
_RETRIES: Any = {"max_retries": 5, "retry_timeout": timedelta(seconds=20)}
#: How long it is believed that an object is still the one that was seen.
_BELIEVED_S = 2.0


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
    """Turns obstore's exceptions into an OSError of one line, and a replaced object into a FormatError."""
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


def recently_seen(path: ObjectPath) -> Identity | None:
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


def entries_of(folder: ObjectPath) -> Iterator[Entry]:
    import obstore

    with _told(folder):
        said = obstore.list_with_delimiter(_store(folder.store), folder.key or None)
    for prefix in said["common_prefixes"]:
        yield Entry(posixpath.basename(prefix.rstrip("/")), False, True)
    for meta in said["objects"]:
        yield Entry(posixpath.basename(meta["path"]), True, False)


def size_below(folder: ObjectPath) -> int:
    import obstore

    with _told(folder):
        pages = obstore.list(_store(folder.store), folder.key)
        return sum(int(meta["size"]) for page in pages for meta in page)


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_REQUESTS, "hakobi-objects")


class ObjectFile:
    def __init__(self, path: ObjectPath, identity: Identity) -> None:
        self.path: Location = path
        self._path, self.identity = path, identity
        self._source: _Blocks | None = None

    @classmethod
    def open(cls, path: ObjectPath) -> ObjectFile:
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
            raise too_short(self.path)
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

    def another(self) -> ObjectFile:
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

    def __init__(self, file: ObjectFile) -> None:
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
