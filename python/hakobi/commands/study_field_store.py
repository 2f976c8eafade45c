"""`hakobi study field-store`: what a weather model's output costs, by where it goes and how."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import SECONDS


@click.command()
@click.option("--storage", "storages", multiple=True, metavar="NAME=DIR", help="Where to write; repeatable.")
@click.option("--ranks", type=click.IntRange(min=1), default=2, show_default=True, help="MPI ranks of the model.")
@click.option("--strides", default="1,2,4,6,8,16", show_default=True, help="Writer strides: every n-th rank writes.")
@click.option("--buffers", default="2x16,4x16,4x64", show_default=True, help="NUMBERxMIB, separated by commas.")
@click.option("--resolution", default="T159", show_default=True, help="T63, T95, T159, T255 or T511.")
@click.option("--levels", type=click.IntRange(1, 200), default=60, show_default=True, help="Model levels.")
@click.option(
    "--hours", type=click.IntRange(min=1), default=3, show_default=True, help="Hours of forecast; one output per hour."
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Number of rounds; each runs every case once.",
)
@click.option(
    "--striping", default="1x1,4x4", show_default=True, help="On Lustre: striping_factor x striping_unit MiB."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Records (JSON lines); resumes from them.")
@click.option("--report", type=click.Path(path_type=Path), help="Write an HTML report: one file, no network needed.")
@click.option(
    "--timeout", "timeout_s", type=SECONDS, default=3600.0, show_default=True, help="Time limit per run in seconds."
)
def command(
    storages: tuple[str, ...],
    ranks: int,
    strides: str,
    buffers: str,
    resolution: str,
    levels: int,
    hours: int,
    repetitions: int,
    striping: str,
    json_file: Path | None,
    report: Path | None,
    timeout_s: float,
) -> int:
    """Measure what a weather model's output costs.

    Runs hakobi-weather without output, with two files a step through one task and with the field store: by stride of
    the writers, by number and size of asynchronous buffers, with and without huge pages, on Lustre by striping. Prints
    forecast days per day, sizes, and what the writing of each file took.

    \b
    hakobi study field-store --ranks 4 --storage fast=/dev/shm/me --storage disk=/scratch/me --report report.html
    """
    from hakobi import conditions, files, programs
    from hakobi.measuring.session import say_warnings
    from hakobi.studies.field_store import session
    from hakobi.studies.field_store.tables import tables
    from hakobi.studies.output_methods.plan import parse_storages
    from hakobi.table import show

    plan = session.Plan(
        storages=parse_storages(storages, default=Path("out") / "study"),
        strides=session.parse_strides(strides, ranks),
        buffers=session.parse_pairs("--buffers", buffers, least=2),
        stripings=session.parse_pairs("--striping", striping, least=1),
        ranks=ranks,
        rounds=repetitions,
        timeout_s=timeout_s,
        arguments=("--resolution", resolution, "--levels", str(levels), "--hours", str(hours)),
    )
    for path in filter(None, (json_file, report)):
        files.prepare_file(path)
    facts = conditions.collect(programs.find("hakobi-weather").flavour, plan.storages)

    outcomes, end = session.run(plan, facts, json_file)
    for table in tables(plan, outcomes, end):
        show(table)
        click.echo()
    if report:
        from hakobi.studies.field_store import pages

        pages.write_report(report, plan, outcomes, end, facts)
        click.echo(f"report: {report}")
    say_warnings("hakobi study field-store", end)
    return end.exit_status()
