"""`hakobi report two-phase`: the page of the smallest run, and its findings from made-up samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hakobi import conditions, programs, records
from hakobi.conditions import Conditions
from hakobi.errors import FormatError, RunError
from hakobi.measuring import collective
from hakobi.measuring.collective import Sample
from hakobi.measuring.storage_model import StorageModel
from hakobi.records import Record
from hakobi_lab.reports import page, two_phase
from hakobi_lab.reports.claims import CLAIMS
from hakobi_lab.reports.judging import judge
from hakobi_lab.reports.published import REPORTS, TWO_PHASE
from hakobi_lab.reports.running import Budget, Order
from hakobi_lab.studies.collective_buffer import overlap, session, slow


@pytest.mark.once
@pytest.mark.timeout(300)
def test_the_smallest_run_has_every_figure(hakobi: Any, tmp_path: Path) -> None:
    arguments = ("report", "two-phase", "--smallest", "--dir", tmp_path / "runs", "--json", tmp_path / "r.jsonl")
    done = hakobi(*arguments, "--page", tmp_path / "p.html", "--figures", tmp_path / "figures")
    assert done.status == 0, done.stderr
    text = (tmp_path / "p.html").read_text()
    here = {"Figure 3": "2 processes", "Figure 4a": "2 processes", "Figure 4b": "4 processes"}
    for place, what in REPORTS["two-phase"].items.items():
        own = f" (here: {here[place]})" if place in here else ""
        assert f"<h2>{place}: {what}{own}</h2>" in text.replace("&#39;", "'")
    assert "Not shown" not in text
    assert "Servers during that call" in text
    assert "conclude nothing" in text
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"figure-3-read-2-pvfs2.csv", "figure-4b-read-4.csv", "writes-write-2.svg", "slow-rank.csv"} <= names
    findings = [line for line in records.read(tmp_path / "r.jsonl") if line["kind"] == "finding"]
    assert len(findings) == len(CLAIMS["two-phase"])
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


def late(four: float, samples: list[float] = STEADY) -> slow.Outcome:
    return slowed(
        {
            slow.Case(1, 0.0): samples,
            slow.Case(1, 0.5): [1.5 * value for value in samples],
            slow.Case(4, 0.0): samples,
            slow.Case(4, 0.5): [four * value for value in samples],
        }
    )


def of_claim(name: str, cases: Any) -> bool | None:
    (claim,) = [claim for claim in CLAIMS["two-phase"] if claim.name == name]
    return judge(claim, cases).agrees


def test_a_reserve_that_absorbs_is_told_from_one_that_does_not() -> None:
    for four, agrees in ((1.0, True), (1.6, False), (1.5, None)):
        assert of_claim("reserve", two_phase.reserve(late(four))) is agrees
    assert of_claim("reserve", two_phase.reserve(late(1.0, [1.0, 1.01]))) is None
    assert of_claim("reserve", two_phase.reserve(slowed({}))) is None
    content = page.Content({})
    two_phase._add_slow(content, late(1.0))
    table = slow.table_of(late(1.0), "write")
    assert table.rows[0][2].endswith("−33 %")
    assert table.rows[1][2].endswith("(0.0 %)")
    assert len(content.item("Slow processes").shown) == 3


def test_nothing_measured_says_so() -> None:
    content = page.Content({})
    two_phase._add_slow(content, slowed({}))
    assert content.item("Slow processes").absent == "no run was finished: give a larger --budget"
    assert content.exit_status == 2


SMALL, MIDDLE, LARGE = 1 << 18, 1 << 20, 32 << 20
Gains = dict[tuple[int, int], tuple[float, float]]  #: (ranks, size) -> times as fast: asynchronous, threads


def swept(gains: Gains, ranks: tuple[int, ...], num: int = 7) -> session.Outcome:
    plan = session.Plan(
        ranks,
        (SMALL, MIDDLE, LARGE),
        ("posix", "uring", "threads"),
        "block3d",
        512,
        1,
        4,
        Path(),
        None,
        1,
        1.0,
        (),
        1.0,
    )
    outcome = session.Outcome(plan, "openmpi", {})
    for (count, size), (uring, threads) in gains.items():
        outcome.samples[session.Case(count, size)] = [
            Sample(f"hakobi {access}", operation, STEADY[i] / gain, 0.1, 0.05, 1 << 20, 0)
            for access, gain in (("posix", 1.0), ("uring", uring), ("threads", threads))
            for operation in ("write", "read")
            for i in range(num)
        ]
    return outcome


def verdicts(gains: Gains, num: int = 7) -> dict[str, bool | None]:
    few = swept({case: both for case, both in gains.items() if case[0] == 8}, (8,), num)
    found = two_phase.evidence(few, swept(gains, (8, 64), num))
    return {name: of_claim(name, cases) for name, cases in found.items()}


AS_THEIRS: Gains = {
    (8, SMALL): (1.5, 2.0),
    (8, MIDDLE): (1.4, 1.8),
    (8, LARGE): (1.1, 1.2),
    (64, SMALL): (1.2, 1.4),
    (64, MIDDLE): (1.1, 1.2),
    (64, LARGE): (0.8, 0.8),
}
OTHERWISE: Gains = dict.fromkeys(AS_THEIRS, (0.9, 0.8)) | {
    (64, SMALL): (0.95, 0.9),
    (64, MIDDLE): (0.95, 0.9),
    (64, LARGE): (1.2, 1.1),
}


def test_the_reports_curves_are_told_from_the_samples() -> None:
    assert set(verdicts(AS_THEIRS).values()) == {True}
    assert set(verdicts(OTHERWISE).values()) == {False}


def test_two_samples_or_a_part_of_the_sizes_tell_nothing() -> None:
    assert set(verdicts(AS_THEIRS, num=2).values()) == {None}
    assert set(verdicts(OTHERWISE, num=2).values()) == {None}
    part = {case: both for case, both in AS_THEIRS.items() if case[1] != MIDDLE}
    found = verdicts(part)
    assert {name for name, agrees in found.items() if agrees is not None} == {"crossing"}


def test_one_number_of_ranks_has_no_gap_to_compare() -> None:
    one = swept({(8, SMALL): (1.0, 1.0)}, (8,))
    found = two_phase.evidence(one, one)
    assert found["smaller gap"] == found["crossing"] == "one number of ranks was asked for"


def test_a_budget_of_nothing_begins_no_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, _storages: {})
    monkeypatch.setattr(session, "library_components", lambda _flavour: {})
    content = two_phase.measure(Order(Budget(0.5), tmp_path))
    assert page.missing(TWO_PHASE, content) == []
    assert content.exit_status == 2
    assert {finding.agrees for finding in content.findings} == {None}


def test_ctrl_c_in_the_first_sweep_ends_the_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(*_: object) -> session.Outcome:
        raise RunError("interrupted before the first run had ended", code="interrupted")

    monkeypatch.setattr(session, "run", run)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, _storages: {})
    monkeypatch.setattr(session, "library_components", lambda _flavour: {})
    content = two_phase.measure(Order(Budget(60), tmp_path))
    assert page.missing(TWO_PHASE, content) == []
    assert content.exit_status == 130
    assert content.item("Slow processes").absent == "the report was interrupted before it"


def test_the_librarys_components_have_buffers_of_the_same_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[tuple[list[str], Mapping[str, str]]] = []

    def run_job(_program: object, words: list[str], *_: object, environment: Mapping[str, str], **__: object) -> Any:
        started.append((words, environment))
        names = [f"hakobi {access}" for access in words[words.index("--access") + 1].split(",")]
        names += [words[words.index("--mpi-io-name") + 1]] if "--mpi-io-name" in words else []
        sample = {"kind": "sample", "operation": "read", "bytes": 8, "cpu_s": 1.0}
        return [{**sample, "contender": name, "time_s": 1.0 + i} for i, name in enumerate(["floor", *names])], ""

    variables = {"romio": {"OMPI_MCA_io": "romio321"}, "ompio": {"OMPI_MCA_io": "ompio"}}
    monkeypatch.setattr(session, "library_components", lambda _flavour: variables)
    monkeypatch.setattr(collective, "run_job", run_job)
    facts = dict.fromkeys(("commit", "hakobi", "machine", "mpi"), "here")
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour, _storages: facts)
    plan = replace(swept({}, (8,)).plan, cb_bytes=(SMALL,), rounds=1, budget_s=100.0, folder=tmp_path)
    outcome = session.run(replace(plan, accesses=(*plan.accesses, *session.COMPONENTS)), None)
    accesses = [words[words.index("--access") + 1] for words, _ in started]
    assert accesses == ["posix,uring,threads", "posix"]
    assert [each["OMPI_MCA_io"] for _, each in started] == ["romio321", "ompio"]
    assert all("cb_buffer_size=262144" in words for words, _ in started)
    assert started[1][1]["OMPI_MCA_io_ompio_bytes_per_agg"] == "262144"
    budgets = [float(words[words.index("--budget") + 1]) for words, _ in started]
    assert budgets[1] == pytest.approx(3 / 8 * sum(budgets), rel=0.01)
    gained = [two_phase.gains(outcome, "read", 8, access)[SMALL] for access in session.COMPONENTS]
    assert [one.estimate for one in gained if one] == pytest.approx([2 / 5, 2 / 3])


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


def test_servers_are_in_the_trace_with_what_waited_for_them() -> None:
    def part(server: int, *times_ms: float) -> Record:
        times = zip(("arrival_ns", "begin_ns", "end_ns"), times_ms, strict=True)
        return {"server": server, **{name: round(1e6 * time_ms) for name, time_ms in times}}

    served = [part(0, 2, 2, 3), part(0, 12, 13, 15), part(0, 12, 15, 17), part(1, 12, 12, 19)]
    events = [event("write_all", 0, 0, 10, 20), event("deposit", 0, 0, 11, 13), event("write", 0, 1, 12, 19)]
    call = overlap.last_call(events, served)
    assert [bar.row for bar in call.bars if bar.kind == overlap.SERVER] == ["server 0", "server 0", "server 1"]
    assert call.queued_s == pytest.approx({"server 0": 0.004, "server 1": 0.0})
    assert call.overlap_s() == pytest.approx(0.001)  # the servers' work is no exchange and no access
    labels = [text.get_text() for text in overlap.timeline_figure({"one": call}).axes[0].get_yticklabels()]
    assert labels == ["rank 0", "rank 0, I/O thread 0", "server 0", "server 1"]


def test_a_trace_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("[{},")
    with pytest.raises(FormatError, match="not JSON"):
        overlap.read(tmp_path / "t.json")
    with pytest.raises(FormatError, match="no collective call"):
        overlap.last_call([])
