"""`hakobi doctor`: one page about this machine and its MPI that explains surprising figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hakobi.measuring.machine import Fact


@click.command()
@click.option(
    "--storage",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Folder to measure, or testbed:SERVER; repeat.",
)
@click.option(
    "--writers",
    type=click.IntRange(1, 4096),
    help="Number of processes that write into one file on each --storage; lost bytes are counted.",
)
@click.option(
    "--pieces",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Number of pieces that each process writes.",
)
@click.option(
    "--launcher",
    default="",
    metavar="COMMAND",
    help="Command that starts one writer per rank: 'mpirun -n 2 --host a,b'.",
)
@click.option("--quick", is_flag=True, help="Read facts only; measure nothing.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path), help="Append the facts to this file as JSON lines."
)
def command(
    folders: tuple[Path, ...],
    writers: int | None,
    pieces: int,
    launcher: str,
    quick: bool,
    json_file: Path | None,
) -> int:
    """Show what on this machine distorts measurements, and which settings help.

    Caches, NUMA, huge pages, single copy, oversubscription, clock, steal time, storage limits, MPI libraries, GPUs.
    Each measurement takes at most ten seconds; one of a storage writes up to 1 GiB there and removes it. Ctrl-C ends
    it and prints what was found until then. Exit status 0 also when traps are found: they are facts, not failures; 2
    when a folder of --storage cannot be measured, after the rest of the page, and 1 when --writers found lost bytes.
    """
    from collections.abc import Callable, Sequence
    from dataclasses import asdict
    from functools import partial

    from hakobi import conditions, files, layout, pending, programs, progress, records, testbeds
    from hakobi.errors import StorageError
    from hakobi.measuring import devices, machine

    if writers and not folders:
        raise click.UsageError("--writers looks at a folder: name one by --storage")
    beds = [folder for folder in folders if testbeds.is_testbed(folder)]
    if beds and (launcher or not writers):
        raise click.UsageError(f"{beds[0]} is looked at by --writers, and starts them itself")
    for bed in beds:
        testbeds.parse(str(bed))
    missing = [folder for folder in folders if folder not in beds and not folder.is_dir()]
    if json_file:
        files.prepare_file(json_file)
    refused: list[str] = []
    cores = machine.usable_cores()
    facts: list[Fact] = []
    parts: list[tuple[str, Callable[[], Sequence[Fact]], float]] = [
        ("the processor", machine.processor, 0),
        ("caches", machine.caches_and_numa, 0),
        ("pages", machine.pages, 0),
        ("single copy", machine.single_copy, 0),
        ("steal time", machine.contention, 0),
    ]
    parts.append(("the batch system", machine.batch_system, 0))
    parts += [(name, partial(machine.mpi_library, name, cores), 0) for name in programs.FLAVOURS]
    parts.append(("devices", devices.found, 1))
    for folder in [folder for folder in folders if folder not in beds] or ([] if folders else [Path.cwd()]):
        if stripes := layout.of_folder(folder):
            found = [machine.Fact(f"layout of {folder}", f"new files: {stripes}")]
            parts.append((f"the layout of {folder}", lambda found=found: found, 0))  # type: ignore[misc]
        if unstored := sorted(pending.names(folder)):
            facts += [machine.Fact(f"a file of {folder}", name, "note", pending.sentence(name)) for name in unstored]
    if not quick:
        from hakobi.measuring import probes

        parts.append(("memory", lambda: [probes.memory()], 2))
        parts.append(("messages between two ranks", probes.messages, 5))

        def storage(folder: Path) -> Sequence[Fact]:
            try:
                return probes.storage(folder)
            except StorageError as error:
                why = f"{error}: make it, or correct its name" if folder in missing else str(error)
                refused.append(why)
                return [machine.Fact(f"storage {folder}", "not measured", "note", why)]

        for folder in [folder for folder in folders if folder not in beds] if folders else [Path.cwd()]:
            what = f"storage {folder}, where up to 1 GiB is written, read and removed"
            parts.append((what, partial(storage, folder), 8))
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
    if quick:
        refused += [f"--storage {folder}: there is no such folder: make it, or correct its name" for folder in missing]
    if folders and refused:
        raise StorageError("; ".join(refused))
    if stopped_at:
        return 130
    lost = [_lost_bytes(folder, writers, pieces, launcher, json_file) for folder in folders if writers]
    return 1 if any(lost) else 0


def _lost_bytes(folder: Path, writers: int, pieces: int, launcher: str, json_file: Path | None) -> int:
    """Bytes that a file of the folder lost; says so, and the record. Raises StorageError."""
    import json

    from hakobi import conditions, progress, records, testbeds
    from hakobi.errors import StorageError, storage_error
    from hakobi.measuring import lost_bytes

    kept: lost_bytes.Kept
    try:
        if testbeds.is_testbed(folder):
            with testbeds.bring_up(testbeds.parse(str(folder))) as bed:
                with progress.phase(f"writing with {writers} processes into one file of {folder}", 30):
                    kept = testbeds.plugged_in().lost_bytes.look(bed, writers, pieces)
                described = bed.file_system()
        else:
            with progress.phase(f"writing with {writers} processes into one file of {folder}", 3):
                kept = lost_bytes.look(folder, writers, pieces, launcher)
            described = conditions.file_system(folder)
    except OSError as error:
        raise storage_error("test storage", error) from error
    except lost_bytes.WriterError as error:
        raise StorageError(f"cannot test storage {folder}: {error}") from error
    record = {
        "kind": "storage",
        "folder": str(folder),
        "file_system": described.get("type", "unknown"),
        "mount_options": described.get("options", ""),
        "writers": kept.writers,
        "pieces": kept.pieces,
        "piece_bytes": lost_bytes.PIECE_BYTES,
        "lost_bytes": kept.lost_bytes,
        "lost_pieces": kept.lost_pieces,
        "time_s": kept.seconds,
        "launcher": launcher,
    }
    if kept.lost_bytes:
        click.echo(
            f"TRAP  {folder}: {kept.lost_bytes} bytes of {kept.lost_pieces} pieces are lost where {kept.writers} "
            "writers share a file: let one node write (--method root), or mount it otherwise (docs/storage.md)"
        )
    if json_file:
        records.append(json_file, record)
    click.echo(json.dumps(record))
    return kept.lost_bytes


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
