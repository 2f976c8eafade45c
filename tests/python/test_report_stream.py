"""`hakobi report stream`: the page of the smallest run, and its findings from made-up runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hakobi import conditions, programs, records
from hakobi.errors import RunError
from hakobi.measuring.session import End
from hakobi.records import Record
from hakobi_lab.reports import page, stream
from hakobi_lab.reports.published import REPORTS, STREAM
from hakobi_lab.reports.running import Budget, Order
from hakobi_lab.studies.output_methods import figures, session
from hakobi_lab.studies.output_methods.plan import Plan
from hakobi_lab.studies.output_methods.result import Study
from hakobi_lab.studies.output_methods.runner import Outcome
from hakobi_lab.studies.output_methods.summary import StudySummary, summarise
from hakobi_lab.studies.scale import beyond
from hakobi_lab.studies.scale import simulation as scale
from hakobi_lab.studies.scale.simulation import Case


@pytest.mark.once
@pytest.mark.timeout(300)
def test_the_smallest_run_has_every_table_and_is_taken_up(
    hakobi: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAKOBI_PROPELLER", str(tmp_path / "not set up"))
    command = ("report", "stream", "--smallest", "--dir", tmp_path / "runs", "--json", tmp_path / "r.jsonl")
    result = hakobi(*command, "--page", tmp_path / "p.html")
    assert result.status == 0, result.stderr
    text = (tmp_path / "p.html").read_text().replace("&#39;", "'")
    here = {"Question 3": "4 ranks"}
    for place, what in REPORTS["stream"].items.items():
        own = f" (here: {here[place]})" if place in here else ""
        assert f"<h2>{place}: {what}{own}</h2>" in text
    assert text.count("Not shown") == 1  # without a propeller
    assert "Output TIME on the slow network" in result.stdout
    assert "SIMULATED output TIME on the slow network" in text
    assert "1,024 simulated" in result.stdout
    assert not list((tmp_path / "runs").iterdir())
    runs = [line for line in records.read(tmp_path / "r.jsonl") if line.get("study") == "output-methods"]
    again = hakobi(*command)
    assert again.status == 0, again.stderr
    assert "taken up from" in again.stderr
    assert len([x for x in records.read(tmp_path / "r.jsonl") if x.get("study") == "output-methods"]) == len(runs)


def runs(times: dict[tuple[str, int], float], rounds: int = 7) -> StudySummary:
    """Seven rounds that scatter by a thousandth about each (method, ranks)'s time on the slow network."""
    made: list[Record] = [
        {
            "app": "tsunami",
            "method": method,
            "ranks": ranks,
            "storage": "slow",
            "repetition": number,
            "time_s": time_s * (1 + 0.001 * (number % 3)),
            "output_bytes": 1,
            "cached_bytes": None,
            "sync": False,
        }
        for (method, ranks), time_s in times.items()
        for number in range(rounds)
    ]
    summary = summarise(made, stream.METHODS)
    assert summary is not None
    return summary


DEAR = {
    ("none", 1): 8.0,
    ("none", 64): 1.0,
    ("root", 1): 8.4,
    ("root", 64): 1.5,
    ("parallel", 1): 8.3,
    ("parallel", 64): 1.4,
    ("pipelined+hidden", 1): 8.05,
    ("pipelined+hidden", 64): 1.02,
}


def verdicts(times: dict[tuple[str, int], float], rounds: int = 7) -> list[bool | None]:
    return [finding.agrees for finding in stream._findings(runs(times, rounds))]


def test_the_reports_findings_are_told_from_the_figures() -> None:
    dear = DEAR | {("per-process", 1): 8.5, ("per-process", 64): 1.6}
    collected, grows, stays, cheapest, hidden = stream._findings(runs(dear))
    assert (collected.agrees, grows.agrees, cheapest.agrees, hidden.agrees) == (True, True, True, True)
    assert "shorter in 2" in collected.because
    assert "root 4.8 % to 33 %" in grows.because
    assert "cheapest in 2" in cheapest.because
    assert (stays.agrees, "parallel 3.6 % to 29 %" in stays.because) == (False, True)


def test_findings_contradict_the_report_where_the_figures_do() -> None:
    other = DEAR | {("parallel", 64): 9.0, ("root", 1): 16.0, ("root", 64): 1.05, ("per-process", 1): 8.5}
    other |= {("per-process", 64): 1.6, ("pipelined+hidden", 64): 1.2}
    assert verdicts(other) == [False, False, False, False, False]
    steady = DEAR | {("parallel", 1): 8.02, ("parallel", 64): 1.005}
    assert verdicts(steady)[2] is True


