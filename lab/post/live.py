#!/usr/bin/env python3
"""How soon a step of a run is on a viewer's screen, and what the viewer costs the run.

    live.py --folder FOLDER [--rounds 5] [--ranks 1] [--link 1gbit] [--method auto] [--json FILE] [-- ARGUMENTS]

Each round runs the tsunami (with ARGUMENTS) three times, in turns forwards and backwards: without output, with output,
and with output while a browser shows the newest step. A step's delay is from the renaming of its file, as the file
system noted it, to the page's drawing of its first tiles: by one clock, as all are on one machine. The run's output
share is what output adds, over the run's time; browser and server take their part of the same cores.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from hakobi import launch, programs, records
from hakobi_lab import first_pictures
from hakobi_lab.browser import Browser

#: Notes when tiles of a step were first drawn.
WATCH = """
window.seen = {};
hakobi.plane.canvas.addEventListener('drawn', () => {
  if (hakobi.plane.shown == null) return;
  const step = Number(hakobi.plane.source.address(0, 0, 0).split('/')[2].split('.')[0]);
  window.seen[step] ??= (performance.timeOrigin + performance.now()) / 1000;
});
"""


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--link", choices=("1gbit", "100mbit", "loopback"), default="1gbit")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--json", type=Path)
    parser.add_argument("arguments", nargs="*", default=[])
    return parser.parse_args()


@contextlib.contextmanager
def viewer(folder: Path, link: first_pictures.Link) -> Iterator[Browser]:
    """A browser with the page of what is in the folder."""
    browser = Browser(1600, 900, link.namespace, link.browser)
    with first_pictures.served(folder, link) as server, browser:
        browser.go(server.address)
        browser.wait("window.hakobi")
        browser.run(WATCH)
        yield browser


def main() -> int:
    options = parsed()
    program = programs.find("hakobi-tsunami")
    seconds: dict[str, list[float]] = {"none": [], "alone": [], "watched": []}
    delays: list[float] = []
    not_shown = 0
    folder = options.folder / "live"

    def run(kind: str, link: first_pictures.Link) -> None:
        nonlocal not_shown
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        method = "none" if kind == "none" else options.method
        arguments = ["--method", method, "--output", str(folder / "run"), *options.arguments]
        with viewer(folder, link) if kind == "watched" else contextlib.nullcontext() as browser:
            begin = time.perf_counter()
            done = launch.run(program, arguments, options.ranks, timeout_s=300)
            seconds[kind].append(time.perf_counter() - begin)
            if done.status:
                sys.exit(done.stderr)
            if browser is not None:
                time.sleep(2)
                seen = browser.run("return window.seen")
                renamed = {int(p.stem.rpartition("_")[2]): p.stat().st_ctime for p in folder.glob("run_*.nc")}
                delays.extend(seen[str(number)] - renamed[number] for number in renamed if str(number) in seen)
                not_shown += sum(str(number) not in seen for number in renamed)

    with first_pictures.shaped(options.link) as link:
        for round_number in range(options.rounds):
            for kind in sorted(seconds, reverse=bool(round_number % 2)):
                run(kind, link)
    shutil.rmtree(folder, ignore_errors=True)
    base = statistics.median(seconds["none"])
    shares = {kind: [100 * (1 - base / value) for value in seconds[kind]] for kind in ("alone", "watched")}
    told = {
        "kind": "summary", "what": "live", "link": options.link, "ranks": options.ranks, "method": options.method,
        "delays_s": delays, "median_s": statistics.median(delays), "not_shown": not_shown, "samples_s": seconds,
        "share_percent": {kind: statistics.median(values) for kind, values in shares.items()},
    }  # fmt: skip
    for kind, values in seconds.items():
        print(f"{kind}: {statistics.median(values):.2f} s [{min(values):.2f}-{max(values):.2f}]")
    for kind, values in shares.items():
        print(f"output share {kind}: {statistics.median(values):.1f} % [{min(values):.1f}-{max(values):.1f}]")
    print(f"a step is on the screen {told['median_s']:.2f} s after its renaming [{min(delays):.2f}-{max(delays):.2f}],"
          f" {len(delays)} steps; {not_shown} were followed by the next one before they were drawn")  # fmt: skip
    if options.json:
        records.append(options.json, told)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the link and the servers are taken down then too
    sys.exit(main())
