"""docs/own-study.md: its programs, built from the page, studied as the page says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from building import BUILD, ROOT, build, needs_build
from hakobi import records
from running import Result

PAGE = (ROOT / "docs" / "own-study.md").read_text()
CODE = dict(re.findall(r"```(cpp|fortran|python)\n(.*?)```", PAGE, re.DOTALL))


@needs_build
@pytest.mark.programs
@pytest.mark.once
@pytest.mark.parametrize("language", ["cpp", "fortran", "python"])
def test_the_pages_program_is_studied(
    hakobi: Callable[..., Result], tmp_path: Path, language: str, request: pytest.FixtureRequest
) -> None:
    if language == "python":
        environment: dict[str, str] = request.getfixturevalue("mpi4py_environment")
        monkeypatch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
    solver = build(language, CODE[language], tmp_path / "solver")
    methods = "root,pipelined,pipelined+hidden" if language == "cpp" else "root"
    result = hakobi(
        *("study", "output-methods", "--app", f"./{solver.name}", "--methods", methods, "--ranks", "2"),
        *("--repetitions", "1", "--storage", f"here={tmp_path}/out", "--json", "runs.jsonl"),
    )
    assert result.status == 0, result.stderr
    told = records.read(tmp_path / "runs.jsonl")
    assert {record["method"] for record in told} == {"none", *methods.split(",")}
    assert all(record["app"] == solver.name and record["time_s"] > 0 for record in told)
    assert len({record["sha256"] for record in told if record["method"] != "none"}) == 1


def test_a_program_without_a_record_is_told_what_is_missing(
    hakobi: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAKOBI_MPIEXEC", str(Path(__file__).parent / "fakes" / "mpiexec"))
    (tmp_path / "silent").write_text("#!/bin/sh\nexit 0\n")
    command = ("study", "output-methods", "--app", "./silent", "--ranks", "1", "--storage", f"here={tmp_path}/out")
    assert "it is not executable: chmod +x ./silent" in hakobi(*command).line()
    (tmp_path / "silent").chmod(0o755)
    result = hakobi(*command)
    assert result.status == 2
    assert 'append one line {"time_s": SECONDS} to the file that --json names (docs/own-study.md)' in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--app", "./nowhere"), "--app ./nowhere: there is no such file"),
        (("--storage-model", "slow"), "give NAME=MODEL"),
        (("--storage-model", "slwo=servers=1", "--storage", "slow=out"), "did you mean 'slow'"),
        (("--storage-model", "default=servers=0"), "1 to 4096 servers"),
        (("--methods", "parallel+hidden"), "unknown method 'parallel+hidden'"),
    ],
)
def test_wrong_input_is_one_line(hakobi: Callable[..., Result], options: tuple[str, ...], said: str) -> None:
    result = hakobi("study", "output-methods", *options)
    assert result.status == 2
    assert said in result.line()


@needs_build
@pytest.mark.programs
@pytest.mark.once
def test_a_modelled_storage_is_slow_and_hidden_output_is_not(hakobi: Callable[..., Result], tmp_path: Path) -> None:
    if not (BUILD / "bin" / "hakobi-tsunami").exists():
        pytest.skip("hakobi-tsunami is not built")
    result = hakobi(
        *("study", "output-methods", "--methods", "root", "--ranks", "1", "--repetitions", "1", "--json", "runs.jsonl"),
        *("--storage", f"slow={tmp_path}/slow", "--storage-model", "slow=servers=1,bandwidth=10,latency=1ms"),
        *("--", "--hours", "0.02", "--resolution", "30", "--steps-out", "4"),
    )
    assert result.status == 0, result.stderr
    by_method = {record["method"]: record for record in records.read(tmp_path / "runs.jsonl")}
    written = by_method["root"]
    # 4 MB at 10 MB/s: the model's time is in the run, whatever the machine does.
    assert written["time_s"] - by_method["none"]["time_s"] > 0.8 * written["output_bytes"] / 10e6
    assert "10 MB/s" in written["conditions"]["storage"]["slow"]["model"]
    assert "a model of 1 server x 10 MB/s" in result.stdout
