"""`hakobi report pacs-cs`: the page of the smallest run, and its findings from made-up rates."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hakobi import programs, records
from hakobi.errors import InputError
from hakobi.records import Record
from hakobi.table import Table
from hakobi_lab.measuring import hypercrossbar
from hakobi_lab.reports import pacs_cs_shown as shown
from hakobi_lab.reports import theirs
from hakobi_lab.reports.claims import CLAIMS
from hakobi_lab.reports.judging import judge_all
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
    assert len(records.read(tmp_path / "r.jsonl")) - num_records == len(CLAIMS["pacs-cs"])


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
    **{(name, way): 99.4 for name in shown.OURS for way in ("send", "receive")},
    **{(name, "both"): 97.0 for name in shown.OURS},
}
LINKS = ("one way", "both ways", "three times")


def verdicts(
    measured: shown.Rates, spreads: Sequence[shown.Spread] = (), packing: shown.Rates | None = None
) -> dict[str, bool | None]:
    found = shown.evidence(measured, spreads, packing or shown.Rates())
    return {one.claim.name: one.agrees for one in judge_all(CLAIMS["pacs-cs"], found) if one.claim}


def links(measured: shown.Rates) -> list[bool | None]:
    found = verdicts(measured)
    return [found[name] for name in LINKS]


def test_links_are_filled_by_each_of_ours_in_every_case() -> None:
    assert links(rates(FULL)) == [True, True, True]
    assert links(rates(FULL | {("halo:2", "receive"): 94.0, ("halo:2", "both"): 60.0})) == [False, False, True]
    flat = rates(FULL)
    for case in list(flat.mb_s):
        if case.dimensions == 3:
            flat.mb_s[case] = flat.mb_s[case].scaled(0.5)
    assert links(flat)[2] is False


def test_a_case_that_is_missing_leaves_its_finding_open() -> None:
    assert links(rates(FULL, missing=("halo:2", 2, "both"))) == [True, None, True]
    assert links(rates({})) == [None, None, None]
    sent = {(name, "send"): 99.4 for name in shown.OURS}
    assert links(rates(sent)) == [None, None, None]


def test_too_few_samples_and_wide_ones_tell_nothing() -> None:
    assert links(rates(FULL, scatter=(1, 1))) == [None, None, None]
    assert links(rates(FULL, scatter=(0.5, 1, 1.01))) == [None, None, None]


ALONE = (0, 1, 8, 82, 8, 1)


def spreads(computing: tuple[int, ...], tenths: float = 1.0, num: int = 100) -> list[shown.Spread]:
    """Spreads of both of ours; in the second half of the exchanges the rate is `tenths` times the first's."""
    steady = tuple(70.0 * (1 + 0.001 * i) * (tenths if i > 4 else 1.0) for i in range(10))
    return [
        shown.Spread(name, counts is not ALONE, 20.0, tuple(num * count for count in counts), {}, steady)
        for name in ("halo", "buffer-arrays")
        for counts in (ALONE, computing)
    ]


@pytest.mark.parametrize(
    ("found", "agree"),
    [
        (spreads((5, 5, 20, 40, 20, 10)), [True, True, True]),
        (spreads((0, 0, 4, 92, 4, 0)), [False, True, True]),  # steadier
        (spreads((50, 30, 20, 0, 0, 0), tenths=0.8), [True, False, False]),  # slower, and more so to the end
        (spreads((5, 5, 20, 40, 20, 10), num=9), [None, None, None]),
        (spreads((5, 5, 20, 40, 20, 10))[:3], [None, None, None]),
    ],
)
def test_computing_widens_the_spread_and_leaves_the_mean(found: list[shown.Spread], agree: list[bool | None]) -> None:
    told = verdicts(shown.Rates(), found)
    assert [told[name] for name in ("spread", "mean", "steady")] == agree


def test_histograms_of_an_older_run_do_not_tell_what_15_minutes_change() -> None:
    old = [dataclasses.replace(one, tenths=()) for one in spreads((5, 5, 20, 40, 20, 10))]
    assert verdicts(shown.Rates(), old)["steady"] is None


def test_their_classes_have_the_moments_that_are_cited() -> None:
    (table,) = theirs.TABLES["pacs-cs"]["Table 2"]
    assert isinstance(table, Table)
    alone, computing = (
        shown.Spread("theirs", bool(i), 20.0, tuple(int(row[1 + i]) for row in table.rows), {}) for i in range(2)
    )
    assert sum(alone.counts) == 10_000
    assert computing.mean().estimate / alone.mean().estimate == pytest.approx(1.04, abs=0.005)
    assert computing.deviation().estimate / alone.deviation().estimate == pytest.approx(3.2, abs=0.05)


def test_classes_are_a_table_and_functions_stand_beside_theirs() -> None:
    table = shown.classes_table(spreads(ALONE)[:1], "exchanges")
    assert table.rows[0] == ["20 to 40", "100"]
    assert table.rows[2] == ["60 to 80", "8200"]
    named = " ".join(row[0] for row in shown.functions().rows)
    (listed,) = theirs.TABLES["pacs-cs"]["Table 3"]
    assert isinstance(listed, Table)
    assert all(row[0] in named for row in listed.rows)


@pytest.mark.parametrize(("packed", "agrees"), [(50.0, True), (95.0, False), (80.0, None)])
def test_copies_are_a_share_of_what_is_packed_by_hand(packed: float, agrees: bool | None) -> None:
    both = {("mpi-packed", "both"): packed, ("buffer-arrays", "both"): 100.0}
    assert verdicts(shown.Rates(), packing=rates(both, scatter=(0.98, 1, 1.02)))["copies"] is agrees
    assert verdicts(shown.Rates(), packing=rates(both, scatter=(1, 1)))["copies"] is None


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
