"""`hakobi bench collective --suite NAME`: verdicts out of samples, and the real programs on a small case."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import programs, records
from hakobi.errors import InputError, RunError
from hakobi.measuring import regressions
from hakobi.measuring.regression_cases import CASES, Case
from hakobi.measuring.regressions import OURS, Contender, Row
from hakobi.records import Record
from running import Result

LINE = {"operation": "write", "call_s": 0.1, "cpu_s": 0.1, "bytes": 10**9}


def row(name: str, times: dict[str, list[float]]) -> Row:
    made = Row(Case(name, 2, "calls 1 1"), "tmpfs")
    for contender, samples in times.items():
        for turn, time_s in enumerate(samples):
            made.samples["write", contender][turn] = [{**LINE, "time_s": time_s}]
    return made


def test_the_worst_ratio_to_the_best_contender_comes_first() -> None:
    fast = row("fast", {OURS: [1.0, 1.0], "default": [2.0, 2.0], "ROMIO": [3.0, 3.0]})
    slow = row("slow", {OURS: [2.0, 4.0, 2.0], "default": [2.0, 2.0, 2.0], "ROMIO": [1.0, 1.0, 1.0]})
    first, second = regressions.verdicts([fast, slow])
    assert (first["case"], first["ratio_to_best"], first["best_contender"]) == ("slow", 0.5, "ROMIO")
    assert (first["ratio_low"], first["ratio_high"]) == (0.25, 0.5)
    assert (second["case"], second["ratio_to_best"], second["best_contender"]) == ("fast", 2.0, "default")


def test_a_failure_of_ours_is_a_ratio_of_zero() -> None:
    failed = row("failed", {"default": [1.0]})
    failed.failed[OURS] = "a wrong byte"
    (verdict,) = regressions.verdicts([failed])
    assert verdict["ratio_to_best"] == 0
    assert verdict["error"] == "a wrong byte"
    assert "a wrong byte" in regressions.table_of([verdict], [failed], 1).rows[0][-1]


def test_names_are_checked_before_anything_runs() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    with pytest.raises(InputError, match="interior130"):
        regressions.chosen("regressions", ["interior13"], [])
    with pytest.raises(InputError, match="tmpfs"):
        regressions.chosen("regressions", [], ["tmpf"])


def test_a_case_with_holes_is_verified_on_both_storages(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    programs.find("hakobi-bench-mpi-io")
    file = tmp_path / "verdicts.jsonl"
    words = ["bench", "collective", "--suite", "regressions", "--case", "holes8-2", "--rounds", "1"]
    done = hakobi(*words, "--json", file, "--dir", tmp_path)
    assert done.status == 0, done.stderr
    lines = [line for line in records.read(file) if line["kind"] == "verdict"]
    assert {(line["storage"], line["operation"]) for line in lines} == {
        (storage, operation) for storage in ("model", "tmpfs") for operation in ("write", "read")
    }
    assert all(line["ratio_to_best"] is None and line["time_s"] > 0 for line in lines)


def test_a_solver_that_writes_while_it_computes_is_compared_with_both_kinds_of_calls(
    hakobi: Callable[..., Result], tmp_path: Path
) -> None:
    programs.find("hakobi-bench-solver")
    file = tmp_path / "verdicts.jsonl"
    words = [
        "bench",
        "collective",
        "--suite",
        "overlap",
        "--case",
        "solver-small",
        "--rounds",
        "1",
        "--compare",
        "mpi-io",
    ]
    done = hakobi(*words, "--json", file, "--dir", tmp_path)
    assert done.status == 0, done.stderr
    lines = records.read(file)
    (verdict,) = [line for line in lines if line["kind"] == "verdict"]
    assert verdict["operation"] == "step"
    assert verdict["of_floor"] > 0
    contenders = {str(line["contender"]) for line in lines if line["kind"] == "sample"}
    assert {OURS, regressions.NO_OUTPUT} <= contenders
    assert any(" iwrite" in one for one in contenders)
    assert any(" write" in one for one in contenders)


def test_a_peer_that_takes_many_times_as_long_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def samples(of: Row, contender: Contender, folder: Path, timeout_s: float) -> list[Record]:
        if contender.names[0] == "slow":
            time.sleep(timeout_s)
            raise RunError("no end after its time limit")
        return [{**LINE, "hint_set": 0, "time_s": 1.0}]

    monkeypatch.setattr(regressions, "_samples", samples)
    monkeypatch.setattr(regressions, "LEAST_PATIENCE_S", 0.05)
    one = row("one", {})
    for name in (OURS, "fast", "slow", "slow"):
        regressions._run_job(one, Contender((name,)), 0, tmp_path, 60.0)
    assert one.samples.keys() == {("write", OURS), ("write", "fast")}
    assert "more than" in one.failed["slow"]
    (verdict,) = regressions.verdicts([one])
    assert verdict["best_contender"] == "fast"
    assert "slow is left out" in " ".join(regressions.table_of([verdict], [one], 1).notes)
