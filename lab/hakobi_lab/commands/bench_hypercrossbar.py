"""`hakobi bench hypercrossbar`: how much of its links a node fills, by hakobi-bench-hypercrossbar on nodes of this
machine."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hakobi.options import SECONDS


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--rate", type=click.IntRange(min=1), default=200, show_default=True, help="Mbit/s of a link, each way.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Add records (JSON lines) to this file.")
@click.option("--timeout", "timeout_s", type=SECONDS, default=3600.0, show_default=True, help="Time limit in seconds.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF hakobi-bench-hypercrossbar]")
def command(rate: int, json_file: Path | None, timeout_s: float, arguments: tuple[str, ...]) -> int:
    """Measure how much of its links a node fills in 1, 2 and 3 dimensions at once.

    Four nodes on this machine, in network namespaces (needs root): node 1 has a shaped link to its partner in each of
    three dimensions, nodes 2, 3 and 4. It sends, receives, or does both. 100 % is the payload that the links' rates
    carry. Exit status 77 where such nodes cannot be made. Further options are the program's own:

    \b
    hakobi bench hypercrossbar --rate 200 -- --sizes 1048576 --samples 5
    """
    from hakobi import files, programs
    from hakobi_lab.measuring import hypercrossbar

    if json_file is not None:
        files.prepare_file(json_file)
    program = programs.find(hypercrossbar.PROGRAM)
    try:
        done = hypercrossbar.run(program, rate, list(arguments), records=json_file, timeout_s=timeout_s)
    except hypercrossbar.UnavailableError as error:
        click.echo(f"skipped: {error}")
        return 77
    click.echo(f"4 nodes, links of {rate} Mbit/s: {hypercrossbar.payload_mb_s(rate):.1f} MB/s of payload each way")
    click.echo(done.stdout, nl=False)
    sys.stderr.write(done.stderr)
    return done.status
