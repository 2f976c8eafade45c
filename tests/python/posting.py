"""Fixtures of the tests of `hakobi post` and `hakobi index`: small results, and a server in this process."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hakobi.post import serving
from hakobi.post.catalogue import Catalogue, OpenStep, Steps
from hakobi.post.pool import Bounds

Array = NDArray[Any]
TOKEN = "token-of-the-tests"


def write_step(path: Path, fields: dict[str, Array], time_s: float = 0.0, **create: Any) -> Path:
    """A step as Hakobi writes it: time, coordinates (lat and lon in 2-D, z, y, x in metres in 3-D), fields with a time
    axis of length 1. `create` goes to h5py: chunks, compression."""
    with h5py.File(path, "w") as file:
        times = file.create_dataset("time", data=[time_s])
        times.make_scale("time")
        times.attrs["units"] = "seconds since 2011-03-11 05:46:24"
        for name, values in fields.items():
            names = ("lat", "lon") if values.ndim == 2 else ("z", "y", "x")
            dataset = file.create_dataset(name, data=values[None], **create)
            dataset.attrs["units"] = "m"
            dataset.dims[0].attach_scale(times)
            for axis, size in zip(names, values.shape, strict=True):
                if axis not in file:
                    file[axis] = np.arange(size) * (0.125 if values.ndim == 2 else 0.5) + 10
                    units = {"lat": "degrees_north", "lon": "degrees_east"}
                    file[axis].attrs["units"] = units.get(axis, "m")
                    file[axis].make_scale(axis)
                dataset.dims[1 + names.index(axis)].attach_scale(file[axis])
    return path


def wave(shape: tuple[int, ...], phase: float = 0.0, dtype: str = "f4") -> Array:
    """Smooth values with a hole: every cell different, NaN in one corner."""
    grids = np.meshgrid(*(np.linspace(0, 3, n) for n in shape), indexing="ij")
    values = sum(np.sin((1 + d) * g + phase) for d, g in enumerate(grids)) + 0.01 * grids[-1]
    values[tuple(slice(0, n // 5) for n in shape)] = np.nan
    return np.asarray(values, dtype)


def open_step(path: Path) -> OpenStep:
    """A step's file as a server opens it."""
    [series] = Catalogue(path).series.values()
    return Steps(path.parent).get(series, -1)


class Client:
    """Requests to the server as a browser makes them; `cookie` is None for one without."""

    def __init__(self, port: int, cookie: str | None) -> None:
        self.port, self.cookie = port, cookie

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if self.cookie is not None:
                sent.setdefault("Cookie", self.cookie)
            connection.request(method, path, headers=sent)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def json(self, path: str) -> Any:
        status, _, body = self.get(path)
        assert status == 200, (path, status, body)
        return json.loads(body)


@contextlib.contextmanager
def served(path: Path, bounds: Bounds | None = None) -> Iterator[Client]:
    """A server of `path` in a thread, with the cookie of who opened its address."""
    with serving.listen("127.0.0.1", 0) as listener:
        server, address = serving.make_server(path, listener, TOKEN, bounds=bounds)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until = time.monotonic() + 20
            while not server.started:
                assert time.monotonic() < until
                time.sleep(0.01)
            client = Client(address.port, None)
            status, headers, _ = client.get(f"/?token={TOKEN}")
            assert status == 200
            client.cookie = headers["set-cookie"].partition(";")[0]
            yield client
        finally:
            server.should_exit = True
            thread.join(20)


def decode_tile(data: bytes) -> Array:
    """Values of a tile as it goes over the wire (hakobi/post/tiles.py)."""
    offset, scale = np.frombuffer(data, "<f8", 2)
    rows, columns = np.frombuffer(data, "<u2", 2, 16)
    [width] = np.frombuffer(data, "<u4", 1, 20)
    joined = np.frombuffer(data, np.uint8, offset=24).reshape(width, -1).T.tobytes()
    values = np.frombuffer(joined, f"<f{width}").astype(float)
    return (values * scale + offset).reshape(rows, columns)
