"""`hakobi post` does not let a file or a stranger take all memory, all time, all connections."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from hakobi.errors import InputError
from hakobi.post import serving
from hakobi.post.catalogue import identifier
from hakobi.post.pool import Bounds, Pool, RefusedError
from posting import Client, decode_tile, served, wave, write_step

Call = Callable[..., Coroutine[Any, Any, Any]]


class _Odd:
    """Methods that are called in another process."""

    def say(self, text: str) -> str:
        return text

    def process(self) -> int:
        return os.getpid()

    def sleep(self) -> None:
        time.sleep(1000)

    def fill(self, num_bytes: int) -> int:
        return len(bytearray(num_bytes))

    def end(self) -> None:
        os._exit(1)

    def fail(self) -> None:
        raise InputError("say what")

    def fail_oddly(self) -> None:
        raise ValueError(threading.Lock())


def in_pool(bounds: Bounds, use: Callable[[Pool], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        pool = Pool(_Odd, bounds)
        try:
            await use(pool)
        finally:
            await pool.close()

    asyncio.run(run())


def test_a_call_that_takes_too_long_ends_and_is_refused_for_a_while() -> None:
    async def use(pool: Pool) -> None:
        first = await pool.call("a", "", "process")
        with pytest.raises(RefusedError, match=r"took longer than 0\.3 s"):
            await pool.call("a", "slow", "sleep")
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
        begin = await pool.call("a", "", "process")
        with pytest.raises(RefusedError, match="took longer"):
            await pool.call("a", "slow", "sleep")
        assert await pool.call("a", "", "process") == begin  # it was not asked again
        assert await pool.call("a", "other", "say", "x") == "x"

    in_pool(Bounds(processes=1, share=1, limit_s=0.3), use)


def test_calls_of_one_file_leave_a_process_to_the_others() -> None:
    async def use(pool: Pool) -> None:
        slow = [asyncio.create_task(pool.call("slow", str(n), "sleep")) for n in range(5)]
        assert await pool.call("other", "", "say", "x") == "x"
        assert not any(task.done() for task in slow)
        await pool.close()
        ends = await asyncio.gather(*slow, return_exceptions=True)
        assert all(isinstance(end, RefusedError) for end in ends), ends

    in_pool(Bounds(processes=2, share=1, limit_s=100), use)


def test_memory_is_bounded_and_what_fails_is_told() -> None:
    async def use(pool: Pool) -> None:
        assert await pool.call("a", "", "fill", 50 << 20) == 50 << 20
        with pytest.raises(RefusedError, match="needs more than 100 MiB"):
            await pool.call("a", "large", "fill", 200 << 20)
        with pytest.raises(RefusedError, match="ended the process"):
            await pool.call("a", "broken", "end")
        os.kill(await pool.call("a", "", "process"), signal.SIGKILL)  # from outside, between two calls
        await asyncio.sleep(0.1)
        with pytest.raises(InputError, match="say what"):
            await pool.call("a", "wrong", "fail")
        with pytest.raises(RuntimeError, match="ValueError"):
            await pool.call("a", "wrong", "fail_oddly")
        assert await pool.call("a", "", "say", "x") == "x"

    in_pool(Bounds(processes=1, share=1, limit_s=100, memory_bytes=100 << 20), use)


def field_path(client: Client, series: str, field: str) -> str:
    return f"/api/{identifier(series)}/-1.0/{identifier(field)}"


def tile_of(client: Client, series: str, field: str, *place: int) -> tuple[int, dict[str, str], bytes]:
    version = client.json(f"/api/{identifier(series)}/-1.0")["version"]
    where = "/".join(map(str, place))
    return client.get(f"/tile/{identifier(series)}/-1.0/{version}/{identifier(field)}/{where}")


def test_rows_longer_than_memory_are_not_read_whole(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "long.nc", "w") as file:  # 200 GB, none of it stored
        file.create_dataset("eta", shape=(1000, 50_000_000), dtype="f4")
        file.create_dataset("cube", shape=(20, 1000, 5_000_000), dtype="f4")
    with served(tmp_path, Bounds(memory_bytes=150 << 20)) as client:
        for field in ("eta", "cube"):
            told = client.json(f"{field_path(client, 'long.nc', field)}/statistics")
            assert (told["is_sampled"], told["min"], told["max"]) == (True, 0.0, 0.0)
            for level in (0, 4):
                status, _, data = tile_of(client, "long.nc", field, level, 0, 0, 0, 1)
                assert status == 200, data
                assert not decode_tile(data).any()


def test_short_rows_are_read_some_at_a_time(tmp_path: Path) -> None:
    values = np.arange(300 * 4 * 5000, dtype="f4").reshape(300, 4, 5000)
    with h5py.File(tmp_path / "wide.nc", "w") as file:
        file["p"] = values
    with served(tmp_path) as client:
        status, _, data = tile_of(client, "wide.nc", "p", 0, 2, 4321, 1, 0)
        assert status == 200
        np.testing.assert_allclose(decode_tile(data), values[256:, :, 4321], rtol=1e-3)
        at = f"{field_path(client, 'wide.nc', 'p')}/line?from=3,2,10&to=3,3,4000"
        line = client.json(at)
        assert line["values"] == [float(values[tuple(cell)]) for cell in line["cells"]]


def test_chunks_too_large_to_unpack_are_refused_with_one_sentence(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "chunk.nc", "w") as file:
        file.create_dataset("eta", shape=(10, 80_000_000), dtype="f4", chunks=(1, 80_000_000), compression="gzip")
        file["small"] = np.ones((30, 40))
    with served(tmp_path) as client:
        status, _, body = client.get(f"{field_path(client, 'chunk.nc', 'eta')}/statistics")
        assert status == 422
        assert body.count(b"\n") == 1
        assert b"stored in chunks of 305 MiB" in body
        assert tile_of(client, "chunk.nc", "eta", 0, 0, 0, 0, 0)[2] == body
        assert client.json(f"{field_path(client, 'chunk.nc', 'small')}/statistics")["max"] == 1.0
        assert client.get("/")[0] == 200


def test_strangers_do_not_lock_the_others_out(tmp_path: Path) -> None:
    write_step(tmp_path / "run_0.nc", {"eta": wave((30, 40))})
    with served(tmp_path) as client:
        kept = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
        lines = []
        try:
            for number in range(1300):
                lines.append(socket.create_connection(("127.0.0.1", client.port), timeout=20))
                if number % 2:
                    lines[-1].sendall(b"GET /api/series HTTP/1.1\r\nHost: loc")
                if number % 100 == 0:  # a connection that was kept open, and a new one
                    kept.request("GET", "/api/series", headers={"Cookie": client.cookie or ""})
                    answer = kept.getresponse()
                    assert (answer.status, bool(answer.read())) == (200, True)
                    assert client.get("/api/series")[0] == 200
        finally:
            kept.close()
            for line in lines:
                line.close()


@pytest.mark.parametrize("begin", [b"", b"GET /api/se", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_a_request_that_is_not_finished_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    monkeypatch.setattr(serving, "HEAD_S", 0.2)
    with served(tmp_path) as client, socket.create_connection(("127.0.0.1", client.port), timeout=20) as line:
        line.sendall(begin)
        assert line.recv(100) == b""
    with served(tmp_path) as client, socket.create_connection(("127.0.0.1", client.port), timeout=20) as line:
        head = f"GET /api/series HTTP/1.1\r\nHost: localhost\r\nCookie: {client.cookie}\r\n\r\n".encode()
        line.sendall(head)
        assert line.recv(10_000).startswith(b"HTTP/1.1 200")
        line.sendall(begin)
        while line.recv(10_000):
            pass


def children_of(process: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_no_process_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    write_step(tmp_path / "run_0.nc", {"eta": wave((30, 40))})
    command = [sys.executable, "-m", "hakobi", "post", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline()
            port, _, token = address.strip().rpartition(":")[2].partition("/?token=")
            assert Client(int(port), None).get(f"/?token={token}")[0] == 200  # by the first of its processes
            children = children_of(server.pid)
            assert children
        finally:
            server.kill()
    until = time.monotonic() + 20
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until
        time.sleep(0.05)
