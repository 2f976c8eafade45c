"""`hakobi gather`: makes whole files of the pieces that a killed `per-process` run left behind."""

from __future__ import annotations

from pathlib import Path

import click

from hakobi import programs
from hakobi.progress import run_program


@click.command()
@click.argument("path")
@click.option("--json", "is_json", is_flag=True, help="Print JSON lines: each file that was made, and what is left.")
def command(path: str, is_json: bool) -> int:
    """Make whole files of the pieces that a `per-process` run left in PATH.

    PATH is a `*.pieces` folder or a folder that holds such folders, or the prefix of a series (out/run, s3://bucket/run),
    whose steps on this node's stage go to their place. Complete sets become their file and are removed;
    incomplete ones, those beside a file that holds something else, and those of a run that goes on are left and named.
    Hidden steps that a killed run had stored get their names; what is left of others is named and removed. Needs no MPI
    launcher.
    """
    program = programs.find("hakobi-gather").path
    words: list[str | Path] = [
        "hakobi gather",
        *(["--json"] if is_json else []),
        path,
    ]  # it calls itself as the user does
    return run_program(f"gathering the pieces in {path}", words, executable=program)
