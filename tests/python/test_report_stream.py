"""`hakobi report stream`: the page of the smallest run, and its findings from made-up runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hakobi import conditions, programs, records, testbeds
from hakobi.errors import RunError, TimeLimitError
from hakobi.measuring import session as measuring
from hakobi.measuring.session import End, Gap, Job
from hakobi.records import Record
from hakobi.table import Table
from hakobi_lab.measuring import viewers
from hakobi_lab.reports import page, running, stream, stream_cases
from hakobi_lab.reports.claims import CLAIMS
from hakobi_lab.reports.judging import judge
from hakobi_lab.reports.published import REPORTS, STREAM
from hakobi_lab.reports.running import Budget, Order
from hakobi_lab.studies.output_methods import figures, session
from hakobi_lab.studies.output_methods.plan import Case as PlanCase
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
    assert text.count("Not shown") == 2  # without a propeller
    assert "Seconds of a run, and of its output: a tsunami, root, both networks" in result.stdout
    assert "pipelined+hidden" in result.stdout
    assert "Seconds until each viewer has loaded" in result.stdout
    assert "SIMULATED output TIME on the slow network" in text
    assert "1,024 simulated" in result.stdout
    assert not list((tmp_path / "runs").iterdir())
    runs = [line for line in records.read(tmp_path / "r.jsonl") if line.get("study") == "output-methods"]
    again = hakobi(*command)
    assert again.status == 0, again.stderr
    assert "taken up from" in again.stderr
    assert len([x for x in records.read(tmp_path / "r.jsonl") if x.get("study") == "output-methods"]) == len(runs)


def made(times: dict[tuple[str, int, str], float], rounds: int = 7) -> list[Record]:
    """Rounds that scatter by a thousandth about each (method, ranks, network)'s time."""
    return [
        {
            "app": "tsunami",
            "method": method,
            "ranks": ranks,
            "storage": network,
            "repetition": number,
            "time_s": time_s * (1 + 0.001 * (number % 3)),
            "wall_s": time_s,
            "output_bytes": 1,
            "cached_bytes": None,
            "sync": False,
        }
        for (method, ranks, network), time_s in times.items()
        for number in range(rounds)
    ]


def study(times: dict[tuple[str, int, str], float], rounds: int = 7, end: End | None = None) -> Study:
    lines = made(times, rounds)
    plan = Plan("tsunami", stream.METHODS, tuple(sorted({key[1] for key in times})), {}, rounds)
    return Study(plan, Outcome(records=lines, end=end or End(9, 9)), summarise(lines, stream.METHODS), {"cores": 2}, [])


def runs(times: dict[tuple[str, int], float], rounds: int = 7) -> StudySummary:
    summary = study({(*key, "slow"): time_s for key, time_s in times.items()}, rounds).summary
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
#: On 1 and 64 ranks: every sentence of the report agrees.
AS_THEIRS = {
    "fast": {"none": (8.0, 1.0), "root": (8.2, 1.15), "per-process": (8.4, 1.4), "parallel": (8.1, 1.02)},
    "slow": {"none": (8.0, 1.0), "root": (9.0, 2.4), "parallel": (8.9, 2.3)},
}
#: Every one is contradicted.
OTHERWISE = {
    "fast": {"none": (8.0, 1.0), "root": (9.5, 1.8), "per-process": (8.4, 1.4), "parallel": (9.9, 1.9)},
    "slow": {"none": (8.0, 1.0), "root": (9.0, 1.05), "parallel": (9.9, 1.9)},
}
BOTH = {network: values | {"root": (16.0, 1.05)} for network, values in OTHERWISE.items()}


def times(of: dict[str, dict[str, tuple[float, float]]]) -> dict[tuple[str, int, str], float]:
    return {
        (method, ranks, network): each[i]
        for network, methods in of.items()
        for method, each in methods.items()
        for i, ranks in enumerate((1, 64))
    }


def verdicts(
    of: dict[tuple[str, int, str], float], rounds: int = 7, ranks: tuple[int, ...] = (1, 64)
) -> dict[str, Any]:
    plan = Plan("tsunami", stream.METHODS, ranks, {}, rounds)
    found = stream_cases.main_evidence(plan, stream_cases.times_of(study(of, rounds)))
    return {claim.name: judge(claim, found[claim.name]).agrees for claim in CLAIMS["stream"] if claim.name in found}


def test_the_reports_sentences_are_told_from_the_runs() -> None:
    assert set(verdicts(times(AS_THEIRS)).values()) == {True}


def test_sentences_are_contradicted_where_the_runs_do() -> None:
    found = verdicts(times(OTHERWISE))
    assert [name for name, agrees in found.items() if agrees is not False] == ["root grows"]
    assert verdicts(times(BOTH))["root grows"] is False


