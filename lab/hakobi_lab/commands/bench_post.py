"""`hakobi bench post`: how soon a large result is on the screen."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import click

from hakobi.errors import InputError, RunError

_UNITS = {"": 1, "M": 10**6, "G": 10**9, "T": 10**12}
_ALL = ("loopback", "1gbit", "100mbit", "slow")


@click.command()
@click.option("--size", default="1G", show_default=True, help="Size of the field, such as 10G or 100G.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("out") / "bench-post", show_default=True)
@click.option("--rounds", type=click.IntRange(1, 100), default=5, show_default=True, help="Number of repetitions.")
@click.option(
    "--viewers", type=click.IntRange(1, 64), default=8, show_default=True, help="Number of simultaneous viewers."
)
@click.option(
    "--link",
    "links",
    type=click.Choice(_ALL),
    multiple=True,
    help="Links, repeatable; default: all. `slow` is 1 Mbit/s with a round trip of 200 ms.",
)
@click.option(
    "--threads", type=click.IntRange(1, 64), default=2, show_default=True, help="Threads that make the index."
)
@click.option(
    "--storage",
    type=click.Choice(("file", "s3")),
    default="file",
    show_default=True,
    help="s3: the step lies in a bucket (Versity's gateway), and the links are between that and `hakobi post`.",
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Append records to this file.")
@click.option("--part", type=click.Choice(("all", "index", "pictures")), default="all", show_default=True)
@click.option("--keep", is_flag=True, help="Leave the step in the folder for the next run.")
def command(
    size: str,
    folder: Path,
    rounds: int,
    viewers: int,
    links: tuple[str, ...],
    threads: int,
    storage: str,
    json_path: Path | None,
    part: str,
    keep: bool,
) -> int:
    """Measure how soon a large result appears in a browser.

    Writes a 3-D field of that size, makes its overview, and has headless Chromium open planes across each axis from
    cold caches. Needs Debian's chromium and chromium-driver; links are shaped by root only.
    """
    from hakobi import conditions, files, records
    from hakobi.post.overview import path_of
    from hakobi_lab import first_pictures, object_servers
    from hakobi_lab.browser import why_not

    found = re.fullmatch(r"(\d+(?:\.\d+)?)([MGT]?)", size)
    if not found or not 10**6 <= float(found[1]) * _UNITS[found[2]] <= 10**15:
        raise InputError(f"size '{size}' is not a number of bytes as 10G")
    if why_not():
        raise RunError(why_not())
    files.prepare_folder(folder)
    if json_path:
        files.prepare_file(json_path)

    def tell(record: dict[str, object]) -> None:
        told = " ".join(
            f"{k}={v}" for k, v in record.items() if k in ("axis", "link", "viewers", "wire_bytes", "level")
        )
        share = f" share={record['share']:.2f}" if "share" in record else ""
        click.echo(f"{record['what']} {told}{share} median {record['median_s']:.3f} s")
        if json_path:
            records.append(json_path, {**record, "commit": conditions.commit() or ""})

    bucket = folder / "data" / object_servers.BUCKET
    if storage == "s3":
        links = tuple(name for name in links or _ALL if name != "slow")
        bucket.mkdir(parents=True, exist_ok=True)
    run = first_pictures.Bench(bucket if storage == "s3" else folder, int(float(found[1]) * _UNITS[found[2]]), rounds)
    try:
        if part != "pictures":
            tell(run.index(threads))
        else:
            run.prepare(threads)
        for name in () if part == "index" else links or _ALL:
            try:
                with contextlib.ExitStack() as stack:
                    link = stack.enter_context(first_pictures.shaped(name))
                    store = None
                    if storage == "s3":
                        store = stack.enter_context(object_servers.s3(folder, link.server))
                    for record in run.starts(link, store):
                        tell(record)
                    for count in dict.fromkeys((1, viewers)):
                        for record in run.pictures(link, count, store):
                            tell(record)
            except RunError as error:
                click.echo(f"not run: {error}", err=True)
    finally:
        if not keep:
            for path in (run.step, path_of(run.step)):
                path.unlink(missing_ok=True)
    return 0
