"""An HTML report that is one file: no network, no scripts, readable on paper and by a screen reader.

    report = Report("Output methods", lead="What output cost the tsunami run.")
    report.warn("interrupted after 12 of 63 runs")
    report.heading("Scaling")
    report.figure(figure, "Time of a run over its ranks.", alt="Line chart: …")
    report.table(table)
    report.conditions(facts)
    report.write(Path("report.html"))

Parts appear in the order in which they were added; warnings stand above all of them.
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hakobi import conditions as conditions_module
from hakobi.conditions import Conditions
from hakobi.errors import storage_error
from hakobi.table import Table, column_widths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hakobi_lab.plots import Data


#: Letters of a table that a window of 1,200 pixels shows, and those between two columns.
_PAGE_LETTERS, _GAP = 115, 2


@dataclass
class _Part:
    """One part for the template; `kind` picks how it is set."""

    kind: str
    text: str = ""
    paragraphs: list[str] = field(default_factory=list)
    svg: str = ""
    source: str = ""
    alt: str = ""
    table: Table | None = None
    is_wide: bool = False  #: a table that a page of usual width would cut
    pairs: list[tuple[str, str]] = field(default_factory=list)


class Report:
    """A report under construction; nothing is written before `write`."""

    def __init__(self, title: str, lead: str = "") -> None:
        self.title = title
        self.lead = lead
        self._warnings: list[str] = []
        self._parts: list[_Part] = []
        self._figures: list[tuple[str, Figure, Data | None]] = []

    def warn(self, text: str) -> None:
        """A sentence that the reader must see before any figure."""
        self._warnings.append(text)

    def heading(self, text: str) -> None:
        self._parts.append(_Part("heading", text=text))

    def text(self, *paragraphs: str) -> None:
        self._parts.append(_Part("text", paragraphs=list(paragraphs)))

    def bullets(self, items: Sequence[str]) -> None:
        if items:
            self._parts.append(_Part("bullets", paragraphs=list(items)))

    def terms(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Words and what they mean."""
        self._parts.append(_Part("pairs", pairs=list(pairs)))

    def figure(self, figure: Figure, caption: str, alt: str, name: str = "", data: Data | None = None) -> None:
        """A matplotlib figure as inline SVG. `alt` says in words what it shows; `name`: of its files; `data`: its
        values."""
        from hakobi_lab import plots

        self._figures.append((name or f"figure{len(self._figures) + 1}", figure, data))

        svg = plots.to_svg(figure, f"figure{len(self._parts)}")
        self._parts.append(_Part("figure", text=caption, svg=svg, alt=alt))

    def image(self, content: bytes, caption: str, alt: str) -> None:
        """A PNG or GIF, embedded."""
        kind = "gif" if content.startswith(b"GIF8") else "png"
        source = f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
        self._parts.append(_Part("figure", text=caption, source=source, alt=alt))

    def table(self, table: Table) -> None:
        letters = sum(width + _GAP for width in column_widths(table))
        self._parts.append(_Part("table", table=table, is_wide=letters > _PAGE_LETTERS))

    def conditions(self, conditions: Conditions) -> None:
        """The section that says on what this was measured."""
        self.heading("Conditions")
        self._parts.append(_Part("pairs", pairs=conditions_module.rows(conditions)))

    def to_html(self) -> str:
        """The whole page."""
        import jinja2

        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("hakobi_lab"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        return environment.get_template("report.html").render(
            title=self.title, lead=self.lead, warnings=self._warnings, parts=self._parts
        )

    def save(self, page: Path | None, figures: Path | None) -> None:
        """Writes the page, and the figures for a paper: what is not None. Raises StorageError."""
        if page is not None:
            self.write(page)
        if figures is not None:
            self.write_figures(figures)

    def write_figures(self, folder: Path) -> list[Path]:
        """Writes each figure as NAME.svg and NAME.pdf with its data as NAME.csv, and returns the files. Raises
        StorageError."""
        from hakobi import files
        from hakobi_lab import plots

        files.prepare_folder(folder)
        written = [plots.write_figure(figure, folder / name, data) for name, figure, data in self._figures]
        return [path for paths in written for path in paths]

    def write(self, path: Path) -> None:
        """Writes the page: whole or not at all. Raises StorageError."""
        page = self.to_html().encode()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(page)
                umask = os.umask(0)
                os.umask(umask)
                Path(temporary).chmod(0o666 & ~umask)
                Path(temporary).replace(path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise storage_error("write", error) from error
