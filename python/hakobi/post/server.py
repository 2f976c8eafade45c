"""The server: addresses, and what each answers.

    /                                         the page; with ?token=… also the cookie
    /static/<version>/<name>                  the page's modules and style sheet
    /api/series                               what lies below the root
    /api/<series>/<step>                      a step: fields, axes, version
    /api/<series>/<step>/<field>/…            statistics; point?at=z,y,x and line?from=…&to=…: exact values
    /api/<series>/times/<field>?at=z,y,x      a field at one point over the steps
    /api/events                               new steps, as server-sent events
    /tile/<series>/<step>/<version>/<field>/<level>/<axis>/<index>/<row>/<column>
    /difference/…/<other step>                the same, less another step's
    /exact-tile/… and /exact-difference/…     the same as float64, where colours need it
    /volume/<series>/<step>/<version>/<field>/<level>
    /mesh/<series>/<step>/<version>/<shape>/<detail>            where a mesh's surface or cut is
    /mesh/<series>/<step>/<version>/<shape>/<detail>/<field>    a field's values on it
    /api/<series>/<step>/<field>/source?shape=…&detail=…&number=…   the mesh's point or cell behind one of them

A step is its number in the series, a dot, and the time in its file: `12.0`; a file without a number has `-1`. Addresses
with a version never change what they mean: they are cached for ever, and end with 410 once the file is another.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import hashlib
import json
import logging
import zlib
from collections.abc import AsyncIterator, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hakobi.errors import FormatError, HakobiError, InputError
from hakobi.post import answers, tiles
from hakobi.post import volume as volumes
from hakobi.post.cache import Cache
from hakobi.post.catalogue import Catalogue, OpenStep, Series, Steps, identifier
from hakobi.post.mesh import MeshField
from hakobi.post.meshes import Shapes
from hakobi.post.source import Field
from hakobi.post.watch import Watcher

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json"}
_FOR_EVER = "private, max-age=31536000, immutable"
_LARGEST_NUMBER = 10**18
_log = logging.getLogger("hakobi.post")


class _GoneError(HakobiError):
    """The address names a file that is another by now."""


class Server:
    """What all viewers share. `app` is the ASGI application, without the guard."""

    def __init__(self, catalogue: Catalogue, cache_bytes: int = 128 << 20, poll_s: float = 0.5) -> None:
        self._catalogue = catalogue
        self._steps = Steps(catalogue.root)
        self._cache: Cache[bytes] = Cache(cache_bytes, len)
        self._shapes = Shapes()
        self._watcher = Watcher(catalogue, poll_s)
        self._static = _load_static()
        self._static_version = identifier("".join(sorted(tag for _, tag in self._static.values())))
        plane = "{series}/{step}/{version}/{field}/{level:int}/{axis:int}/{index:int}/{row:int}/{column:int}"
        routes = [
            Route("/", self._page),
            Route("/static/{name}", self._file),
            Route("/static/{version}/{name}", self._file),
            Route("/api/series", self._answer(self._list)),
            Route("/api/events", self._events),
            Route("/api/{series}/times/{field}", self._answer(self._times)),
            Route("/api/{series}/{step}", self._answer(self._step)),
            Route("/api/{series}/{step}/{field}/statistics", self._answer(self._statistics)),
            Route("/api/{series}/{step}/{field}/point", self._answer(self._point)),
            Route("/api/{series}/{step}/{field}/line", self._answer(self._line)),
            Route("/api/{series}/{step}/{field}/source", self._answer(self._source)),
            Route(f"/tile/{plane}", self._binary(self._tile)),
            Route(f"/difference/{plane}/{{other}}", self._binary(self._difference)),
            Route(f"/exact-tile/{plane}", self._binary(functools.partial(self._tile, is_exact=True))),
            Route(
                f"/exact-difference/{plane}/{{other}}", self._binary(functools.partial(self._difference, is_exact=True))
            ),
            Route("/volume/{series}/{step}/{version}/{field}/{level:int}", self._binary(self._volume)),
            Route("/mesh/{series}/{step}/{version}/{shape}/{detail:int}", self._binary(self._geometry)),
            Route("/mesh/{series}/{step}/{version}/{shape}/{detail:int}/{field}", self._binary(self._values)),
        ]
        self.app = Starlette(routes=routes, exception_handlers={404: _on_missing}, lifespan=self._run)
        self.app.router.redirect_slashes = False

    def stop(self) -> None:
        """Ends the streams of events: called by who ends the server, from its loop."""
        self._watcher.stop()

    @contextlib.asynccontextmanager
    async def _run(self, _app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watcher.run())
        try:
            yield
        finally:
            self._watcher.stop()
            task.cancel()

    # What is answered in JSON

    def _answer(self, make: Callable[[Request], dict[str, Any]]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            try:
                told = await run_in_threadpool(make, request)
            except Exception as error:
                return _failure(error)
            data = json.dumps(told, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            return _with_encoding(request, data.encode(errors="replace"), "application/json", "no-cache")

        return endpoint

    def _list(self, _request: Request) -> dict[str, Any]:
        series = sorted(self._catalogue.series.values(), key=lambda s: s.key)
        return {"root": str(self._catalogue.root), "series": [answers.describe_series(s) for s in series]}

    def _step(self, request: Request) -> dict[str, Any]:
        return answers.describe_step(self._open(request, request.path_params["step"])[0])

    def _statistics(self, request: Request) -> dict[str, Any]:
        return answers.describe_statistics(*self._field(request))

    def _point(self, request: Request) -> dict[str, Any]:
        return {"value": answers.number(answers.read_point(*self._field(request), _cell(request, "at")))}

    def _line(self, request: Request) -> dict[str, Any]:
        return answers.read_line(*self._field(request), _cell(request, "from"), _cell(request, "to"))

    def _times(self, request: Request) -> dict[str, Any]:
        series = self._series_of(request)
        return answers.read_times(series, self._steps, request.path_params["field"], _cell(request, "at"))

    # What is answered in bytes, under addresses that never change

    def _binary(self, make: Callable[[Request], bytes]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            key = request.url.path

            def packed() -> bytes:
                return zlib.compress(make(request), 1)

            try:
                await run_in_threadpool(self._check_version, request)
                data = await run_in_threadpool(self._cache.get, key, packed)
            except Exception as error:
                return _failure(error)
            return _ranged(request, data, hashlib.blake2s(key.encode(), digest_size=8).hexdigest())

        return endpoint

    def _check_version(self, request: Request) -> None:
        opened, _ = self._open(request, request.path_params["step"])
        if opened.version != request.path_params["version"]:
            raise _GoneError("the step is another by now")

    def _plane(self, request: Request) -> tuple[OpenStep, tiles.Plane]:
        opened, field, time = self._grid_field(request)
        level, axis, index = (request.path_params[name] for name in ("level", "axis", "index"))
        return opened, tiles.Plane(field, time, level, axis, index)

    def _tile(self, request: Request, is_exact: bool = False) -> bytes:
        row, column = (request.path_params[name] for name in ("row", "column"))
        return tiles.plane_tile(*self._plane(request), row, column, is_exact)

    def _difference(self, request: Request, is_exact: bool = False) -> bytes:
        opened, plane = self._plane(request)
        other, version = request.path_params["other"].partition("@")[::2]
        series, _, step = other.rpartition(":")
        second, time = self._open(request, step, series or None)
        if second.version != version:
            raise _GoneError("the other step is another by now")
        field = next((f for f in second.step.fields.values() if f.name == plane.field.name), None)
        if field is None:
            raise KeyError(plane.field.name)
        planes = (tiles.Plane(field, time, plane.level, plane.axis, plane.index), plane)
        row, column = (request.path_params[name] for name in ("row", "column"))
        return tiles.difference_tile(second, opened, planes, row, column, is_exact)

    def _volume(self, request: Request) -> bytes:
        opened, field, time = self._grid_field(request)
        return volumes.volume(opened, field, time, request.path_params["level"])

    def _geometry(self, request: Request) -> bytes:
        opened, time = self._open(request, request.path_params["step"])
        if opened.step.mesh is not None and not 0 <= time < opened.step.mesh.num_times:
            raise InputError(f"time {time} is not there")
        return self._shapes.geometry(opened, time, request.path_params["shape"], request.path_params["detail"])

    def _values(self, request: Request) -> bytes:
        opened, field, time = self._mesh_field(request)
        shape, detail = request.path_params["shape"], request.path_params["detail"]
        return self._shapes.values(opened, time, shape, detail, field)

    def _source(self, request: Request) -> dict[str, Any]:
        opened, field, time = self._mesh_field(request)
        query = request.query_params
        detail, number = (_cell(request, name)[0] for name in ("detail", "number"))
        found = self._shapes.source(opened, time, query.get("shape", ""), detail, field, number)
        return {"at": found}

    # What an address names

    def _series_of(self, request: Request, series_id: str | None = None) -> Series:
        return self._catalogue.of(series_id or request.path_params["series"])

    def _open(self, request: Request, step: str, series_id: str | None = None) -> tuple[OpenStep, int]:
        """The step and the time in its file. Raises KeyError, FormatError, OSError."""
        number, _, time = step.partition(".")
        series = self._series_of(request, series_id)
        return self._steps.get(series, _integer(number)), _integer(time or "0")

    def _field(self, request: Request) -> tuple[OpenStep, Field, int]:
        opened, time = self._open(request, request.path_params["step"])
        field = answers.field_of(opened, request.path_params["field"])
        if not 0 <= time < max(1, field.num_times):
            raise InputError(f"time {time} is not there")
        return opened, field, time

    def _grid_field(self, request: Request) -> tuple[OpenStep, Field, int]:
        opened, field, time = self._field(request)
        if isinstance(field, MeshField):
            raise InputError("the field is a mesh's")
        return opened, field, time

    def _mesh_field(self, request: Request) -> tuple[OpenStep, MeshField, int]:
        opened, field, time = self._field(request)
        if not isinstance(field, MeshField):
            raise InputError("the field is a grid's")
        return opened, field, time

    # The page, its parts, its news

    async def _page(self, request: Request) -> Response:
        html = self._static["index.html"][0].decode().replace("{{static}}", f"static/{self._static_version}")
        start = await run_in_threadpool(self._start_of_page, request)
        text = (
            json.dumps(start, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026")
        )
        return _with_encoding(request, html.replace("{{start}}", text).encode(), "text/html", "no-store")

    def _start_of_page(self, request: Request) -> dict[str, Any]:
        """What the page would ask for first: a round trip less on a long line."""
        told = self._list(request)
        told["series"] = told["series"][:1000]
        told["maps"] = json.loads(self._static["maps.json"][0])
        for series in sorted(self._catalogue.series.values(), key=lambda s: s.key)[:1]:
            with contextlib.suppress(HakobiError, OSError, KeyError, IndexError, StopIteration):
                name = int(series.numbers[-1])
                opened = self._steps.get(series, name)
                told["step"] = {"series": series.id, "step": f"{name}.0", **answers.describe_step(opened)}
                first = next(opened.step.all_fields())
                told["statistics"] = answers.describe_statistics(opened, first, 0)
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
    if isinstance(error, _GoneError):
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
