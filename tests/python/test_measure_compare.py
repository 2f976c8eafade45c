"""`hakobi compare`: names what differs, and next to nothing that does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hakobi import records
from hakobi.records import Record
from hakobi_lab.measuring import comparing
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
    told = hakobi("compare", a, b, "--json")
    assert told.status == result.status
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert lines
    assert all(line["differs"] and line["a"]["median"] > 0 for line in lines)
    same = hakobi("compare", a, a)
    assert same.status == 0
    assert same.stdout.splitlines() == [f"{a} beside {a}", "0 of 4 measurements differ outside the spread"]


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


def measurement(**other: object) -> Record:
    return {"kind": "measurement", "benchmark": "mpi", "bytes": 8, "unit": "s", "samples": [1.0] * 6, **other}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"samples": [1.0, None]}, "'samples' is None, not a number"),
        ({"samples": [1.0, "fast"]}, "'samples' is 'fast', not a number"),
        ({"samples": [[1.0]]}, "'samples' is [1.0], not a number"),
        ({"samples": [10**400]}, "not a number"),
        ({"samples": None, "kind": "sample", "time_s": "1"}, "'time_s' is '1', not a number"),
        ({"bytes": [1]}, "'bytes' is [1], neither text nor a number"),
        ({"ranks": {"of": 2}}, "'ranks' is {'of': 2}, neither text nor a number"),
        ({"samples": [1.0, -2e-6]}, "-2e-06 is no measured value: it is negative"),
        ({"samples": None, "kind": "run", "time_s": -1}, "-1 is no measured value: it is negative"),
        ({"unit": None}, "'unit' is None, not text"),
        ({"unit": "us"}, "mpi, 8 B is in us, before in s"),
    ],
)
def test_a_record_that_cannot_be_read_ends_in_one_line(
    hakobi: Callable[..., Result], tmp_path: Path, broken: Record, reason: str
) -> None:
    a = write(tmp_path / "a.jsonl", [measurement()])
    b = tmp_path / "b.jsonl"
    b.write_text("".join(json.dumps(line) + "\n" for line in (measurement(), measurement(**broken))))
    result = hakobi("compare", a, b)
    assert result.status == 2
    assert "second file, record 2: " in result.line()
    assert reason in result.line()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"samples": [1.0, NaN]}', "NaN is no finite number"),
        (b'{"samples": [1.0, -1e999]}', "-1e999 is no finite number"),
        (b'{"pattern": "\\ud800"}', "half a surrogate pair"),
        (b'{"pattern": "\xed\xa0\x80"}', "codec can't decode"),
        (b'{"arguments": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested deeper than 50 levels"),
        (b'{"arguments": ' + b"[" * 60 + b"]" * 60 + b"}", "nested deeper than 50 levels"),
    ],
)
def test_a_line_that_is_no_record_ends_in_one_line(
    hakobi: Callable[..., Result], tmp_path: Path, line: bytes, reason: str
) -> None:
    a = write(tmp_path / "a.jsonl", [measurement()])
    (tmp_path / "b.jsonl").write_bytes(json.dumps(measurement()).encode() + b"\n" + line + b"\n")
    result = hakobi("compare", a, tmp_path / "b.jsonl")
    assert result.status == 2
    assert "b.jsonl:2: " in result.line()
    assert reason in result.line()


def test_a_least_difference_that_is_no_number_is_refused(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("{}")
    result = hakobi("compare", "--least", "nan", file, file)
    assert result.status == 2
    assert "not a finite number" in result.line()


def test_figures_beyond_any_ratio_differ(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    for name, value in (("a", 1e308), ("b", 1e-308)):
        line = {"kind": "measurement", "benchmark": "x", "samples": [value] * 6, "unit": "s"}
        (tmp_path / name).write_text(json.dumps(line))
    for one, other in (("a", "b"), ("b", "a")):
        result = hakobi("compare", tmp_path / one, tmp_path / other)
        assert result.status == 1, result.stderr
        assert "1 of 1" in result.stdout


def test_another_unit_in_the_second_file_is_said(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    a = write(tmp_path / "a.jsonl", [measurement()])
    b = write(tmp_path / "b.jsonl", [measurement(unit="us")])
    result = hakobi("compare", a, b)
    assert result.status == 2
    assert "mpi, 8 B: the first file is in s, the second in us" in result.line()


@pytest.mark.parametrize(
    ("name", "one", "other", "label"),
    [
        ("cb_bytes", 1 << 20, 1 << 24, "mpi, 8 B, cb_bytes 1048576"),
        ("piece_bytes", 512, 4096, "mpi, 8 B, piece_bytes 512"),
        ("sync", False, True, "mpi, 8 B, sync False"),
        ("is_synced", False, True, "mpi, 8 B, is_synced False"),
        ("arguments", ["--n", "1"], ["--n", "2"], 'mpi, 8 B, arguments ["--n", "1"]'),
    ],
)
def test_settings_that_differ_are_two_measurements(name: str, one: object, other: object, label: str) -> None:
    both = [measurement(**{name: one}), measurement(**{name: other}, samples=[3.0] * 6)]
    outcome = comparing.compare(both, both[:1])
    assert [(pair.label(), pair.a.median) for pair in outcome.pairs] == [(label, 1.0)]
    assert len(outcome.only_a) == 1


def test_conditions_inside_each_record_tell_another_machine() -> None:
    def runs(host: str) -> list[Record]:
        return [{"app": "wave", "time_s": 1.0 + i / 100, "conditions": {"host": host}} for i in range(6)]

    assert comparing.compare(runs("alpha"), runs("beta")).other_machine == ["host: alpha | beta"]


def test_a_time_of_zero_among_the_samples_hides_no_difference() -> None:
    def line(samples: list[float]) -> list[Record]:
        return [{"kind": "measurement", "benchmark": "mpi", "pattern": "p", "samples": samples}]

    assert comparing.compare(line([1.0] * 9 + [0.0]), line([100.0] * 10)).differences()
    assert not comparing.compare(line([0.0] * 10), line([0.0] * 10)).differences()


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        ([1.0] * 4, "1 measurement had fewer than 5 samples on a side: not judged"),
        ([0.0] * 6, "1 measurement had a median of 0 on a side: not judged"),
    ],
)
def test_where_nothing_could_be_judged_nothing_is_said_to_be_equal(
    hakobi: Callable[..., Result], tmp_path: Path, samples: list[float], reason: str
) -> None:
    a = write(tmp_path / "a.jsonl", [measurement()])
    b = write(tmp_path / "b.jsonl", [measurement(samples=samples)])
    result = hakobi("compare", a, b)
    assert result.status == 2
    assert reason in result.line()
    other = write(tmp_path / "other.jsonl", [measurement(bytes=16)])
    assert "no measurement in common" in hakobi("compare", a, other).line()
    # Beside something that was judged it is a note.
    for path in (a, b):
        records.append(path, measurement(bytes=32))
    result = hakobi("compare", a, b)
    assert result.status == 0
    assert reason in result.stdout
