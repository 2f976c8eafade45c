"""`hakobi demo`: a first look at what Hakobi does, in a minute, or by the workbench's study."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from hakobi import plugins
from hakobi.errors import InputError


@click.command()
@click.option(
    "--quick",
    "is_quick",
    is_flag=True,
    help="In a minute, with what every installation has: a run, its picture, its cost, and a kill that loses nothing.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("out") / "demo",
    show_default=True,
    help="Where the results go.",
)
def command(is_quick: bool, folder: Path) -> int:
    """Run a simulation by several ways to write, show what output costs.

    With --quick: waves over a sea floor, on a model of a slow storage (1 Gbit/s to one server). One sentence and a pair
    of bars say what a solver's own writer and Hakobi make of the run; then a rank is killed (kill -9), and the resumed
    run's files are compared with those of one that nobody killed. Less than 200 MB stay in the folder.

    Without it, by hakobi-lab, in at most 90 seconds on two cores: the tsunami of 2011 in interleaved rounds, with a
    report, and a longer run to look at.
    """
    if is_quick:
        from hakobi.demo import quick

        return quick.demo(folder)
    study = plugins.commands().get("demo")
    if study is None:
        raise InputError(
            f"the study is in hakobi-lab, which is not installed: {plugins.HOW_TO_GET_IT}; "
            "hakobi demo --quick needs none"
        )
    module, _, name = study.partition(":")
    return int(click.get_current_context().invoke(getattr(importlib.import_module(module), name), folder=folder))
