"""`hakobi demo`: what output costs a run on a slow storage, and the wave to look at, in at most 90 seconds."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("out") / "demo",
    show_default=True,
    help="Where the results go.",
)
def command(folder: Path) -> int:
    """Run a tsunami by several output methods, show what output costs.

    Takes at most 90 seconds on two cores. Runs of the tsunami of 2011 without output, with one rank that writes, and
    with output hidden behind the computation take turns on a model of a slow storage (1 Gbit/s to one server). The
    first line says what each does to the run. A longer run then crosses the North Pacific; its steps and pictures stay
    in the folder (less than 200 MB). The last lines say what to type next.
    """
    from hakobi_lab.studies.output_methods import demo

    return demo.demo(folder)
