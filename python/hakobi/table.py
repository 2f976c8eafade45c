"""Tables: made once, printed on a terminal by rich, as aligned plain text elsewhere, and set in reports (report.py)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

#: Blanks between columns on a terminal, and how far a column of words may be narrowed.
GAP, LEAST_WORDS = 3, 16


@dataclass
class Table:
    """`columns` are headings; a heading that starts with "<" is set flush left (words), others flush right (numbers).
    A cell is text, "" where there is nothing to say. `best` are (row, column) pairs to be set in bold. A row number
    in `rules` gets a line above it. `notes` stand below, one a line. A terminal too narrow for all columns gets them in
    pieces, each with the first `num_frozen` columns again."""

    title: str
    columns: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    best: set[tuple[int, int]] = field(default_factory=set)
    rules: set[int] = field(default_factory=set)
    num_frozen: int = 1

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


def column_widths(table: Table) -> list[int]:
    """The width of each column's widest cell or heading."""
    return [max(map(len, column)) for column in zip(table.headings(), *table.rows, strict=True)]


def fitted_widths(table: Table, width: int) -> list[int]:
    """The columns' widths where `width` characters are all there is: a table that does not fit has words of at most a
    third of them, whose lines are folded; numbers keep every digit. Pure."""
    widths = column_widths(table)
    if sum(widths) + GAP * (len(widths) - 1) <= width:
        return widths
    most = max(LEAST_WORDS, width // 3)
    return [min(most, wide) if words else wide for wide, words in zip(widths, table.flush_left(), strict=True)]


def pieces(table: Table, width: int) -> list[list[int]]:
    """The columns' numbers in groups that fit into `width` characters, three blanks between columns; each group starts
    with the frozen ones and has at least one more. Pure."""
    widths = fitted_widths(table, width)
    frozen = list(range(table.num_frozen))
    result: list[list[int]] = []
    for column in range(table.num_frozen, len(widths)):
        group = [*result[-1], column] if result else []
        if group and sum(widths[i] + GAP for i in group) - GAP <= width:
            result[-1] = group
        else:
            result.append([*frozen, column])
    return result or [frozen]


def to_text(table: Table) -> str:
    """Plain text: columns aligned, two blanks apart, a rule below the headings."""
    widths = column_widths(table)
    left = table.flush_left()

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if flush else cell.rjust(width)
            for cell, width, flush in zip(row, widths, left, strict=True)
        ]
        return "  ".join(cells).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [table.title, "", line(table.headings()), rule]
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

    console = Console(file=stream, highlight=False)
    console.print(Text(table.title, style="bold"))
    widths = fitted_widths(table, console.width - 2)
    for columns in pieces(table, console.width - 2):
        view = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            heading = Text(table.headings()[column])
            if table.flush_left()[column]:
                view.add_column(heading, justify="left", overflow="fold", max_width=widths[column])
            else:
                view.add_column(heading, justify="right", no_wrap=True, min_width=widths[column])
        for number, row in enumerate(table.rows):
            cells = [Text(row[column], style="bold" if (number, column) in table.best else "") for column in columns]
            view.add_row(*cells, end_section=number + 1 in table.rules)
        console.print(view)
    for note in table.notes:
        console.print(Text(note))
