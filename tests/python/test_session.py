"""Sessions of studies: order, ends, the time that is left, and records that come as whole jobs."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from hakobi import progress, records
from hakobi.errors import FormatError, RunError, StorageError, TimeLimitError
from hakobi.measuring import session as session_module
from hakobi.measuring.job_log import Log
from hakobi.measuring.machine import Fact
from hakobi.measuring.session import WARM_UP, Job, Session, in_rounds
from hakobi.records import Record


def test_every_round_has_every_case_and_begins_with_another() -> None:
    jobs = in_rounds("abc", 3)
    orders = ["".join(job.case for job in jobs if job.round == number) for number in range(3)]
    assert orders == ["abc", "bca", "cab"]


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), StorageError("no space left")])
def test_what_ended_a_session_is_told_and_the_jobs_before_it_count(ends: BaseException) -> None:
    done = []

    def execute(job: Job[str]) -> list[Record]:
        if job.case == "c":
            raise ends
        done.append(job.case)
        return []

    end = Session([Job("warm-up", WARM_UP), *in_rounds("abcd", 1)], str).run(execute)
    assert done == ["warm-up", "a", "b"]
    assert (end.num_done, end.num_jobs, end.is_complete) == (2, 4, False)
    assert end.exit_status() == (130 if isinstance(ends, KeyboardInterrupt) else 2)
    assert end.is_interrupted == isinstance(ends, KeyboardInterrupt)
    assert end.failure is (None if end.is_interrupted else ends)
    assert "after 2 of 4 runs: " in end.warnings()[0]
    assert end.check() is end


def test_a_job_that_is_no_longer_wanted_is_none_of_the_sessions() -> None:
    done: list[str] = []

    def execute(job: Job[str]) -> list[Record]:
        done.append(job.case)
        return []

    end = Session(in_rounds("ab", 3), str, wanted=lambda job: job.case == "a" or done.count("b") < 1).run(execute)
    assert (done.count("a"), done.count("b")) == (3, 1)
    assert (end.num_done, end.num_jobs, end.is_complete) == (4, 4, True)


class Failing:
    """Jobs that fail at given attempts: case -> how often before it ends well."""

    def __init__(self, **failures: int) -> None:
        self.failures = failures
        self.attempts: list[str] = []

    def __call__(self, job: Job[str]) -> list[Record]:
        self.attempts.append(f"{job.case}{job.round}")
        self.failures[job.case] = self.failures.get(job.case, 0) - 1
        if self.failures[job.case] >= 0:
            raise RunError("a rank crashed")
        return [{"kind": "run", "value": 7}]


def test_a_job_that_fails_is_run_once_more_and_that_is_said(tmp_path: Path) -> None:
    taken = []
    jobs = Failing(b=1)
    log = Log(tmp_path / "r.jsonl", {}, "study:1")
    end = Session(in_rounds("ab", 1), str, log=log).run(jobs, lambda job, _lines: taken.append(job.case))
    assert jobs.attempts == ["a0", "b0", "b0"]
    assert taken == ["a", "b"]
    assert (end.is_complete, end.exit_status()) == (True, 0)
    assert end.warnings() == ["repeated: b: round 1 failed at first: a rank crashed"]
    assert [line["kind"] for line in records.read(tmp_path / "r.jsonl")] == ["conditions", "run", "failed", "run"]


def test_what_fails_twice_is_a_gap_and_the_others_go_on() -> None:
    jobs = Failing(b=9)
    end = Session([Job(case, number) for number in range(3) for case in "abc"], str).run(jobs)
    assert jobs.attempts == ["a0", "b0", "b0", "c0", "a1", "c1", "a2", "c2"]
    assert (end.num_done, end.num_jobs, end.is_complete, end.exit_status()) == (6, 9, False, 2)
    assert end.gap_notes() == ["gap: b: no figure: a rank crashed"]


def test_a_case_that_has_a_figure_is_tried_in_every_round() -> None:
    class Later(Failing):
        def __call__(self, job: Job[str]) -> list[Record]:
            if job.round != 1:
                self.failures.pop(job.case, None)
                self.attempts.append(f"{job.case}{job.round}")
                return []
            self.failures[job.case] = 9
            return super().__call__(job)

    jobs = Later()
    end = Session([Job("a", number) for number in range(3)], str).run(jobs)
    assert jobs.attempts == ["a0", "a1", "a1", "a2"]
    assert end.gap_notes() == ["gap: a: round 2 failed twice: a rank crashed"]


def test_a_session_of_gaps_alone_raises_their_reason() -> None:
    with pytest.raises(RunError, match="b: a rank crashed \\(and so did 1 other case\\)"):
        Session(in_rounds("ba", 1), str).run(Failing(a=2, b=2)).check()


def test_a_later_session_takes_up_what_is_whole(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "r.jsonl"

    def lines_of(job: Job[str]) -> list[Record]:
        return [{"kind": "sample", "value": ord(job.case)}, {"kind": "run", "warnings": ["bytes may be lost"]}]

    Session(in_rounds("abc", 1), str, log=Log(file, {}, "study:1")).run(lines_of)
    # As of a process that was killed between the two lines of its last run.
    file.write_text("".join(f"{line}\n" for line in file.read_text().splitlines()[:-1]))
    capfd.readouterr()
    jobs = Failing()
    taken: list[tuple[str, int]] = []
    session = Session(in_rounds("abc", 2), str, log=Log(file, {}, "study:1"))
    end = session.run(jobs, lambda job, lines: taken.append((job.case, lines[0]["value"])))
    assert "2 runs taken up from" in capfd.readouterr().err
    assert jobs.attempts == ["c0", "b1", "c1", "a1"]
    assert taken == [("a", 97), ("b", 98), *((case, 7) for case in "cbca")]
    assert (end.num_done, end.num_resumed, end.told) == (6, 2, ["bytes may be lost"])
    other = Failing()
    Session(in_rounds("abc", 1), str, log=Log(file, {}, "study:2")).run(other)
    assert other.attempts == ["a0", "b0", "c0"]
    assert "left alone: of another plan, build or machine" in capfd.readouterr().err


def test_a_loaded_machine_is_said_at_the_head(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fact = Fact("other load", "61 % of the processors busy now", "trap", "ranks lose their turn")
    monkeypatch.setattr(session_module, "contention", lambda seconds: [fact, Fact("steal time", "0 %")])

    def execute(_job: Job[str]) -> list[Record]:
        assert "hakobi: warning: the machine is loaded: other load 61 % of" in capfd.readouterr().err
        return []

    end = Session(in_rounds("a", 1), str).run(execute)
    assert end.num_done == 1
    assert end.warnings() == [
        "the machine is loaded: other load 61 % of the processors busy now: ranks lose their turn"
    ]


def test_an_interrupt_before_the_first_job_had_ended_is_an_error() -> None:
    def execute(_job: Job[str]) -> list[Record]:
        raise KeyboardInterrupt

    with pytest.raises(RunError, match="interrupted before the first run"):
        Session(in_rounds("ab", 1), str).run(execute).check()


def test_no_job_is_started_for_which_the_time_left_is_too_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that the test moves."""
    now_s = 0.0
    done = []

    def execute(job: Job[str]) -> list[Record]:
        nonlocal now_s
        done.append(job)
        now_s += 0.06
        return []

    monkeypatch.setattr(time, "monotonic", lambda: now_s)

    end = Session(in_rounds("ab", 5), str, alike=lambda _case: "all", budget_s=0.15).run(execute)
    assert end.is_out_of_time
    assert len(done) == 2
    assert end.failure is None


