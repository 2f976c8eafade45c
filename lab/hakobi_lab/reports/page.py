"""A report's page: first what was found and whether it agrees, then where each of the report's figures and tables
stands, then these in the report's order.

An item is one figure or table of the published report. It holds what was measured here, what the report has in its
place where that can be cited, and a sentence where something stands in for what this machine lacks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hakobi.conditions import Conditions
from hakobi.measuring.session import LOADED, End
from hakobi.records import Record
from hakobi.table import Table, show
from hakobi.words import count_text
from hakobi_lab.report import Report
from hakobi_lab.reports import theirs
from hakobi_lab.reports.claims import CLAIMS
from hakobi_lab.reports.judging import Cases, Finding, judge_all
from hakobi_lab.reports.published import Published
from hakobi_lab.reports.running import Budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hakobi_lab.plots import Data


#: Why an item is absent whose part had not begun.
INTERRUPTED = "the report was interrupted before it"
IN_IT = "the report was interrupted in it"


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
    absent: str = ""  #: why nothing is shown, or not all

    @property
    def state(self) -> str:
        """ "not shown: no time was left"; "" where all is shown."""
        return f"{'in part' if self.shown else 'not shown'}: {self.absent}" if self.absent else ""


@dataclass
class Content:
    """The results of a report's measurements."""

    facts: Conditions
    items: list[Item] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    exit_status: int = 0
    is_interrupted: bool = False  #: no part begins any more

    def take_end(self, end: End, part: str = "") -> None:
        """How a part ended: its exit status, what a reader must know of it, and whether others may begin."""
        name = f"{part}: " if part else ""
        texts = [text if text in end.load else f"{name}{text}" for text in end.warnings()]
        if end.is_out_of_time and not end.is_complete:
            texts.append(f"{name}{end.num_done} of {count_text(end.num_jobs, 'run')}: the budget ended before the rest")
        loaded = any(text.startswith(LOADED) for text in self.warnings)
        self.warnings += [
            text for text in texts if text not in self.warnings and not (loaded and text.startswith(LOADED))
        ]
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

    def judge(self, report: str, evidence: Mapping[str, Cases]) -> None:
        """Judges every sentence of a report."""
        self.findings = judge_all(CLAIMS[report], evidence)

    def starve(self, place: str, why: str) -> None:
        """Nothing is shown at a place, since the budget was too small: figures are missing, and the status says so. An
        interruption, or what is known of the place, says it better."""
        item = self.item(place)
        if self.is_interrupted:
            item.absent = item.absent or IN_IT
        elif not item.absent:
            item.absent = f"{why}: give a larger --budget"
            self.exit_status = max(self.exit_status, 2)

    def has_room(self, place: str, budget: Budget, least_s: float = 1.0) -> bool:
        """Whether the part that fills a place may begin; else the item says why not. `least_s`: what it needs."""
        if self.is_interrupted:
            self.item(place).absent = INTERRUPTED
        elif budget.left_s() < least_s:
            self.starve(place, f"it needs {least_s:.0f} s, and {budget.left_s():.0f} s of the budget were left")
        else:
            return True
        return False

    def item(self, place: str) -> Item:
        """The item of a place, added where it is new."""
        for known in self.items:
            if known.place == place:
                return known
        self.items.append(Item(place))
        return self.items[-1]


def missing(published: Published, content: Content) -> list[str]:
    """Places of the report that the page lacks, or at which it has neither something nor a reason; places that the
    report has not."""
    items = {item.place: item for item in content.items}
    lacking = [
        place for place in published.items if place not in items or not (items[place].shown or items[place].absent)
    ]
    return lacking + [place for place in items if place not in published.items]


def make(published: Published, content: Content, command: str) -> Report:
    """The page, not yet written. `command` made it."""
    problems = missing(published, content)
    assert not problems, f"report {published.name}: items without a place or content: {problems}"
    report = Report(published.title, lead=f"{published.question} After {published.source}. Made by: {command}")
    for warning in content.warnings:
        report.warn(warning)
    report.heading("What the report found, and what was found here")
    report.terms(
        [(finding.verdict.capitalize(), f"“{finding.published}.” {finding.because}") for finding in content.findings]
    )
    report.heading("Where its figures and tables are")
    report.table(places_table(published, content))
    by_place = {item.place: item for item in content.items}
    for place, what in published.items.items():
        _add_item(report, place, what, by_place[place])
        _add_theirs(report, theirs.TABLES[published.name][place])
        if found := [one for one in content.findings if one.claim and one.claim.place == place]:
            report.table(compared(found))
    report.conditions(content.facts)
    return report


def _add_item(report: Report, place: str, what: str, item: Item) -> None:
    report.heading(f"{place}: {what} (here: {item.here})" if item.here else f"{place}: {what}")
    if item.state:
        report.text(f"{item.state[:1].upper()}{item.state[1:]}")
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


def compared(findings: list[Finding]) -> Table:
    """Theirs and ours in units that two machines share: an order, a share, a slope, a ratio, a place on an axis."""
    table = Table("To compare across machines", ["<it found", "<in the report", "<here", "<verdict"])
    for finding in findings:
        table.add(finding.published, finding.claim.theirs if finding.claim else "", finding.because, finding.verdict)
    return table


def places_table(published: Published, content: Content) -> Table:
    """Every figure and table of the report: ours, theirs, and what its sentences came to. No cell is blank."""
    table = Table("Figures and tables of the report", ["<in the report", "<shows", "<ours", "<theirs", "<findings"])
    by_place = {item.place: item for item in content.items}
    for place, what in published.items.items():
        item = by_place[place]
        here = item.state or (f"{item.here} shown" if item.here else "shown")
        ours = f"{here}, with a stand-in" if item.stand_in and item.shown else here
        values = theirs.TABLES[published.name][place]
        rows = "in words" if isinstance(values, str) else count_text(sum(len(one.rows) for one in values), "row")
        verdicts = [one.verdict for one in content.findings if one.claim and one.claim.place == place]
        counts = [f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts)]
        table.add(place, what, ours, rows, ", ".join(counts) or "it concludes nothing of it")
    return table


def print_content(published: Published, content: Content, command: str) -> None:
    """The tables and the findings on stdout, warnings on stderr, each as a line of `command`'s."""
    for item in content.items:
        for shown in item.shown:
            if isinstance(shown, Table):
                show(shown)
                sys.stdout.write("\n")
        if item.state:
            sys.stdout.write(f"{item.place}: {item.state}\n\n")
    for finding in content.findings:
        sys.stdout.write(f"{published.title}: “{finding.published}.” {finding.verdict}: {finding.because}\n")
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
