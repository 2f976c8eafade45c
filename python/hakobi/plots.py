"""The look of every figure: one palette (for colour-blind readers and in grey: Okabe and Ito 2008), one style,
and figures as SVG text for a page or as PNG bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
    # Names of elements are for matplotlib; two figures on a page must not share them. Glyphs and clips are referred to.
    return re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{identity}-", text)


def to_png(figure: Figure, dots_per_inch: int = 110) -> bytes:
    """The figure as a PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dots_per_inch)
    return buffer.getvalue()


def write_figure(figure: Figure, stem: Path) -> list[Path]:
    """Writes `stem`.svg, .pdf and .csv for a paper: the same figure gives the same files."""
    import csv

    import matplotlib as mpl

    paths = [stem.with_suffix(suffix) for suffix in (".svg", ".pdf", ".csv")]
    with mpl.rc_context({"svg.hashsalt": stem.name}):
        figure.savefig(paths[0], metadata={"Date": None})
    figure.savefig(paths[1], metadata={"CreationDate": None})
    with paths[2].open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["panel", "series", *_axis_names(figure), "low", "high"])
        writer.writerows(data_rows(figure))
    return paths


def _axis_names(figure: Figure) -> list[str]:
    axes = figure.axes[0]
    return [axes.get_xlabel() or "x", axes.get_ylabel() or "y"]


def data_rows(figure: Figure) -> list[list[str]]:
    """What a figure's bars and lines show: panel, series, x, y, and the ends of the error bar where there is one."""
    from matplotlib.container import BarContainer, ErrorbarContainer

    rows: list[list[str]] = []
    for axes in figure.axes:
        panel = axes.get_title()
        drawn = set()
        for container in axes.containers:
            if isinstance(container, BarContainer):
                points = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in container]
                bars = container.errorbar
            elif isinstance(container, ErrorbarContainer) and container[0] is not None:
                drawn.add(container[0])
                points = _points(container[0])
                bars = container
            else:
                continue
            ends = bars[2][0].get_segments() if bars is not None and bars[2] else [None] * len(points)
            for (x, y), end in zip(points, ends, strict=True):
                limits = ["", ""] if end is None else [f"{end[0][1]:.6g}", f"{end[1][1]:.6g}"]
                rows.append([panel, str(container.get_label()), _tick_name(axes, x), f"{y:.6g}", *limits])
        for line in axes.lines:
            if line not in drawn and not str(line.get_label()).startswith("_"):
                label = str(line.get_label())
                rows += [[panel, label, _tick_name(axes, x), f"{y:.6g}", "", ""] for x, y in _points(line)]
    return rows


def _points(line: Any) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def _tick_name(axes: Axes, x: float) -> str:
    """The label of the tick that a point was drawn at, or a little beside; the number itself elsewhere."""
    ticks = [
        (float(at), label.get_text()) for at, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=False)
    ]
    named = [(abs(at - x), text) for at, text in ticks if text]
    if named and min(named)[0] < max(0.5, 0.1 * abs(x)):
        return min(named)[1]
    return f"{x:.6g}"
