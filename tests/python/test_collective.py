"""`hakobi bench collective` and `hakobi study collective-buffer` with a pretended benchmark, and with the real one."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hakobi import programs, records
from hakobi.errors import FormatError, InputError
from hakobi.measuring import collective, storage_model
from hakobi.measuring.collective import Component, Sample
from running import Result, start

FAKES = Path(__file__).parent / "fakes"
OMPI_INFO = """
                  MCA io: romio321 (MCA v2.1.0, API v2.0.0, Component v4.1.4)
                  MCA io: ompio (MCA v2.1.0, API v2.0.0, Component v4.1.4)
"""
COMPONENTS = [
    Component("mpi-io (OMPIO)", {"OMPI_MCA_io": "ompio"}),
    Component("mpi-io (ROMIO)", {"OMPI_MCA_io": "romio321"}),
]

Command = Callable[..., Result]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Installs the pretended benchmark, with a model's library that is none; returns the file of its jobs."""
    prefix = tmp_path / "prefix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    (prefix / "lib" / storage_model.LIBRARY).write_bytes(b"")
    program = prefix / "bin" / collective.PROGRAM
    script = (FAKES / collective.PROGRAM).read_text().splitlines()
    program.write_text("\n".join([f"#!{sys.executable} -S", *script[1:]]))
    program.chmod(0o755)
    monkeypatch.setenv("HAKOBI_PREFIX", str(prefix))
    monkeypatch.setenv("HAKOBI_MPIEXEC", str(FAKES / "mpiexec"))
    monkeypatch.setenv("BENCH_LOG", str(tmp_path / "jobs"))
    monkeypatch.setattr(collective, "components", lambda _flavour: COMPONENTS)
    return tmp_path / "jobs"


def jobs(log: Path) -> list[dict[str, Any]]:
    return records.read(log) if log.exists() else []  # a line that is being written is not taken


