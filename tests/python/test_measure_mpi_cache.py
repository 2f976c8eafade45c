"""`hakobi study mpi-cache` and `hakobi bench mpi` with a pretended benchmark."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hakobi import programs
from hakobi.errors import InputError
from hakobi.measuring import transports
from hakobi.measuring.transports import Transport
from hakobi_lab.studies.mpi_cache import session
from running import Result, has_ended, start

FAKES = Path(__file__).parent / "fakes"

# Hot is 2 us a KiB; cold is the same at 0 bytes and twice at others. The transport `no-single-copy` fails.
BENCHMARK = """
import json, os, pathlib, sys, time
arguments = sys.argv[1:]
value = lambda name, default="": arguments[arguments.index(name) + 1] if name in arguments else default
if "--pattern" in arguments and value("--pattern") == "nonsense":
    sys.exit(print("hakobi-bench-mpi: no pattern 'nonsense'", file=sys.stderr) or 2)
if value("--transport") == "no-single-copy":
    sys.exit(print("hakobi-bench-mpi: no such mechanism", file=sys.stderr) or 2)
if "BENCH_RUNS" in os.environ:  # notes each run, with what the study's file holds meanwhile
    note = pathlib.Path(os.environ["BENCH_RUNS"])
    runs = json.loads(note.read_text()) if note.exists() else []
    study = pathlib.Path(os.environ["BENCH_STUDY"])
    runs.append([value("--transport"), study.read_text() if study.is_file() else "", os.getpid()])
    whole = note.with_suffix(".new")
    whole.write_text(json.dumps(runs))
    whole.replace(note)  # at once: a test reads it meanwhile
    number = str([run[0] for run in runs].count(value("--transport")))
    if os.environ.get("BENCH_FAILS_AT") in (number, "all"):
        sys.exit(print("hakobi-bench-mpi: wrong data", file=sys.stderr) or 1)
    if len(runs) == int(os.environ.get("BENCH_HANGS_AT", "0")):
        time.sleep(60)
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


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[list[str]]]:
    """The runs that the pretended benchmark has had so far: transport, content of r.jsonl meanwhile, process."""
    note = tmp_path / "runs.json"
    monkeypatch.setenv("BENCH_RUNS", str(note))
    monkeypatch.setenv("BENCH_STUDY", str(tmp_path / "r.jsonl"))
    return lambda: json.loads(note.read_text()) if note.exists() else []


@pytest.mark.usefixtures("benchmark")
@pytest.mark.parametrize(
    ("option", "target"),
    [
        ("--json", "folder"),
        ("--json", "file/below"),
        ("--json", "foreign"),
        ("--report", "folder"),
        ("--report", "file/below"),
    ],
)
def test_an_output_that_cannot_be_written_is_told_before_the_first_run(
    hakobi: Callable[..., Result], tmp_path: Path, runs: Callable[[], list[list[str]]], option: str, target: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "foreign").write_text("no records\n")
    result = hakobi("study", "mpi-cache", "--rounds", "1", option, tmp_path / target)
    assert result.status == 2
    assert str(tmp_path / target.split("/")[0]) in result.line()
    assert runs() == []
    assert (tmp_path / "foreign").read_text() == "no records\n"


@pytest.mark.usefixtures("benchmark")
def test_a_finished_runs_records_are_in_the_file_before_the_next_begins(
    hakobi: Callable[..., Result], tmp_path: Path, runs: Callable[[], list[list[str]]]
) -> None:
    names = "eager-1K,default,no-shared-memory"
    result = hakobi("study", "mpi-cache", "--rounds", "2", "--transports", names, "--json", tmp_path / "r.jsonl")
    assert result.status == 0, result.stderr
    meanwhile = [[json.loads(line) for line in content.splitlines()] for _, content, _ in runs()]
    # The conditions, the control that there is not, and six measurements of each finished run.
    assert [len(lines) for lines in meanwhile] == [0, 8, 14, 20]
    assert [line["kind"] for line in meanwhile[1][:3]] == ["conditions", "skipped", "measurement"]


