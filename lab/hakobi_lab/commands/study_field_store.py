"""`hakobi study field-store`: what a weather model's output costs, by where it goes and how."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import FIGURES, RECORDS, REPORT, WHOLE_NUMBERS, run_timeout, say_written


@click.command()
@click.option("--storage", "storages", multiple=True, metavar="NAME=DIR", help="Where to write; repeatable.")
@click.option(
    "--storage-model",
    "storage_models",
    multiple=True,
    metavar="NAME=MODEL",
    help="Apply a storage model to a storage; repeatable.",
)
@click.option(
    "--ranks", type=WHOLE_NUMBERS, default="2", show_default=True, help="MPI ranks of the model, separated by commas."
)
@click.option(
    "--threads", type=WHOLE_NUMBERS, default="1", show_default=True, help="Threads of each rank, separated by commas."
)
@click.option(
    "--strides",
    type=WHOLE_NUMBERS,
    default="1,2,4,6,8,16",
    show_default=True,
    help="Writer strides: every n-th rank writes.",
)
@click.option("--buffers", default="2x16,4x16,4x64", show_default=True, help="NUMBERxMIB, separated by commas.")
@click.option(
    "--resolution",
    "resolutions",
    default="T159",
    show_default=True,
    help="T63, T95, T159, T255, T511, separated by commas.",
)
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
@click.option("--striping", default="1x1,4x4", show_default=True, help="On Lustre and on a model: stripes x MiB.")
@RECORDS
@REPORT
@FIGURES
@run_timeout(3600.0)
def command(
    storages: tuple[str, ...],
    storage_models: tuple[str, ...],
    ranks: tuple[int, ...],
    threads: tuple[int, ...],
    strides: tuple[int, ...],
    buffers: str,
    resolutions: str,
    levels: int,
    hours: int,
    repetitions: int,
    striping: str,
    json_file: Path | None,
    report: Path | None,
    figures: Path | None,
    timeout_s: float,
) -> int:
    """Measure what a weather model's output costs.

    Runs hakobi-weather without output, with two files a step through one task and with the field store, at each
    resolution, rank count and number of threads. At the last of each also: by stride of the writers, by number and size
    of asynchronous buffers, with each other parameter of the store changed, on Lustre and on storage models by
    striping. Prints forecast days per day, sizes, and what the writing of each file took. Fields are read back and
    compared.

    \b
    hakobi study field-store --ranks 1,2,4 --storage fast=/dev/shm/me --storage disk=/scratch/me --report report.html
    hakobi study field-store --resolution T63,T159 --threads 1,2 --storage slow=/dev/shm/me \\
        --storage-model slow=servers=2,bandwidth=100,latency=2ms
    """
    from hakobi import conditions, files, programs
    from hakobi.measuring.session import say_warnings
    from hakobi.table import show
    from hakobi_lab.studies.field_store import plan as plans
    from hakobi_lab.studies.field_store import session
    from hakobi_lab.studies.field_store.tables import tables
    from hakobi_lab.studies.output_methods.plan import parse_models, parse_storages

    places = parse_storages(storages, default=Path("out") / "study")
    models = plans.models_of(
        plans.parse_resolutions(resolutions),
        ranks,
        threads,
    )
    plan = plans.Plan(
        storages=places,
        storage_models=parse_models(storage_models, places),
        models=models,
        strides=plans.useful_strides(strides, models[-1].ranks),
        settings=plans.settings_of(plans.parse_pairs("--buffers", buffers, least=2)),
        stripings=tuple(plans.Striping(*pair) for pair in plans.parse_pairs("--striping", striping, least=1)),
        rounds=repetitions,
        timeout_s=timeout_s,
        arguments=("--levels", str(levels), "--hours", str(hours)),
    )
    for path in filter(None, (json_file, report)):
        files.prepare_file(path)
    if figures is not None:
        files.prepare_folder(figures)
    facts = conditions.collect(programs.find("hakobi-weather").flavour, plan.storages)
    conditions.add_models(facts, plan.storage_models)

    outcomes, end = session.run(plan, facts, json_file)
    end.check()
    for table in tables(plan, outcomes, end):
        show(table)
        click.echo()
    if report or figures:
        from hakobi_lab.studies.field_store import pages

        made = pages.make_report(plan, outcomes, end, facts)
        made.save(report, figures)
        say_written(report=report, figures=figures)
    say_warnings("hakobi study field-store", end)
    return end.exit_status()