def test_a_part_of_the_cases_is_not_enough() -> None:
    near = DEAR | {("parallel", 64): 1.5001}
    assert verdicts(near)[3] is None
    assert verdicts({case: time_s for case, time_s in DEAR.items() if case[1] == 1})[:3] == [None, None, None]
    assert verdicts({case: time_s for case, time_s in DEAR.items() if case[0] != "root"})[2] is None


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_round_or_two_tell_nothing(rounds: int) -> None:
    assert verdicts(DEAR, rounds) == [None, None, None, None]


def test_no_bar_stands_for_one_round_or_for_nothing() -> None:
    def bars(summary: StudySummary) -> int:
        return len([bar for axes in figures.share_figure(summary).axes for bar in axes.patches])

    assert bars(runs(DEAR)) == 6
    assert bars(runs(DEAR, rounds=1)) == 0
    assert bars(runs(DEAR | {("root", 1): 7.9})) == 5


def test_the_speed_up_is_against_the_run_without_output() -> None:
    axes = figures.speed_up_figure(runs(DEAR)).axes[0]
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert lines["ideal"] == [1, 64]
    assert lines["none (no output)"] == pytest.approx([1, 8], rel=0.01)
    assert lines["root"] == pytest.approx([8 / 8.4, 8 / 1.5], rel=0.01)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_ranks_that_no_machine_here_carries_are_marked_as_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows_of(cases: list[Case]) -> list[scale.Row]:
        assert {case.bytes for case in cases} == {4_600_000}
        busy = dict.fromkeys(scale.LIMITS, 0.0)
        return [
            scale.Row(method, case.ranks, case.ranks // 32, case.bytes, 0.04, "servers", busy, 1, 1, 1, 0, 0, 0)
            for case in cases
            for method in case.methods
        ]

    monkeypatch.setattr(scale, "rows_of", rows_of)
    load = beyond.Load(46_000_000, 10)
    rows = beyond.output_rows(stream.SLOW, load, (256,))
    view = beyond.output_table("slow", stream.SLOW, load, rows)
    assert view.title.startswith("SIMULATED")
    assert view.rows == [
        ["256 simulated", "8", "0.400 s", "0.400 s", "0.400 s", "root: servers, parallel: servers, pipelined: servers"]
    ]
    assert "not measured" in view.notes[0]


@pytest.mark.programs
@pytest.mark.once
def test_a_slow_server_is_what_limits_simulated_output() -> None:
    load = beyond.Load(46_000_000, 10)
    rows = {row.method: row for row in beyond.output_rows(stream.SLOW, load, (256,))}
    least_s = load.bytes / (1e9 * stream.SLOW.limit_gb_s)
    assert least_s < rows["pipelined"].time_s < 1.1 * least_s
    assert rows["pipelined"].time_s < rows["root"].time_s < 2 * least_s


def test_ctrl_c_ends_the_whole_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun = []

    def execute(plan: Plan, _json: Path | None, part: str) -> Study:
        begun.append(part)
        return Study(plan, Outcome(end=End(9, 1, is_interrupted=True)), None, {"cores": 2}, [])

    monkeypatch.setattr(session, "execute", execute)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, _storages: {})
    content = stream.measure(Order(Budget(60), tmp_path))
    assert begun == ["report stream, table"]
    assert page.missing(STREAM, content) == []
    assert content.exit_status == 130
    assert content.item("Question 1").absent == "the report was interrupted before it"


@pytest.mark.parametrize("is_begun", [True, False], ids=["in its first run", "before it"])
@pytest.mark.parametrize("part", [2, 3, 4])
def test_ctrl_c_in_a_later_part_is_said_and_ends_the_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: int, is_begun: bool
) -> None:
    begun = []

    def execute(plan: Plan, _json: Path | None, part: str) -> Study:
        begun.append(part)
        end = End(9, 9 if len(begun) < number else 0, is_interrupted=len(begun) == number)
        if end.is_interrupted and not is_begun:
            raise RunError("interrupted before the first run had ended", code="interrupted")
        return Study(plan, Outcome(end=end), None, {"cores": 2}, [])

    number = part
    monkeypatch.setattr(session, "execute", execute)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, _storages: {})
    content = stream.measure(Order(Budget(60), tmp_path))
    assert len(begun) == part
    assert content.exit_status == 130
    if is_begun:
        assert any(warning.startswith("interrupted after") for warning in content.warnings)


def test_a_part_that_the_budget_left_without_a_figure_is_no_success(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def execute(plan: Plan, _json: Path | None, part: str) -> Study:
        return Study(plan, Outcome(end=End(9, 0, is_out_of_time=True)), None, {"cores": 2}, [])

    monkeypatch.setattr(session, "execute", execute)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, _storages: {})
    content = stream.measure(Order(Budget(60), tmp_path, smallest=True))
    assert content.exit_status == 2
    assert content.item("Question 2").absent == "no pair of runs was finished: give a larger --budget"
