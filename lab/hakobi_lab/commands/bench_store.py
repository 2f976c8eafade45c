"""`hakobi bench store`: the field store beside plain writes and ECMWF's FDB, by the program hakobi-bench-store."""

from __future__ import annotations

import click

from hakobi.options import SECONDS


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--ranks", type=click.IntRange(min=1), default=1, show_default=True, help="Number of archiving processes."
)
@click.option("--timeout", "timeout_s", type=SECONDS, default=3600.0, show_default=True, help="Time limit in seconds.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF hakobi-bench-store]")
def command(ranks: int, timeout_s: float, arguments: tuple[str, ...]) -> int:
    """Measure archive, retrieve and list of a field store.

    The same GRIB messages go to a store, to plain files with the same syncs and, where asked, to ECMWF's FDB 5; the
    contenders take turns, each with its own durability. Further options are the program's own
    (`hakobi bench store -- --help` lists them):

    \b
    hakobi bench store --compare fdb --json records.jsonl
    hakobi bench store --ranks 2 --folder /scratch/me --rounds 9
    """
    from hakobi import conditions, ecmwf, launch, programs

    program = programs.find("hakobi-bench-store")
    own = {"HAKOBI_COMMIT": conditions.commit() or "", **ecmwf.environment()}
    if "--help" in arguments:
        ranks = 1
    finished = launch.run(program, list(arguments), ranks, timeout_s=timeout_s, extra_environment=own, capture=False)
    return finished.status
