"""`hakobi report openifs`: every figure and table from the smallest real runs, and conclusions from pretended ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hakobi import conditions, programs, records
from hakobi.errors import InputError, RunError
from hakobi.measuring.session import End
from hakobi.measuring.storage_model import StorageModel
from hakobi.table import Table
from hakobi_lab.reports import openifs, theirs
from hakobi_lab.reports.claims import CLAIMS
from hakobi_lab.reports.judging import judge
from hakobi_lab.reports.openifs import conclusions, items
from hakobi_lab.reports.openifs.parts import Measured, parts
from hakobi_lab.reports.page import missing
from hakobi_lab.reports.published import OPENIFS
from hakobi_lab.reports.running import Budget, Order
from hakobi_lab.studies.field_store import session
from hakobi_lab.studies.field_store.plan import Case, Model, Plan, Settings, Striping
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
    assert "1.00 [1.00, 1.00]" in verdicts[0]["because"]
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
        assert "resolutions: interrupted after 1 of 9 runs" in content.warnings[0]
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


USUAL = [2.0, 2.1, 2.05, 1.98, 2.02]
SAME = [2.001, 2.101, 2.051, 1.981, 2.021]
SLOW, FAST = [3.0, 3.1, 3.05, 2.98, 3.02], [1.0, 1.1, 1.05, 0.98, 1.02]
TWO = {"one": Path(), "two": Path()}
MODEL = Model("T63", 4)


def of_claim(name: str, cases: Any) -> bool | None:
    (claim,) = [claim for claim in CLAIMS["openifs"] if claim.name == name]
    return judge(claim, cases).agrees


def part(plan: Plan, times: dict[Case, list[float]]) -> Measured:
    return Measured(plan, {case: outcome(values) for case, values in times.items()})


def ways(files: list[float], store: list[float]) -> bool | None:
    plan = Plan({"one": Path()}, (MODEL,))
    times = {Case("files", MODEL, "one"): files, Case("store", MODEL, "one"): store}
    return of_claim("store speed", conclusions._store_speed(part(plan, times)))


def test_a_store_costs_no_speed_where_it_is_no_slower() -> None:
    assert [ways(USUAL, FAST), ways(USUAL, SAME), ways(USUAL, SLOW)] == [True, True, False]
    assert ways(USUAL[:2], FAST[:2]) is None
    assert ways(USUAL, [1.0, 3.0, 2.0, 2.5, 1.5]) is None
    assert of_claim("store speed", conclusions._store_speed(Measured(Plan({"one": Path()}, (MODEL,)), {}))) is None


def strides(of: dict[str, tuple[list[float], list[float], list[float]]]) -> Measured:
    """Runs with strides 1, 2 and 4 in each directory."""
    plan = Plan(TWO, (MODEL,), strides=(1, 2, 4))
    cases = {(name, stride): Case("store", MODEL, name, stride) for name in of for stride in plan.strides}
    return part(plan, {cases[name, 2**i]: times for name, each in of.items() for i, times in enumerate(each)})


@pytest.mark.parametrize(
    ("runs", "helps_little", "costs", "one_is_enough"),
    [
        ({"one": (USUAL, SAME, SLOW), "two": (USUAL, SLOW, SLOW)}, True, True, False),
        ({"one": (USUAL, FAST, FAST), "two": (USUAL, FAST, SAME)}, False, False, True),
        ({"one": (USUAL, SLOW, SAME), "two": (USUAL, SLOW, SLOW)}, True, True, True),
        ({"one": (USUAL, SLOW, SLOW)}, None, None, False),  # a directory is missing
        ({"one": (USUAL[:2], SLOW[:2], SLOW[:2]), "two": (USUAL[:2], SLOW[:2], SLOW[:2])}, None, None, None),
    ],
)
def test_fewer_writers_hardly_help_and_often_cost(
    runs: Any, helps_little: bool | None, costs: bool | None, one_is_enough: bool | None
) -> None:
    measured = strides(runs)
    assert of_claim("fewer help", conclusions._strides(measured)) is helps_little
    assert of_claim("fewer cost", conclusions._strides(measured)) is costs
    assert of_claim("a writer a node", conclusions._one_writer(measured)) is one_is_enough


def test_two_directories_are_compared_stride_by_stride() -> None:
    def differ(one: Any, two: Any) -> bool | None:
        return of_claim("directories", conclusions._directories(strides({"one": one, "two": two})))

    assert differ((USUAL, USUAL, USUAL), (SLOW, FAST, SAME)) is True
    assert differ((USUAL, USUAL, USUAL), (SAME, SAME, SAME)) is False
    assert differ((USUAL, USUAL, USUAL), (SLOW, [1.0, 3.0, 2.0, 2.5, 1.5], SAME)) is None
    assert of_claim("directories", conclusions._directories(strides({"one": (USUAL, USUAL, USUAL)}))) is None


def test_threads_are_judged_where_there_are_cores_for_them() -> None:
    single, double = Model("T63", 2), Model("T63", 2, threads=2)
    plan = Plan({"one": Path()}, (single, double))

    def faster(times: list[float], cores: int = 4) -> bool | None:
        measured = part(plan, {Case("none", single): USUAL, Case("none", double): times})
        return of_claim("threads", conclusions._threads(measured, cores))

    assert [faster(FAST), faster(SLOW), faster([1.0, 3.0, 2.0, 2.5, 1.5])] == [True, False, None]
    assert conclusions._threads(Measured(plan, {}), 2) == "2 cores are too few"


LAYOUTS = (Striping(1, 1), Striping(4, 1), Striping(4, 4), Striping(4, 1, stride=2), Striping(1, 1, stride=2))


def layouts(times: dict[int, list[float]], usual: list[float] = USUAL) -> dict[str, bool | None]:
    """By the number of the layout, those of stride 1; the first is the usual."""
    plan = Plan({"a": Path()}, (MODEL,), stripings=LAYOUTS, storage_models={"a": StorageModel(servers=4)})
    of = {0: usual, 3: usual, 4: usual, **times}
    measured = part(plan, {plan.with_stripes("a", LAYOUTS[i]): values for i, values in of.items()})
    return {
        "variation": of_claim("variation", conclusions._variation(measured)),
        "streams": of_claim("streams", conclusions._streams(measured)),
        "stripe size": of_claim("stripe size", conclusions._sizes(measured)),
    }


def test_layouts_are_judged_beside_the_variation_of_repeated_runs() -> None:
    assert set(layouts({1: SAME, 2: SAME}).values()) == {True}
    assert set(layouts({1: FAST, 2: SLOW}).values()) == {False}
    wide = [1.0, 3.0, 2.0, 2.5, 1.5]
    assert set(layouts({1: wide, 2: wide[::-1]}).values()) == {None}
    assert set(layouts({1: SAME}).values()) == {None, True}
    assert set(layouts({1: SAME[:2], 2: SAME[:2]}).values()) == {None}


def test_pages_are_better_only_outside_the_spread() -> None:
    small, huge = Case("store", MODEL, "one"), Case("store", MODEL, "one", settings=Settings(has_huge_pages=True))
    plan = Plan({"one": Path()}, (MODEL,), further=(small, huge))

    def better(times: list[float]) -> bool | None:
        return of_claim("pages", conclusions._pages(part(plan, {small: USUAL, huge: times})))

    assert [better(FAST), better(SLOW), better([1.0, 3.0, 2.0, 2.5, 1.5])] == [True, False, None]
    assert better(FAST[:2]) is None
    assert "no pages but those of 4 KiB" in str(conclusions._pages(Measured(replace(plan, further=(small,)), {})))


def test_fields_agree_only_where_both_ways_wrote_the_same() -> None:
    def written(kind: str, digest: str) -> session.Outcome:
        return outcome(
            [1.0], output=kind, resolution="T63", levels=1, hours=1, ranks=1, threads=1, fields_sha256=digest
        )

    plan = Plan({"here": Path()}, (MODEL,))
    cases = [Case("files", MODEL, "here"), Case("store", MODEL, "here")]

    def found(*digests: str) -> bool | None:
        outcomes = {case: written(case.kind, digest) for case, digest in zip(cases, digests, strict=False)}
        return of_claim("bits", conclusions.identical({"part": Measured(plan, outcomes)}))

    assert found("a", "a") is True
    assert found("a", "b") is False
    assert found("a") is None


def test_every_sentence_has_evidence_from_the_plans(tmp_path: Path) -> None:
    planned = {name: Measured(one.plan, {}) for name, one in parts(Order(Budget(600), tmp_path)).items()}
    found = conclusions.evidence(planned, 4)
    assert list(found) == [claim.name for claim in CLAIMS["openifs"]]
    assert {name: cases for name, cases in found.items() if isinstance(cases, str)}.keys() <= {"bits", "larger pages"}


def test_parameters_have_hectors_values_and_ours() -> None:
    (listed,) = theirs.TABLES["openifs"]["Table 8"]
    assert isinstance(listed, Table)
    assert [row[:2] for row in items.parameters_table().rows] == listed.rows
    assert all(cell for row in items.parameters_table().rows for cell in row)


def test_table_7_has_the_reports_columns_for_both_directories() -> None:
    def written(seconds: list[float]) -> session.Outcome:
        found = outcome(seconds, mean_days_per_day=200.0, peak_days_per_day=216.0)
        found.profiles = [{"bytes": 2e6}, {"bytes": 4e6}]
        return found

    plan = Plan(TWO, (MODEL,), strides=(1, 2), kinds=("none", "store"))
    outcomes = {Case("store", MODEL, name, stride): written(USUAL) for name in TWO for stride in (1, 2)}
    table = items.strides_table(Measured(plan, outcomes))
    assert len(table.columns) == 3 + 2 * 3
    assert table.rows[0][0] == "no output"
    assert table.rows[1] == ["1", "2", "3.0", *["2.02 ±0.025", "216", "200"] * 2]
    assert [row[0] for row in table.rows] == ["no output", "1", "2"]
