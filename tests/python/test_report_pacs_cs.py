"""`hakobi report pacs-cs`: the page of the smallest run, and its findings from made-up rates."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hakobi import programs, records
from hakobi.errors import InputError
from hakobi.records import Record
from hakobi_lab.measuring import hypercrossbar
from hakobi_lab.reports import pacs_cs_shown as shown
from hakobi_lab.reports.published import REPORTS


def why_no_nodes(program: programs.Program) -> str:
    try:
        hypercrossbar.check(program, 200)
    except hypercrossbar.UnavailableError as reason:
        return str(reason)
    return ""


@pytest.mark.programs
@pytest.mark.once
@pytest.mark.timeout(300)
def test_the_smallest_run_has_every_table_and_is_taken_up(hakobi: Any, tmp_path: Path) -> None:
    try:
        program = programs.find(hypercrossbar.PROGRAM)
    except InputError as reason:
        pytest.skip(str(reason))
    command = ("report", "pacs-cs", "--smallest", "--dir", tmp_path / "runs", "--json", tmp_path / "r.jsonl")
    result = hakobi(*command, "--page", tmp_path / "p.html")
    assert result.status == 0, result.stderr
    text = (tmp_path / "p.html").read_text().replace("&#39;", "'")
    here = {} if why_no_nodes(program) else {"Table 2": "40 exchanges"}  # else nothing is measured for it
    for place, what in REPORTS["pacs-cs"].items.items():
        own = f" (here: {here[place]})" if place in here else ""
        assert f"<h2>{place}: {what}{own}</h2>" in text
    assert "MPI, packed by hand" in result.stdout
    if why := why_no_nodes(program):
        assert why in result.stdout
        return
    assert "Halo, 2 under way           3" in result.stdout
    assert "with computing" in result.stdout
    num_records = len(records.read(tmp_path / "r.jsonl"))
    again = hakobi(*command)
    assert again.status == 0, again.stderr
    assert again.stderr.count("taken up from") == 5
    assert len(records.read(tmp_path / "r.jsonl")) - num_records == text.count("Cannot be told")


@pytest.mark.programs
@pytest.mark.once
def test_who_makes_no_nodes_gets_the_rest_of_the_page(
    hakobi: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        programs.find(hypercrossbar.PROGRAM)
    except InputError as reason:
        pytest.skip(str(reason))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    result = hakobi("report", "pacs-cs", "--smallest", "--dir", tmp_path / "runs")
    assert result.status == 0, result.stderr
    assert result.stdout.count("not shown: several nodes on one machine need root") == 3
    assert "BufferArrays::get" in result.stdout
    assert "Buffer arrays take " not in result.stderr


def rates(
    percent: dict[tuple[str, str], float],
    missing: tuple[str, int, str] | None = None,
    scatter: tuple[float, ...] = (1.0, 1.0, 1.0),
) -> shown.Rates:
    """(contender, way) -> per cent in 1, 2 and 3 dimensions of links of 10 MB/s, a sample for each of `scatter`."""
    lines: list[Record] = []
    for (contender, way), value in percent.items():
        name, _, num = contender.partition(":")
        for dimensions in (1, 2, 3):
            if (contender, dimensions, way) == missing:
                continue
            lines.append(
                {
                    "kind": "summary",
                    "contender": name,
                    "under_way": int(num or 1),
                    "dimensions": dimensions,
                    "way": way,
                    "bytes": 1 << 20,
                    "samples": [0.1 * dimensions * value * factor for factor in scatter],
                    "percent": value,
                    "num_calls": 2,
                    "is_correct": True,
                }
            )
    return shown.Rates.of(lines)


FULL = {
    ("mpi", "send"): 99.5,
    ("mpi", "receive"): 98.0,
    ("mpi", "both"): 52.0,
    ("halo:2", "send"): 99.4,
    ("halo:2", "receive"): 99.2,
    ("halo:2", "both"): 97.0,
}


def test_findings_are_about_the_least_of_all_dimensions() -> None:
    findings = shown.link_findings(rates(FULL))
    assert [finding.agrees for finding in findings] == [True, True, True]
    assert "MPI, one at a time 98.0 % and Halo, 2 under way 99.2 %" in findings[0].because
    slower = shown.link_findings(rates(FULL | {("halo:2", "receive"): 94.0, ("halo:2", "both"): 60.0}))
    assert [finding.agrees for finding in slower] == [False, False, True]


def test_a_case_that_is_missing_leaves_its_finding_open() -> None:
    findings = shown.link_findings(rates(FULL, missing=("halo:2", 2, "both")))
    assert [finding.agrees for finding in findings] == [True, None, True]
    assert "Not whole: Halo, 2 under way (2 of 3 cases)" in findings[1].because
    assert shown.link_findings(rates({}))[0].because == "Nothing was measured."


def test_a_third_of_the_cases_does_not_agree_for_all() -> None:
    sent = {("halo:2", "send"): 99.4, ("buffer-arrays:2", "send"): 99.4}
    assert [finding.agrees for finding in shown.link_findings(rates(sent))] == [None, None, None]
    assert "3.00 times (send; 1 of 3 ways)" in shown.link_findings(rates(sent))[2].because


def test_a_contender_of_ours_that_falls_short_is_not_made_good_by_the_other() -> None:
    both = FULL | {("buffer-arrays:2", "send"): 90.0, ("buffer-arrays:2", "receive"): 99.4}
    assert [finding.agrees for finding in shown.link_findings(rates(both))] == [False, None, None]


def test_too_few_samples_and_wide_ones_tell_nothing() -> None:
    assert [finding.agrees for finding in shown.link_findings(rates(FULL, scatter=(1, 1)))] == [None, None, None]
    wide = shown.link_findings(rates(FULL, scatter=(0.5, 1, 1.01)))
    assert [finding.agrees for finding in wide] == [None, None, None]


def spread(is_alternating: bool, below: float, median: float, num: int = 10_000) -> shown.Spread:
    quantiles = {"least": 1.0, "1 % below": below, "median": median, "most": 300.0}
    return shown.Spread("halo", is_alternating, 20.0, (num - 1, 1), quantiles)


@pytest.mark.parametrize(
    ("with_computing", "agrees"),
    [
        (spread(True, 140, 168), True),
        (spread(True, 165, 168), False),  # steadier
        (spread(True, 100, 120), False),  # slower
        (spread(True, 140, 168, num=900), None),
    ],
)
def test_computing_widens_the_spread_and_leaves_the_median(with_computing: shown.Spread, agrees: bool | None) -> None:
    alone = spread(False, 160, 170)
    assert shown.steadiness_finding([alone, with_computing]).agrees is agrees
    assert shown.steadiness_finding([alone]).agrees is None


def test_wrong_bytes_have_no_rate() -> None:
    line = {"kind": "summary", "contender": "halo", "is_correct": False}
    assert shown.Rates.of([line]).mb_s == {}


def test_buffer_arrays_are_compared_with_each_way() -> None:
    lines: list[Record] = [
        {
            "kind": "summary",
            "contender": name,
            "under_way": 1,
            "dimensions": 1,
            "way": "both",
            "bytes": 1 << 20,
            "samples": [mb_s],
            "num_calls": calls,
            "is_correct": True,
        }
        for name, mb_s, calls in (("mpi-rows", 500.0, 4097), ("mpi", 2000.0, 3), ("buffer-arrays", 4000.0, 4))
    ]
    made = shown.Rates.of(lines)
    table = shown.packing_table(made, shown.Rates(), 1 << 20, 1 << 10, 300)
    assert table.rows[0] == ["MPI, a message a row", "4097", "4194", ""]
    assert shown.packing_words(made).startswith("Buffer arrays take 0.12 of the time of MPI, a message a row (4 calls")
