"""`hakobi study field-store`: its tables and figures from real runs of the smallest model, stripes by a stand-in for
lfs, and pretended runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import conditions, programs, records
from hakobi.errors import FormatError, InputError, RunError
from hakobi.measuring.session import Job
from hakobi_lab.studies.field_store import figures, identity, session, tables
from hakobi_lab.studies.field_store import plan as plans
from hakobi_lab.studies.field_store.plan import Case, Model, Plan, Settings
from running import Result

Command = Callable[..., Result]

SMALL = ("--ranks", "1", "--resolution", "T63", "--levels", "2", "--hours", "1", "--repetitions", "1")


MODEL = Model("T63", 1)


def pretend(**values: object) -> records.Record:
    """A summary's record with every number that the tables need."""
    return {**dict.fromkeys((*NUMBERS, "num_files"), 1.0), "kind": "field-store-summary", **values}


def test_options_are_pairs_and_strides_end_at_the_ranks() -> None:
    assert plans.useful_strides((1, 2, 4, 6, 8, 16), 6) == (1, 2, 4, 6)
    assert plans.parse_pairs("--striping", "1x1,4x4", 1) == ((1, 1), (4, 4))
    for text in ("4", "1x64", "4x0", "ax4"):
        with pytest.raises(InputError, match="--buffers"):
            plans.parse_pairs("--buffers", text, 2)
    with pytest.raises(InputError, match="T160"):
        plans.parse_resolutions("T63,T160")


def test_every_combination_runs_and_the_last_has_strides_and_settings() -> None:
    models = plans.models_of(["T63", "T95"], [1, 4], [1, 2])
    plan = Plan({"a": Path()}, models, strides=(1, 2), settings=plans.settings_of([(2, 1)]))
    cases = plan.cases()
    assert len(cases) == len(set(cases)) == len({case.words() for case in cases})
    for model in models:
        assert {case.kind for case in cases if case.model == model} == set(plans.KINDS)
    assert {case.model for case in cases if case.stride > 1 or case.settings != Settings()} == {Model("T95", 4, 2)}


def test_each_parameter_of_the_store_is_changed_and_said() -> None:
    settings = plans.settings_of([(2, 1)])
    told = [word for one in settings for word in one.arguments() if word.startswith("--")]
    for option in ("--buffers", "--buffer-mib", "--io-threads", "--pad-bytes", "--synchronous", "--no-sync"):
        assert option in told
    assert {"--no-directory-sync", "--huge-pages", "--direct"} <= set(told)
    plan = Plan({"a": Path()}, (MODEL,), settings=settings)
    rows = tables.settings_table(plan, {}).rows
    assert [row[0] for row in rows][:2] == ["(as it is)", "buffers"]
    assert all(row[2] == "not run" for row in rows)


@pytest.mark.programs
@pytest.mark.once
def test_prints_every_table_and_writes_its_report(hakobi: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "OTHER_SETTINGS", plans.OTHER_SETTINGS[:1])
    try:
        programs.find("hakobi-weather")
    except InputError as reason:
        pytest.skip(str(reason))
    options = ["--storage", "here=.", "--buffers", "2x1", "--json", "runs.jsonl"]
    options += ["--report", "report.html", "--figures", "figures"]
    result = hakobi("study", "field-store", *SMALL, *options)
    assert result.status == 0, result.stderr
    titles = ("Size of a step", "Forecast days per day", "Stride of the writers", "Parameters of the store", "Striping")
    for title in (*titles, "Writing of each file, files", "Writing of each file, store"):
        assert title in result.stdout
    assert "here: no striping to choose" in result.stdout
    report = Path("report.html").read_text()
    assert report.count("<table") == 6  # all but the one for stripes, which has no row
    assert "here: no striping to choose" in report
    found = list(records.read("runs.jsonl"))
    stored = [one for one in found if one["kind"] == "field-store-file" and one["output"] == "store"]
    totals = {one["output"]: one for one in found if one["kind"] == "field-store-summary"}
    assert stored[0]["bytes"] == totals["files"]["grid_bytes"] + totals["files"]["spectral_bytes"]
    digests = {one["fields_sha256"] for one in found if "fields_sha256" in one and one["kind"] == "field-store-summary"}
    assert len(digests) == 1  # every run but the one without output was read back
    assert sorted(path.name for path in Path("figures").iterdir()) == ["stride.csv", "stride.pdf", "stride.svg"]
    assert "store, mean" in Path("figures/stride.csv").read_text()
    assert not list(Path().glob("hakobi-run-*"))


