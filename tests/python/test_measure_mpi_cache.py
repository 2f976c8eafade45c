"""`hakobi study mpi-cache` and `hakobi bench mpi` with a pretended benchmark."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hakobi import programs
from hakobi.errors import InputError
from hakobi.measuring import transports
from hakobi.measuring.transports import Transport
from hakobi.studies.mpi_cache import session
from running import Result

FAKES = Path(__file__).parent / "fakes"

# Hot is 2 us a KiB; cold is the same at 0 bytes and twice at others. The transport `no-single-copy` fails.
BENCHMARK = """
import json, sys
arguments = sys.argv[1:]
value = lambda name, default="": arguments[arguments.index(name) + 1] if name in arguments else default
if "--pattern" in arguments and value("--pattern") == "nonsense":
    sys.exit(print("hakobi-bench-mpi: no pattern 'nonsense'", file=sys.stderr) or 2)
if value("--transport") == "no-single-copy":
    sys.exit(print("hakobi-bench-mpi: no such mechanism", file=sys.stderr) or 2)
with open(value("--json"), "w") as file:
    conditions = {"kind": "conditions", "placement": "same core complex", "num_cores": 2, "oversubscribed": False,
                  "window_bytes": 64 << 20, "cache_bytes": 32 << 20,
                  "l1_bytes": 32768, "l2_bytes": 524288, "l3_bytes": 32 << 20}
    print(json.dumps(conditions), file=file)
    for size in (0, 1024, 65536):
        for contender in ("hot", "cold"):
            base = 1e-6 + size * 2e-9
            samples = [base * (2 if contender == "cold" and size else 1) * (1 + (7 * i % 5) / 500) for i in range(12)]
            if not size and contender == "cold":
                samples = samples[6:] + samples[:6]
            line = {"kind": "measurement", "benchmark": "mpi", "pattern": "sendrecv", "bytes": size, "ranks": 2,
                    "contender": contender, "samples": samples, "unit": "s"}
            if size:
                line["counted_bytes"] = 2 * size
            print(json.dumps(line), file=file)
"""


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "prefix" / "bin"
    folder.mkdir(parents=True)
    program = folder / "hakobi-bench-mpi"
    program.write_text(f"#!{sys.executable} -S\n{BENCHMARK}")
    program.chmod(0o755)
    monkeypatch.setenv("HAKOBI_PREFIX", str(folder.parent))
    monkeypatch.setenv("HAKOBI_MPIEXEC", str(FAKES / "mpiexec"))
    rows = [
        Transport("default", "its own choice"),
        Transport("no-single-copy", "mechanism=none"),
        Transport("no-shared-memory", "tcp", {"BENCH_TCP": "1"}),
        Transport("eager-1K", "", missing="no control over eager limits"),
        Transport("eager-64K", "", missing="no control over eager limits"),
    ]
    monkeypatch.setattr(transports, "transports", lambda _flavour: rows)


@pytest.mark.usefixtures("benchmark")
def test_inflated_sizes_are_marked_and_summaries_end_the_records(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    result = hakobi(
        "study", "mpi-cache", "--rounds", "2", "--json", tmp_path / "r.jsonl", "--report", tmp_path / "r.html"
    )
    assert result.status == 0, result.stderr
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert lines[0]["kind"] == "conditions"
    summaries = lines[-3:]
    assert [line["kind"] for line in summaries] == ["summary"] * 3
    assert {line["kind"] for line in lines[:-3]}.isdisjoint({"summary"})
    assert [line["bytes"] for line in summaries] == [0, 1024, 65536]
    assert [line["cache_inflated"] for line in summaries] == [False, True, True]
    assert summaries[0]["hot_gb_s"] is None
    assert summaries[2]["ratio"] == pytest.approx(2)
    assert summaries[2]["cold_gb_s"] == pytest.approx(summaries[2]["hot_gb_s"] / 2)
    page = (tmp_path / "r.html").read_text()
    assert "cache-inflated" in page
    assert "L3 32 MiB" in page or page.count("<svg") == 2
    assert "http" not in page.replace("http://www.w3.org", "")


@pytest.mark.usefixtures("benchmark")
def test_missing_and_failing_controls_are_said_and_skipped(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    result = hakobi("study", "mpi-cache", "--rounds", "1", "--json", tmp_path / "r.jsonl")
    assert result.status == 0
    assert "skipped: no control over eager limits" in result.stdout
    assert "skipped: transport no-single-copy: no such mechanism" in result.stdout
    kinds = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert {line["transport"] for line in kinds if line["kind"] == "skipped"} == {
        "no-single-copy",
        "eager-1K",
        "eager-64K",
    }
    assert {line["transport"] for line in kinds if line["kind"] == "transport-summary"} == {"no-shared-memory"}


@pytest.mark.usefixtures("benchmark")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--transports", "defualt"], "did you mean 'default'"),
        (["--transports", ","], "names no transport"),
        (["--pattern", "nonsense"], "no pattern 'nonsense'"),
        (["--pattern", "sendrecv,put"], "one pattern"),
        (["--pattern", "all"], "one pattern"),
        (["--ranks", "1"], "--ranks"),
    ],
)
def test_wrong_input_ends_in_one_line(hakobi: Callable[..., Result], arguments: list[str], said: str) -> None:
    result = hakobi("study", "mpi-cache", *arguments)
    assert result.status == 2
    assert said in result.stderr.splitlines()[-1]


def test_figures_are_medians_over_rounds() -> None:
    def line(contender: str, samples: list[float], number: int) -> dict[str, object]:
        common = {
            "kind": "measurement",
            "transport": "default",
            "bytes": 1000,
            "counted_bytes": 2000.0,
            "round": number,
        }
        return {**common, "contender": contender, "samples": samples}

    lines = [
        line("hot", [1.0] * 5, 0),
        line("cold", [1.5] * 5, 0),
        line("hot", [3.0] * 5, 1),
        line("cold", [4.5] * 5, 1),
    ]
    (figure,) = session.figures_of(lines)["default"]
    # The machine was three times slower in the second round: the ratio does not see it, the spread does.
    assert figure.ratio.estimate == pytest.approx(1.5)
    assert figure.hot_s.median == 2.0
    assert figure.wide
    assert not figure.cache_inflated


def has_benchmark() -> bool:
    try:
        return bool(programs.find("hakobi-bench-mpi"))
    except InputError:
        return False


@pytest.mark.programs
@pytest.mark.skipif(not has_benchmark(), reason="hakobi-bench-mpi is not built")
def test_the_real_benchmark_measures_and_verifies(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    arguments = ["--sizes", "8,4K", "--budget", "0.05", "--window", "4M", "--json", file, "--pattern", "sendrecv,put"]
    result = hakobi("bench", "mpi", "--ranks", "2", *arguments)
    assert result.status == 0, result.stderr
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["kind"] for line in lines].count("summary") == 4
    assert all(line["verified"] for line in lines if line["kind"] == "measurement")
    # A barrier has no sizes; a name that is no UTF-8 is no reason to end.
    arguments = ["--pattern", "barrier", "--sizes", "8,64M", "--aa", "1", "--samples", "1", "--window", "1M"]
    itself = hakobi("bench", "mpi", *arguments, "--budget", "0", "--transport", os.fsdecode(b"\xff"), "--json", file)
    assert itself.status == 0, itself.stderr
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["bytes"] for line in lines if line["kind"] == "self-comparison"] == [0, 0]
    alone = hakobi("bench", "mpi", "--ranks", "1", "--budget", "0.1")
    assert alone.status == 2
    assert "one rank" in alone.stderr
