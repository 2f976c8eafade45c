"""The part that only the source repository has: the package hakobi_lab, in its folder `lab` (lab/README.md)."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from hakobi.errors import InputError

#: Before the words of a testbed, where a folder could stand.
TESTBED = "testbed:"


def is_here() -> bool:
    """Whether this package runs from the repository (.venv/bin/hakobi)."""
    return importlib.util.find_spec("hakobi_lab") is not None


def is_testbed(path: object) -> bool:
    """Whether a word names a testbed and not a folder."""
    return str(path).startswith(TESTBED)


def testbed() -> ModuleType:
    """The module hakobi_lab.testbed. Raises InputError."""
    if not is_here():
        raise InputError("the testbed is part of Hakobi's source repository: run .venv/bin/hakobi there")
    return importlib.import_module("hakobi_lab.testbed")
