"""The server: addresses, and what each answers.

    /                                         the page; with ?token=… also the cookie
    /static/<version>/<name>                  the page's modules and style sheet
    /api/series                               what lies below the root
    /api/<series>/<step>                      a step: fields, axes, version
    /api/<series>/<step>/<field>/…            statistics; point?at=z,y,x and line?from=…&to=…: exact values
    /api/<series>/counts                      how many steps its files have
    /api/<series>/times/<field>?at=z,y,x      a field at one point over the steps
    /api/events                               new steps, as server-sent events
    /tile/<series>/<step>/<version>/<field>/<level>/<axis>/<index>/<row>/<column>
    /difference/…/<other step>                the same, less another step's
    /exact-tile/… and /exact-difference/…     the same as float64, where colours need it
    /volume/<series>/<step>/<version>/<field>/<level>      and /bent-volume/, by the logarithm
    /mesh/<series>/<step>/<version>/<shape>/<detail>            where a mesh's surface or cut is
    /mesh/<series>/<step>/<version>/<shape>/<detail>/<field>    a field's values on it
    /api/<series>/<step>/<field>/source?shape=…&detail=…&number=…   the mesh's point or cell behind one of them

A step is its number in the series, a dot, and the time in its file: `12.0`; a file without a number has `-1`. Addresses
with a version never change what they mean: they are cached for ever, and end with 410 once the file is another.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import gzip
import hashlib
import json
import logging
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hakobi.errors import FormatError, HakobiError, InputError
from hakobi.post import answers
from hakobi.post.cache import Cache
from hakobi.post.catalogue import Catalogue, Series, identifier
from hakobi.post.looking import GoneError, Known, Looker, Place, whole
from hakobi.post.pool import Bounds, Pool
from hakobi.post.watch import Watcher

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json"}
_FOR_EVER = "private, max-age=31536000, immutable"
#: The page comes without its first step where that takes longer.
_START_S = 0.2
_MOST_KNOWN = 10_000
_log = logging.getLogger("hakobi.post")


class Server:
    """The state that all viewers share. `app` is the ASGI application, without the guard."""

    def __init__(
        self, catalogue: Catalogue, cache_bytes: int = 128 << 20, poll_s: float = 0.5, bounds: Bounds | None = None
    ) -> None:
        self._catalogue = catalogue
        self._pool = Pool(functools.partial(Looker, catalogue.root), bounds or Bounds())
        self._known: OrderedDict[tuple[str, int], Known] = OrderedDict()
        self._cache: Cache[bytes] = Cache(cache_bytes, len)
        self._coming: dict[str, asyncio.Task[bytes]] = {}
        self._starting: dict[tuple[str, int], asyncio.Task[Any]] = {}
        self._watcher = Watcher(catalogue, poll_s)
        self._static = _load_static()
        self._static_version = identifier("".join(sorted(tag for _, tag in self._static.values())))
        field = "{series}/{step}/{version}/{field}"
        plane = ("level", "axis", "index", "row", "column")
        at = "/".join(f"{{{name}:int}}" for name in plane)
        mesh = "{series}/{step}/{version}/{shape}/{detail:int}"
        routes = [
            Route("/", self._page),
            Route("/static/{name}", self._file),
            Route("/static/{version}/{name}", self._file),
            Route("/api/series", self._json(self._list)),
            Route("/api/events", self._events),
            Route("/api/{series}/times/{field}", self._json(self._times)),
            Route("/api/{series}/counts", self._json(self._counts)),
            Route("/api/{series}/{step}", self._json(self._of_step("step"))),
            Route("/api/{series}/{step}/{field}/statistics", self._json(self._of_step("statistics"))),
            Route("/api/{series}/{step}/{field}/point", self._json(self._of_step("point", "at"))),
            Route("/api/{series}/{step}/{field}/line", self._json(self._of_step("line", "from", "to"))),
            Route("/api/{series}/{step}/{field}/source", self._json(self._source)),
            Route(f"/tile/{field}/{at}", self._binary("tile", "field", *plane)),
            Route(f"/exact-tile/{field}/{at}", self._binary("exact_tile", "field", *plane)),
            Route(f"/difference/{field}/{at}/{{other}}", self._binary("difference", "field", "other", *plane)),
            Route(
                f"/exact-difference/{field}/{at}/{{other}}", self._binary("exact_difference", "field", "other", *plane)
            ),
            Route(f"/volume/{field}/{{level:int}}", self._binary("volume", "field", "level")),
            Route(f"/bent-volume/{field}/{{level:int}}", self._binary("bent_volume", "field", "level")),
            Route(f"/mesh/{mesh}", self._binary("geometry", "shape", "detail")),
            Route(f"/mesh/{mesh}/{{field}}", self._binary("values", "field", "shape", "detail")),
        ]
        self.app = Starlette(routes=routes, exception_handlers={404: _on_missing}, lifespan=self._run)
        self.app.router.redirect_slashes = False

    def stop(self) -> None:
        """Ends the streams of events: called by who ends the server, from its loop."""
        self._watcher.stop()

    @contextlib.asynccontextmanager
    async def _run(self, _app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watcher.run())
        self._pool.start()
        try:
            yield
        finally:
            self._watcher.stop()
            task.cancel()
            await self._pool.close()

    # Answers in JSON

    def _json(self, make: Callable[[Request], Awaitable[dict[str, Any]]]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            try:
                told = await make(request)
                data = json.dumps(told, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            except Exception as error:
                return _failure(error)
            return _with_encoding(request, data.encode(errors="replace"), "application/json", "no-cache")

        return endpoint

    async def _list(self, _request: Request | None = None) -> dict[str, Any]:
        series = sorted(self._catalogue.series.values(), key=lambda s: s.key)
        return {"root": str(self._catalogue.root), "series": [answers.describe_series(s) for s in series]}

    def _of_step(self, name: str, *cells: str) -> Callable[[Request], Awaitable[dict[str, Any]]]:
        async def make(request: Request) -> dict[str, Any]:
            field, place = request.path_params.get("field", ""), self._place(request)
            starting = self._starting.get((place.series.key, place.number))
            if name == "step" and not place.time and starting is not None:
                with contextlib.suppress(HakobiError, OSError, KeyError):  # of its statistics, perhaps
                    return (await asyncio.shield(starting))["step"]  # type: ignore[no-any-return]
            return await self._ask(name, place, field, *(_cell(request, cell) for cell in cells))  # type: ignore[no-any-return]

        return make

    async def _times(self, request: Request) -> dict[str, Any]:
        series, field = self._series_of(request), request.path_params["field"]
        call = self._pool.call(series.key, f"times {field}", "times", whole(series), field, _cell(request, "at"))
        return await call  # type: ignore[no-any-return]

    async def _counts(self, request: Request) -> dict[str, Any]:
        series = self._series_of(request)
        return await self._pool.call(series.key, "counts", "counts", whole(series))  # type: ignore[no-any-return]

    async def _source(self, request: Request) -> dict[str, Any]:
        detail, number = (_cell(request, name)[0] for name in ("detail", "number"))
        shape = request.query_params.get("shape", "")
        call = self._ask("source", self._place(request), request.path_params["field"], shape, detail, number)
        return await call  # type: ignore[no-any-return]

    # Answers in bytes, under addresses that never change

    def _binary(self, name: str, *parameters: str) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            key = request.url.path
            try:
                place = self._place(request)
                await self._check_version(place)
                arguments = [request.path_params[parameter] for parameter in parameters]
                if "other" in parameters:
                    other = arguments[parameters.index("other")] = self._other(request)
                    await self._check_version(other)
                data = await self._made(key, lambda: self._ask(name, place, *arguments))
            except Exception as error:
                return _failure(error)
            return _ranged(request, data, hashlib.blake2s(key.encode(), digest_size=8).hexdigest())

        return endpoint

    async def _made(self, key: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """The kept answer of that key, or a new one, made once for all who ask for it meanwhile."""
        known = self._cache.find(key)
        if known is not None:
            return known
        task = self._coming.get(key)
        if task is None:

            async def run() -> bytes:
                try:
                    data = await make()
                    self._cache.keep(key, data)
                    return data
                finally:
                    del self._coming[key]

            task = self._coming[key] = asyncio.create_task(run())
        return await asyncio.shield(task)

    async def _check_version(self, place: Place) -> None:
        at = (place.series.key, place.number)
        known = self._known.get(at)
        if known is None or not await run_in_threadpool(known.is_current):
            known = self._known[at] = await self._ask("known", dataclasses.replace(place, version=""))
            self._known.move_to_end(at)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        if known.version != place.version:
            raise GoneError("the step is another by now")

    # Addresses

    async def _ask(self, name: str, place: Place, *arguments: Any) -> Any:
        part = str(arguments[0]) if arguments else ""  # a field's or a shape's
        return await self._pool.call((place.series.key, place.number), part, name, place, *arguments)

    def _series_of(self, request: Request, series_id: str | None = None) -> Series:
        return self._catalogue.of(series_id or request.path_params["series"])

    def _place(self, request: Request) -> Place:
        """Raises KeyError."""
        number, _, time = request.path_params["step"].partition(".")
        version = request.path_params.get("version", "")
        return Place.of(self._series_of(request), _integer(number), _integer(time or "0"), version)

    def _other(self, request: Request) -> Place:
        """The other step of a difference: series:number.time@version. Raises KeyError."""
        other, _, version = request.path_params["other"].partition("@")
        series, _, step = other.rpartition(":")
        number, _, time = step.partition(".")
        return Place.of(
            self._series_of(request, series or None), _integer(number), _integer(time or "0"), version or "-"
        )

    # The page, its parts, its news

    async def _page(self, request: Request) -> Response:
        html = self._static["index.html"][0].decode().replace("{{static}}", f"static/{self._static_version}")
        start = await self._start_of_page()
        text = (
            json.dumps(start, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026")
        )
        return _with_encoding(request, html.replace("{{start}}", text).encode(), "text/html", "no-store")

    def _start(self, place: Place) -> asyncio.Task[Any]:
        """The page's first question, which goes on where the page comes without its answer and asks for it itself."""
        at = (place.series.key, place.number)
        if at not in self._starting:

            def end(task: asyncio.Task[Any]) -> None:
                del self._starting[at]
                if not task.cancelled():
                    task.exception()  # is told to those who wait

            self._starting[at] = asyncio.create_task(self._ask("start", place))
            self._starting[at].add_done_callback(end)
        return self._starting[at]

    async def _start_of_page(self) -> dict[str, Any]:
        """The answers that the page would ask for first: a round trip less on a long line. It asks for slow ones
        itself."""
        told = await self._list()
        told["series"] = told["series"][:1000]
        told["maps"] = json.loads(self._static["maps.json"][0])
        for series in sorted(self._catalogue.series.values(), key=lambda s: s.key)[:1]:
            with contextlib.suppress(HakobiError, OSError, KeyError, IndexError, TimeoutError):
                place = Place.of(series, int(series.numbers[-1]), 0)
                start = await asyncio.wait_for(asyncio.shield(self._start(place)), _START_S)
                told |= start | {"step": {"series": series.id, "step": f"{place.number}.0", **start["step"]}}
        return told

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._static or name == "index.html":
            return _failure(KeyError(name))
        data, tag = self._static[name]
        is_this = request.path_params.get("version") == self._static_version
        keep = _FOR_EVER if is_this else "no-cache"
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"etag": tag, "cache-control": keep})
        response = _with_encoding(request, data, _TYPES[Path(name).suffix], keep)
        response.headers["etag"] = tag
        return response

    async def _events(self, request: Request) -> Response:
        if not self._watcher.has_room():
            return Response("Too many viewers wait for new steps.\n", 503, media_type="text/plain")
        headers = {"cache-control": "no-store"}
        return StreamingResponse(self._watcher.events(request), media_type="text/event-stream", headers=headers)


