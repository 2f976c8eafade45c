"""`hakobi report ha8000`: the page of the smallest run, and its findings from made-up measurements."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hakobi import conditions, programs
from hakobi.errors import RunError
from hakobi.records import Record
from hakobi_lab.reports import ha8000, page
from hakobi_lab.reports.claims import CLAIMS
from hakobi_lab.reports.judging import judge_all
from hakobi_lab.reports.published import HA8000, REPORTS
from hakobi_lab.reports.running import Budget, Order
from hakobi_lab.studies.mpi_cache import session
from hakobi_lab.studies.mpi_cache.session import Outcome


@pytest.mark.once
@pytest.mark.timeout(300)
def test_the_smallest_run_has_every_figure(hakobi: Any, tmp_path: Path) -> None:
    command = ("report", "ha8000", "--smallest", "--dir", tmp_path / "runs", "--json", tmp_path / "r.jsonl")
    result = hakobi(*command, "--page", tmp_path / "p.html")
    assert result.status == 0, result.stderr
    text = (tmp_path / "p.html").read_text().replace("&#39;", "'")
    for place, what in REPORTS["ha8000"].items.items():
        assert f"<h2>{place}: {what}</h2>" in text
    assert "through shared memory" in result.stdout
    assert ("other-node" in result.stdout) or os.geteuid() != 0


def measured(times: dict[tuple[str, int], tuple[float, float]], rounds: int = 7) -> Outcome:
    """(transport, bytes) -> microseconds hot and cold; rounds that scatter by a thousandth."""
    plan = session.Plan(2, "sendrecv", "", (), 7, 1.0, "", True, 1.0)
    outcome = Outcome(plan, "openmpi", {}, machine={"l2_bytes": 1 << 20, "l3_bytes": 1 << 22})
    lines: list[Record] = [
        {
            "transport": name,
            "bytes": size,
            "counted_bytes": 2 * size,
            "contender": contender,
            "round": number,
            "samples": [1e-6 * value * (1 + 0.001 * (number % 3))],
        }
        for (name, size), both in times.items()
        for contender, value in zip(("hot", "cold"), both, strict=True)
        for number in range(rounds)
    ]
    outcome.measured = session.figures_of(lines)
    outcome.texts = {
        "default": "Open MPI pml ob1, btl vader, single copy cma, eager limit 4096",
        "no-shared-memory": "tcp",
    }
    return outcome


#: Microseconds hot and cold; L2 has 1 MiB and L3 4 MiB.
CACHE = {
    ("default", 1 << 12): (1.0, 1.05),
    ("default", 1 << 16): (10.0, 25.0),
    ("default", 1 << 18): (30.0, 80.0),
    ("default", 1 << 21): (600.0, 900.0),
    ("default", 1 << 22): (4000.0, 4100.0),
    ("no-shared-memory", 1 << 12): (20.0, 20.2),
    ("no-shared-memory", 1 << 16): (320.0, 321.0),
    ("same-core-complex", 1 << 21): (600.0, 900.0),
    ("other-socket", 1 << 21): (500.0, 900.0),
}
#: The cache helps nowhere but with small messages, and the curve rises to its end.
OTHER = {
    ("default", 1 << 12): (1.0, 1.5),
    ("default", 1 << 16): (10.0, 9.9),
    ("default", 1 << 18): (39.0, 38.9),
    ("default", 1 << 21): (200.0, 199.0),
    ("default", 1 << 22): (400.0, 500.0),
    ("no-shared-memory", 1 << 12): (20.0, 32.0),
    ("no-shared-memory", 1 << 16): (640.0, 700.0),
    ("no-shared-memory", 1 << 18): (2560.0, 2800.0),
    ("same-core-complex", 1 << 21): (400.0, 900.0),
    ("other-socket", 1 << 21): (500.0, 900.0),
}


def verdicts(outcome: Outcome) -> dict[str, bool | None]:
    found = ha8000.evidence(outcome)
    return {one.claim.name: one.agrees for one in judge_all(CLAIMS["ha8000"], found) if one.claim}


def test_what_the_cache_makes_of_a_benchmark_is_found() -> None:
    assert set(verdicts(measured(CACHE)).values()) == {True}


def test_another_machine_contradicts() -> None:
    found = verdicts(measured(OTHER))
    assert [name for name, agrees in found.items() if agrees is not False] == []


@pytest.mark.parametrize("cases", [CACHE, OTHER])
def test_what_was_measured_once_speaks_for_and_against_nobody(
    cases: dict[tuple[str, int], tuple[float, float]],
) -> None:
    assert set(verdicts(measured(cases, rounds=2)).values()) == {None}


def test_ratios_within_their_spread_agree_with_nobody() -> None:
    assert verdicts(measured(dict.fromkeys(CACHE, (10.0, 20.0))))["agree better"] is None


def test_the_peak_is_where_it_cannot_be_told_from_its_neighbours() -> None:
    flat = measured({("default", 1 << 16): (10.0, 10.0), ("default", 1 << 18): (40.0, 40.0)})
    (value,) = dict(ha8000.evidence(flat)["peak"]).values()  # type: ignore[arg-type]
    assert value is not None
    assert (value.low, value.high) == (1 / 16, 1 / 4)


def test_both_machines_caches_stand_beside_each_other() -> None:
    content = page.Content({})
    ha8000._add_caches(content, measured(CACHE))
    (table,) = content.item("Table 1").shown
    assert isinstance(table, page.Table)
    assert table.rows == [
        ["L1", "unknown", "64 KiB", "0.0"],
        ["L2", "1 MiB", "512 KiB", "2.0"],
        ["L3", "4 MiB", "2 MiB", "2.0"],
    ]


def test_regions_are_bounded_by_the_library_and_the_cache() -> None:
    content = page.Content({})
    ha8000._add_regions(content, measured(CACHE))
    table = content.item("Figure 2").shown[1]
    assert isinstance(table, page.Table)
    assert [row[:2] for row in table.rows] == [
        ["through shared memory", "4 KiB to 4 KiB"],
        ["single copy, in the cache", "64 KiB to 256 KiB"],
        ["memory", "2 MiB to 4 MiB"],
    ]


def test_what_the_machine_lacks_is_named() -> None:
    outcome = measured({case: times for case, times in CACHE.items() if case[0] == "default"})
    outcome.skipped = {"same-core-complex": "no hwloc", "other-socket": "one socket", "other-node": "needs root"}
    content = page.Content({})
    ha8000._add_curves(content, outcome, "Figure 1", "hot")
    assert "other-socket: one socket" in content.item("Figure 1").absent
    assert ha8000.evidence(outcome)["one socket below"] == "no hwloc; one socket"


def test_a_budget_in_which_nothing_ran_leaves_a_page_and_status_2(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(*_: object) -> Outcome:
        raise RunError("nothing was measured")

    monkeypatch.setattr(session, "run", run)
    monkeypatch.setattr(programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(conditions, "collect", lambda _flavour: {})
    content = ha8000.measure(Order(Budget(1), tmp_path))
    assert page.missing(HA8000, content) == []
    assert content.exit_status == 2
    assert {finding.agrees for finding in content.findings} == {None}
