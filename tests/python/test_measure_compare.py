"""`hakobi compare`: names what differs, and next to nothing that does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hakobi import records
from hakobi.measuring import comparing
from hakobi.records import Record
from running import Result


def benchmark(
    seed: int, *, factor: float = 1.0, sizes: int = 20, noise: float = 0.05, samples: int = 25
) -> list[Record]:
    """A file of a benchmark's run: skewed noise, an outlier now and then, and a shift that the run as a whole has."""
    random = np.random.default_rng(seed)
    result: list[Record] = [{"kind": "conditions", "host": "alpha", "processor": "x", "num_cores": 2}]
    for size in range(sizes):
        for contender in ("hot", "cold"):
            centre = (size + 1) * 1e-6 * factor * random.lognormal(0, 0.01)
            values = centre * random.lognormal(0, noise, samples)
            values[random.random(samples) < 0.05] *= 10
            result.append(
                {
                    "kind": "measurement",
                    "benchmark": "mpi",
                    "pattern": "sendrecv",
                    "bytes": 1 << size,
                    "contender": contender,
                    "unit": "s",
                    "samples": values.tolist(),
                }
            )
    return result


def test_the_same_thing_twice_differs_in_fewer_than_five_of_a_hundred_runs() -> None:
    named = sum(bool(comparing.compare(benchmark(2 * i), benchmark(2 * i + 1)).differences()) for i in range(100))
    assert named < 5


@pytest.mark.parametrize("noise", [0.01, 0.2, 0.6])
def test_neither_quiet_nor_noisy_machines_make_differences(noise: float) -> None:
    pairs = ((benchmark(1000 + i, noise=noise), benchmark(2000 + i, noise=noise)) for i in range(40))
    assert sum(bool(comparing.compare(a, b).differences()) for a, b in pairs) <= 2


def test_a_difference_of_a_fifth_is_named_in_every_row_and_in_the_right_direction() -> None:
    outcome = comparing.compare(benchmark(1), benchmark(2, factor=1.2))
    assert len(outcome.differences()) == len(outcome.pairs) == 40
    assert all(1.1 < pair.ratio < 1.3 for pair in outcome.differences())


def test_what_only_one_has_and_what_has_too_few_samples_is_not_judged() -> None:
    a, b = benchmark(1, sizes=3), benchmark(2, sizes=2, factor=9)
    b[1]["samples"] = b[1]["samples"][:4]
    outcome = comparing.compare(a, b)
    assert len(outcome.only_a) == 2
    assert len(outcome.too_few) == 1
    assert len(outcome.differences()) == 3


def test_runs_of_a_study_are_compared_by_their_times() -> None:
    def runs(time_s: float) -> list[Record]:
        return [
            {
                "app": "tsunami",
                "method": "root",
                "ranks": 2,
                "repetition": i,
                "time_s": time_s + i / 1000,
                "sha256": str(i),
            }
            for i in range(6)
        ]

    assert [pair.ratio > 1.9 for pair in comparing.compare(runs(1.0), runs(2.0)).differences()] == [True]


def write(path: Path, lines: list[Record]) -> Path:
    for line in lines:
        records.append(path, line)
    return path


def test_the_command_says_another_machine_and_exits_by_what_it_found(
    hakobi: Callable[..., Result], tmp_path: Path
) -> None:
    a = write(tmp_path / "a.jsonl", benchmark(1, sizes=2))
    other = benchmark(2, sizes=2, factor=2)
    other[0]["host"] = "beta"
    b = write(tmp_path / "b.jsonl", other)
    result = hakobi("compare", a, b)
    assert result.status == 1
    assert "another machine: host: alpha | beta" in result.stdout
    assert "4 of 4 measurements differ outside the spread" in result.stdout
    same = hakobi("compare", a, a)
    assert same.status == 0
    assert "0 of 4 measurements differ" in same.stdout


@pytest.mark.parametrize("content", ["", '{"kind": "conditions"}\n', "no json\n"])
def test_files_without_measurements_end_in_one_line(
    hakobi: Callable[..., Result], tmp_path: Path, content: str
) -> None:
    a = write(tmp_path / "a.jsonl", benchmark(1, sizes=1))
    b = tmp_path / "b.jsonl"
    b.write_text(content)
    result = hakobi("compare", a, b)
    assert result.status == 2
    assert result.line().startswith("hakobi compare: ")
    assert hakobi("compare", a, tmp_path / "missing").status == 2
