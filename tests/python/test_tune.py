"""`hakobi tune`: who is dropped, what is chosen, hints files, and the smallest real run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import conditions, hints_file, programs, records
from hakobi.errors import InputError, RunError
from hakobi.programs import Program
from hakobi.records import Record
from hakobi.tuning import pages, session
from hakobi.tuning.candidates import DEFAULTS, Candidate
from hakobi.tuning.race import LEAST_ROUNDS, Race, choose
from hakobi.tuning.work import Application
from running import Result

SMALL, LARGE = Candidate((("cb_buffer_size", "1M"),)), Candidate((("cb_buffer_size", "16M"),))
DEEP = Candidate((("hakobi_depth", "16"),))

#: Factors of rounds that drift and of samples that scatter.
DRIFT, SCATTER = (1.0, 1.3, 1.1, 1.6, 0.9, 1.2, 1.4, 1.0), (1.0, 1.02, 0.99, 1.01, 1.0, 0.98, 1.02, 1.0)


def race(num_rounds: int, **times_s: float) -> Race:
    """Each candidate by its name here; all rounds drift together, each time scatters a little."""
    names = {"defaults": DEFAULTS, "small": SMALL, "large": LARGE, "deep": DEEP, "both": both()}
    made = Race()
    for turn, (name, time_s) in enumerate(times_s.items()):
        for number in range(num_rounds):
            made.add(names[name], number, time_s * DRIFT[number] * SCATTER[(number + 3 * turn) % 8])
    return made


def both() -> Candidate:
    return Candidate((*LARGE.hints, *DEEP.hints))


def test_what_is_slower_than_the_best_outside_the_spread_is_dropped() -> None:
    running = race(LEAST_ROUNDS, defaults=1.0, small=3.0, large=1.01)
    assert [running.is_out(one) for one in (DEFAULTS, SMALL, LARGE)] == [False, True, False]


def test_nobody_is_dropped_before_the_least_number_of_rounds() -> None:
    assert not race(LEAST_ROUNDS - 1, defaults=1.0, small=30.0).is_out(SMALL)


def test_the_defaults_stay_however_slow() -> None:
    assert not race(8, defaults=9.0, small=1.0).is_out(DEFAULTS)


def test_the_best_and_what_is_better_together_go_to_the_confirmation() -> None:
    running = race(8, defaults=1.0, small=0.9, large=0.6, deep=0.5)
    assert running.finalists() == [DEEP, Candidate((*DEEP.hints, *LARGE.hints))]


def test_nothing_goes_to_the_confirmation_where_the_defaults_are_fastest() -> None:
    running = race(8, defaults=1.0, small=1.2, large=1.1)
    assert running.finalists() == []
    choice = choose(Race(), running.finalists())
    assert (choice.candidate, choice.speed) == (DEFAULTS, None)


def test_inside_the_spread_there_is_no_winner() -> None:
    choice = choose(race(8, defaults=1.0, large=0.999), [LARGE])
    assert choice.candidate == DEFAULTS
    assert pages.choice_words(choice).endswith("inside the spread")


def test_what_is_slower_in_the_confirmation_is_not_chosen() -> None:
    assert choose(race(8, defaults=1.0, large=1.5), [LARGE]).candidate == DEFAULTS


def test_what_is_faster_outside_the_spread_is_chosen_with_what_it_gains() -> None:
    choice = choose(race(8, defaults=1.0, large=0.5), [LARGE])
    assert choice.candidate == LARGE
    assert choice.speed is not None
    assert choice.speed.interval.low > 1.9
    assert pages.choice_words(choice).startswith("choice: cb_buffer_size=16M: 2.0")


def test_of_two_that_cannot_be_told_apart_the_one_with_fewer_hints_is_chosen() -> None:
    confirmation = race(8, defaults=1.0, both=0.499, large=0.5)
    assert choose(confirmation, [LARGE, both()]).candidate == LARGE
    assert choose(race(8, defaults=1.0, both=0.3, large=0.5), [LARGE, both()]).candidate == both()


class FakeWork:
    """Seconds of each candidate by its words; every run is counted."""

    def __init__(self, folder: Path, **factors: float) -> None:
        self.folder = folder
        self.factors = factors
        self.runs: list[Candidate] = []

    def words(self) -> str:
        return "fake"

    def usual(self) -> dict[str, tuple[str, ...]]:
        return {"cb_buffer_size": ("1M", "16M")}

    def same(self) -> list[object]:
        return ["fake"]

    def check(self) -> Program:
        return Program(Path("fake"), "openmpi")

    def run(self, _program: Program, candidate: Candidate, _timeout_s: float) -> tuple[float, list[Record]]:
        number = self.runs.count(candidate)
        self.runs.append(candidate)
        value = dict(candidate.hints).get("cb_buffer_size", "defaults")
        if self.factors[value] < 0:
            raise RunError("a rank crashed")
        return self.factors[value] * DRIFT[number % 8] * SCATTER[(number + len(value)) % 8], []


@pytest.fixture
def plan_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeWork], session.Plan]:
    facts = dict.fromkeys(("commit", "hakobi", "machine", "mpi"), "known")
    monkeypatch.setattr(conditions, "collect", lambda *_: facts)
    return lambda work: session.Plan(work, work.usual(), 60.0, 10.0)


FACTORS = {"defaults": 1.0, "1M": 5.0, "16M": 0.5}


def test_a_slow_candidate_stops_early_and_the_choice_is_written(
    tmp_path: Path, plan_of: Callable[[FakeWork], session.Plan]
) -> None:
    work = FakeWork(tmp_path, **FACTORS)
    outcome = session.run(plan_of(work), None)
    assert work.runs.count(SMALL) == LEAST_ROUNDS
    assert work.runs.count(LARGE) == session.SEARCH_ROUNDS + session.FINAL_ROUNDS
    assert outcome.choice is not None
    assert outcome.choice.candidate == LARGE
    assert (outcome.search_end.is_complete, outcome.exit_status()) == (True, 0)
    pages.write(tmp_path / "tuned", outcome, outcome.choice)
    assert hints_file.read(tmp_path / "tuned") == {"cb_buffer_size": "16M"}


def test_the_defaults_are_an_empty_hints_file_that_says_so(
    tmp_path: Path, plan_of: Callable[[FakeWork], session.Plan]
) -> None:
    outcome = session.run(plan_of(FakeWork(tmp_path, **{**FACTORS, "16M": 1.0})), None)
    assert outcome.choice is not None
    pages.write(tmp_path / "tuned", outcome, outcome.choice)
    assert hints_file.read(tmp_path / "tuned") == {}
    assert "# choice: the defaults: " in (tmp_path / "tuned").read_text()


def test_finished_runs_are_taken_up_from_the_records(
    tmp_path: Path, plan_of: Callable[[FakeWork], session.Plan]
) -> None:
    file = tmp_path / "tune.jsonl"
    first = session.run(plan_of(FakeWork(tmp_path, **FACTORS)), file)
    again = FakeWork(tmp_path, **FACTORS)
    second = session.run(plan_of(again), file)
    assert again.runs == [DEFAULTS]  # the warm-up
    assert second.choice == first.choice
    summary = records.read(file)[-1]
    assert (summary["kind"], summary["hints"]) == ("summary", {"cb_buffer_size": "16M"})


def test_a_candidate_that_fails_is_left_out_and_named(
    tmp_path: Path, plan_of: Callable[[FakeWork], session.Plan]
) -> None:
    outcome = session.run(plan_of(FakeWork(tmp_path, **{**FACTORS, "1M": -1.0})), None)
    assert outcome.choice is not None
    assert outcome.choice.candidate == LARGE
    assert outcome.search_end.gap_notes() == ["gap: search, cb_buffer_size=1M: no figure: a rank crashed"]
    assert outcome.exit_status() == 2


def test_a_candidate_that_takes_far_longer_is_ended_once_and_out(
    tmp_path: Path, plan_of: Callable[[FakeWork], session.Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(FakeWork):
        def run(self, program: Program, candidate: Candidate, timeout_s: float) -> tuple[float, list[Record]]:
            if candidate == SMALL:
                self.runs.append(candidate)
                time.sleep(timeout_s)
                raise RunError("took longer and was ended")
            return super().run(program, candidate, timeout_s)

    monkeypatch.setattr(session, "LEAST_PATIENCE_S", 0.01)
    work = Slow(tmp_path, **FACTORS)
    outcome = session.run(plan_of(work), tmp_path / "tune.jsonl")
    assert work.runs.count(SMALL) == 1
    assert outcome.choice is not None
    assert (outcome.choice.candidate, outcome.exit_status()) == (LARGE, 0)
    table = pages.table_of("", outcome.search)
    assert [row[-1] for row in table.rows] == ["", "", "dropped"]
    again = Slow(tmp_path, **FACTORS)
    session.run(plan_of(again), tmp_path / "tune.jsonl")
    assert again.runs == [DEFAULTS]


def test_a_budget_that_is_too_small_is_one_sentence() -> None:
    session.check_budget(111, 3.0, 9)
    said = r"^--budget 110 is too little: a run takes 3 s, and 3 rounds of 9 candidates and a confirmation about 111 s"
    with pytest.raises(InputError, match=said):
        session.check_budget(110, 3.0, 9)


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        ("cb_buffer_siz=1M", "unknown hint 'cb_buffer_siz': did you mean 'cb_buffer_size'?"),
        ("cb_nodes", "--try cb_nodes: name the values to try, as in cb_nodes=1,2"),
        ("cb_nodes=", "--try cb_nodes=: no value is named"),
    ],
)
def test_what_cannot_be_tried_is_one_sentence(hakobi: Callable[..., Result], tried: str, said: str) -> None:
    result = hakobi("tune", "--try", tried)
    assert result.status == 2
    assert result.line().startswith(f"hakobi tune: {said}")


@pytest.mark.programs
@pytest.mark.once
def test_each_candidates_hints_and_no_others_reach_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs.find("hakobi-bench-collective")
    monkeypatch.setenv("HAKOBI_HINTS_FILE", "tuned")
    monkeypatch.setenv("HAKOBI_HINTS", "hakobi_depth=2")
    work = Application(("sh", "-c", 'echo "$HAKOBI_HINTS $HAKOBI_HINTS_FILE." >> said'), tmp_path)
    program = work.check()
    for candidate in (DEFAULTS, both()):
        time_s, _lines = work.run(program, candidate, 60.0)
        assert time_s > 0
    assert (tmp_path / "said").read_text() == " .\ncb_buffer_size=16M;hakobi_depth=16 .\n"
    with pytest.raises(RunError, match="sh"):
        Application(("sh", "-c", "exit 3"), tmp_path).run(program, DEFAULTS, 60.0)


@pytest.mark.programs
@pytest.mark.once
def test_the_smallest_real_run(hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs.find("hakobi-bench-collective")
    for name in ("SEARCH_ROUNDS", "FINAL_ROUNDS"):
        monkeypatch.setattr(session, name, LEAST_ROUNDS)
    words = ["--ranks", 2, "--size", "256K", "--operation", "write", "--try", "cb_buffer_size=64K", "--dir", tmp_path]
    result = hakobi("tune", *words, "--budget", 90, "--json", "tune.jsonl", "--output", "tuned")
    assert result.status == 0, result.stderr
    assert "cb_buffer_size=64K" in result.stdout
    assert "\nchoice: " in result.stdout
    hints = hints_file.read(tmp_path / "tuned")
    assert hints in ({}, {"cb_buffer_size": "64K"})
    lines = records.read(tmp_path / "tune.jsonl")
    assert lines[-1]["hints"] == hints
    assert sum(line["kind"] == "run" and line["phase"] == "search" for line in lines) == 2 * LEAST_ROUNDS
