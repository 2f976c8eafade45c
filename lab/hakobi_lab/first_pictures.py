"""`hakobi bench post`: how long until there is a picture, in a real browser, over a shaped link, from cold caches.

1. A 3-D float32 field of the size asked for is written, every value of it, and its overview is made (timed, beside a
   plain sequential read of the same file).
2. For each round, link and axis in turn: what the page cache holds of step and overview is dropped, a browser opens a
   plane that nobody has asked for, and the page says when the first picture was drawn and when the view was complete.
3. Links are a pair of virtual interfaces into a network namespace, shaped both ways, by root; `slow` is a relay.
4. With an object store the link is between that and `hakobi post`, which runs beside the browser.
5. A start: the time runs from the command `hakobi post` to the first picture in a browser that has nothing of the page.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from hakobi.errors import RunError, StorageError
from hakobi.post import indexing
from hakobi.post.catalogue import Catalogue
from hakobi.post.overview import path_of
from hakobi_lab.browser import Browser
from hakobi_lab.object_servers import S3Server
from hakobi_lab.slow_line import slow_line

AXES = ("z", "y", "x")
#: A page without a server and without a picture: what the browsers themselves take on this machine.
_EMPTY = """data:text/html,<canvas id=c></canvas><script>requestAnimationFrame(() => {
document.getElementById('c').getContext('2d').fillRect(0, 0, 9, 9); window.first = performance.now(); });</script>"""
#: Link -> arguments of `tc … tbf`.
LINKS = {"1gbit": "rate 1gbit burst 256kb latency 20ms", "100mbit": "rate 100mbit burst 64kb latency 50ms"}
#: The link `slow`: bytes a second and round trip (1 Mbit/s, 200 ms), by a relay.
SLOW = (125_000, 0.2)
_OUTER, _INNER = "10.213.77.1", "10.213.77.2"
#: First picture, complete view, level shown, bytes over the wire.
_FIGURES = """
const told = document.querySelector('#plane').dataset;
const sent = ['resource', 'navigation'].flatMap((kind) => performance.getEntriesByType(kind));
return [Number(told.first), Number(told.refined), Number(told.level), sent.reduce((n, e) => n + e.transferSize, 0)];
"""
#: When the first picture was drawn, milliseconds since 1970.
_DRAWN = "return performance.timeOrigin + Number(document.querySelector('#plane').dataset.first);"


def make_step(path: Path, num_bytes: int) -> int:
    """Writes a cube of float32, smooth with noise; returns its cells a direction. An equal one is kept."""
    import h5py

    cells: int = max(64, round(float(np.cbrt(num_bytes / 4))))
    with contextlib.suppress(OSError, KeyError), h5py.File(path, "r") as file:
        if file["u"].shape == (cells,) * 3 and file.attrs.get("is_whole", 0):
            return cells
    x = np.linspace(0, 6, cells, dtype="f4")
    noise = np.random.default_rng(1).normal(0, 0.02, (cells, cells)).astype("f4")
    plane = np.sin(x)[:, None] * np.cos(1.5 * x)[None, :]
    with h5py.File(path, "w") as file:
        data = file.create_dataset("u", shape=(cells,) * 3, dtype="f4")
        for index in range(cells):
            data[index] = np.sin(2 * x[index]) * plane + np.roll(noise, 37 * index, axis=1) + 0.1 * x[index]
        file.attrs["is_whole"] = 1
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    return cells


def drop(path: Path) -> None:
    """Takes the file out of the page cache."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def read_sequentially(path: Path) -> float:
    """Seconds to read the file from one end to the other in pieces of 4 MiB."""
    buffer = bytearray(4 << 20)
    begin = time.monotonic()
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.monotonic() - begin


@dataclass(frozen=True)
class Link:
    """How the browser reaches the server."""

    name: str
    namespace: str = ""
    interface: str = ""  # the server's end

    @property
    def server(self) -> str:
        return _OUTER if self.namespace else "127.0.0.1"

    @property
    def browser(self) -> str:
        return _INNER if self.namespace else "127.0.0.1"


