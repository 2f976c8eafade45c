"""`hakobi tune`: which of the engine's hints pay on this machine, for a pattern or a program, as a hints file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hakobi.options import RECORDS, SECONDS, STORAGE_MODEL, run_timeout


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--pattern", default="block3d", show_default=True, help="Pattern of `hakobi bench collective`.")
@click.option("--piece", default="512", show_default=True, help="Bytes of a piece of the cyclic pattern.")
@click.option("--size", default="256M", show_default=True, help="Approximate size of the pattern's file.")
@click.option("--ranks", type=click.IntRange(min=1), default=4, show_default=True, help="MPI ranks of the pattern.")
@click.option(
    "--operation",
    type=click.Choice(["write", "read", "both"]),
    default="both",
    show_default=True,
    help="What of the pattern counts.",
)
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="NAME[=VALUE,…]",
    help="A hint to try, with its values or the usual ones; repeatable (default: aggregators, buffer, depth, access; "
    "stripes where the storage has them).",
)
@STORAGE_MODEL
@click.option(
    "--dir",
    "folder",
    default=Path("/dev/shm"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where the pattern's file goes.",
)
@click.option(
    "--budget", "budget_s", type=SECONDS, default=300.0, show_default=True, help="Time budget in seconds, all together."
)
@click.option("--output", type=click.Path(path_type=Path), help="Write the choice as a hints file.")
@RECORDS
@run_timeout(900.0)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGUMENT]...]")
def command(
    pattern: str,
    piece: str,
    size: str,
    ranks: int,
    operation: str,
    tried: tuple[str, ...],
    model_text: str,
    folder: Path,
    budget_s: float,
    output: Path | None,
    json_file: Path | None,
    timeout_s: float,
    program: tuple[str, ...],
) -> int:
    """Find the hints that pay here, for a pattern or a program.

    Each hint is changed alone, beside the defaults, in rounds in which all candidates take turns; what is slower than
    the fastest outside the spread is dropped. New rounds of the best and the defaults decide: the hints are chosen only
    if they are faster outside the spread, else the defaults are. A PROGRAM is the usual command, with its launcher; it
    runs under the drop-in, many times over, and its whole run is timed.

    \b
    hakobi tune --dir /scratch/me --ranks 8 --pattern block3d --size 1G --output tuned.hints
    hakobi tune --try cb_buffer_size=1M,8M,64M --try hakobi_depth --budget 1800 -- mpirun -n 8 ./solver input.nml
    hakobi run --hints tuned.hints -- mpirun -n 8 ./solver input.nml
    """
    from hakobi import files
    from hakobi.errors import InputError
    from hakobi.measuring import collective, storage_model
    from hakobi.measuring.session import say_warnings
    from hakobi.tuning import candidates, pages, session, work

    words = program[1:] if program[:1] == ("--",) else program
    if words and words[0].startswith("-"):
        raise InputError(f"no such option: {words[0]}")
    if words and model_text:
        raise InputError("--storage-model is for patterns: a program's own files are measured")
    task: work.Work
    if words:
        task = work.Application(words, Path.cwd())
    else:
        task = work.Pattern(
            pattern=collective.parse_names(pattern, "pattern", collective.PATTERNS)[0],
            piece_bytes=collective.parse_bytes(piece, "--piece"),
            file_bytes=collective.parse_bytes(size, "--size"),
            ranks=ranks,
            operation=operation,
            folder=folder,
            model=storage_model.parse(model_text) if model_text else None,
        )
    plan = session.Plan(task, candidates.parse(tried, task.usual()), budget_s, timeout_s)
    for path in filter(None, (output, json_file)):
        files.prepare_file(path)

    outcome = session.run(plan, json_file)
    pages.show(outcome)
    for end in (outcome.search_end, outcome.final_end):
        say_warnings("hakobi tune", end)
    if outcome.choice is None:
        return outcome.exit_status()
    sys.stdout.write(f"{pages.choice_words(outcome.choice)}\n")
    if output:
        pages.write(output, outcome, outcome.choice)
        sys.stdout.write(f"hints: {output}\n")
    return outcome.exit_status()
