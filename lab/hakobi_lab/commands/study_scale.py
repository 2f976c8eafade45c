"""`hakobi study scale`: collective writes by method at 64 to 100,000 ranks, on a machine that a file describes."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import FIGURES, RECORDS, REPORT, run_timeout, say_written


@click.command()
@click.option(
    "--machine",
    "machine_file",
    default="frontier",
    show_default=True,
    metavar="FILE",
    help="Machine file, or one of Hakobi's: frontier, perlmutter, archer2, lumi-p, fat-25, fat-50, small-cluster, "
    "two-cores.",
)
@click.option("--ranks", default="", help="Rank counts, separated by commas. [default: 64 to 100,000, doubling]")
@click.option(
    "--methods",
    default="",
    help="Methods, separated by commas. [default: all but per-process; pipelined+hints for fat nodes]",
)
@click.option("--pattern", default="block3d", show_default=True, help="Pattern of `hakobi bench collective`.")
@click.option("--size", default="64M", show_default=True, help="Bytes of each rank.")
@click.option("--piece", default="4K", show_default=True, help="Bytes of a piece of the cyclic pattern.")
@click.option(
    "--check", is_flag=True, help="Hold the model against runs on this machine and against published figures."
)
@click.option(
    "--dir",
    "folder",
    default=Path("/dev/shm"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where the runs of --check write.",
)
@RECORDS
@REPORT
@FIGURES
@run_timeout(600.0)
def command(
    machine_file: str,
    ranks: str,
    methods: str,
    pattern: str,
    size: str,
    piece: str,
    check: bool,
    folder: Path,
    json_file: Path | None,
    report: Path | None,
    figures: Path | None,
    timeout_s: float,
) -> int:
    """Simulate collective writes at 64 to 100,000 ranks.

    The planner's own code is run for every rank count, with the costs of a machine file: how long a write takes by
    each method, how much of the machine it uses, what limits it, and how many words and how much memory a rank needs.

    \b
    hakobi study scale --machine frontier --report scale.html
    hakobi study scale --machine mine.toml --ranks 1024,8192 --methods parallel,pipelined+layout
    hakobi study scale --check
    """
    from hakobi import files
    from hakobi.measuring import collective
    from hakobi.measuring.session import say_warnings
    from hakobi_lab.studies.scale import machine, simulation

    of, counts = machine.load(machine_file), simulation.parse_ranks(ranks)
    piece_bytes = collective.parse_bytes(piece, "--piece")
    methods = methods or ",".join(simulation.default_methods(of, counts, piece_bytes))
    plan = simulation.Plan(
        machine=of,
        ranks=counts,
        methods=collective.parse_names(methods, "method", simulation.METHODS),
        pattern=collective.parse_names(pattern, "pattern", collective.PATTERNS)[0],
        rank_bytes=collective.parse_bytes(size, "--size"),
        piece_bytes=piece_bytes,
        timeout_s=timeout_s,
    )
    for path in filter(None, (json_file, report)):
        files.prepare_file(path)

    from hakobi_lab.studies.scale import checking, pages

    checked = None
    if check:
        checked = checking.run(folder, json_file, timeout_s)
        checking.show(checked)
        if not report and not figures:
            return checked.exit_status()
    outcome = simulation.run(plan, json_file)
    pages.show(outcome)
    say_warnings("hakobi study scale", outcome.end)
    if report or figures:
        pages.write_report(report, outcome, figures, checked.tables() if checked else ())
    say_written(report=report, figures=figures)
    return max(outcome.end.exit_status(), checked.exit_status() if checked else 0)
