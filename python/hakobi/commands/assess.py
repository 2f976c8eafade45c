"""`hakobi assess`: what a program writes, how long it waits for that, and what Hakobi would save, on one page."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from hakobi.options import RECORDS, SECONDS, run_timeout


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--rounds", "num_rounds", type=click.IntRange(min=3), default=5, show_default=True, help="Runs each way, in turns."
)
@click.option(
    "--budget", "budget_s", type=SECONDS, default=600.0, show_default=True, help="Time budget in seconds, all together."
)
@click.option(
    "--dir",
    "folder",
    default=Path(),
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Where the program runs (default: here).",
)
@RECORDS
@run_timeout(900.0)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENT]...")
def command(
    num_rounds: int,
    budget_s: float,
    folder: Path,
    json_file: Path | None,
    timeout_s: float,
    program: tuple[str, ...],
) -> int:
    """Say what a program writes and waits for, and what the drop-in saves.

    The PROGRAM, the usual command with its launcher, runs unchanged: once to see what it does, then in turns without
    and with the drop-in. The page says by which calls it writes and reads, how long its ranks wait in them, what the
    drop-in saves with an interval, how much hidden output can save at most, and the line for the job script.

    \b
    hakobi assess -- mpirun -n 8 ./solver input.nml
    hakobi assess --rounds 8 --budget 1800 --json assess.jsonl -- srun ./solver input.nml
    """
    from hakobi import files
    from hakobi.assessing import page, session
    from hakobi.errors import InputError
    from hakobi.measuring.session import say_warnings
    from hakobi.tuning.work import Application

    words = program[1:] if program[:1] == ("--",) else program
    if not words:
        raise InputError("name the program to run, as in: hakobi assess -- mpirun -n 8 ./solver")
    if words[0].startswith("-"):
        raise InputError(f"no such option: {words[0]}")
    if json_file:
        json_file = json_file.absolute()
        files.prepare_file(json_file)
    with contextlib.chdir(folder):
        plan = session.Plan(Application(words, Path.cwd()), num_rounds, budget_s, timeout_s)
        outcome = session.run(plan, json_file)
        page.show(outcome)
    say_warnings("hakobi assess", outcome.end)
    return outcome.end.exit_status()
