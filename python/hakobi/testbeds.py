"""File servers that are brought up for a measurement: "testbed:nfs,1gbit" where a folder could stand.

A distribution plugs them in (hakobi/plugins.py): the workbench of Hakobi's source repository has them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path, PurePath
from typing import Any, Protocol

from hakobi import plugins
from hakobi.errors import InputError

#: Before the words of a testbed, where a folder could stand.
TESTBED = "testbed:"


class Wanted(Protocol):
    """A testbed that the user wants; pure."""

    @property
    def rate(self) -> str: ...

    def value(self) -> dict[str, object]:
        """For records."""


class Testbed(Protocol):
    """A server and nodes, up."""

    @property
    def wanted(self) -> Wanted: ...

    @property
    def folder(self) -> Path:
        """The server's files, seen from here."""

    @property
    def told(self) -> Path:
        """A folder for files that programs on the nodes write for us, not on the server."""

    def on_nodes(self, path: PurePath) -> Path:
        """The path by which nodes see a file of `folder` or `told`."""

    def file_system(self) -> dict[str, Any]:
        """As hakobi.conditions.file_system."""

    #: The words that start a program on so many ranks, with its arguments and variables.
    command_line: Callable[..., list[str]]


class Testbeds(Protocol):
    """The module that is plugged in."""

    #: "testbed:nfs,1gbit" -> Wanted. Raises InputError.
    parse: Callable[[str], Any]
    #: Wanted -> a testbed, up between `with` and its end. Raises RunError.
    Testbed: Callable[[Any], AbstractContextManager[Any]]
    #: look(bed, writers, pieces), as hakobi.measuring.lost_bytes.
    lost_bytes: Any


def are_here() -> bool:
    """Whether testbeds are plugged in."""
    return bool(plugins.of_group("hakobi.testbeds"))


def is_testbed(path: object) -> bool:
    """Whether a word names a testbed and not a folder."""
    return str(path).startswith(TESTBED)


def plugged_in() -> Testbeds:
    """The module that has them. Raises InputError."""
    if found := plugins.of_group("hakobi.testbeds"):
        module: Testbeds = found[0].load()
        return module
    raise InputError("the testbed is part of Hakobi's source repository: run .venv/bin/hakobi there")


def parse(text: str) -> Wanted:
    """The testbed that "testbed:nfs,1gbit" names. Raises InputError."""
    wanted: Wanted = plugged_in().parse(text)
    return wanted


def bring_up(wanted: Wanted) -> AbstractContextManager[Testbed]:
    """The testbed, up between `with` and its end. Raises RunError."""
    return plugged_in().Testbed(wanted)
