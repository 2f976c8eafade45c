"""`hakobi report NAME`: a published report's tables and figures, measured here, on one page beside what it found."""

from __future__ import annotations

import functools
import importlib
from dataclasses import replace
from pathlib import Path

import click

from hakobi.options import FIGURES, RECORDS, SECONDS, WHOLE_NUMBERS, Option, say_written

_OPTIONS: list[Option] = [
    click.option(
        "--budget", "budget_s", type=SECONDS, default=1800.0, show_default=True, help="Time for all of it in seconds."
    ),
    RECORDS,
    click.option("--page", type=click.Path(path_type=Path), help="Write the page (HTML): one file, no network needed."),
    FIGURES,
    click.option(
        "--dir",
        "folder",
        type=click.Path(path_type=Path),
        default=Path("/dev/shm"),
        show_default=True,
        help="Where runs write.",
    ),
    click.option("--smallest", is_flag=True, help="The least cases that fill every table: a trial, no result."),
]


_RANKS: Option = click.option(
    "--ranks", type=WHOLE_NUMBERS, help="Rank counts instead of the usual ones, separated by commas."
)


def _command(name: str, help_text: str, over_ranks: bool = False) -> click.Command:
    command = click.Command(name, callback=functools.partial(_run, name), help=help_text)
    for option in [*_OPTIONS, _RANKS] if over_ranks else _OPTIONS:
        command = option(command)
    return command


def _run(
    name: str,
    budget_s: float,
    json_file: Path | None,
    page: Path | None,
    figures: Path | None,
    folder: Path,
    smallest: bool,
    ranks: tuple[int, ...] | None = None,
) -> int:
    from hakobi import files, records
    from hakobi_lab.reports import page as pages
    from hakobi_lab.reports.published import REPORTS
    from hakobi_lab.reports.running import Budget, Order

    published = REPORTS[name]
    for path in filter(None, (json_file, page)):
        files.prepare_file(path)
    for place in filter(None, (folder, figures)):
        files.prepare_folder(place)
    command = f"hakobi report {name}"
    module = importlib.import_module(f"hakobi_lab.reports.{name.replace('-', '_')}")
    content: pages.Content = module.measure(Order(Budget(budget_s), folder, json_file, smallest, ranks or ()))
    content.contradict_nobody()
    if smallest:
        content.warnings.insert(0, "the smallest cases: they fill the tables and conclude nothing")
        content.findings = [replace(finding, agrees=None) for finding in content.findings]
    pages.print_content(published, content, command)
    if json_file is not None:
        for record in pages.records(published, content):
            records.append(json_file, record)
    if page is not None or figures is not None:
        made = pages.make(published, content, f"{command} --budget {budget_s:g}{' --smallest' if smallest else ''}")
        made.save(page, figures)
        say_written(page=page, figures=figures)
    return content.exit_status


stream = _command(
    "stream",
    "Output methods of a flow solver: the tables of a CFD vendor's comparison.\n\nTime and output time by method and "
    "ranks on a slow and a fast storage, speed-up and share, and the questions that the comparison left open: an "
    "unstructured case heavy on output, disks that seek, more ranks.",
    over_ranks=True,
)
openifs = _command(
    "openifs",
    "A weather model's output through a field store: the tables of OpenIFS's port.\n\nForecast days per day with two "
    "files a step and with the store, by resolution, ranks, threads, stride of the writers, buffers and page size.",
    over_ranks=True,
)
ha8000 = _command(
    "ha8000",
    "MPI benchmarks and the cache: the figures of a computing centre's warning.\n\nBandwidth over message size with "
    "one buffer and with buffers that are not in the cache, by where the two ranks are, and without shared memory.",
)
pacs_cs = _command(
    "pacs-cs",
    "A 3-D hyper-crossbar in all directions at once: the tables of PACS-CS.\n\nSend, receive and both in 1, 2 and 3 "
    "dimensions by plain MPI, halo exchange and buffer arrays, and the stability of 10,000 exchanges.",
)
two_phase = _command(
    "two-phase",
    "Pipelined two-phase collective I/O: the figures of Kindai's reports.\n\nThroughput over the collective buffer's "
    "size at 8 and 64 ranks for the original, asynchronous and threaded access; slow ranks and the pipeline's depth.",
    over_ranks=True,
)
