"""Sphinx's settings that show the project's contracts as they are written, and two directives:

.. fortran-contracts:: hakobi_input     the module of fortran/hakobi_input.f90
.. commands:: bench                     `hakobi bench …`; without a word the commands that have no group
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import click
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from fortran_contracts import rst
from hakobi.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]


def command(words: str) -> click.Command:
    """The click command of a line of COMMANDS."""
    module, _, name = COMMANDS[words].partition(":")
    found = getattr(importlib.import_module(module), name or "command")
    assert isinstance(found, click.Command)
    return found


def attribute(words: str) -> str:
    return words.replace(" ", "_").replace("-", "_")


#: Where sphinx-click looks: `contracts:bench_mpi`.
globals().update({attribute(words): command(words) for words in COMMANDS})


class _Made(SphinxDirective):
    """A directive that stands for lines of reStructuredText."""

    optional_arguments = 1

    def lines(self) -> list[str]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        return self.parse_content_to_nodes(allow_section_headings=True)

    def parse_content_to_nodes(self, allow_section_headings: bool = False) -> list[nodes.Node]:
        self.content = StringList(self.lines(), source=self.get_location())
        return super().parse_content_to_nodes(allow_section_headings=allow_section_headings)


class FortranContracts(_Made):
    def lines(self) -> list[str]:
        source = ROOT / "fortran" / f"{self.arguments[0]}.f90"
        self.env.note_dependency(str(source))
        return rst(source)


class Commands(_Made):
    def lines(self) -> list[str]:
        group = self.arguments[0] if self.arguments else ""
        made: list[str] = []
        for words in sorted(COMMANDS):
            if words.rpartition(" ")[0] == group:
                made += [
                    f".. click:: contracts:{attribute(words)}",
                    f"   :prog: hakobi {words}",
                    "   :nested: full",
                    "",
                ]
        return made


def with_literal_blocks(lines: list[str]) -> list[str]:
    """Lines of a docstring where each indented block is a literal one: code, a diagram, a tree.

    >>> with_literal_blocks(["The calls:", "", "    out.close()"])
    ['The calls:', '', '::', '', '    out.close()']
    """
    made: list[str] = []
    is_within = False
    for line in lines:
        if line.startswith("    "):
            if not is_within:
                made += ["::", ""]
            is_within = True
        elif line.strip():
            is_within = False
        made.append(line)
    return made


def _docstring(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = with_literal_blocks(lines)


def _skip(_app: Any, _what: str, name: str, member: Any, skip: bool, _options: Any) -> bool:
    """Constructors that take the C interface's handles are not for users."""
    return skip or (name == "__init__" and bool({"handle", "_handle"} & set(inspect.signature(member).parameters)))


def _signature(
    _app: Any, _what: str, _name: str, _object: Any, _options: Any, text: str | None, result: str | None
) -> tuple[str | None, str | None] | None:
    return (_short(text), _short(result)) if text is not None else None


def _short(text: str | None) -> str | None:
    """A signature with the names that the sources have for long types.

    >>> _short("(a: ~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~typing.Any]])")
    '(a: NDArray[Any])'
    """
    if text is None:
        return None
    text = re.sub(r"~(?:collections|numpy|os|types|typing)(?:\.\w+)*\.", "", text)
    text = re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[([\w\[\]]+?)\]\]", r"NDArray[\1]", text)
    return re.sub(r"str \| float \| int \| tuple\[float.*?NDArray\[Any\] \| generic", "AttributeLike", text)


def _folders(app: Any, doctree: nodes.document) -> None:
    """A link to a folder, which a forge shows and the site does not have, is its text."""
    here = Path(app.env.doc2path(app.env.docname)).parent
    for link in list(doctree.findall(addnodes.pending_xref)):
        if link.get("reftype") == "myst" and (here / link["reftarget"]).is_dir():
            link.replace_self(link.children)


def _defaults(_app: Any, _ctx: click.Context, lines: list[str]) -> None:
    """A path for a default is shown as one types it."""
    lines[:] = [re.sub(r"PosixPath\('(.*?)'\)", r"'\1'", line) for line in lines]


def _examples(_app: Any, _ctx: click.Context, lines: list[str]) -> None:
    """Lines that a help text keeps as they are (click's \\b) are commands to type: code."""
    made: list[str] = []
    for line in lines:
        if line.startswith("| ") or line == "|":
            made += [] if made and made[-1].startswith("   ") else [".. code-block:: text", ""]
            made.append("   " + line[2:])
        else:
            made.append(line)
    lines[:] = made


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("fortran-contracts", FortranContracts)
    app.add_directive("commands", Commands)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _signature)
    app.connect("doctree-read", _folders)
    app.connect("sphinx-click-process-description", _examples)
    app.connect("sphinx-click-process-options", _defaults)
    return {"parallel_read_safe": True}
