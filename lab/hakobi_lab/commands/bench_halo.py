"""`hakobi bench halo`: ghost layers between the ranks of a grid, by the program hakobi-bench-halo."""

from __future__ import annotations

import click

from hakobi.options import SECONDS


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--ranks", type=click.IntRange(min=1), default=2, show_default=True, help="MPI ranks to start.")
@click.option("--timeout", "timeout_s", type=SECONDS, default=3600.0, show_default=True, help="Time limit in seconds.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF hakobi-bench-halo]")
def command(ranks: int, timeout_s: float, arguments: tuple[str, ...]) -> int:
    """Measure the exchange of ghost layers against plain MPI.

    Hakobi and plain MPI alternate, with cold buffers. Every ghost is compared, and a contender with wrong ghosts is
    reported. Further options are the program's own (`hakobi bench halo -- --help` lists them):

    \b
    hakobi bench halo --ranks 2 --extent 64,128 --components 8 --json records.jsonl
    hakobi bench halo --ranks 4 --dims 4 --extent 16 --components 24 --layout last,first
    hakobi bench halo --extent 64 --contenders packed,hakobi --histogram 10000
    """
    from hakobi import conditions, launch, programs

    program = programs.find("hakobi-bench-halo")
    own = {"HAKOBI_COMMIT": conditions.commit() or ""}
    if "--help" in arguments:
        ranks = 1
    finished = launch.run(program, list(arguments), ranks, timeout_s=timeout_s, extra_environment=own, capture=False)
    return finished.status