@contextlib.contextmanager
def shaped(name: str) -> Iterator[Link]:
    """A link of that name; nothing of it is left afterwards. Raises RunError where the machine does not let us."""
    if name in ("loopback", "slow"):
        yield Link(name)
        return
    space = f"hakobi-{secrets.token_hex(3)}"
    outer, inner = f"hk{space[-6:]}o", f"hk{space[-6:]}i"
    commands = [
        f"ip netns add {space}",
        f"ip link add {outer} type veth peer name {inner} netns {space}",
        f"ip addr add {_OUTER}/30 dev {outer}",
        f"ip link set {outer} up",
        f"ip -n {space} addr add {_INNER}/30 dev {inner}",
        f"ip -n {space} link set {inner} up",
        f"ip -n {space} link set lo up",
        f"tc qdisc add dev {outer} root tbf {LINKS[name]}",
        f"tc -n {space} qdisc add dev {inner} root tbf {LINKS[name]}",
    ]
    try:
        for command in commands:
            done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
            if done.returncode:
                raise RunError(f"cannot make the link {name}: {command}: {done.stderr.strip()}")
        time.sleep(2)  # browsers drop what they asked for while a network comes up
        yield Link(name, space, outer)
    finally:
        for command in (f"ip link del {outer}", f"ip netns del {space}"):
            subprocess.run(command.split(), capture_output=True, check=False)