@pytest.mark.parametrize(
    ("with_output", "said"),
    [([2.0, 3.0, 2.5, 2.0, 3.0], "(0.100 ±0.050)"), ([5.0, 6.0, 5.5, 5.1, 6.2], "3.20 ±0.050"), ([2.5], "(0.500)")],
)
def test_a_cost_within_the_spread_is_in_brackets(with_output: list[float], said: str) -> None:
    """The same rule as in every study: by rounds, and nothing is told from zero that is not outside the spread."""
    without = [2.0, 2.8, 2.4, 1.9, 3.0]

    def outcome(seconds: list[float]) -> session.Outcome:
        summary = {"mean_days_per_day": 1.0, "peak_days_per_day": 1.0}
        return session.Outcome([{**summary, "wall_s": value} for value in seconds], list(range(len(seconds))))

    plan = Plan({"here": Path()}, (MODEL,), rounds=5)
    given = {
        Case("none", MODEL): outcome(without),
        Case("files", MODEL, "here"): outcome(without),
        Case("store", MODEL, "here"): outcome(with_output),
    }
    table = tables.cost_table(plan, given)
    assert [row[-1] for row in table.rows if row[3] == "store"] == [said]


def test_stripes_are_set_before_the_run_where_there_are_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lfs").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/called\n')
    (tmp_path / "lfs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(conditions, "file_system", lambda folder: {"type": "lustre"})
    plan = Plan({"scratch": tmp_path}, (MODEL,), stripings=(plans.Striping(4, 2),))
    case = plan.with_stripes("scratch", plans.Striping(4, 2))
    assert case in plan.cases()
    session.stripe(tmp_path, case)
    assert (tmp_path / "called").read_text() == f"setstripe -c 4 -S 2M {tmp_path}\n"


NUMBERS = [
    "grid_bytes",
    "spectral_bytes",
    "grid_fields",
    "spectral_fields",
    "wall_s",
    "mean_days_per_day",
    "peak_days_per_day",
]


@pytest.mark.parametrize(
    ("finished", "shown"), [(0, ""), (2, "Finished runs of a study"), (15, "Forecast days per day")]
)
def test_ctrl_c_prints_the_finished_runs(
    hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: int, shown: str
) -> None:
    done = 0

    def run_case(_plan: object, _job: object, _program: object) -> list[records.Record]:
        nonlocal done
        if done == finished:
            raise KeyboardInterrupt
        done += 1
        return [pretend()]

    monkeypatch.setattr(session, "_run_case", run_case)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    result = hakobi(
        *("study", "field-store", "--ranks", "1", "--strides", "1", "--buffers", "4x64"),
        *("--storage", f"here={tmp_path}", "--repetitions", "2"),
    )
    assert result.status == 130
    assert "interrupted" in result.stderr.splitlines()[-1]
    assert shown in result.stdout
    assert bool(result.stdout) == (finished > 0)


def test_a_case_that_fails_is_a_gap_in_every_table_and_the_report(
    hakobi: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_case(_plan: object, job: Job[Case], _program: object) -> list[records.Record]:
        if job.case.kind == failing:
            raise RunError("a rank crashed")
        return [pretend()]

    monkeypatch.setattr(session, "_run_case", run_case)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    for failing in ("none", "files", "store"):
        result = hakobi(
            *("study", "field-store", "--ranks", "1", "--strides", "1", "--buffers", "4x64"),
            *("--storage", f"here={tmp_path}", "--repetitions", "1", "--report", "r.html"),
        )
        assert result.status == 2
        rows = [line for line in result.stdout.splitlines() if line.startswith("T159") and f" {failing} " in line]
        assert rows
        assert all(" gap" in row for row in rows)
        assert f"gap: T159, 1 rank, {failing}" in result.stderr
        assert "a rank crashed" in Path("r.html").read_text()


def message(content: bytes) -> bytes:
    """A GRIB 2 message as far as its length."""
    return b"GRIB\0\0\0\2" + (16 + len(content)).to_bytes(8, "big") + content


def test_fields_are_compared_one_by_one_in_no_order(tmp_path: Path) -> None:
    digests = []
    for name, contents in (("a", [b"one", b"two"]), ("b", [b"two", b"one"]), ("c", [b"two", b"onE"])):
        folder = tmp_path / name / "fields"
        folder.mkdir(parents=True)
        (folder / "f.grib2").write_bytes(b"".join(map(message, contents)))
        found = identity.fields_below(tmp_path / name, "files")
        assert found["num_fields"] == 2
        digests.append(found["fields_sha256"])
    assert digests[0] == digests[1] != digests[2]
    assert identity.fields_below(tmp_path, "none") == {}
    for bad in (message(b"one")[:-1], b"GRIB", b"GRIB\0\0\0\1" + bytes(8), message(b"one") + b"\0"):
        with pytest.raises(FormatError, match=r"f\.grib2"):
            list(identity.messages(bad, "f.grib2"))


def test_runs_that_wrote_other_fields_are_named() -> None:
    same = {"resolution": "T63", "levels": 2, "hours": 1, "threads": 1}
    lines = [
        pretend(**same, ranks=ranks, output=kind, fields_sha256=text)
        for ranks, kind, text in ((1, "files", "a"), (2, "store", "a"), (4, "store", "b"))
    ]
    assert identity.mismatches([lines[:2]]) == []
    assert identity.mismatches([lines]) == [
        "T63, 2 levels, 1 h: fields differ between (files on 1 rank x 1 thread, store on 2 ranks x 1 thread) and "
        "(store on 4 ranks x 1 thread)"
    ]


def test_figures_leave_out_what_did_not_run_and_bars_of_single_rounds() -> None:
    plan = Plan({"here": Path()}, (Model("T63", 1), Model("T63", 2)), strides=(1, 2))
    nothing = figures.stride_figure(plan, {})
    assert [text.get_text() for text in nothing.axes[0].texts] == ["no run has finished"]
    one = session.Outcome([pretend(mean_days_per_day=5.0)])
    drawn = figures.ranks_figure(plan.models, ["here"], {Case("store", plan.models[1], "here"): one})
    container = drawn.axes[0].containers[0]
    assert len(drawn.axes[0].containers) == 1
    assert not container.has_yerr  # type: ignore[attr-defined]
    two = session.Outcome([pretend(mean_days_per_day=speed) for speed in (4.0, 6.0)], [0, 1])
    runs = {Case("store", plan.models[0], "here"): two, Case("store", plan.models[1], "here"): one}
    (bars,) = figures.ranks_figure(plan.models, ["here"], runs).axes[0].containers[0][2]
    assert [len(line) for line in bars.get_segments()] == [2, 0]
    assert drawn.axes[0].get_ylim()[0] == 0
    both = {Case("store", model, name): one for model in plan.models for name in ("here", "there")}
    drawn = figures.ranks_figure(plan.models, ["here", "there"], both)
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["store"]  # once for both axes
    data = figures.ranks_data(plan.models, ["here"], {Case("store", plan.models[1], "here"): one})
    assert [row[-1] for row in data.rows] == ["no run"] * 5 + [""]


def test_only_runs_of_the_same_round_are_compared() -> None:
    """A gap in one case must not shift the rounds of the other."""
    one = session.Outcome([pretend(wall_s=value) for value in (1.0, 3.0)], [0, 2])
    other = session.Outcome([pretend(wall_s=value) for value in (10.0, 20.0, 30.0)], [0, 1, 2])
    assert tables.paired(one, other, "wall_s") == ([1.0, 3.0], [10.0, 30.0])
    assert tables.paired(None, other, "wall_s") == ([], [])


def test_speeds_over_the_forecast_are_medians_of_the_rounds() -> None:
    steps = [
        [{"kind": "field-store-step", "hour": hour, "days_per_day": speed * hour} for hour in (1, 2)]
        for speed in (10.0, 30.0, 20.0)
    ]
    outcome = session.Outcome()
    for number, each in enumerate(steps):
        outcome.take([*each, pretend()], number)
    assert [(hour, one.median, one.count) for hour, one in outcome.over_forecast("days_per_day")] == [
        (1, 20.0, 3),
        (2, 40.0, 3),
    ]
