"""`hakobi report openifs`: every figure and table from the smallest real runs, and conclusions from pretended ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import conditions, programs, records
from hakobi.errors import InputError, RunError
from hakobi.measuring.session import End
from hakobi_lab.reports import openifs
from hakobi_lab.reports.openifs import conclusions
from hakobi_lab.reports.openifs.parts import Measured, parts
from hakobi_lab.reports.page import missing
from hakobi_lab.reports.published import OPENIFS
from hakobi_lab.reports.running import Budget, Order
from hakobi_lab.studies.field_store import session
from hakobi_lab.studies.field_store.plan import Case, Model, Plan
from running import Result

Command = Callable[..., Result]


def outcome(seconds: list[float], **values: object) -> session.Outcome:
    return session.Outcome([{"wall_s": one, **values} for one in seconds], list(range(len(seconds))))


@pytest.mark.programs
@pytest.mark.once
def test_the_smallest_has_every_figure_and_table(hakobi: Command) -> None:
    try:
        programs.find("hakobi-weather")
    except InputError as reason:
        pytest.skip(str(reason))
    result = hakobi("report", "openifs", "--smallest", "--dir", ".", "--page", "page.html", "--json", "runs.jsonl")
    assert result.status == 0, result.stderr
    page = Path("page.html").read_text()
    for place in OPENIFS.items:
        assert f">{place}: " in page
    assert page.count("<svg") == 7
    assert "Not shown" not in page
    assert ">gap<" not in page
    assert ">not run<" not in page
    assert "no run has finished" not in page
    assert "bit for bit" in page
    verdicts = [one for one in records.read("runs.jsonl") if one["kind"] == "finding"]
    assert verdicts[0]["because"].endswith("the same bit for bit.")
    assert all(one["agrees"] is None for one in verdicts)  # the smallest concludes nothing
    assert not list(Path().glob("hakobi-run-*"))
    again = hakobi("report", "openifs", "--smallest", "--dir", ".", "--json", "runs.jsonl")
    assert again.status == 0
    assert again.stderr.count("taken up from runs.jsonl") == 6  # every part, so nothing runs
    assert again.stdout == result.stdout.replace("page: page.html\n", "")


@pytest.mark.parametrize("num_done", [0, 1])
def test_ctrl_c_ends_all_parts_and_keeps_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, num_done: int
) -> None:
    begun = []

    def run(_plan: Plan, *_: object, study: str) -> tuple[dict[Case, session.Outcome], End]:
        begun.append(study)
        return {}, End(9, num_done, is_interrupted=True)

    monkeypatch.setattr(session, "run", run)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, storages: {"storage": {name: {} for name in storages}})
    order = Order(Budget(60), tmp_path)
    if num_done == 0:
        with pytest.raises(RunError, match="interrupted"):
            openifs.measure(order)
    else:
        content = openifs.measure(order)
        assert missing(OPENIFS, content) == []
        assert content.exit_status == 130
        assert "interrupted after 1 of 9 runs" in content.warnings[0]
        assert all(finding.agrees is None for finding in content.findings)
    assert len(begun) == 1


@pytest.mark.parametrize("seconds", [300, 1800, 86400])
def test_parts_fill_every_table_whatever_the_time(seconds: float) -> None:
    found = parts(Order(Budget(seconds), Path("/here")))
    assert math.isclose(sum(part.weight for part in found.values()), 1)
    for name, part in found.items():
        cases = part.plan.cases()
        assert len(cases) == len({case.words() for case in cases}), name
    assert [model.resolution for model in found["resolutions"].plan.models][:3] == ["T63", "T95", "T159"]
    assert {model.threads for model in found["ranks and threads"].plan.models} == {1, 2}
    few = parts(Order(Budget(seconds), Path("/here"), ranks=(1, 3)))
    assert few["strides"].plan.strides == (1, 2)


def one_task(files: list[float], store: list[float]) -> Measured:
    model = Model("T63", 2)
    plan = Plan({"here": Path()}, (model,))
    return Measured(plan, {Case("files", model, "here"): outcome(files), Case("store", model, "here"): outcome(store)})


def test_a_store_that_is_faster_outside_the_spread_agrees() -> None:
    fast, slow = [1.0, 1.1, 1.05, 0.98, 1.02], [2.0, 2.1, 2.05, 1.98, 2.02]
    assert conclusions.one_task_finding(one_task(slow, fast)).agrees is True
    assert conclusions.one_task_finding(one_task(fast, slow)).agrees is False
    assert conclusions.one_task_finding(one_task(fast, slow), one_task(slow, fast)).agrees is None
    even = conclusions.one_task_finding(one_task(fast, [1.05, 1.0, 1.02, 1.04, 1.0]))
    assert even.agrees is None
    assert "1 comparison" in even.because
    assert conclusions.one_task_finding(one_task([1.0], [9.0])).agrees is None


def test_what_changes_the_run_beyond_its_variation_is_named() -> None:
    usual = [1.0, 1.1, 1.05, 0.98, 1.02]
    same = {"4 servers": ([1.02, 1.05, 1.04, 1.0, 1.01], usual)}
    slower = {**same, "1 server": ([2.0, 2.1, 2.05, 1.98, 2.02], usual)}
    assert conclusions.variation_finding("published", "setting", same).agrees is True
    found = conclusions.variation_finding("published", "setting", slower)
    assert found.agrees is False
    assert "1 of 2 settings" in found.because
    assert "1 server (" in found.because
    assert "longer" in found.because
    assert conclusions.variation_finding("published", "setting", {"one": ([1.0], [2.0])}).agrees is None
    assert conclusions.variation_finding("published", "setting", {**same, "one": ([1.0], [2.0])}).agrees is None


def test_fewer_writers_may_cost_but_not_help() -> None:
    usual, slow, fast = [2.0, 2.1, 2.05, 1.98, 2.02], [3.0, 3.1, 3.05, 2.98, 3.02], [1.0, 1.1, 1.05, 0.98, 1.02]
    same = [2.02, 2.05, 2.04, 2.0, 2.01]
    assert conclusions.writers_finding({"stride 2": (same, usual), "stride 4": (slow, usual)}).agrees is True
    assert conclusions.writers_finding({"stride 2": (fast, usual), "stride 4": (slow, usual)}).agrees is False
    assert conclusions.writers_finding({"stride 2": (same, usual), "stride 4": ([2.0], [2.0])}).agrees is None
    assert conclusions.writers_finding({}).agrees is None


def test_pages_are_better_only_outside_the_spread() -> None:
    usual, slow, fast = [2.0, 2.1, 2.05, 1.98, 2.02], [3.0, 3.1, 3.05, 2.98, 3.02], [1.0, 1.1, 1.05, 0.98, 1.02]
    assert conclusions.pages_finding({"buffers": (fast, usual)}).agrees is True
    assert conclusions.pages_finding({"buffers": (slow, usual)}).agrees is False
    even = conclusions.pages_finding({"buffers": ([2.02, 2.05, 2.04, 2.0, 2.01], usual)})
    assert even.agrees is None
    assert "None of 1 page size changes the run outside the spread" in even.because


def test_two_directories_are_compared_stride_by_stride() -> None:
    model = Model("T63", 2)
    plan = Plan({"one": Path(), "two": Path()}, (model,), strides=(1, 2))

    def found(two: dict[int, list[float]]) -> bool | None:
        outcomes = {Case("store", model, "one", stride): outcome([1.0, 1.1, 1.05, 0.98, 1.02]) for stride in (1, 2)}
        outcomes |= {Case("store", model, "two", stride): outcome(times) for stride, times in two.items()}
        return conclusions.directories_finding(Measured(plan, outcomes)).agrees

    slow, same = [2.0, 2.1, 2.05, 1.98, 2.02], [1.02, 1.05, 1.04, 1.0, 1.01]
    assert found({1: slow, 2: same}) is True
    assert found({1: same}) is None
    assert found({1: same, 2: same}) is False
    assert found({}) is None


def test_fields_agree_only_where_both_ways_wrote_the_same() -> None:
    def written(kind: str, digest: str) -> session.Outcome:
        return outcome(
            [1.0], output=kind, resolution="T63", levels=1, hours=1, ranks=1, threads=1, fields_sha256=digest
        )

    model = Model("T63", 1)
    plan = Plan({"here": Path()}, (model,))
    cases = [Case("files", model, "here"), Case("store", model, "here")]

    def found(*digests: str) -> bool | None:
        outcomes = {case: written(case.kind, digest) for case, digest in zip(cases, digests, strict=False)}
        return conclusions.identity_finding({"part": Measured(plan, outcomes)}).agrees

    assert found("a", "a") is True
    assert found("a", "b") is False
    assert found("a") is None
