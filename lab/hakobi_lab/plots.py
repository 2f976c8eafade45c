"""The look of every figure: one palette (for colour-blind readers and in grey: Okabe and Ito 2008), one style,
and figures as SVG text for a page or as PNG bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hakobi.statistics import Summary

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colour and marker a series, in order.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
BASELINE_COLOUR = "#555555"
TEXT_COLOUR = "#1d2733"

_STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#8a949e",
    "axes.grid": True,
    "axes.labelcolor": TEXT_COLOUR,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "grid.color": "#dfe4e8",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "text.color": TEXT_COLOUR,
    "xtick.color": TEXT_COLOUR,
    "ytick.color": TEXT_COLOUR,
}


def new_figure(
    width: float, height: float, *, rows: int = 1, columns: int = 1, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of `width` x `height` inches with `rows` x `columns` axes (in reading order; `share`: of one scale), in
    the project's style. It belongs to no window and is freed with its last reference."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # For the whole process: titles, legends and ticks read it when they are made, not when the figure is.
    mpl.rcParams.update(_STYLE)  # type: ignore[arg-type]
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share)
    return figure, list(axes.ravel())


def series_style(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each name, by its place."""
    return {name: (PALETTE[i % len(PALETTE)], MARKERS[i % len(MARKERS)]) for i, name in enumerate(names)}


def to_svg(figure: Figure, identity: str) -> str:
    """The figure as an <svg> element that scales with its page. `identity` keeps the ids of several figures on one
    page apart; the same figure gives the same text."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": identity}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' (?:width|height)="[0-9.]+pt"', "", text, count=2)
    # Names of elements are for matplotlib; two figures on a page must not share them. Glyphs and clips are
    # referred to.
    return re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{identity}-", text)


def to_png(figure: Figure, dots_per_inch: int = 110) -> bytes:
    """The figure as a PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dots_per_inch)
    return buffer.getvalue()


class Data:
    """A figure's values as they were computed, a row each: for a paper's own plot, so nothing is taken from what was
    drawn. `x` and `y` name those columns."""

    def __init__(self, x: str, y: str) -> None:
        self.columns = ["panel", "series", x, y, "low", "high", "samples", "gap"]
        self.rows: list[list[str]] = []

    def add(self, panel: str, series: str, x: object, y: Summary | None, gap: str = "") -> None:
        """A median with its quartiles; `y` None where there is none, with the reason in `gap`."""
        values = ["", "", "", "0"]
        if y is not None:
            values = [f"{value:.6g}" for value in (y.median, y.quartile_low, y.quartile_high)] + [str(y.count)]
        self.rows.append([panel, series, str(x), *values, gap])


def write_figure(figure: Figure, stem: Path, data: Data | None) -> list[Path]:
    """Writes `stem`.svg, .pdf and, with `data`, .csv for a paper: the same figure gives the same files."""
    import csv

    import matplotlib as mpl

    paths = [stem.with_suffix(suffix) for suffix in (".svg", ".pdf")]
    with mpl.rc_context({"svg.hashsalt": stem.name}):
        figure.savefig(paths[0], metadata={"Date": None})
    figure.savefig(paths[1], metadata={"CreationDate": None})
    if data is not None:
        paths.append(stem.with_suffix(".csv"))
        with paths[-1].open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([data.columns, *data.rows])
    return paths
