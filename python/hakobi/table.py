"""Tables: made once, printed on a terminal by rich, as aligned plain text elsewhere, and set in reports (report.py)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO


@dataclass
class Table:
    """`columns` are headings; a heading that starts with "<" is set flush left (words), others flush right (numbers).
    A cell is text, "" where there is nothing to say. `best` are (row, column) pairs to be set in bold. A row number
    in `rules` gets a line above it. `notes` stand below, one a line."""

    title: str
    columns: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    best: set[tuple[int, int]] = field(default_factory=set)
    rules: set[int] = field(default_factory=set)

    def add(self, *cells: str) -> None:
        """One more row. Raises ValueError when it has not one cell a column."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns")
        self.rows.append(list(cells))

    def headings(self) -> list[str]:
        return [heading.removeprefix("<") for heading in self.columns]

    def flush_left(self) -> list[bool]:
        return [heading.startswith("<") for heading in self.columns]


def show(table: Table, stream: TextIO | None = None) -> None:
    """Prints a table: with lines and bold on a terminal, plain and unwrapped into a file or pipe."""
    stream = stream or sys.stdout
    if stream.isatty():
        _show_rich(table, stream)
    else:
        stream.write(to_text(table))
    stream.flush()


def to_text(table: Table) -> str:
    """Plain text: columns aligned, two blanks apart, a rule below the headings."""
    grid = [table.headings(), *table.rows]
    widths = [max(len(row[column]) for row in grid) for column in range(len(table.columns))]
    left = table.flush_left()

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if flush else cell.rjust(width)
            for cell, width, flush in zip(row, widths, left, strict=True)
        ]
        return "  ".join(cells).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [table.title, "", line(grid[0]), rule]
    for number, row in enumerate(table.rows):
        if number in table.rules:
            lines.append(rule)
        lines.append(line(row))
    return "\n".join([*lines, *table.notes]) + "\n"


def _show_rich(table: Table, stream: TextIO) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    view = RichTable(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, flush in zip(table.headings(), table.flush_left(), strict=True):
        view.add_column(Text(heading), justify="left" if flush else "right", overflow="fold")
    for number, row in enumerate(table.rows):
        cells = [Text(cell, style="bold" if (number, column) in table.best else "") for column, cell in enumerate(row)]
        view.add_row(*cells, end_section=number + 1 in table.rules)
    console = Console(file=stream, highlight=False)
    console.print(view)
    for note in table.notes:
        console.print(Text(note))