def test_a_part_of_the_ranks_or_of_the_networks_is_not_enough() -> None:
    assert set(verdicts(times(AS_THEIRS), ranks=(1, 16, 64)).values()) == {True, None}
    assert verdicts(times(AS_THEIRS), ranks=(1, 16, 64))["collected first"] is None
    fast = verdicts(times({"fast": AS_THEIRS["fast"], "slow": {"none": (8.0, 1.0)}}))
    assert (fast["parallel first"], fast["fast network"], fast["slow dominates"]) == (None, None, None)
    assert (fast["collected first"], fast["parallel stays"]) == (True, True)


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_round_or_two_tell_nothing(rounds: int) -> None:
    assert set(verdicts(times(AS_THEIRS), rounds).values()) == {None}
    assert set(verdicts(times(OTHERWISE), rounds).values()) == {None}


def loaded(
    fast: tuple[float, float], slow: tuple[float, float], rounds: int = 3
) -> dict[tuple[str, int], dict[int, float]]:
    """Seconds of one viewer and of two to eight, over either network."""
    return {
        (network, count): {i: (one if count == 1 else more) * (1 + 0.001 * i) for i in range(rounds)}
        for network, (one, more) in (("fast", fast), ("slow", slow))
        for count in (1, 2, 4, 8)
    }


@pytest.mark.parametrize(
    ("found", "agree"),
    [
        (loaded((1.0, 1.1), (2.0, 4.0)), [True, True, True]),
        (loaded((3.0, 6.0), (2.0, 2.1)), [False, False, False]),
        (loaded((1.0, 1.1), (2.0, 4.0), rounds=2), [None, None, None]),
        ({}, [None, None, None]),
    ],
)
def test_viewers_fill_the_slow_link_and_not_the_fast_one(found: stream_cases.Loaded, agree: list[bool | None]) -> None:
    evidence = stream_cases.loading_evidence(found)
    told = {
        claim.name: judge(claim, evidence[claim.name]).agrees for claim in CLAIMS["stream"] if claim.name in evidence
    }
    assert [told[name] for name in ("loading", "one fills", "room")] == agree


def of_claim(name: str, cases: Any) -> bool | None:
    (claim,) = [claim for claim in CLAIMS["stream"] if claim.name == name]
    return judge(claim, cases).agrees


def test_a_propeller_is_heavy_where_rank_0_takes_a_tenth() -> None:
    for root, agrees in ((1.3, True), (1.05, False)):
        of = {("none", 2, "slow"): 1.0, ("root", 2, "slow"): root}
        assert of_claim("heavy case", stream_cases.heavy(study(of), "")) is agrees
    assert of_claim("heavy case", stream_cases.heavy(study(of, rounds=2), "")) is None
    assert stream_cases.heavy(None, "no code_saturne") == "no code_saturne"


def test_runs_that_failed_once_are_no_stable_ones() -> None:
    few = study({("none", 64, "slow"): 1.0, ("root", 64, "slow"): 2.0})
    many = {("none", 256, "slow"): 1.0, ("root", 256, "slow"): 2.0}
    assert of_claim("complete", stream_cases.complete(few, study(many))) is True
    assert of_claim("complete", stream_cases.complete(few, study(many, rounds=1))) is None
    assert of_claim("complete", stream_cases.complete(few)) is None
    failing = End(9, 9, repeated=["repeated: root, 256 ranks, slow: round 1 failed at first: it hung"])
    failing.gaps["none, 256 ranks, slow"] = Gap([2], "it hung", False)
    assert of_claim("complete", stream_cases.complete(few, study(many, end=failing))) is False
    table = stream.stability_table(few, study(many, end=failing))
    assert table.rows == [["64", "14", "14", "0", "0"], ["256", "15", "13", "1", "1"]]


def test_256_ranks_need_three_runs_of_which_64_say_how_long_they_take(tmp_path: Path) -> None:
    order = Order(Budget(60), tmp_path)
    plan = stream._plan(order, ranks=(256,), models={"slow": stream.SLOW})
    assert stream._least_s(plan, study({("none", 1, "slow"): 5.0, ("none", 64, "slow"): 20.0})) == 240.0
    main = study({("none", 64, "slow"): 20.0}, rounds=0)
    assert stream._least_s(plan, study({("none", 1, "slow"): 5.0})) is not None
    assert stream._least_s(plan, Study(plan, main.outcome, None, {}, [])) is None


