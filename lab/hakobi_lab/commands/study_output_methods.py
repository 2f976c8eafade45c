"""`hakobi study output-methods`: what output costs an application, by method, rank count and storage."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi.options import FIGURES, RECORDS, REPORT, WHOLE_NUMBERS, run_timeout


@click.command(context_settings={"ignore_unknown_options": False})
@click.option("--app", default="tsunami", show_default=True, help="hakobi-APP, or a program's path: ./solver.")
@click.option("--methods", default="all", show_default=True, help="Methods to compare, separated by commas.")
@click.option(
    "--ranks", type=WHOLE_NUMBERS, default="1,2,4", show_default=True, help="Rank counts, separated by commas."
)
@click.option(
    "--storage", "storages", multiple=True, metavar="NAME=DIR", help="Where to write, or testbed:SERVER; repeat."
)
@click.option(
    "--storage-model",
    "models",
    multiple=True,
    metavar="NAME=MODEL",
    help="Apply a storage model to a storage; repeatable.",
)
@click.option(
    "--repetitions", type=int, default=5, show_default=True, help="Number of rounds; each runs every case once."
)
@RECORDS
@REPORT
@FIGURES
@click.option("--sync", is_flag=True, help="Count the time until storage has the data.")
@click.option("--keep", is_flag=True, help="Leave the runs' files on the storages.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed for the order within the rounds.")
@run_timeout(3600.0)
@click.argument("arguments", nargs=-1, metavar="[-- APP OPTIONS]")
def command(
    app: str,
    methods: str,
    ranks: tuple[int, ...],
    storages: tuple[str, ...],
    models: tuple[str, ...],
    repetitions: int,
    json_file: Path | None,
    report: Path | None,
    figures: Path | None,
    sync: bool,
    keep: bool,
    seed: int,
    timeout_s: float,
    arguments: tuple[str, ...],
) -> int:
    """Compare output methods by an application's own runs.

    Runs the application with each method, rank count and storage, interleaved and repeated, beside the same run
    without output, and prints what output cost. Options after -- go to the application.

    \b
    hakobi study output-methods --ranks 1,2,4 --storage fast=/dev/shm/me --storage disk=/scratch/me \\
        --repetitions 7 --json runs.jsonl --report report.html -- --hours 2
    hakobi study output-methods --methods root,pipelined,pipelined+hidden --storage slow=/dev/shm/me \\
        --storage-model slow=servers=1,bandwidth=118,latency=1ms
    hakobi study output-methods --storage smb-1gbit=testbed:smb,1gbit --storage nfs=testbed:nfs,nodes=4
    hakobi study output-methods --app ./solver

    A program of your own takes --method, --output and --json, and appends {"time_s": SECONDS} to that file:
    docs/own-study.md has one in C++, Fortran and Python. METHOD+hidden lets a step drain while the next is computed.
    testbed:nfs, testbed:smb, testbed:gluster and testbed:ceph bring up a server and nodes with real clients on this
    machine: docs/storage.md.
    """
    from hakobi.errors import InputError
    from hakobi_lab.studies.output_methods import plan, session

    name, program = plan.program_of(app)
    places = plan.parse_storages(storages, default=Path("out") / "study")
    testbeds = plan.parse_testbeds(places)
    if keep and testbeds:
        raise InputError("--keep: a testbed's files are gone with it")
    return session.study(
        plan.Plan(
            app=name,
            program=program,
            models=plan.parse_models(models, places),
            testbeds=testbeds,
            methods=plan.check_synced(plan.parse_methods(methods), sync),
            ranks=tuple(sorted(ranks)),
            storages=places,
            repetitions=plan.check_repetitions(repetitions),
            sync=sync,
            seed=seed,
            arguments=plan.check_arguments(arguments),
            timeout_s=timeout_s,
            keep=keep,
        ),
        json=json_file,
        report=report,
        figures=figures,
    )
