"""Sessions of studies: order, ends, the time that is left, and records that come as whole jobs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hakobi import progress, records
from hakobi.errors import FormatError, RunError
from hakobi.measuring.session import WARM_UP, Job, Log, Session, in_rounds


def test_every_round_has_every_case_and_begins_with_another() -> None:
    jobs = in_rounds("abc", 3)
    orders = ["".join(job.case for job in jobs if job.round == number) for number in range(3)]
    assert orders == ["abc", "bca", "cab"]


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), RunError("no space left")])
def test_what_ended_a_session_is_told_and_the_jobs_before_it_count(ends: BaseException) -> None:
    done = []

    def execute(job: Job[str]) -> None:
        if job.case == "c":
            raise ends
        done.append(job.case)

    end = Session([Job("warm-up", WARM_UP), *in_rounds("abcd", 1)], str).run(execute)
    assert done == ["warm-up", "a", "b"]
    assert (end.num_done, end.num_jobs, end.is_complete) == (2, 4, False)
    assert end.is_interrupted == isinstance(ends, KeyboardInterrupt)
    assert end.failure is (None if end.is_interrupted else ends)
    if end.failure:
        with pytest.raises(RunError, match="no space left"):
            end.check()
    else:
        assert end.check() is end


def test_an_interrupt_before_the_first_job_had_ended_is_an_error() -> None:
    def execute(_job: Job[str]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(RunError, match="interrupted before the first run"):
        Session(in_rounds("ab", 1), str).run(execute).check()


def test_no_job_is_started_for_which_the_time_left_is_too_short() -> None:
    done = []

    def execute(job: Job[str]) -> None:
        done.append(job)
        time.sleep(0.06)

    end = Session(in_rounds("ab", 5), str, alike=lambda _case: "all", budget_s=0.15).run(execute)
    assert end.is_out_of_time
    assert len(done) == 2
    assert end.failure is None


def test_a_job_may_take_its_share_of_the_time_left() -> None:
    shares = []
    session = Session(in_rounds("ab", 1), str, budget_s=100.0)
    session.run(lambda _job: shares.append(session.share_s))
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


def test_short_jobs_are_a_line_now_and_then_in_a_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Twenty jobs of a second each, by a clock that the test moves."""
    now_s = 0.0

    def execute(_job: Job[str]) -> None:
        nonlocal now_s
        now_s += 1.0

    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    monkeypatch.setattr(progress, "_last_line_s", None)
    Session(in_rounds("ab", 10), str).run(execute)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "run 4 of 20 (17.0 s left): a, round 2 of 10, about 1 s"
    assert len(lines) == 6
