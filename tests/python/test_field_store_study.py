"""`hakobi study field-store`: its tables from a real run of the smallest model, stripes by a stand-in for lfs, and
pretended runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import conditions, programs, records
from hakobi.errors import InputError, RunError
from hakobi.studies.field_store import session, tables
from running import Result

Command = Callable[..., Result]

SMALL = ("--ranks", "1", "--resolution", "T63", "--levels", "2", "--hours", "1", "--repetitions", "1")


def test_options_are_pairs_and_strides_end_at_the_ranks() -> None:
    assert session.parse_strides("1,2,4,6,8,16", 6) == (1, 2, 4, 6)
    assert session.parse_pairs("--striping", "1x1,4x4", 1) == ((1, 1), (4, 4))
    for text in ("4", "1x64", "4x0", "ax4"):
        with pytest.raises(InputError, match="--buffers"):
            session.parse_pairs("--buffers", text, 2)


@pytest.mark.programs
@pytest.mark.once
def test_prints_every_table_and_writes_its_report(hakobi: Command) -> None:
    try:
        programs.find("hakobi-weather")
    except InputError as reason:
        pytest.skip(str(reason))
    options = ("--storage", "here=.", "--buffers", "2x1", "--json", "runs.jsonl", "--report", "report.html")
    result = hakobi("study", "field-store", *SMALL, *options)
    assert result.status == 0, result.stderr
    titles = ("Size of a step", "Forecast days per day", "Stride of the writers", "Asynchronous buffers", "Striping")
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
        return session.Outcome([{**summary, "wall_s": value} for value in seconds])

    case = session.Case("store", "here")
    plan = session.Plan({"here": Path()}, (1,), (), (), 1, 5, 60.0, ())
    given = {
        session.Case("none"): outcome(without),
        session.Case("files", "here"): outcome(without),
        case: outcome(with_output),
    }
    table = tables.cost_table(plan, given, given[session.Case("none")])
    assert [row[-1] for row in table.rows if row[0] == "store"] == [said]


def test_stripes_are_set_before_the_run_where_there_are_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lfs").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/called\n')
    (tmp_path / "lfs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(conditions, "file_system", lambda folder: {"type": "lustre"})
    plan = session.Plan({"scratch": tmp_path}, (1,), (), ((4, 2),), 1, 1, 60.0, ())
    case = session.Case("store", "scratch", striping_factor=4, striping_unit_mib=2)
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
    ("finished", "shown"), [(0, ""), (2, "Finished runs of a study"), (6, "Forecast days per day")]
)
def test_ctrl_c_prints_the_finished_runs(
    hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: int, shown: str
) -> None:
    done = 0

    def run_case(_plan: object, _case: object, _program: object) -> list[records.Record]:
        nonlocal done
        if done == finished:
            raise KeyboardInterrupt
        done += 1
        return [dict.fromkeys((*NUMBERS, "num_files"), 1.0)]

    monkeypatch.setattr(session, "_run_case", run_case)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    result = hakobi(
        *("study", "field-store", "--ranks", "1", "--strides", "1", "--buffers", "4x64"),
        *("--storage", f"here={tmp_path}", "--repetitions", "2"),
    )
    assert result.status == 2
    assert "interrupted" in result.stderr.splitlines()[-1]
    assert shown in result.stdout
    assert bool(result.stdout) == (finished > 0)


def test_a_case_that_fails_is_a_gap_in_every_table_and_the_report(
    hakobi: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_case(_plan: object, case: session.Case, _program: object) -> list[records.Record]:
        if case.kind == failing:
            raise RunError("a rank crashed")
        return [dict.fromkeys((*NUMBERS, "num_files"), 1.0)]

    monkeypatch.setattr(session, "_run_case", run_case)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    for failing in ("none", "files", "store"):
        result = hakobi(
            *("study", "field-store", "--ranks", "1", "--strides", "1", "--buffers", "4x64"),
            *("--storage", f"here={tmp_path}", "--repetitions", "1", "--report", "r.html"),
        )
        assert result.status == 2
        row = next(line.split() for line in result.stdout.splitlines() if line.split()[:1] == [failing])
        assert "gap" in row
        assert f"gap: {failing}" in result.stderr
        assert "a rank crashed" in Path("r.html").read_text()