@pytest.mark.usefixtures("benchmark")
def test_a_failure_of_the_default_is_run_once_more_and_said(
    hakobi: Callable[..., Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs: Callable[[], list[list[str]]],
) -> None:
    monkeypatch.setenv("BENCH_FAILS_AT", "2")
    arguments = ["--rounds", "3", "--transports", "default", "--report", tmp_path / "r.html"]
    result = hakobi("study", "mpi-cache", *arguments, "--json", tmp_path / "r.jsonl")
    assert result.status == 0
    text = "repeated: default: round 2 failed at first: transport default: wrong data"
    assert result.stderr.splitlines()[-1] == f"hakobi study mpi-cache: {text}"
    assert len(runs()) == 4
    assert text in result.stdout
    assert text in (tmp_path / "r.html").read_text()
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert kinds == [
        *("conditions", *["measurement"] * 6),
        *("failed", *["measurement"] * 12),
        *["summary"] * 3,
    ]


@pytest.mark.usefixtures("benchmark")
def test_a_study_that_never_measured_anything_raises_the_reason(
    hakobi: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, runs: Callable[[], list[list[str]]]
) -> None:
    monkeypatch.setenv("BENCH_FAILS_AT", "all")
    result = hakobi("study", "mpi-cache", "--rounds", "3", "--transports", "default")
    assert result.status == 2
    assert result.stderr.splitlines()[-1] == "hakobi study mpi-cache: default: transport default: wrong data"
    assert len(runs()) == 2


@pytest.mark.usefixtures("benchmark")
def test_a_finished_study_is_taken_up_with_what_is_known_of_the_machine(
    hakobi: Callable[..., Result], tmp_path: Path, runs: Callable[[], list[list[str]]]
) -> None:
    study = ("study", "mpi-cache", "--rounds", "2", "--transports", "default", "--json", tmp_path / "r.jsonl")
    first = hakobi(*study)
    again = hakobi(*study)
    assert len(runs()) == 2
    assert "2 runs taken up from" in again.stderr
    assert again.stdout == first.stdout


@pytest.mark.usefixtures("benchmark")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_study_that_is_told_to_end_reports_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Callable[[], list[list[str]]], number: int
) -> None:
    monkeypatch.setenv("BENCH_HANGS_AT", "2")
    study = start("study", "mpi-cache", "--transports", "default", "--json", tmp_path / "r.jsonl", cwd=tmp_path)
    end = time.monotonic() + 30
    while len(runs()) < 2 and time.monotonic() < end and study.poll() is None:
        time.sleep(0.05)
    study.send_signal(number)
    stdout, stderr = study.communicate(timeout=30)
    assert study.returncode == 130, stderr
    assert "interrupted after 1 of 5 runs" in stdout
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[-1])["kind"] == "summary"
    pid = int(runs()[1][2])
    assert has_ended(pid)


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
        (["--timeout", "nan"], "not a finite number"),
        (["--timeout", "-1"], "--timeout"),
        (["--budget", "inf"], "not a finite number"),
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
    assert figure.cache_inflated


def test_a_round_counts_once_however_many_samples_it_has() -> None:
    lines = [
        {"kind": "measurement", "transport": "default", "bytes": 1000, "counted_bytes": 2000.0, "round": number}
        | {"contender": contender, "samples": [seconds] * count, "stationary": number != 2}
        for number, (hot_s, cold_s, count) in enumerate([(1.0, 2.0, 5), (1.1, 2.2, 5), (4.0, 4.0, 500)])
        for contender, seconds, count in (("hot", hot_s, count), ("cold", cold_s, count))
    ]
    (figure,) = session.figures_of(lines)["default"]
    assert figure.hot_s.median == 1.1
    assert figure.cold_s.median == 2.2
    assert figure.ratio.estimate == pytest.approx(2)
    assert figure.ratio.interval.low < 1 < 2 < figure.ratio.interval.high
    assert not figure.cache_inflated
    assert not figure.settled


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
    assert [line["kind"] for line in lines].count("summary") == 4, "what was there has gone"
    for wrong in (["--budget", "nan"], ["--sizes", ""], ["--json", ""], ["--pattern", "put", "--consume", "timed"]):
        refused = hakobi("bench", "mpi", *wrong)
        assert refused.status == 2
        assert wrong[0] in refused.stderr or "--consume" in refused.stderr
    alone = hakobi("bench", "mpi", "--ranks", "1", "--budget", "0.1")
    assert alone.status == 2
    assert "one rank" in alone.stderr


@pytest.mark.programs
@pytest.mark.skipif(not has_benchmark(), reason="hakobi-bench-mpi is not built")
def test_each_rank_of_a_node_is_placed_on_a_core_of_its_own(
    hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.jsonl"
    arguments = ["--sizes", "8", "--budget", "0", "--samples", "1", "--window", "1M", "--json", file]
    # A machine of two cores, which hwloc makes up: it binds nothing.
    monkeypatch.setenv("HWLOC_SYNTHETIC", "pack:1 l3:1(size=4194304) core:2 pu:1")
    monkeypatch.setenv("HWLOC_THISSYSTEM", "1")
    many = hakobi("bench", "mpi", "--ranks", "4", "--place", "same-core-complex", *arguments)
    assert many.status == 2
    assert "there are 2" in many.stderr
    two = hakobi("bench", "mpi", "--ranks", "2", "--place", "other-socket", *arguments)
    assert two.status == 2
    assert "no two cores that are 'other socket'" in two.stderr
    blind = hakobi("bench", "mpi", "--ranks", "2", "--place", "same-socket", "--no-hwloc", *arguments)
    assert blind.status == 2
    assert "--place needs hwloc" in blind.stderr
    not_known = hakobi("bench", "mpi", "--ranks", "2", "--no-hwloc", *arguments)
    assert not_known.status == 0, not_known.stderr
    assert "ranks 0 and 1: placement not known" in not_known.stdout


def test_an_interval_that_holds_everything_is_not_printed() -> None:
    from hakobi import statistics
    from hakobi_lab.studies.mpi_cache import pages

    # Two rounds whose ratios are 1.1 and 4: the interval of Student's t reaches 3e13.
    logs = statistics.compare_interleaved([0.1, 1.4], [0.0, 0.0]).interval
    wide = statistics.Interval(float(np.exp(logs.low)), float(np.exp(logs.high)), logs.confidence)
    assert wide.high > 1e8
    assert pages._interval(wide) == "unknown"
    assert pages._interval(statistics.Interval(1.5, 2.25, 0.98)) == "1.50 to 2.25"
