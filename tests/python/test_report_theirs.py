"""Values of the published reports: each place has some, or a reason, and they stand on the page."""

from __future__ import annotations

import re

import pytest

from hakobi import conditions
from hakobi.measuring.session import LOADED, End
from hakobi.table import Table
from hakobi_lab.report import Report
from hakobi_lab.reports import judging, page, stream, stream_cases, theirs
from hakobi_lab.reports.claims import CLAIMS
from hakobi_lab.reports.judging import judge
from hakobi_lab.reports.published import REPORTS
from hakobi_lab.reports.running import Budget
from hakobi_lab.studies.output_methods.plan import Case, Plan


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
    content.judge(name, {claim.name: "nothing was run" for claim in CLAIMS[name]})
    html = page.make(published, content, "hakobi report").to_html().replace("&#39;", "'")
    for values in theirs.TABLES[name].values():
        for value in values:
            shown = [cell for row in value.rows for cell in row if cell] if isinstance(value, Table) else []
            assert all(cell in html for cell in shown)
        if isinstance(values, str):
            assert f"In the report: {values}." in html
    for claim in CLAIMS[name]:
        assert html.count(escaped(claim.sentence)) == 2  # above, and at its place
        assert escaped(claim.theirs) in html
    rows = page.places_table(published, content).rows
    assert [row[0] for row in rows] == list(published.items)
    assert all(cell for row in rows for cell in row)


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")


@pytest.mark.parametrize("name", REPORTS)
def test_a_place_without_values_or_a_reason_is_missing(name: str) -> None:
    published = REPORTS[name]
    first, second, *others = published.items
    content = page.Content({})
    content.item(first).shown.append(Table("Ours", ["ranks"]))
    content.item(second).absent = "it needs root"
    for place in others:
        content.item(place).notes.append("a note is no value")
    assert page.missing(published, content) == others
    content.item("Figure 99").absent = "nobody asked"
    assert page.missing(published, content)[-1] == "Figure 99"


def test_a_part_that_does_not_fit_is_refused_before_it_starts() -> None:
    content = page.Content({})
    assert content.has_room("Table 1", Budget(60), 50)
    assert not content.has_room("Table 1", Budget(60), 70)
    assert content.item("Table 1").absent == "it needs 70 s, and 60 s of the budget were left: give a larger --budget"
    assert content.exit_status == 2
    content.take_end(End(9, 3, is_interrupted=True))
    assert not content.has_room("Table 2", Budget(60))
    assert (content.item("Table 2").absent, content.exit_status) == ("the report was interrupted before it", 130)


def test_a_run_goes_on_behind_the_budget_by_a_tenth_or_20_seconds() -> None:
    assert Budget(60).limit_s(600) == pytest.approx(80, abs=1)
    assert Budget(600).limit_s(900) == pytest.approx(660, abs=1)
    assert Budget(600).limit_s(5) == 5


def test_runs_that_the_budget_cut_off_are_counted_in_red() -> None:
    content = page.Content(conditions.collect(None))
    content.take_end(End(360, 6, is_out_of_time=True), "table")
    content.take_end(End(9, 9), "disks")
    assert content.warnings == ["table: 6 of 360 runs: the budget ended before the rest"]
    for place in REPORTS["stream"].items:
        content.item(place).absent = "nothing was run"
    html = page.make(REPORTS["stream"], content, "hakobi report stream").to_html()
    assert "<p><strong>table: 6 of 360 runs" in html.partition('<div class="warnings"')[2]


def test_a_table_that_a_window_would_cut_is_set_smaller() -> None:
    narrow, wide = (Table("Rates", ["size", *(f"method {i}" for i in range(count))]) for count in (3, 12))
    for table in (narrow, wide):
        table.add(*["12.34 ± 0.56"] * len(table.columns))
    report = Report("Rates")
    for table in (narrow, wide):
        report.table(table)
    assert re.findall(r'<div class="(scroll[^"]*)"', report.to_html()) == ["scroll", "scroll wide"]


def numbers(place: str) -> list[list[float]]:
    (table,) = theirs.TABLES["stream"][place]
    assert isinstance(table, Table)
    return [[float(cell.removesuffix(" %")) for cell in row] for row in table.rows]


def test_their_output_times_and_shares_are_those_of_their_times() -> None:
    for _, none, rank_0, own, *output in numbers("Table S1"):
        assert output == pytest.approx([rank_0 - none, own - none], abs=0.21)
    for _, none, slow, fast, slow_s, fast_s, *shares in numbers("Table S2"):
        assert (slow_s, fast_s) == pytest.approx((slow - none, fast - none), abs=0.21)
        assert shares == pytest.approx([100 * slow_s / slow, 100 * fast_s / fast], abs=0.51)
    for _, none, *rest in numbers("Tables S3 and S4"):
        assert rest[4:] == pytest.approx([time - none for time in rest[:4]], abs=0.21)


def series(place: str, column: int) -> dict[int, dict[int, float]]:
    """A column of theirs as three rounds that scatter by nothing, by ranks."""
    return {int(row[0]): dict.fromkeys(range(3), row[column]) for row in numbers(place)}


def test_the_reports_own_values_agree_with_its_sentences() -> None:
    ranks = tuple(int(row[0]) for row in numbers("Table S1"))
    plan = Plan("tsunami", stream.METHODS, ranks, {}, 3)
    columns = {
        ("none", "fast"): ("Table S1", 1),
        ("none", "slow"): ("Table S1", 1),
        ("root", "fast"): ("Table S1", 2),
        ("per-process", "fast"): ("Table S1", 3),
        ("root", "slow"): ("Table S2", 2),
    }
    times = {
        Case(method, count, network): rounds
        for (method, network), (place, column) in columns.items()
        for count, rounds in series(place, column).items()
    }
    tsunami = ("collected first", "collected scales", "fast network", "slow dominates", "slow grows", "fast scales")
    propeller = ("parallel first", "parallel stays", "root grows")
    for names, runs in ((tsunami, times), (propeller, propeller_times())):
        found = stream_cases.main_evidence(plan, runs)
        claims = [claim for claim in CLAIMS["stream"] if claim.name in names]
        assert [judge(claim, found[claim.name]).agrees for claim in claims] == [True] * len(names)


def propeller_times() -> dict[Case, dict[int, float]]:
    columns = {("none", "fast"): 1, ("none", "slow"): 1, ("parallel", "fast"): 2, ("root", "fast"): 3}
    columns |= {("parallel", "slow"): 4, ("root", "slow"): 5}
    return {
        Case(method, count, network): rounds
        for (method, network), column in columns.items()
        for count, rounds in series("Tables S3 and S4", column).items()
    }


def test_a_loaded_machine_contradicts_nobody() -> None:
    content = page.Content({}, findings=[judging.Finding("one", False, "No."), judging.Finding("two", True, "Yes.")])
    content.contradict_nobody()
    assert [finding.agrees for finding in content.findings] == [False, True]
    content.warnings.append(f"{LOADED}: 3 others")
    content.contradict_nobody()
    assert [finding.agrees for finding in content.findings] == [None, True]
    assert content.findings[0].because == "No. The machine was loaded."
