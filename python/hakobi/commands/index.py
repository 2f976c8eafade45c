"""`hakobi index`: make the overviews that `hakobi post` shows large fields from."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from hakobi.options import json_option, write_json


@click.command()
@click.argument("path")
@click.option("--threads", type=click.IntRange(1, 1024), help="Number of threads; default: one per core.")
@click.option(
    "--memory",
    type=click.IntRange(64, 1 << 20),
    default=1024,
    show_default=True,
    help="Memory for all threads together, MiB.",
)
@json_option("Print JSON lines, one for a step, instead; or append them to this file.")
def command(path: str, threads: int | None, memory: int, json_file: str | None) -> int:
    """Make overviews of all steps at PATH.

    PATH is a folder (its results, and those of the folders in it), a file, or the prefix of one series. Each step file
    gets one file beside it, <step>.overview.zip, with means over 2, 4, 8 and 16 cells. Existing overviews are kept; an
    interrupted run is continued.
    """
    from hakobi.errors import InputError
    from hakobi.post.catalogue import Catalogue
    from hakobi.post.indexing import make_overviews
    from hakobi.post.place import location_of
    from hakobi.progress import phase
    from hakobi.words import count_text

    place = location_of(path)
    if not isinstance(place, Path):
        raise InputError(f"{path}: overviews are made where files are: run `hakobi index` there, then copy them along")
    series = Catalogue(place).series.values()
    found = (each.path(int(n)) for each in sorted(series, key=lambda s: s.key) if each.suffix for n in each.numbers)
    paths = [path for path in found if isinstance(path, Path)]
    begin = time.monotonic()
    counts = {"made": 0, "kept": 0, "failed": 0}
    read = written = 0
    outcomes = make_overviews(paths, threads or len(os.sched_getaffinity(0)), memory << 20)
    for number, next_path in enumerate(paths):
        passed_s = time.monotonic() - begin
        left_s = passed_s / number * (len(paths) - number) if number else None
        with phase(f"{number} of {count_text(len(paths), 'overview')} done: {next_path.name}", left_s):
            outcome = next(outcomes)
        counts[outcome.state] += 1
        if json_file is not None:
            told = {"file": str(next_path), "state": outcome.state, "reason": outcome.reason}
            write_json(json_file, [told | {"bytes": outcome.num_bytes, "overview_bytes": outcome.overview_bytes}])
        if outcome.state == "failed":
            sys.stderr.write(f"hakobi index: {outcome.reason}\n")
        if outcome.state == "made":
            read, written = read + outcome.num_bytes, written + outcome.overview_bytes
    if json_file is not None:
        return 1 if counts["failed"] else 0
    duration_s = time.monotonic() - begin
    rate = f", {read / 1e6 / duration_s:.0f} MB/s" if read else ""
    click.echo(
        f"{counts['made']} overviews made, {counts['kept']} kept, {counts['failed']} failed: "
        f"{written / 1e6:.1f} MB for {read / 1e6:.1f} MB in {duration_s:.2f} s{rate}"
    )
    return 1 if counts["failed"] else 0
