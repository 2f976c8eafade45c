"""`hakobi report ha8000`: the page of the smallest run, and its findings from made-up measurements."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hakobi.records import Record
from hakobi_lab.reports import ha8000, page
from hakobi_lab.reports.published import REPORTS
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
    outcome = Outcome(plan, "openmpi", {}, machine={"l2_bytes": 1 << 20, "l3_bytes": 1 << 25})
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


CACHE = {
    ("default", 1 << 12): (1.0, 1.5),
    ("default", 1 << 16): (10.0, 25.0),
    ("default", 1 << 20): (300.0, 500.0),
    ("default", 1 << 24): (8000.0, 8000.0),
    ("no-shared-memory", 1 << 12): (20.0, 20.2),
    ("no-shared-memory", 1 << 16): (400.0, 401.0),
}


def test_what_the_cache_makes_of_a_benchmark_is_found() -> None:
    outcome = measured(CACHE)
    findings = [ha8000._inflated(outcome), ha8000._peak(outcome), ha8000._without_memory(outcome)]
    assert [finding.agrees for finding in findings] == [True, True, True]
    assert "the most at 64 KiB: 2.50 times" in findings[0].because
    even = measured({key: (both[0], both[0]) for key, both in CACHE.items()})
    assert ha8000._inflated(even).agrees is False
    assert ha8000._peak(even).agrees is False


def test_what_was_measured_once_speaks_against_nobody() -> None:
    even = measured({key: (both[0], both[0]) for key, both in CACHE.items()}, rounds=2)
    findings = [ha8000._inflated(even), ha8000._peak(even), ha8000._without_memory(even)]
    assert [finding.agrees for finding in findings] == [None, None, None]
    assert findings[0].because == "no size was measured 3 times."


def test_ratios_within_their_spread_agree_with_nobody() -> None:
    same = dict.fromkeys(CACHE, (10.0, 20.0))
    finding = ha8000._without_memory(measured(same))
    assert finding.agrees is None
    assert "at 0 of 2 sizes, farther at 0" in finding.because


def test_regions_are_bounded_by_the_library_and_the_cache() -> None:
    content = page.Content({})
    ha8000._add_regions(content, measured(CACHE))
    table = content.item("Figure 2").shown[1]
    assert isinstance(table, page.Table)
    assert [row[:2] for row in table.rows] == [
        ["through shared memory", "4 KiB to 4 KiB"],
        ["single copy, in the cache", "64 KiB to 1 MiB"],
        ["memory", "16 MiB to 16 MiB"],
    ]


def test_what_the_machine_lacks_is_named() -> None:
    outcome = measured(CACHE)
    outcome.skipped = {"same-core-complex": "no hwloc", "other-socket": "one socket", "other-node": "needs root"}
    content = page.Content({})
    ha8000._add_curves(content, outcome, "Figure 1", "hot")
    assert "other-socket: one socket" in content.item("Figure 1").absent
