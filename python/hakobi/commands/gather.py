"""`hakobi gather`: makes whole files of the pieces that a killed `per-process` run left behind."""

from __future__ import annotations

import click

from hakobi import programs
from hakobi.progress import run_program


@click.command()
@click.argument("path")
def command(path: str) -> int:
    """Make whole files of the pieces that a `per-process` run left in PATH.

    PATH is a `*.pieces` folder or a folder that holds such folders, or the prefix of a series (out/run, s3://bucket/run),
    whose steps on this node's stage go to their place. Complete sets become their file and are removed;
    incomplete ones, those beside a file that holds something else, and those of a run that goes on are left and named.
    Needs no MPI launcher.
    """
    return run_program(f"gathering the pieces in {path}", [programs.find("hakobi-gather").path, path])
