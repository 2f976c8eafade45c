"""A report's page: first what was found and whether it agrees, then where each of the report's figures and tables
stands, then these in the report's order.

An item is one figure or table of the published report. It holds what was measured here, what the report has in its
place where that can be cited, and a sentence where something stands in for what this machine lacks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hakobi.conditions import Conditions
from hakobi.measuring.session import LOADED, End
from hakobi.records import Record
from hakobi.statistics import Summary
from hakobi.table import Table, show
from hakobi_lab.report import Report
from hakobi_lab.reports import theirs
from hakobi_lab.reports.published import Published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hakobi_lab.plots import Data


#: Why an item is absent whose part had not begun.
INTERRUPTED = "the report was interrupted before it"


@dataclass(frozen=True)
class Drawing:
    """A figure: `alt` says in words what it shows, `name` is that of its files, `data` its values."""

    figure: Figure
    caption: str
    alt: str
    name: str
    data: Data | None = None


@dataclass
class Item:
    """One of the report's figures or tables, or a question that it left open. `place` is as Published names it."""

    place: str
    shown: list[Table | Drawing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    here: str = ""  #: what was run, where it is not what the report ran
    stand_in: str = ""  #: what replaces something that this machine lacks
    absent: str = ""  #: why nothing is shown


@dataclass(frozen=True)
class Finding:
    """A sentence of the report, and what came of it here. `agrees`: None where the figures cannot tell."""

    published: str
    agrees: bool | None
    because: str  #: what was found here, with its figures

    @property
    def verdict(self) -> str:
        return {True: "agrees", False: "does not agree", None: "cannot be told"}[self.agrees]


#: A median of fewer says nothing of its spread.
MIN_SAMPLES = 3


def verdict(cases: Iterable[bool | None]) -> bool | None:
    """Judges a sentence by its cases: each agrees, contradicts (False), or cannot be told (None). One that contradicts
    is enough against it. For it all must agree: a case that was not measured might not.

    >>> verdict([True, True]), verdict([True, None]), verdict([None, False]), verdict([])
    (True, None, False, None)
    """
    told = list(cases)
    if False in told:
        return False
    return True if told and all(told) else None


def is_at_least(value: Summary, bound: float) -> bool | None:
    """Whether a median reaches a bound; None where its interval holds the bound, or its samples are too few."""
    if value.count < MIN_SAMPLES:
        return None
    return True if value.interval.low >= bound else False if value.interval.high < bound else None


def is_less(one: Summary, other: Summary) -> bool | None:
    """Whether a median is less than another; None where they cannot be told apart."""
    if min(one.count, other.count) < MIN_SAMPLES:
        return None
    if one.interval.high < other.interval.low:
        return True
    return False if one.interval.low > other.interval.high else None


@dataclass
class Content:
    """The results of a report's measurements."""

    facts: Conditions
    items: list[Item] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    exit_status: int = 0
    is_interrupted: bool = False  #: no part begins any more

    def take_end(self, end: End) -> None:
        """How a part ended: its exit status, what a reader must know of it, and whether others may begin."""
        self.warnings += [text for text in end.warnings() if text not in self.warnings]
        self.exit_status = max(self.exit_status, end.exit_status())
        self.is_interrupted = self.is_interrupted or end.is_interrupted

    def contradict_nobody(self) -> None:
        """On a machine that was busy with something else no finding speaks against the report."""
        if any(warning.startswith(LOADED) for warning in self.warnings):
            self.findings = [
                replace(finding, agrees=None, because=f"{finding.because} The machine was loaded.")
                if finding.agrees is False
                else finding
                for finding in self.findings
            ]

    def starve(self, place: str, why: str) -> None:
        """Nothing is shown at a place, since the budget was too small: figures are missing, and the status says so."""
        self.item(place).absent = f"{why}: give a larger --budget"
        self.exit_status = max(self.exit_status, 2)

    def item(self, place: str) -> Item:
        """The item of a place, added where it is new."""
        for known in self.items:
            if known.place == place:
                return known
        self.items.append(Item(place))
        return self.items[-1]


def missing(published: Published, content: Content) -> list[str]:
    """Places of the report that the page would lack, or has and the report lacks."""
    places = [item.place for item in content.items]
    lacking = [place for place in published.items if place not in places]
    return lacking + [place for place in places if place not in published.items]


def make(published: Published, content: Content, command: str) -> Report:
    """The page, not yet written. `command` made it."""
    problems = missing(published, content)
    assert not problems, f"report {published.name}: items without a place or content: {problems}"
    report = Report(published.title, lead=f"{published.question} After {published.source}. Made by: {command}")
    for warning in content.warnings:
        report.warn(warning)
    report.heading("What the report found, and what was found here")
    report.terms(
        [(finding.verdict.capitalize(), f"“{finding.published}” {finding.because}") for finding in content.findings]
    )
    report.heading("Where its figures and tables are")
    report.table(places_table(published, content))
    by_place = {item.place: item for item in content.items}
    for place, what in published.items.items():
        _add_item(report, place, what, by_place[place])
        _add_theirs(report, theirs.TABLES[published.name][place])
    report.conditions(content.facts)
    return report


def _add_item(report: Report, place: str, what: str, item: Item) -> None:
    report.heading(f"{place}: {what} (here: {item.here})" if item.here else f"{place}: {what}")
    if item.absent:
        report.text(f"Not shown: {item.absent}")
    for shown in item.shown:
        if isinstance(shown, Table):
            report.table(shown)
            report.bullets([note for note in shown.notes if note])
        else:
            report.figure(shown.figure, shown.caption, shown.alt, name=shown.name, data=shown.data)
    if item.stand_in:
        report.text(item.stand_in)
    report.bullets(item.notes)


def _add_theirs(report: Report, values: tuple[Table, ...] | str) -> None:
    """Adds the published report's own values, or its words."""
    if isinstance(values, str):
        report.text(f"In the report: {values}.")
        return
    for table in values:
        report.table(table)
        report.bullets(table.notes)


def places_table(published: Published, content: Content) -> Table:
    """Every figure and table of the report: what is on the page for it."""
    table = Table("Figures and tables of the report", ["<in the report", "<shows", "<on this page"])
    by_place = {item.place: item for item in content.items}
    for place, what in published.items.items():
        item = by_place[place]
        here = f"not shown: {item.absent}" if item.absent else f"{item.here} shown" if item.here else "shown"
        table.add(place, what, f"{here}, with a stand-in" if item.stand_in and not item.absent else here)
    return table


def print_content(published: Published, content: Content, command: str) -> None:
    """The tables and the findings on stdout, warnings on stderr, each as a line of `command`'s."""
    for item in content.items:
        for shown in item.shown:
            if isinstance(shown, Table):
                show(shown)
                sys.stdout.write("\n")
        if item.absent:
            sys.stdout.write(f"{item.place}: not shown: {item.absent}\n\n")
    for finding in content.findings:
        sys.stdout.write(f"{published.title}: “{finding.published}” {finding.verdict}: {finding.because}\n")
    for warning in content.warnings:
        sys.stderr.write(f"{command}: {' '.join(warning.split())}\n")


def records(published: Published, content: Content) -> list[Record]:
    """A record a finding, for the file of records."""
    return [
        {
            "kind": "finding",
            "report": published.name,
            "published": finding.published,
            "agrees": finding.agrees,
            "because": finding.because,
        }
        for finding in content.findings
    ]
