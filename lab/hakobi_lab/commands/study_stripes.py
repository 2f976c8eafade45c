"""`hakobi study stripes`: a weather model's speed by the layout of its output's files."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import FIGURES, RECORDS, REPORT, SECONDS, WHOLE_NUMBERS, run_timeout, say_written


@click.command()
@click.option("--storage", "storages", multiple=True, metavar="NAME=DIR", help="Where to write; repeatable.")
@click.option(
    "--storage-model",
    "storage_models",
    multiple=True,
    metavar="NAME=MODEL",
    help="Apply a storage model to a storage; repeatable. Needed where the storage is not Lustre.",
)
@click.option(
    "--servers",
    type=WHOLE_NUMBERS,
    default="4,84",
    show_default=True,
    help="Without --storage: modelled folders of so many servers each.",
)
@click.option("--stripes", type=WHOLE_NUMBERS, default="1,4,16,84", show_default=True, help="Stripes of a file.")
@click.option("--stripe-mib", type=WHOLE_NUMBERS, default="1,4", show_default=True, help="MiB of a stripe.")
@click.option(
    "--strides",
    type=WHOLE_NUMBERS,
    default="1,2,4,6,8,16",
    show_default=True,
    help="Writer strides: every n-th rank writes.",
)
@click.option("--ranks", type=click.IntRange(min=1), default=16, show_default=True, help="MPI ranks of the model.")
@click.option("--resolution", default="T63", show_default=True, help="T63, T95, T159, T255, T511.")
@click.option("--levels", type=click.IntRange(1, 200), default=20, show_default=True, help="Model levels.")
@click.option(
    "--hours", type=click.IntRange(min=1), default=2, show_default=True, help="Hours of forecast; one output per hour."
)
@click.option("--pages/--no-pages", "has_pages", default=True, show_default=True, help="Also compare page sizes.")
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Number of rounds; each runs every case once.",
)
@click.option("--budget", "budget_s", type=SECONDS, help="Seconds that the study may take. Default: no limit.")
@RECORDS
@REPORT
@FIGURES
@run_timeout(3600.0)
def command(
    storages: tuple[str, ...],
    storage_models: tuple[str, ...],
    servers: tuple[int, ...],
    stripes: tuple[int, ...],
    stripe_mib: tuple[int, ...],
    strides: tuple[int, ...],
    ranks: int,
    resolution: str,
    levels: int,
    hours: int,
    has_pages: bool,
    repetitions: int,
    budget_s: float | None,
    json_file: Path | None,
    report: Path | None,
    figures: Path | None,
    timeout_s: float,
) -> int:
    """Measure what the stripes of its files do for a weather model's output.

    Runs hakobi-weather with the field store in every combination of stripe count, stripe size and stride of the
    writers, on each storage: Lustre folders, or storage models with servers. Prints forecast days per day, mean and
    peak, and draws them over each of the three. Then compares memory in pages of 4 KiB and of 2 MiB, as far as the
    machine has them.

    \b
    hakobi study stripes --ranks 4 --budget 600 --report stripes.html
    hakobi study stripes --storage one=/scratch/me --storage two=/projects/me --stripes 1,4,16
    hakobi study stripes --storage slow=/dev/shm/me --storage-model slow=servers=16,bandwidth=5,latency=2ms
    """
    import math

    from hakobi import conditions, files, programs
    from hakobi.measuring.session import say_warnings
    from hakobi.table import show
    from hakobi_lab.measuring import huge_pages
    from hakobi_lab.studies.field_store import plan as plans
    from hakobi_lab.studies.field_store import session, stripe_pages
    from hakobi_lab.studies.field_store import stripes as layouts
    from hakobi_lab.studies.output_methods.plan import parse_models, parse_storages

    if storages:
        places = parse_storages(storages, default=Path())
        models = parse_models(storage_models, places)
    else:
        models = layouts.modelled(servers)
        places = dict.fromkeys(models, Path("out") / "study")
        models |= parse_models(storage_models, places)
    lacking = huge_pages.lacking() if has_pages else None
    plan = layouts.make_plan(
        places,
        models,
        plans.Model(plans.parse_resolution(resolution), ranks),
        layouts.every_striping(stripes, stripe_mib, plans.useful_strides(strides, ranks)),
        rounds=repetitions,
        arguments=("--levels", str(levels), "--hours", str(hours)),
        pages_lacking=lacking,
        timeout_s=timeout_s,
    )
    for path in filter(None, (json_file, report)):
        files.prepare_file(path)
    if figures is not None:
        files.prepare_folder(figures)
    facts = conditions.collect(programs.find("hakobi-weather").flavour, plan.storages)
    conditions.add_models(facts, plan.storage_models)

    budget_s = math.inf if budget_s is None else budget_s
    outcomes, end = session.run(plan, facts, json_file, budget_s, study="stripes")
    end.check()
    for table in stripe_pages.tables(plan, outcomes, end, lacking):
        show(table)
        click.echo()
    if report or figures:
        made = stripe_pages.make_report(plan, outcomes, end, facts, lacking)
        made.save(report, figures)
        say_written(report=report, figures=figures)
    if end.is_out_of_time:
        click.echo(f"the time ran out after {end.num_done} of {end.num_jobs} runs")
    say_warnings("hakobi study stripes", end)
    return end.exit_status()
