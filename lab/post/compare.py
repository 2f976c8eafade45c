#!/usr/bin/env python3
"""Times the first picture of a plane of a large field in a browser: hakobi post, trame with VTK, JupyterLab with h5web,
OpenVisus. In turns, over a shaped link, from cold caches; by the pixels on the screen and the bytes on the line.

    compare.py --folder FOLDER --size 4G [--link 1gbit] [--rounds 3] [--axes z,y,x] [--json FILE]
               [--trame PYTHON] [--h5web PYTHON] [--openvisus PYTHON]

1. The field is that of `hakobi bench post` (a cube of float32, every value written); hakobi's overview and OpenVisus's
   own file are made once, and their times told. A rival takes part where a Python is named that has it:
   trame (trame trame-vtk vtk h5py), h5web (jupyterlab_h5web[full] jupyterlab), openvisus (openvisusnogui h5py).
2. Each contender's server runs for all rounds, and its browser has opened the page before: scripts are in its cache.
   A round opens, for each contender and axis, a plane that was not read before; what the page cache has of its files is
   dropped first. h5web takes no plane by address: it shows its first one, across z, after a file and a data set were
   clicked, which a script does the moment they appear. OpenVisus's planes are multiples of 16, which its coarse
   resolutions have.
3. `first` is when a frame with the picture was on the screen, `last` when the picture last changed, from the moment the
   address was given. Bytes are those that the interface sent to the browser, with their headers.

Run as root with the project's Python (.venv/bin/python); links need ip and tc. Over `loopback` no bytes are told.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import math
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from screen import Screen, Seen, why_not

from hakobi import conditions, records
from hakobi.post import indexing
from hakobi.post.catalogue import Catalogue
from hakobi.post.overview import path_of
from hakobi_lab import first_pictures

HERE = Path(__file__).resolve().parent
UNITS = {"M": 10**6, "G": 10**9}
FIELD = "u"


@dataclasses.dataclass
class Contender:
    """A server that runs; `address` is that of a plane, by axis and index."""

    name: str
    address: Callable[[int, int], str]
    files: list[Path]
    part: tuple[float, float, float, float]  # of the window, where nothing but the picture is
    script: str = ""
    axes: tuple[int, ...] = (0, 1, 2)
    stride: int = 1
    opened: str = ""  # what a person opens first, where that is another address
    before: Callable[[int], None] = lambda _: None  # called with a number that is new each time


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the field is made, and kept")
    parser.add_argument("--size", default="4G")
    parser.add_argument("--link", choices=("1gbit", "100mbit", "loopback"), default="1gbit")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--axes", default="z,y,x")
    parser.add_argument("--most", type=float, default=60, help="seconds after which a picture is given up")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--pictures", type=Path, help="a folder for a screenshot of each contender's page")
    for rival in ("trame", "h5web", "openvisus"):
        parser.add_argument(f"--{rival}", metavar="PYTHON")
    return parser.parse_args()


def free_port(host: str) -> int:
    with socket.create_server((host, 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def process(command: list[object], host: str, port: int, home: Path) -> Iterator[None]:
    """A server that has begun to listen; it and what it started end with the block."""
    environment = {**os.environ, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": ""}
    with (home / f"{port}.log").open("wb") as log:
        started = subprocess.Popen(
            list(map(str, command)), stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
                break
            if started.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{command[:4]} did not start: {(home / f'{port}.log').read_text()[-500:]}")
            time.sleep(0.1)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGTERM)
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()


def start(options: argparse.Namespace, step: Path, cells: int, link: first_pictures.Link, stack: contextlib.ExitStack,
          home: Path) -> list[Contender]:  # fmt: skip
    """The servers of all contenders that were named."""
    host = link.server
    served = stack.enter_context(first_pictures.served(step, link))
    series = next(iter(Catalogue(step).series.values())).id
    page = served.address.partition("?")[0]

    def ours(axis: int, index: int) -> str:
        return f"{page}#series={series}&axis={axis}&index={index}&range=held&low=-1.2&high=1.6"

    found = [Contender("hakobi", ours, [step, path_of(step)], (0.3, 0.35, 0.5, 0.65), opened=served.address)]
    if options.trame:
        ports = {}
        for axis in map("zyx".index, options.axes.split(",")):
            port = ports[axis] = free_port(host)
            command = [options.trame, HERE / "trame_app.py", step, FIELD, axis, "--host", host, "--port", port]
            stack.enter_context(process(command, host, port, home))
        at = lambda axis, _: f"http://{host}:{ports[axis]}/index.html"  # noqa: E731
        found.append(Contender("trame", at, [step], (0.4, 0.35, 0.6, 0.65)))
    if options.h5web:
        port = free_port(host)
        shown = step.parent / "h5"
        shown.mkdir(exist_ok=True)

        def rename(number: int) -> None:
            """Else the browser has the plane from before; the name's end says that it is HDF5."""
            for old in shown.iterdir():
                old.unlink()
            os.link(step, shown / f"bench_{number}.h5")

        command = [options.h5web, "-m", "jupyterlab", f"--ip={host}", f"--port={port}", "--no-browser", "--allow-root",
                   "--IdentityProvider.token=", f"--ServerApp.root_dir={shown}",
                   "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]  # fmt: skip
        stack.enter_context(process(command, host, port, home))
        lab = f"http://{host}:{port}/lab?reset"
        clicks = (HERE / "h5web_clicks.js").read_text()
        found.append(Contender("h5web", lambda *_: lab, [step], (0.6, 0.35, 0.8, 0.65), clicks, (0,), before=rename))
    if options.openvisus:
        own = step.parent / "openvisus"
        if not (own / "field.idx").exists():
            own.mkdir(exist_ok=True)
            command = [options.openvisus, HERE / "openvisus_convert.py", step, FIELD, own]
            done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
            print(f"openvisus: its own file made in {float(done.stdout.split()[-1]):.1f} s", flush=True)
        port, page_port = free_port(host), free_port(host)
        command = [options.openvisus, "-m", "OpenVisus", "server", "--port", port, "--dataset", own / "field.idx"]
        stack.enter_context(process(command, host, port, home))
        command = [sys.executable, "-m", "http.server", "--bind", host, "--directory", HERE, page_port]
        stack.enter_context(process(command, host, page_port, home))
        bits = 3 * math.ceil(math.log2(cells))

        def theirs(axis: int, index: int) -> str:
            server = f"http://{host}:{port}"
            asked = f"server={server}&axis={axis}&index={index}&cells={cells}&bits={bits}"
            return f"http://{host}:{page_port}/openvisus_page.html?{asked}"

        files = [path for path in own.rglob("*") if path.is_file()]
        found.append(Contender("openvisus", theirs, files, (0.4, 0.35, 0.6, 0.65), stride=16))
    return found


def sent_bytes(link: first_pictures.Link) -> int:
    path = Path(f"/sys/class/net/{link.interface}/statistics/tx_bytes")
    return int(path.read_text()) if link.interface else 0


def main() -> int:
    options = parsed()
    if why_not():
        sys.exit(why_not())
    options.folder.mkdir(parents=True, exist_ok=True)
    step = options.folder / "bench_0.nc"
    cells = first_pictures.make_step(step, int(float(options.size[:-1]) * UNITS[options.size[-1]]))
    begin = time.monotonic()
    for outcome in indexing.make_overviews([step], 2, 1 << 30):
        if outcome.state == "failed":
            sys.exit(outcome.reason)
        if outcome.state == "made":
            print(f"hakobi: overview made in {time.monotonic() - begin:.1f} s", flush=True)
    axes = ["zyx".index(axis) for axis in options.axes.split(",")]
    samples: dict[tuple[str, int], list[tuple[Seen, int]]] = {}
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        link = stack.enter_context(first_pictures.shaped(options.link))
        contenders = start(options, step, cells, link, stack, home)
        screens = {c.name: stack.enter_context(Screen(1600, 900, link.namespace)) for c in contenders}
        numbers = itertools.count(1)

        def look(this: Contender, axis: int) -> tuple[Seen, int]:
            number = next(numbers)
            index = (97 * number) % cells // this.stride * this.stride
            this.before(number)
            for path in this.files:
                first_pictures.drop(path)
            before = sent_bytes(link)
            try:
                seen = screens[this.name].watch(this.address(axis, index), this.part, options.most)
            except TimeoutError:
                seen = Seen(math.inf, math.inf)
            return seen, sent_bytes(link) - before

        for this in contenders:
            if this.script:
                screens[this.name].at_every_page(this.script)
            if this.opened:  # for its cookie
                screens[this.name].watch(this.opened, this.part, options.most)
            look(this, this.axes[0])
            if options.pictures:
                screens[this.name].save(options.pictures / f"{this.name}.png")
            screens[this.name].blank()
        for _ in range(options.rounds):
            for axis in axes:
                for this in contenders:
                    if axis in this.axes:
                        samples.setdefault((this.name, axis), []).append(look(this, axis))
                        screens[this.name].blank()
    for (name, axis), found in sorted(samples.items(), key=lambda item: item[0][1]):
        told = {
            "kind": "summary", "what": "first_picture", "contender": name, "axis": "zyx"[axis], "viewers": 1,
            "link": options.link, "cells": cells, "cache": "cold", "commit": conditions.commit() or "",
            "samples_s": [seen.first_s for seen, _ in found], "last_s": [seen.last_s for seen, _ in found],
            "median_s": statistics.median(seen.first_s for seen, _ in found),
            "wire_bytes": statistics.median(count for _, count in found), "field_bytes": step.stat().st_size,
        }  # fmt: skip
        first = " ".join(f"{value:.2f}" for value in sorted(told["samples_s"]))  # type: ignore[arg-type]
        last = statistics.median(told["last_s"])  # type: ignore[call-overload]
        print(f"{name} across {told['axis']}: first {told['median_s']:.2f} s ({first}), last {last:.2f} s,"
              f" {told['wire_bytes'] / 1e6:.2f} MB", flush=True)  # fmt: skip
        if options.json:
            records.append(options.json, told)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the link and the servers are taken down then too
    sys.exit(main())
