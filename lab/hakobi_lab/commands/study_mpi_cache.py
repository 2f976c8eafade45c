"""`hakobi study mpi-cache`: how much of an MPI benchmark's figure is the cache, by message size and transport."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import RECORDS, REPORT, Number, run_timeout


@click.command()
@click.option("--ranks", type=click.IntRange(min=2), default=2, show_default=True, help="MPI ranks of one node.")
@click.option("--pattern", default="sendrecv", show_default=True, help="Pattern of `hakobi bench mpi`.")
@click.option("--sizes", default="", help="Message sizes, as `hakobi bench mpi` takes them.")
@click.option(
    "--transports", "names", default="all", show_default=True, help="Transports and places, separated by commas."
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of rounds; each runs every transport once.",
)
@click.option(
    "--budget", type=Number(min=0), default=0.5, show_default=True, help="Time budget per size and round in seconds."
)
@click.option("--window", default="", help="Size of the memory window of cold buffers.")
@click.option("--no-hwloc", is_flag=True, help="Do not use hwloc to find the cache sizes.")
@RECORDS
@REPORT
@run_timeout(900.0)
def command(
    ranks: int,
    pattern: str,
    sizes: str,
    names: str,
    rounds: int,
    budget: float,
    window: str,
    no_hwloc: bool,
    json_file: Path | None,
    report: Path | None,
    timeout_s: float,
) -> int:
    """Show how much of an MPI benchmark's figure is the cache.

    Hot and cold buffers in turn, with shared memory and single copy on and off and with other eager limits, each by
    the MPI library's own control. A control that the library lacks is reported and skipped. So is a place
    (same-core-complex, other-socket, other-node) that the machine lacks; two nodes are made of namespaces.

    \b
    hakobi study mpi-cache --sizes 1K:16M --json cache.jsonl --report cache.html
    """
    from hakobi import files
    from hakobi.measuring.session import say_warnings
    from hakobi_lab.studies.mpi_cache import pages, session

    plan = session.Plan(
        ranks=ranks,
        pattern=pattern,
        sizes=sizes,
        names=session.parse_names(names),
        rounds=rounds,
        budget_s=budget,
        window=window,
        use_hwloc=not no_hwloc,
        timeout_s=timeout_s,
    )
    for path in filter(None, (json_file, report)):
        files.prepare_file(path)
    outcome = session.run(plan, json_file)
    pages.show(outcome)
    if report:
        pages.write_report(report, outcome)
    if json_file:
        session.write_summaries(json_file, outcome)
    say_warnings("hakobi study mpi-cache", outcome.end)
    return outcome.end.exit_status()