def lines_of(file: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


def test_both_components_alternate_and_share_one_table(
    hakobi: Command, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_DRIFT", "1")
    file = tmp_path / "r.jsonl"
    result = hakobi("bench", "collective", "--ranks", 3, "--dir", tmp_path, "--compare", "mpi-io", "--json", file)
    assert result.status == 0, result.stderr
    # Round by round the other one begins.
    order = [job["OMPI_MCA_io"] for job in jobs(log)]
    assert order == ["ompio", "romio321", "romio321", "ompio", "ompio", "romio321"]
    assert {job["ranks"] for job in jobs(log)} == {"3"}
    summaries = lines_of(file, "summary")
    assert json.loads(file.read_text().splitlines()[-1])["kind"] == "summary"
    keys = ("pattern", "ranks", "contender", "operation", "median_gb_s", "fraction_of_limit", "cpu_s_per_gb")
    assert all(set(keys) <= set(line) for line in summaries)
    assert [(line["operation"], line["contender"]) for line in summaries] == [
        (operation, contender)
        for operation in ("write", "read")
        for contender in ("floor", "hakobi threads", "mpi-io (OMPIO)", "mpi-io (ROMIO)")
    ]
    by_name = {line["contender"]: line for line in summaries if line["operation"] == "write"}
    assert by_name["hakobi threads"]["num_samples"] == 24
    assert by_name["mpi-io (ROMIO)"]["num_samples"] == 12
    # The jobs after the first were twice as slow: the rate sees it, the fraction of the floor in the same job
    # does not.
    assert by_name["mpi-io (ROMIO)"]["median_gb_s"] == pytest.approx(0.5, rel=0.03)
    assert by_name["mpi-io (ROMIO)"]["fraction_of_floor"] == pytest.approx(0.5)
    assert by_name["hakobi threads"]["fraction_of_limit"] == pytest.approx(0.9)
    assert by_name["hakobi threads"]["cpu_s_per_gb"] == pytest.approx(0.5)
    assert "hakobi threads is 3.60 times as fast as mpi-io (OMPIO)" in result.stdout
    assert "hakobi threads is 1.80 times as fast as mpi-io (ROMIO)" in result.stdout
    assert len(lines_of(file, "sample")) == 6 * 2 * 3 * 4
    assert "sync is not counted" in result.stdout


def test_the_model_reaches_every_job_and_its_limit_the_table(hakobi: Command, log: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    model = "servers=2,bandwidth=2000,latency=1ms,stripe=1M"
    options = ("--dir", tmp_path / "new", "--access", "threads,uring,posix", "--storage-model", model, "--json", file)
    result = hakobi("bench", "collective", *options)
    assert result.status == 0, result.stderr
    (job,) = jobs(log)
    assert job["HAKOBI_STORAGE_MODEL"] == "servers=2,bandwidth=2000,latency=1000000ns,stripe=1024K"
    assert Path(job["LD_PRELOAD"]).name == storage_model.LIBRARY
    assert Path(job["HAKOBI_STORAGE_MODEL_PATH"]).parent == tmp_path / "new"
    assert job["arguments"][job["arguments"].index("--dir") + 1] == job["HAKOBI_STORAGE_MODEL_PATH"]
    assert job["arguments"][job["arguments"].index("--limit") + 1] == "4"
    assert "uring" in job["arguments"][job["arguments"].index("--access") + 1]
    threads = next(line for line in lines_of(file, "summary") if line["contender"] == "hakobi threads")
    assert threads["fraction_of_limit"] == pytest.approx(1.8 / 4, rel=0.02)
    assert threads["fraction_of_floor"] == pytest.approx(0.9)
    assert list((tmp_path / "new").iterdir()) == []


def test_a_models_limit_counts_the_nodes_that_the_ranks_are_on(hakobi: Command, log: Path, tmp_path: Path) -> None:
    model = "servers=16,bandwidth=50,stripes=16,nodes=8,client=80,lock=16M,lock_move=2ms"
    options = ("--dir", tmp_path / "new", "--ranks", "2,8", "--storage-model", model)
    assert hakobi("bench", "collective", *options).status == 0
    two, eight = jobs(log)
    assert two["HAKOBI_STORAGE_MODEL"] == (
        "servers=16,bandwidth=50,latency=2000000ns,stripe=1024K,stripes=16,nodes=8,client=80,lock=16384K,lock_move=2000000ns"
    )
    limits = [job["arguments"][job["arguments"].index("--limit") + 1] for job in (two, eight)]
    assert limits == ["0.16", "0.64"]


def test_one_job_says_what_it_does_and_about_how_long(hakobi: Command, log: Path) -> None:
    result = hakobi("bench", "collective", "--ranks", "2")
    assert result.status == 0, result.stderr
    assert result.stderr == "run 1 of 1: block3d, 2 ranks, round 1 of 1, about 31 s\n"


def test_several_patterns_and_rank_counts_are_cases(hakobi: Command, log: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    options = ("--pattern", "tile2d,cyclic", "--ranks", "2,4", "--dir", tmp_path, "--json", file)
    result = hakobi("bench", "collective", *options, "--io-threads", "2")
    assert result.status == 0, result.stderr
    assert [(line["pattern"], line["ranks"]) for line in lines_of(file, "summary")[::4]] == [
        ("tile2d", 2),
        ("tile2d", 4),
        ("cyclic", 2),
        ("cyclic", 4),
    ]
    assert all(job["arguments"][-2:] == ["--io-threads", "2"] for job in jobs(log))


@pytest.mark.parametrize("command", ["bench collective", "study collective-buffer"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--pattern", "blok3d"], "did you mean 'block3d'"),
        (["--access", "thread"], "did you mean 'threads'"),
        (["--access", ","], "no access is named"),
        (["--size", "0"], "--size: '0' is not a size"),
        (["--size", "4X"], "--size: '4X' is not a size"),
        (["--size", "9000000G"], "free, and two files of"),
        (["--ranks", "0"], "--ranks"),
        (["--ranks", "two"], "--ranks"),
        (["--cb", "-3"], "--cb"),
        (["--storage-model", "server=3"], "did you mean 'servers'"),
        (["--storage-model", "servers=0"], "1 to 4096 servers"),
        (["--storage-model", "latency=2"], "a time with its unit"),
        (["--storage-model", "latency=2000s"], "longer than a quarter of an hour"),
        (["--storage-model", "bandwidth=1e400"], "MB/s of a server"),
        (["--storage-model", "servers"], "not name=number"),
        (["--storage-model", "seek=8"], "a time with its unit"),
        (["--storage-model", "servers=2,stripes=3"], "no more than the servers"),
        (["--storage-model", "nodes=0"], "1 to 4096 nodes"),
        (["--storage-model", "client=0"], "MB/s, above 0"),
        (["--storage-model", "lock=1T"], "a size"),
        (["--storage-model", "lock_move=2"], "a time with its unit"),
        (["--storage-model", "stalled_server=4"], "numbers below servers"),
        (["--storage-model", "slow_server=1.5"], "a server's number"),
        (["--dir", "file/below"], "a file is in the way"),
        (["--json", "folder"], "a folder is in the way"),
        (["--hint", "nothing=1", "--dir", "."], "unknown hint 'nothing'"),
        (["--frobnicate", "--dir", "."], "not expected: --frobnicate"),
    ],
)
@pytest.mark.usefixtures("log")
def test_wrong_input_ends_in_one_line(hakobi: Command, command: str, arguments: list[str], said: str) -> None:
    Path("file").write_text("")
    Path("folder").mkdir()
    result = hakobi(*command.split(), *arguments)
    assert result.status == 2
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"hakobi {command}: ")
    assert said in last


@pytest.mark.parametrize("option", ["--limit", "--budget", "--skew"])
@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.usefixtures("log")
def test_what_is_not_finite_is_refused(hakobi: Command, option: str, value: str) -> None:
    result = hakobi("bench", "collective", "--dir", ".", "--json", "r.jsonl", option, value)
    assert result.status == 2
    assert result.line() == f"hakobi bench collective: Invalid value for '{option}': '{value}' is not a finite number."


def test_a_stripe_in_any_unit_reaches_the_job(hakobi: Command, log: Path) -> None:
    assert hakobi("bench", "collective", "--dir", ".", "--storage-model", "stripe=1G").status == 0
    assert jobs(log)[0]["HAKOBI_STORAGE_MODEL"].endswith(",stripe=1024M")


@pytest.mark.usefixtures("log")
def test_a_wrong_byte_ends_the_benchmark(hakobi: Command) -> None:
    result = hakobi("bench", "collective", "--dir", ".", "--mpi-hint", "wrong=byte")
    assert result.status == 2
    assert "mpi-io wrote a wrong byte at 17" in result.stderr


def test_a_model_without_its_library_is_said(hakobi: Command, log: Path) -> None:
    (log.parent / "prefix" / "lib" / storage_model.LIBRARY).unlink()
    result = hakobi("bench", "collective", "--dir", ".", "--storage-model", "servers=1")
    assert result.status == 2
    assert f"needs {storage_model.LIBRARY}" in result.line()


def study(tmp_path: Path, *more: object) -> tuple[object, ...]:
    options = ("--ranks", "8,64", "--cb", "256K,1M,16M", "--dir", tmp_path / "d", "--rounds", 2)
    return ("study", "collective-buffer", *options, "--json", tmp_path / "s.jsonl", *more)


def test_the_study_draws_two_figures_and_ends_in_summaries(hakobi: Command, log: Path, tmp_path: Path) -> None:
    result = hakobi(*study(tmp_path, "--report", tmp_path / "s.html"))
    assert result.status == 0, result.stderr
    assert len(jobs(log)) == 12
    # Few ranks first, every second size before the others; in the next round back.
    cb = [(job["ranks"], job["arguments"][job["arguments"].index("--cb") + 1]) for job in jobs(log)]
    assert cb[:4] == [("8", "262144"), ("8", "16777216"), ("8", "1048576"), ("64", "262144")]
    assert [size for _, size in cb[6:]] == ["16777216", "1048576", "262144"] * 2
    # Two-phase I/O is what is studied: never direct access.
    assert all("hakobi_shuffle=always" in job["arguments"] for job in jobs(log))
    summaries = lines_of(tmp_path / "s.jsonl", "summary")
    assert len(summaries) == 2 * 3 * 2 * 4
    posix = {(line["ranks"], line["cb_bytes"]): line for line in summaries if line["access"] == "posix"}
    assert posix[8, 262144]["median_gb_s"] == pytest.approx(0.5, rel=0.02)
    assert posix[64, 16 << 20]["median_gb_s"] == pytest.approx(1.0, rel=0.02)
    assert posix[8, 16 << 20]["filled_bytes"] == 4 << 20
    assert posix[8, 1 << 20]["variant"] == "original"
    assert "Threads: of 3 sizes, faster than the original at 3 (1.80 to 3.60 times its throughput)." in result.stdout
    assert "buffers of 16 MiB and more were filled to 4 MiB at most" in result.stdout
    page = (tmp_path / "s.html").read_text()
    assert page.count("<svg") == 2
    assert "Figure 2. Throughput of collective reads" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert list((tmp_path / "d").iterdir()) == []


def test_an_interrupted_study_is_reported_and_taken_up(log: Path, tmp_path: Path) -> None:
    command = study(tmp_path, "--report", tmp_path / "s.html")
    process = start(*command, env={**os.environ, "BENCH_STOP": "4"})
    end = time.monotonic() + 60
    while len(jobs(log)) < 4 and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "interrupted after 3 of 12 runs" in stderr
    assert "no figure for" in (tmp_path / "s.html").read_text()
    assert "original" in stdout
    assert len(lines_of(tmp_path / "s.jsonl", "run")) == 3
    assert list((tmp_path / "d").iterdir()) == []

    again = start(*command, env=dict(os.environ))
    stdout, stderr = again.communicate(timeout=100)
    assert again.returncode == 0, stderr
    assert "3 runs taken up" in stderr
    assert len(lines_of(tmp_path / "s.jsonl", "run")) == 12
    assert len(jobs(log)) == 4 + 9
    page = (tmp_path / "s.html").read_text()
    assert "no figure for" not in page
    assert "3 of them were taken up" in page


def test_a_study_takes_up_nothing_of_another_plan(hakobi: Command, log: Path, tmp_path: Path) -> None:
    assert hakobi(*study(tmp_path, "--size", "1M")).status == 0
    result = hakobi(*study(tmp_path, "--size", "2M"))
    assert result.status == 0
    assert "12 runs in" in result.stderr
    assert "left alone" in result.stderr
    assert len(jobs(log)) == 24


@pytest.mark.usefixtures("log")
def test_samples_without_their_run_count_for_nothing(hakobi: Command, tmp_path: Path) -> None:
    assert hakobi(*study(tmp_path)).status == 0
    file = tmp_path / "s.jsonl"
    kept = [line for line in file.read_text().splitlines() if '"run"' not in line.split(",")[0]]
    file.write_text("\n".join(kept) + "\n")
    result = hakobi(*study(tmp_path))
    assert result.status == 0
    assert "taken up" not in result.stderr
    assert {line["num_samples"] for line in lines_of(file, "summary")[-48:]} == {8}


@pytest.mark.usefixtures("log")
def test_a_budget_that_is_used_up_starts_nothing_more(hakobi: Command, tmp_path: Path) -> None:
    result = hakobi(*study(tmp_path, "--budget", "0.01"))
    assert result.status == 0
    assert "0.01 s were used up after 1 run of 12" in result.stderr
    assert "no figure for 8 ranks, buffer 1 MiB; " in result.stderr


def sample(contender: str, time_s: float, floor_s: float, job: int) -> Sample:
    return Sample(contender, "write", time_s, 0.1, floor_s, 10**9, job)


def test_contenders_that_share_a_job_are_compared_between_neighbours() -> None:
    # The second job met a machine three times slower; within a job the ratio is always 2.
    samples = [
        sample(name, slow * noise * (1 if name == "a" else 2), slow * noise, job)
        for job, slow in enumerate((1.0, 3.0))
        for noise in (1.0, 1.2, 0.9, 1.1)
        for name in ("a", "b")
    ]
    shared = collective.ratio(samples, "write", "a", "b")
    assert shared.estimate == pytest.approx(2)
    assert shared.differs
    apart = [
        sample(item.contender, item.time_s, item.floor_s, 2 * item.job + (item.contender == "b")) for item in samples
    ]
    separate = collective.ratio(apart, "write", "a", "b")
    assert separate.estimate == pytest.approx(2, rel=0.2)
    assert not separate.differs


def test_one_sample_names_no_winner() -> None:
    comparison = collective.ratio([sample("a", 1, 1, 0), sample("b", 9, 1, 0)], "write", "a", "b")
    assert not comparison.differs
    assert "too few samples" in collective.ratio_words(comparison, "a", "b")


def test_samples_without_a_floor_are_refused() -> None:
    line = {"kind": "sample", "contender": "a", "operation": "read", "time_s": 1.0, "cpu_s": 1.0, "bytes": 5}
    with pytest.raises(FormatError, match="0 of the floor"):
        collective.samples_of([line], 0)


def test_components_are_asked_for() -> None:
    assert collective.components("openmpi", lambda _command: OMPI_INFO, {}) == COMPONENTS
    assert collective.components("mpich") == [Component("mpi-io (ROMIO)")]
    assert collective.components("openmpi", lambda _command: "", {}) == [Component("mpi-io")]


@pytest.mark.parametrize(
    ("chosen", "left"), [("^ompio", [1]), ("ompio", [0]), ("romio321,ompio", [0, 1]), ("", [0, 1])]
)
def test_components_that_the_user_leaves(chosen: str, left: list[int]) -> None:
    found = collective.components("openmpi", lambda _command: OMPI_INFO, {"OMPI_MCA_io": chosen})
    assert found == [COMPONENTS[i] for i in left]


def has_benchmark() -> bool:
    try:
        return bool(storage_model.library_beside(programs.find(collective.PROGRAM)))
    except InputError:
        return False


@pytest.mark.programs
@pytest.mark.skipif(not has_benchmark(), reason="hakobi-bench-collective is not built")
def test_the_real_benchmark_verifies_and_stays_below_the_model(hakobi: Command, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    options = (
        "--ranks",
        2,
        "--size",
        "4M",
        "--budget",
        0.5,
        "--min-samples",
        2,
        "--rounds",
        1,
        "--dir",
        tmp_path / "d",
    )
    model = ("--storage-model", "servers=2,bandwidth=100,latency=1ms", "--access", "threads,posix")
    result = hakobi("bench", "collective", *options, *model, "--compare", "mpi-io", "--json", file)
    assert result.status == 0, result.stderr
    summaries = lines_of(file, "summary")
    assert {line["contender"] for line in summaries} >= {"floor", "hakobi threads", "hakobi posix"}
    assert sum(line["contender"].startswith("mpi-io") for line in summaries) >= 2
    assert all(0 < line["fraction_of_limit"] < 1.05 for line in summaries)
    assert list((tmp_path / "d").iterdir()) == []


@pytest.mark.programs
@pytest.mark.skipif(not has_benchmark(), reason="hakobi-bench-collective is not built")
def test_the_real_study_has_every_variant(hakobi: Command, tmp_path: Path) -> None:
    options = ("--ranks", 2, "--cb", "256K,1M", "--size", "2M", "--rounds", 1, "--budget", 8, "--dir", tmp_path / "d")
    result = hakobi("study", "collective-buffer", *options, "--json", tmp_path / "s.jsonl")
    assert result.status == 0, result.stderr
    contenders = {line["contender"] for line in lines_of(tmp_path / "s.jsonl", "summary")}
    assert contenders == {"floor", "hakobi posix", "hakobi uring", "hakobi threads"}


def test_a_profile_is_asked_of_the_job(hakobi: Command, log: Path, tmp_path: Path) -> None:
    assert hakobi("bench", "collective", "--dir", tmp_path / "new", "--profile").status == 0
    assert hakobi("bench", "collective", "--dir", tmp_path / "new").status == 0
    profiled, plain = jobs(log)
    assert profiled["HAKOBI_PROFILE"] == "1"
    assert plain["HAKOBI_PROFILE"] == ""
