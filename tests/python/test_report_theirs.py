"""Values of the published reports: each place has some, or a reason, and they stand on the page."""

from __future__ import annotations

import re

import pytest

from hakobi import conditions
from hakobi.measuring.session import LOADED
from hakobi.table import Table
from hakobi_lab.report import Report
from hakobi_lab.reports import page, theirs
from hakobi_lab.reports.published import REPORTS


@pytest.mark.parametrize("name", REPORTS)
def test_each_place_has_the_reports_values_or_why_there_are_none(name: str) -> None:
    assert list(theirs.TABLES[name]) == list(REPORTS[name].items)
    for place, values in theirs.TABLES[name].items():
        if isinstance(values, str):
            assert len(values) >= 7, place
        else:
            assert all(table.title.startswith("Theirs: ") and table.rows for table in values), place


@pytest.mark.parametrize("name", REPORTS)
def test_their_values_stand_on_the_page(name: str) -> None:
    published = REPORTS[name]
    content = page.Content(conditions.collect(None))
    for place in published.items:
        content.item(place).absent = "nothing was run"
    html = page.make(published, content, "hakobi report").to_html().replace("&#39;", "'")
    for values in theirs.TABLES[name].values():
        for value in values:
            shown = [cell for row in value.rows for cell in row if cell] if isinstance(value, Table) else []
            assert all(cell in html for cell in shown)
        if isinstance(values, str):
            assert f"In the report: {values}." in html


def test_a_table_that_a_window_would_cut_is_set_smaller() -> None:
    narrow, wide = (Table("Rates", ["size", *(f"method {i}" for i in range(count))]) for count in (3, 12))
    for table in (narrow, wide):
        table.add(*["12.34 ± 0.56"] * len(table.columns))
    report = Report("Rates")
    for table in (narrow, wide):
        report.table(table)
    assert re.findall(r'<div class="(scroll[^"]*)"', report.to_html()) == ["scroll", "scroll wide"]


def test_their_shares_are_those_of_their_times() -> None:
    (times,), (output,) = (theirs.TABLES["stream"][place] for place in ("Table of times", "Table of output times"))
    assert isinstance(times, Table)
    assert isinstance(output, Table)
    for run, cost in zip(times.rows, output.rows, strict=True):
        none, rank_0, own, slow = map(float, run[1:])
        assert [float(cell) for cell in cost[1:4]] == pytest.approx([rank_0 - none, own - none, slow - none], abs=0.21)
        assert cost[4] == f"{float(cost[3]) / slow:.0%}".replace("%", " %")


def test_a_loaded_machine_contradicts_nobody() -> None:
    content = page.Content({}, findings=[page.Finding("one", False, "No."), page.Finding("two", True, "Yes.")])
    content.contradict_nobody()
    assert [finding.agrees for finding in content.findings] == [False, True]
    content.warnings.append(f"{LOADED}: 3 others")
    content.contradict_nobody()
    assert [finding.agrees for finding in content.findings] == [None, True]
    assert content.findings[0].because == "No. The machine was loaded."
