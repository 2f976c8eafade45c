"""`hakobi doctor`: one page about this machine and its MPI that explains surprising figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hakobi.measuring.machine import Fact


@click.command()
@click.option("--storage", "folders", multiple=True, type=click.Path(path_type=Path), help="Folder to measure; repeat.")
@click.option("--quick", is_flag=True, help="Read facts only; measure nothing.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Append the facts as JSON lines.")
def command(folders: tuple[Path, ...], quick: bool, json_file: Path | None) -> int:
    """Explain this machine: what falsifies figures here, what to set, and why.

    Caches, NUMA, huge pages, single copy, oversubscription, clock, steal time, storage limits, MPI libraries. Each
    measurement takes at most ten seconds; one of a storage writes up to 1 GiB there and removes it. Ctrl-C ends it and
    prints what was found until then. Exit status 0 also when traps are found: they are facts, not failures; 2
    when a folder of --storage cannot be measured, after the rest of the page.
    """
    from collections.abc import Callable, Sequence
    from dataclasses import asdict
    from functools import partial

    from hakobi import conditions, files, programs, progress, records
    from hakobi.errors import StorageError
    from hakobi.measuring import machine

    if json_file:
        files.prepare_file(json_file)
    refused: list[str] = []
    cores = machine.usable_cores()
    parts: list[tuple[str, Callable[[], Sequence[Fact]], float]] = [
        ("the processor", machine.processor, 0),
        ("caches", machine.caches_and_numa, 0),
        ("pages", machine.pages, 0),
        ("single copy", machine.single_copy, 0),
        ("steal time", machine.contention, 0),
    ]
    parts += [(name, partial(machine.mpi_library, name, cores), 0) for name in programs.FLAVOURS]
    if not quick:
        from hakobi.measuring import probes

        parts.append(("memory", lambda: [probes.memory()], 2))
        parts.append(("messages between two ranks", probes.messages, 5))

        def storage(folder: Path) -> Sequence[Fact]:
            try:
                return probes.storage(folder)
            except StorageError as error:
                refused.append(str(error))
                return [machine.Fact(f"storage {folder}", "not measured", "note", str(error))]

        for folder in folders or (Path.cwd(),):
            what = f"storage {folder}, where up to 1 GiB is written, read and removed"
            parts.append((what, partial(storage, folder), 8))
    facts: list[Fact] = []
    stopped_at = ""
    for name, find, expected_s in parts:
        try:
            with progress.phase(f"looking at {name}", expected_s):
                facts += find()
        except KeyboardInterrupt:
            stopped_at = name
            break
    _show(facts)
    if stopped_at:
        click.echo(f"hakobi doctor: interrupted at {stopped_at}: what was found until then is above", err=True)
    if json_file:
        records.append(json_file, {"kind": "conditions", "benchmark": "doctor", "conditions": conditions.machine()})
        for fact in facts:
            records.append(json_file, {"kind": "fact", **asdict(fact)})
    if folders and refused:
        raise StorageError("; ".join(refused))
    return 2 if stopped_at else 0


def _show(facts: list[Fact]) -> None:
    import shutil
    import sys

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    signs = {"good": ("ok", "green"), "note": ("note", "cyan"), "trap": ("TRAP", "bold red")}
    view = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    view.add_column(no_wrap=True)
    view.add_column(no_wrap=True)
    view.add_column(overflow="fold")
    for fact in facts:
        sign, style = signs[fact.verdict]
        text = Text(fact.finding)
        if fact.why and fact.verdict != "good":
            text.append(f"\n{fact.why}", style="dim")
        if fact.advice and fact.verdict != "good":
            text.append(f"\n→ {fact.advice}", style="italic")
        view.add_row(Text(sign, style=style), Text(fact.topic), text)
    width = None if sys.stdout.isatty() else max(100, shutil.get_terminal_size((120, 40)).columns)
    console = Console(file=sys.stdout, highlight=False, width=width)
    console.print(view)
    traps = sum(fact.verdict == "trap" for fact in facts)
    console.print(f"{traps} trap{'' if traps == 1 else 's'} found." if traps else "No traps found.")
