"""`hakobi report two-phase`: the page of the smallest run, and its findings from made-up samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hakobi import records
from hakobi.conditions import Conditions
from hakobi.errors import FormatError
from hakobi.measuring.collective import Sample
from hakobi.measuring.storage_model import StorageModel
from hakobi_lab.reports import page, two_phase
from hakobi_lab.reports.published import REPORTS
from hakobi_lab.studies.collective_buffer import overlap, slow


@pytest.mark.once
@pytest.mark.timeout(300)
def test_the_smallest_run_has_every_figure(hakobi: Any, tmp_path: Path) -> None:
    arguments = ("report", "two-phase", "--smallest", "--dir", tmp_path / "runs", "--json", tmp_path / "r.jsonl")
    result = hakobi(*arguments, "--page", tmp_path / "p.html", "--figures", tmp_path / "figures")
    assert result.status == 0, result.stderr
    text = (tmp_path / "p.html").read_text()
    here = {"Figure 1": "2 processes", "Figure 2": "4 processes"}
    for place, what in REPORTS["two-phase"].items.items():
        own = f" (here: {here[place]})" if place in here else ""
        assert f"<h2>{place}: {what}{own}</h2>" in text.replace("&#39;", "'")
    assert "Not shown" not in text
    assert "conclude nothing" in text
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"read-2.csv", "read-4.csv", "write-2.svg", "slow-rank.csv", "trace.pdf"} <= names
    findings = [line for line in records.read(tmp_path / "r.jsonl") if line["kind"] == "finding"]
    assert len(findings) == 5
    assert not list((tmp_path / "runs").iterdir())


def slowed(times: dict[slow.Case, list[float]], facts: Conditions | None = None) -> slow.Outcome:
    plan = slow.Plan(8, (1, 4), (0.0, 0.5), 4 << 20, 64 << 20, StorageModel(), Path(), 1, 1.0)
    outcome = slow.Outcome(plan, facts or {})
    for case, values in times.items():
        for operation in ("write", "read"):
            outcome.samples[case] += [
                Sample(slow.CONTENDER, operation, value, 0.1, 0.05, 64 << 20, number)
                for number, value in enumerate(values)
            ]
    return outcome


STEADY = [1.00, 1.01, 0.99, 1.00, 1.01, 0.99, 1.00]


@pytest.mark.parametrize(("four", "agrees"), [(1.0, True), (1.6, False)])
def test_a_reserve_that_absorbs_is_told_from_one_that_does_not(four: float, agrees: bool) -> None:
    outcome = slowed(
        {
            slow.Case(1, 0.0): STEADY,
            slow.Case(1, 0.5): [1.5 * value for value in STEADY],
            slow.Case(4, 0.0): STEADY,
            slow.Case(4, 0.5): [four * value for value in STEADY],
        }
    )
    content = page.Content({})
    two_phase._add_slow(content, outcome)
    (finding,) = content.findings
    assert finding.agrees is agrees
    assert "33 % with 1 buffer" in finding.because
    table = slow.table_of(outcome, "write")
    assert table.rows[0][2].endswith("−33 %")
    assert table.rows[1][2].endswith("(0.0 %)" if agrees else "−38 %")


def test_nothing_measured_says_so() -> None:
    content = page.Content({})
    two_phase._add_slow(content, slowed({}))
    assert content.item("Figure 3").absent == "no run was finished: give a larger --budget"


def event(name: str, pid: int, tid: int, begin_ms: float, end_ms: float) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": 1000 * begin_ms, "dur": 1000 * (end_ms - begin_ms)}


def test_the_last_call_of_a_trace_is_measured() -> None:
    call = overlap.last_call(
        [
            {"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "rank 0"}},
            event("write_all", 0, 0, 0, 9),
            event("write", 0, 1, 1, 8),
            event("write_all", 0, 0, 10, 20),
            event("write_all", 1, 0, 11, 20),
            event("deposit", 0, 0, 11, 13),
            event("deposit", 1, 0, 12, 14),
            event("write", 0, 1, 13, 19),
        ]
    )
    assert [bar.row for bar in call.bars] == ["rank 0", "rank 1", "rank 0, I/O thread 0"]
    assert call.time_s == pytest.approx(0.010)
    assert call.busy_s("exchange") == pytest.approx(0.003)
    assert call.busy_s("file access") == pytest.approx(0.006)
    assert call.overlap_s() == pytest.approx(0.001)


def test_a_trace_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("[{},")
    with pytest.raises(FormatError, match="not JSON"):
        overlap.read(tmp_path / "t.json")
    with pytest.raises(FormatError, match="no collective call"):
        overlap.last_call([])