@pytest.mark.parametrize("first", [WARM_UP, 0])
def test_a_job_that_runs_on_behind_the_budget_is_no_gap(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    now_s, limits = 0.0, []

    def execute(_job: Job[str]) -> list[Record]:
        nonlocal now_s
        limits.append(session.limit_s(600.0))
        now_s += limits[-1]
        raise TimeLimitError("a took longer than it may and was ended")

    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    session = Session([Job("a", first), *in_rounds("ab", 5)], str, budget_s=300.0)
    end = session.run(execute)
    assert limits == [330.0]
    assert (end.is_out_of_time, end.failure, end.gaps) == (True, None, {})


def test_a_time_limit_of_the_job_itself_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(_job: Job[str]) -> list[Record]:
        assert session.limit_s(60.0) == 60.0
        raise TimeLimitError("a took longer than 60 s and was ended")

    session = Session(in_rounds("a", 1), str, budget_s=300.0)
    end = session.run(execute)
    assert not end.is_out_of_time
    assert list(end.gaps) == ["a"]


def test_a_job_may_take_its_share_of_the_time_left() -> None:
    shares = []
    session = Session(in_rounds("ab", 1), str, budget_s=100.0)

    def execute(_job: Job[str]) -> list[Record]:
        shares.append(session.share_s)
        return []

    session.run(execute)
    assert shares == [pytest.approx(50, abs=1), pytest.approx(100, abs=1)]


def test_records_wait_for_the_conditions(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    log = Log(file)
    log.add({"kind": "skipped"})
    assert not file.exists()
    log.begin({"machine": "here"})
    log.begin({"machine": "twice"})
    log.add({"kind": "sample"}, {"kind": "run"})
    assert [line["kind"] for line in records.read(file)] == ["conditions", "skipped", "sample", "run"]


def test_a_file_of_something_else_is_told_before_the_first_job(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("no records\n")
    with pytest.raises(FormatError):
        Log(file)


@pytest.mark.parametrize(("budget_s", "left"), [(math.inf, "17.0 s"), (100.0, "17.0 s"), (19.0, "16.0 s")])
def test_short_jobs_are_a_line_now_and_then_in_a_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], budget_s: float, left: str
) -> None:
    """Twenty jobs of a second each, by a clock that the test moves. A budget is not waited for."""
    now_s = 0.0

    def execute(_job: Job[str]) -> list[Record]:
        nonlocal now_s
        now_s += 1.0
        return []

    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    monkeypatch.setattr(progress, "_last_line_s", None)
    Session(in_rounds("ab", 10), str, budget_s=budget_s).run(execute)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == f"run 4 of 20 ({left} left): a, round 2 of 10, about 1 s"
    assert len(lines) == (6 if budget_s > 20 else 5)
