"""`hakobi store …`: the program hakobi-store, which has the options and does the work."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hakobi import programs
from hakobi.progress import run_program

#: Subcommand of hakobi-store -> its line in `hakobi store --help`.
_HELP = {
    "archive": "Archive every message of GRIB files by its own keywords.",
    "check": "Hold indexes and data against each other; --deep reads every field.",
    "consolidate": "Put all indexes into one file that is read faster; beside running writers.",
    "create": "Make an empty store.",
    "follow": "Print fields as they are flushed.",
    "get": "Write the fields that a request selects, one behind the other.",
    "list": "Print the fields that a request selects, one a line.",
    "move": "Move a store, or some of its fields to another store.",
    "put": "Archive a file's bytes as one field.",
    "recover": "Free what killed writers left behind their last flush.",
    "schema": "Print a schema, a store's or a shipped one: as its text, or as a table.",
    "stats": "Print how many fields there are, and the space that they take.",
    "where": "Print for each field its file, offset and length.",
    "wipe": "Say what removing fields would free; --remove removes them.",
}


#: Commands that may take long and say little until their end: what they are doing then.
_COUNTED = {
    "archive": "archiving",
    "check": "checking",
    "consolidate": "consolidating",
    "move": "moving",
    "recover": "recovering",
}


def run_as(program: Path, arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a store's program, which calls itself by the words that the user has typed."""
    return subprocess.run(["hakobi store", *arguments], executable=program, check=False, text=True, **options)


def _print_help(program: Path, name: str) -> int:
    """The program's own, its description where the other commands have theirs."""
    done = run_as(program, [name, "--help"], capture_output=True)
    description, _, rest = done.stdout.partition("Usage:")
    usage, _, options = rest.partition("\n")
    click.echo(f"Usage:{usage}\n\n  {description.strip()}\n{options.rstrip()}")
    return done.returncode


def _make(name: str, text: str) -> click.Command:
    @click.command(
        name=name,
        help=text,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> int:
        program = programs.find("hakobi-store").path
        if {"--help", "-h"} & set(arguments):
            return _print_help(program, name)
        if name in _COUNTED:
            words: list[str | Path] = ["hakobi store", name, *arguments]
            return run_program(f"{_COUNTED[name]} {' '.join(arguments[:1])}", words, executable=program)
        return run_as(program, [name, *arguments]).returncode

    return command


archive, check, consolidate, create, follow, get, list_, move, put, recover, schema, stats, where, wipe = (
    _make(name, text) for name, text in _HELP.items()
)