@dataclass(frozen=True)
class Served:
    """A server that runs: its address with the token, and its process."""

    address: str
    pid: int
    began_s: float  #: when the command was given, seconds since 1970
    ready_s: float  #: from then on until it told its address

    def peak_bytes(self) -> int:
        """The most memory that it and the processes that read for it have held, each for itself."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        told = [Path(f"/proc/{process}/status").read_text() for process in (self.pid, *children)]
        return sum(1024 * int(text.partition("VmHWM:")[2].split()[0]) for text in told)


@contextlib.contextmanager
def served(path: Path, link: Link, store: S3Server | None = None) -> Iterator[Served]:
    """`hakobi post` as a process of its own, as people start it: what asks the browsers is not in its way. Of an object
    store it runs beside the browser, and the link is between them and the store."""
    host, address, enter = link.server, str(path), []
    environment = dict(os.environ)
    if store is not None:
        host, address = "127.0.0.1", f"{store.environment['HAKOBI_TEST_S3']}/{path.name}"
        enter = ["nsenter", f"--net=/run/netns/{link.namespace}"] if link.namespace else []
        environment |= store.environment
    command = [*enter, sys.executable, "-m", "hakobi", "post", address, "--host", host, "--name", host]
    began_s = time.time()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            told = urlsplit(server.stdout.readline().strip())
            ready_s = time.time() - began_s
            if told.port is None:
                raise RunError(f"the server did not start: status {server.wait()}")
            with slow_line(told.port, *SLOW) if link.name == "slow" else contextlib.nullcontext(told.port) as port:
                yield Served(f"http://{host}:{port}/?{told.query}", server.pid, began_s, ready_s)
        finally:
            server.terminate()


class Bench:
    """One run: its step, and the records that it makes."""

    def __init__(self, folder: Path, size_bytes: int, rounds: int) -> None:
        self.step = folder / "bench_0.nc"
        self._rounds = rounds
        free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        is_there = self.step.exists() and self.step.stat().st_size >= 0.99 * size_bytes
        if not is_there and free < 1.15 * size_bytes:
            raise StorageError(f"{folder} has {free / 1e9:.0f} GB free, and {1.15 * size_bytes / 1e9:.0f} are needed")
        self.cells = make_step(self.step, size_bytes)
        self._next = 1

    def prepare(self, threads: int) -> None:
        """Makes the overview unless it is there."""
        for outcome in indexing.make_overviews([self.step], threads, 1 << 30):
            if outcome.state == "failed":
                raise RunError(outcome.reason)

    def index(self, threads: int) -> dict[str, Any]:
        """Makes the overview, as fast as a plain read lets us: `share` is its rate over that of the read."""
        reads, makes = [], []
        for _ in range(max(1, min(3, self._rounds))):
            drop(self.step)
            reads.append(read_sequentially(self.step))
            path_of(self.step).unlink(missing_ok=True)
            drop(self.step)
            begin = time.monotonic()
            [outcome] = indexing.make_overviews([self.step], threads, 1 << 30)
            makes.append(time.monotonic() - begin)
            if outcome.state != "made":
                raise RunError(outcome.reason)
        read_s, make_s = statistics.median(reads), statistics.median(makes)
        size = self.step.stat().st_size
        return {
            "kind": "summary", "what": "index", "threads": threads, "field_bytes": size, "median_s": make_s,
            "samples_s": makes, "read_s": reads, "share": read_s / make_s, "bytes_per_s": size / make_s,
            "overview_bytes": path_of(self.step).stat().st_size,
        }  # fmt: skip

    def pictures(self, link: Link, viewers: int, store: S3Server | None = None) -> list[dict[str, Any]]:
        """First picture and complete view, for each axis, of the whole plane and of a part of it at a cell a pixel;
        beside them an empty page in the same browsers."""
        found: dict[str, list[list[float]]] = {axis: [] for axis in AXES}
        near: dict[str, list[list[float]]] = {axis: [] for axis in AXES}
        floor: list[float] = []
        series = next(iter(Catalogue(self.step).series.values())).id
        with served(self.step, link, store) as server, contextlib.ExitStack() as stack:
            browsers = [stack.enter_context(Browser(1600, 900, link.namespace, link.browser)) for _ in range(viewers)]
            for browser in browsers:  # the cookie and the page's modules, as for who has looked before
                browser.go(server.address)
                browser.wait("document.querySelector('#plane').dataset.refined", 60)
            for _ in range(self._rounds):
                for (number, axis), kept in itertools.product(enumerate(AXES), (found, near)):
                    more = f"&zoom=1&x={self.cells / 2}&y={self.cells / 2}" if kept is near else ""
                    hashes = [self._hash(series, number) + more for _ in range(viewers)]
                    for path in (self.step, path_of(self.step)):
                        drop(path)
                    kept[axis] += self._look(browsers, server.address.partition("?")[0], hashes)
                floor += self._open_empty(browsers)
            peak_bytes = server.peak_bytes()
        told = [record for axis in AXES for record in self._records(link, viewers, axis, found[axis], near[axis])]
        for record in told:
            record["server_peak_bytes"] = peak_bytes
        common = {"kind": "summary", "what": "empty_page", "viewers": viewers, "link": link.name}
        for record in (*told, common):
            record["storage"] = "s3" if store else "file"
        return [*told, {**common, "median_s": statistics.median(floor), "samples_s": floor}]

    def starts(self, link: Link, store: S3Server | None = None) -> list[dict[str, Any]]:
        """From the command `hakobi post` to its address, and to the first picture, in a browser without its page."""
        ready, pictures = [], []
        with Browser(1600, 900, link.namespace, link.browser) as browser:
            for _ in range(self._rounds):
                browser.go("about:blank")
                for path in (self.step, path_of(self.step)):
                    drop(path)
                with served(self.step, link, store) as server:
                    browser.go(server.address)
                    browser.wait("document.querySelector('#plane')?.dataset.first", 60)
                    drawn_ms = browser.run(_DRAWN)
                    ready.append(server.ready_s)
                    pictures.append(drawn_ms / 1000 - server.began_s)
        common = {"kind": "summary", "link": link.name, "cells": self.cells, "storage": "s3" if store else "file"}
        return [
            {**common, "what": what, "median_s": statistics.median(samples), "samples_s": samples}
            for what, samples in (("address_from_start", ready), ("picture_from_start", pictures))
        ]

    def _hash(self, series: str, axis: int) -> str:
        """A plane that was not looked at before, in a brick that was not either where there are enough."""
        self._next = (self._next + 97) % self.cells
        return f"#series={series}&axis={axis}&index={self._next}&range=held&low=-1.2&high=1.6"

    @staticmethod
    def _look(browsers: list[Browser], base: str, hashes: list[str]) -> list[list[float]]:
        """All browsers at once: the figures of each."""

        def look(browser: Browser, place: str) -> list[float]:
            browser.go(base + place)
            browser.wait("document.querySelector('#plane')?.dataset.refined", 120)
            figures: list[float] = browser.run(_FIGURES)
            return figures

        for browser in browsers:
            browser.go("about:blank")
        with ThreadPoolExecutor(len(browsers)) as pool:
            return list(pool.map(look, browsers, hashes))

    @staticmethod
    def _open_empty(browsers: list[Browser]) -> list[float]:
        """Seconds until each of all browsers at once has drawn a frame of an empty page."""

        def look(browser: Browser) -> float:
            browser.go(_EMPTY)
            return float(browser.wait("window.first", 60)) / 1000

        for browser in browsers:
            browser.go("about:blank")
        with ThreadPoolExecutor(len(browsers)) as pool:
            return list(pool.map(look, browsers))

    def _records(
        self, link: Link, viewers: int, axis: str, whole: list[list[float]], near: list[list[float]]
    ) -> list[dict[str, Any]]:
        base = {"axis": axis, "viewers": viewers, "link": link.name, "cells": self.cells, "cache": "cold"}
        records = []
        for what, samples, number in (("first_picture", whole, 0), ("refined", whole, 1), ("cell_a_pixel", near, 1)):
            times = [sample[number] / 1000 for sample in samples]
            median = {"median_s": statistics.median(times), "samples_s": times}
            wire_bytes = statistics.median(sample[3] for sample in samples)
            told = {"kind": "summary", "what": what, **base, "wire_bytes": wire_bytes, "level": samples[0][2]}
            records.append(told | median)
        return records
