"""Parts of the command that other distributions bring, by Python's entry points.

A distribution that stands beside Hakobi, such as the workbench of its source repository (hakobi-lab), names in its
pyproject.toml

    [project.entry-points."hakobi.commands"]    words of a subcommand -> module:name, as in COMMANDS of hakobi/cli.py
    [project.entry-points."hakobi.testbeds"]    any word -> a module as hakobi.testbeds.Testbeds describes it

Nothing of them is imported before it is used, and Hakobi's own commands go before those of the same words.
"""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, entry_points

#: First words of the commands that Hakobi's workbench brings; where it is missing, they say how to get it.
WORKBENCH = ("bench", "compare", "demo", "report", "study")
HOW_TO_GET_IT = "pip install ./lab in Hakobi's source repository (docs/install.md)"


def of_group(group: str) -> list[EntryPoint]:
    """The entry points of a group, in the order of their names."""
    if sys.version_info >= (3, 10):
        found = list(entry_points(group=group))
    else:
        found = list(entry_points().get(group, ()))
    return sorted(found, key=lambda point: point.name)


def commands() -> dict[str, str]:
    """Words of each subcommand that is plugged in -> module:name."""
    return {point.name: point.value for point in of_group("hakobi.commands")}