def test_a_budget_sees_few_ranks_first() -> None:
    order = [
        job.case.ranks for job in Plan("tsunami", stream.METHODS, (64, 1, 8), {"a": Path(), "b": Path()}, 2).runs()
    ]
    assert order[: len(order) // 2] == sorted(order[: len(order) // 2])


def test_the_smallest_has_every_method_in_every_part(tmp_path: Path) -> None:
    order = Order(Budget(60), tmp_path, smallest=True)
    assert stream.main_plan(order).methods == stream.METHODS
    assert stream._plan(order, ranks=(2,), models={"disks": stream.DISKS}).methods == stream.METHODS


def test_tables_have_their_columns_and_ours() -> None:
    summary = study(times(AS_THEIRS)).summary
    assert summary is not None
    view = stream.run_table(summary, "a case", [("root", "slow"), ("root", "fast")], has_share=True)
    assert view.columns == [
        "ranks",
        "no output",
        "slow",
        "fast",
        "output slow",
        "output fast",
        "share slow",
        "share fast",
    ]
    assert [row[-2:] for row in view.rows] == [["11 %", "2.4 %"], ["58 %", "13 %"]]
    assert all(cell for row in view.rows for cell in row)


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
    assert content.item("Item P").absent == "the report was interrupted before it"
    assert content.item("Table S1").absent == "the report was interrupted in it"


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
    monkeypatch.setattr(viewers, "loading_s", lambda *_: 1.0)
    monkeypatch.setattr(stream, "_least_s", lambda *_: 1.0)
    content = stream.measure(Order(Budget(60), tmp_path))
    assert len(begun) == part
    assert page.missing(STREAM, content) == []
    assert content.exit_status == 130
    if is_begun:
        assert any("interrupted after" in warning for warning in content.warnings)


def test_a_part_that_the_budget_left_without_a_figure_is_no_success(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def execute(plan: Plan, _json: Path | None, part: str) -> Study:
        return Study(plan, Outcome(end=End(9, 0, is_out_of_time=True)), None, {"cores": 2}, [])

    monkeypatch.setattr(session, "execute", execute)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, _storages: {})
    monkeypatch.setattr(viewers, "loading_s", lambda *_: 1.0)
    content = stream.measure(Order(Budget(60), tmp_path, smallest=True))
    assert content.exit_status == 2
    assert content.item("Question 2").absent == "no pair of runs was finished: give a larger --budget"


def test_a_budget_of_nothing_fills_no_part_and_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def execute(plan: Plan, _json: Path | None, part: str) -> Study:
        return Study(plan, Outcome(end=End(360, 0, is_out_of_time=True)), None, {"cores": 2}, [])

    monkeypatch.setattr(session, "execute", execute)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, _storages: {})
    content = stream.measure(Order(Budget(0.5), tmp_path))
    assert page.missing(STREAM, content) == []
    assert content.exit_status == 2
    assert "table: 0 of 360 runs: the budget ended before the rest" in content.warnings
    assert content.item("Item P").absent.startswith("it needs 20 s, and 0 s of the budget were left")
    assert content.item("Question 3").absent == "not even 64 ranks were reached: give a larger --budget"
    assert {finding.agrees for finding in content.findings} == {None}


@pytest.mark.parametrize("budget_s", [60.0, 240.0, 600.0])
def test_a_budget_is_kept_and_gives_a_table_and_not_a_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, budget_s: float
) -> None:
    """Runs that only let a clock go on: half a second, and a third for each rank."""
    clock = SimpleNamespace(now_s=0.0)

    def pass_s(seconds: float) -> float:
        clock.now_s += seconds
        return seconds

    def execute(plan: Plan, _json: Path | None, part: str) -> Study:
        outcome = Outcome()
        warm_up = Job(PlanCase("none", plan.warm_up_ranks, next(iter(plan.storages))), measuring.WARM_UP)
        runs = measuring.Session([warm_up, *plan.runs()], PlanCase.words, budget_s=plan.budget_s)

        def run(job: Job[PlanCase]) -> list[Record]:
            wanted_s, limit_s = 0.5 + 0.3 * job.case.ranks, runs.limit_s(plan.timeout_s)
            if pass_s(min(wanted_s, limit_s)) < wanted_s:
                raise TimeLimitError("the time limit")
            of = {(job.case.method, job.case.ranks, job.case.storage): wanted_s}
            return [{**made(of, 1)[0], "repetition": job.round}]

        outcome.end = runs.run(run, lambda _job, lines: outcome.records.extend(lines))
        return Study(
            plan, outcome, summarise(outcome.records, plan.methods), {"cores": 2, "memory_available_bytes": 1}, []
        )

    for module in (measuring, running):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    monkeypatch.setattr(measuring, "load_warnings", list)
    monkeypatch.setattr(session, "execute", execute)
    monkeypatch.setattr(viewers, "loading_s", lambda _model, _folder, _bytes, count, _limit_s: pass_s(0.3 * count))
    monkeypatch.setattr(stream, "_add_simulated", lambda *_: None)
    monkeypatch.setattr(testbeds, "are_here", lambda: False)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, _storages: {})
    content = stream.measure(Order(Budget(budget_s), tmp_path))
    assert 0.5 * budget_s <= clock.now_s <= budget_s + max(20.0, 0.1 * budget_s)
    assert page.missing(STREAM, content) == []
    (table,) = content.item("Table S1").shown
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows][:2] == ["1", "2"]
    assert any("the budget ended before the rest" in warning for warning in content.warnings)
    many = content.item("Question 3")
    assert "256 ranks" in str(many.shown) or many.absent.endswith("give a larger --budget")
