"""`hakobi bench mpi`: MPI between ranks with hot and cold buffers, by the program hakobi-bench-mpi."""

from __future__ import annotations

import click

from hakobi.options import SECONDS


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--ranks", type=click.IntRange(min=1), default=2, show_default=True, help="MPI ranks to start.")
@click.option("--timeout", "timeout_s", type=SECONDS, default=3600.0, show_default=True, help="Time limit in seconds.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF hakobi-bench-mpi]")
def command(ranks: int, timeout_s: float, arguments: tuple[str, ...]) -> int:
    """Measure MPI messages with hot and with cold buffers.

    Hot and cold samples alternate, and every received byte is verified. Sizes whose figure depends on the cache are
    marked. Further options are the program's own (`hakobi bench mpi -- --help` lists them):

    \b
    hakobi bench mpi --ranks 2 --pattern sendrecv,exchange --sizes 1K:4M --json records.jsonl
    hakobi bench mpi --pattern all --tell-apart
    """
    from hakobi import conditions, launch, programs

    program = programs.find("hakobi-bench-mpi")
    own = {"HAKOBI_COMMIT": conditions.commit() or ""}
    if "--help" in arguments:
        ranks = 1
    finished = launch.run(program, list(arguments), ranks, timeout_s=timeout_s, extra_environment=own, capture=False)
    return finished.status