def _load_static() -> dict[str, tuple[bytes, str]]:
    found = {}
    for item in resources.files("hakobi.post").joinpath("client").iterdir():
        if Path(item.name).suffix in _TYPES:
            data = item.read_bytes()
            found[item.name] = (data, f'"{hashlib.blake2s(data, digest_size=8).hexdigest()}"')
    return found


def _integer(text: str) -> int:
    """Raises KeyError for what is no step's number."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise KeyError(text)
    return int(text)


def _cell(request: Request, name: str) -> list[int]:
    """Indices of a cell in the query. Raises InputError."""
    parts = request.query_params.get(name, "").split(",")
    try:
        return [_integer(part) for part in parts]
    except KeyError:
        raise InputError(f"'{name}' must be two or three indices, as {name}=3,100,200") from None


def _with_encoding(request: Request, data: bytes, media_type: str, caching: str) -> Response:
    headers = {"cache-control": caching, "vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", "") and len(data) > 500:
        data = gzip.compress(data, 5, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(data, media_type=media_type, headers=headers)


def _ranged(request: Request, data: bytes, tag: str) -> Response:
    """A packed answer: in whole for browsers (`deflate`), unpacked or a range of that for others."""
    headers = {"cache-control": _FOR_EVER, "vary": "Accept-Encoding", "accept-ranges": "bytes"}
    wanted = request.headers.get("range")
    is_packed = wanted is None and "deflate" in request.headers.get("accept-encoding", "")
    headers["etag"] = f'"{tag}-z"' if is_packed else f'"{tag}"'
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    if is_packed:
        headers["content-encoding"] = "deflate"
        return Response(data, media_type="application/octet-stream", headers=headers)
    plain = zlib.decompress(data)
    if wanted is None or request.headers.get("if-range", headers["etag"]) != headers["etag"]:
        return Response(plain, media_type="application/octet-stream", headers=headers)
    limits = _range_of(wanted, len(plain))
    if limits is None:
        return Response(status_code=416, headers={"content-range": f"bytes */{len(plain)}"})
    headers["content-range"] = f"bytes {limits[0]}-{limits[1] - 1}/{len(plain)}"
    return Response(plain[limits[0] : limits[1]], 206, media_type="application/octet-stream", headers=headers)


def _range_of(text: str, size: int) -> tuple[int, int] | None:
    """Start and stop of `bytes=a-b`, `bytes=a-` or `bytes=-n`; None for anything else."""
    unit, _, span = text.partition("=")
    first, dash, last = span.strip().partition("-")
    if (
        unit.strip() != "bytes"
        or not dash
        or any(t and not (t.isascii() and t.isdigit() and len(t) < 19) for t in (first, last))
    ):
        return None
    if not first:
        start, stop = (max(0, size - int(last)), size) if last else (size, size)
    else:
        start, stop = int(first), min(size, int(last) + 1) if last else size
    return (start, stop) if start < stop else None


def _failure(error: Exception) -> Response:
    """The status and one line for whatever went wrong; a bug's trace goes to the log."""
    if isinstance(error, GoneError):
        status = 410
    elif isinstance(error, KeyError | FileNotFoundError):
        return Response("not found\n", 404, media_type="text/plain", headers={"cache-control": "no-store"})
    elif isinstance(error, InputError):
        status = 400
    elif isinstance(error, FormatError):
        status = 422
    elif isinstance(error, PermissionError):
        status = 403
    elif isinstance(error, OSError | HakobiError):
        status = 503
    else:
        _log.error("a bug of Hakobi", exc_info=error)
        return Response("a bug of Hakobi: see the server's log\n", 500, media_type="text/plain")
    headers = {"cache-control": "no-store"}
    return Response(answers.reason(error) + "\n", status, media_type="text/plain", headers=headers)


async def _on_missing(_request: Request, _error: Exception) -> Response:
    return _failure(KeyError())
