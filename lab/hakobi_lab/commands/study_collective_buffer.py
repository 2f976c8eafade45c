"""`hakobi study collective-buffer`: throughput over the size of the collective buffer, by file access and ranks."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hakobi.options import FIGURES, RECORDS, REPORT, SECONDS, STORAGE_MODEL, WHOLE_NUMBERS, run_timeout, say_written


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--ranks", type=WHOLE_NUMBERS, default="8,64", show_default=True, help="Rank counts, separated by commas."
)
@click.option("--cb", default="256K,512K,1M,2M,4M,8M,16M,32M,64M", show_default=True, help="Sizes of the buffer.")
@click.option(
    "--access",
    default="posix,uring,threads",
    show_default=True,
    help="File access of the engine; posix is the unpipelined original method.",
)
@click.option("--pattern", default="block3d", show_default=True, help="Pattern of `hakobi bench collective`.")
@click.option("--piece", default="512", show_default=True, help="Bytes of a piece of the cyclic pattern.")
@click.option("--size", default="256M", show_default=True, help="Approximate size of the file.")
@click.option("--depth", type=click.IntRange(min=1), default=4, show_default=True, help="Number of buffers in flight.")
@STORAGE_MODEL
@click.option(
    "--dir",
    "folder",
    default=Path("/dev/shm"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where the files go.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Number of rounds; each runs every case once.",
)
@click.option(
    "--budget", "budget_s", type=SECONDS, default=900.0, show_default=True, help="Time budget of the study in seconds."
)
@RECORDS
@REPORT
@FIGURES
@run_timeout(900.0)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF hakobi-bench-collective]")
def command(
    ranks: tuple[int, ...],
    cb: str,
    access: str,
    pattern: str,
    piece: str,
    size: str,
    depth: int,
    model_text: str,
    folder: Path,
    rounds: int,
    budget_s: float,
    json_file: Path | None,
    report: Path | None,
    figures: Path | None,
    timeout_s: float,
    arguments: tuple[str, ...],
) -> int:
    """Sweep the collective buffer's size: original, asynchronous, threads.

    Draws the two figures of Tsujita's report on pipelined two-phase I/O: throughput of collective writes and reads
    over the buffer's size, for the original, asynchronous and threaded file access, at several rank counts.
    Finished runs are kept: after Ctrl-C, or at the end of the budget, the same command continues where it stopped if
    --json names the same file.

    \b
    hakobi study collective-buffer --json cb.jsonl --report cb.html --storage-model servers=4,bandwidth=500,latency=2ms
    hakobi study collective-buffer --ranks 8 --cb 1M,4M,16M --size 64M --budget 60 --report cb.html
    """
    from hakobi import files, records
    from hakobi.errors import InputError
    from hakobi.measuring import collective, storage_model

    sizes = [collective.parse_bytes(text, "--cb") for text in cb.split(",") if text.strip()]
    if not sizes:
        raise InputError("--cb names no size")
    model = storage_model.parse(model_text) if model_text else None
    accesses = collective.parse_names(access, "access", collective.ACCESSES)
    for path in filter(None, (json_file, report)):
        files.prepare_file(path)

    from hakobi_lab.studies.collective_buffer import pages, result, session

    plan = session.Plan(
        ranks=ranks,
        cb_bytes=tuple(dict.fromkeys(sizes)),
        accesses=tuple(name for name in collective.ACCESSES if name in accesses),
        pattern=collective.parse_names(pattern, "pattern", collective.PATTERNS)[0],
        piece_bytes=collective.parse_bytes(piece, "--piece"),
        file_bytes=collective.parse_bytes(size, "--size"),
        depth=depth,
        folder=folder,
        model=model,
        rounds=rounds,
        budget_s=budget_s,
        arguments=arguments,
        timeout_s=timeout_s,
    )
    outcome = session.run(plan, json_file)
    pages.show(outcome)
    if json_file:
        for record in result.summaries(outcome):
            records.append(json_file, record)
    for warning in pages.warnings(outcome):
        if warning not in outcome.end.load:  # which was said at the head
            sys.stderr.write(f"hakobi study collective-buffer: {' '.join(warning.split())}\n")
    if report or figures:
        pages.write_report(report, outcome, figures)
    say_written(report=report, figures=figures)
    return outcome.end.exit_status()
