"""docs/first-hour.md, followed to the letter: its listings are examples/first-hour, whose programs do what it says."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from building import BUILD, FLAVOUR, ROOT, SUFFIXES, build, needs_build
from hakobi import launch, records
from hakobi.programs import Program
from running import Result

EXAMPLES = ROOT / "examples" / "first-hour"
PAGE = (ROOT / "docs" / "first-hour.md").read_text()
LANGUAGES = ["cpp", "fortran", "python"]


def source(name: str, language: str) -> str:
    return (EXAMPLES / name).with_suffix(SUFFIXES[language]).read_text()


def lines(text: str) -> list[str]:
    """A program's lines without what only its layout adds."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def listings(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pages_lines_make_the_program_of_the_plain_one(language: str) -> None:
    plain, *added = listings(language)
    assert plain == source("plain", language)
    rest = lines(source("heat", language))
    for text in added:
        part = lines(dedent(text))
        at = next((i for i in range(len(rest)) if rest[i : i + len(part)] == part), None)
        assert at is not None, f"not in heat{SUFFIXES[language]}, or twice on the page:\n{text}"
        rest[at : at + len(part)] = [""]  # what stood around it does not meet
    assert [line for line in rest if line] == lines(plain)


def run(program: Path, *arguments: str, ranks: int) -> str:
    done = launch.run(Program(program, FLAVOUR), arguments, ranks, timeout_s=60)
    assert done.status == 0, done.stderr
    return done.stdout.strip()


def stop_after(num_steps: int, program: Path, prefix: Path, *arguments: str) -> None:
    """Ctrl-C, when so many steps are whole."""
    told = [*arguments, "--output", str(prefix), "--steps", "100000"]
    command = launch.command_line(Program(program, FLAVOUR), told, 2)
    started = subprocess.Popen(
        command,
        env=launch.environment(FLAVOUR),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        limit_s = time.monotonic() + 60
        while len(list(prefix.parent.glob(f"{prefix.name}_*.nc"))) < num_steps and time.monotonic() < limit_s:
            assert started.poll() is None, "the run has ended"
            time.sleep(0.02)
        # MPICH's launcher passes the first Ctrl-C on to the ranks. One of them may wait in MPI for a rank
        # that Python's KeyboardInterrupt has ended; the second Ctrl-C ends them all, as the launcher says.
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.send_signal(signal.SIGINT)
            started.wait(timeout=10)
        if started.poll() is None:
            started.send_signal(signal.SIGINT)
            started.wait(timeout=60)
    finally:
        launch.end_session(started)


@pytest.fixture
def heat(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's last program in an empty folder."""
    language: str = request.param
    if language == "python":
        for name, value in request.getfixturevalue("mpi4py_environment").items():
            monkeypatch.setenv(name, value)
    return build(language, source("heat", language), tmp_path / "heat")


@needs_build
@pytest.mark.programs
@pytest.mark.parametrize("heat", LANGUAGES, indirect=True)
def test_the_solver_is_restarted_after_a_kill(heat: Path, tmp_path: Path) -> None:
    stop_after(3, heat, tmp_path / "long", "--method", "pipelined")
    num_whole = len(list(tmp_path.glob("long_*.nc")))
    num_steps = str(num_whole + 2)
    said = run(heat, "--output", str(tmp_path / "long"), "--steps", num_steps, "--resume", ranks=3)
    assert said == run(heat, "--output", str(tmp_path / "whole"), "--steps", num_steps, ranks=1)
    whole = sorted(tmp_path.glob("whole_*"))
    assert len(whole) == num_whole + 2
    assert [path.name for path in sorted(tmp_path.glob("long_*"))] == [
        path.name.replace("whole", "long") for path in whole
    ]
    for path in whole:
        assert path.read_bytes() == path.with_name(path.name.replace("whole", "long")).read_bytes(), path.name
    again = launch.run(Program(heat, FLAVOUR), ["--output", str(tmp_path / "long")], 1, timeout_s=60)
    assert again.status != 0
    assert "set if_exists to resume" in again.stderr


@needs_build
@pytest.mark.programs
@pytest.mark.once
def test_the_three_languages_write_the_same_bytes_and_the_plain_programs_print_the_same(
    tmp_path: Path, mpi4py_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in mpi4py_environment.items():
        monkeypatch.setenv(name, value)
    said, written = set(), set()
    for language in LANGUAGES:
        heat = build(language, source("heat", language), tmp_path / "heat")
        said.add(run(heat, "--output", str(tmp_path / language), "--steps", "4", ranks=2))
        written.add((tmp_path / f"{language}_000003.nc").read_bytes())
        plain = build(language, source("plain", language), tmp_path / "plain")
        said.add(run(plain, "--steps", "4", ranks=3))
    assert len(said) == len(written) == 1
    # The page's own figure, by the fastest.
    plain = build("cpp", source("plain", "cpp"), tmp_path / "plain")
    assert f"`{run(plain, ranks=2)}`" in PAGE


@needs_build
@pytest.mark.programs
@pytest.mark.once
@pytest.mark.parametrize("heat", ["cpp"], indirect=True)
def test_the_solver_is_studied_as_the_page_says(hakobi: Callable[..., Result], heat: Path, tmp_path: Path) -> None:
    command = re.search(r"^hakobi (study .*)$", PAGE, re.MULTILINE)
    assert command is not None
    told = command.group(1).replace("--steps 20", "--steps 4")
    assert told != command.group(1)
    options = ["--repetitions", "1", "--storage", f"here={tmp_path}/out", "--json", "runs.jsonl"]
    before, behind = told.split(" -- ")
    result = hakobi(*before.split(), *options, "--", *behind.split())
    assert result.status == 0, result.stderr
    found = {record["method"] for record in records.read(tmp_path / "runs.jsonl")}
    assert found == {"none", "root", "pipelined", "pipelined+hidden"}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation, as the page wants one."""
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True, timeout=100)
    return prefix


class Shell:
    """Runs the page's commands in an empty folder, with what its first one exports."""

    def __init__(self, prefix: Path, folder: Path, environment: dict[str, str]) -> None:
        [exports] = re.findall(r"^export .*<where>.*$", PAGE, re.MULTILINE)
        self._exports = exports.replace("<where>", str(prefix))
        self.folder = folder
        tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = launch.environment(FLAVOUR, environment) | {"PATH": tools, "PKG_CONFIG_PATH": ""}

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", f"{self._exports}\n{command}"],
            cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def succeed(self, command: str) -> str:
        done = self.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


def commands(language: str) -> list[str]:
    """The page's commands in their order, those that compile for one language, and its program for the others."""
    found = []
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        found += [line for line in block.splitlines() if not kind and not line.startswith("export ")]
    compiling = {name: next(line for line in found if f" {name}.cpp " in line) for name in ("plain", "heat")}
    for name, line in compiling.items():
        [fortran] = re.findall(rf"`(mpifort [^`]* {name}\.f90 [^`]*)`", PAGE)
        instead = {"cpp": line, "fortran": fortran, "python": f"chmod +x {name}.py"}[language]
        found[found.index(line)] = instead
    if language == "python":
        found = [re.sub(r"\./(plain|heat)\b", r"./\1.py", line) for line in found]
    return found


def taken(found: list[str], words: str) -> str:
    """The command with these words, of which there is one."""
    [command] = [line for line in found if words in line]
    return command


@needs_build
@pytest.mark.programs
@pytest.mark.once
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "language", ["cpp", *(pytest.param(language, marks=pytest.mark.long) for language in LANGUAGES[1:])]
)
def test_the_pages_commands_do_what_it_says_in_an_empty_folder(
    language: str, prefix: Path, tmp_path: Path, mpi4py_environment: dict[str, str]
) -> None:
    """All of them but the study, which has a test of its own. `--steps 400` is too long for a test."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False)
    if FLAVOUR != "openmpi" or "Open MPI" not in version.stdout:
        pytest.skip("the page's mpirun is Open MPI's")
    found = commands(language)
    shell = Shell(prefix, tmp_path, mpi4py_environment)
    (tmp_path / f"plain{SUFFIXES[language]}").write_text(listings(language)[0])
    shutil.copy(EXAMPLES / f"heat{SUFFIXES[language]}", tmp_path)
    said = []
    for command in found[: found.index(taken(found, "ncdump")) + 1]:
        said.append(shell.succeed(command))
    assert said.count("20 steps: the hottest place has 17.755524 K\n") == 2
    assert "double heat(time, dim_0, dim_1)" in said[-1]
    assert len(list(tmp_path.glob("plate_*.nc"))) == 20

    again = shell.run(taken(found, "--output plate"))
    [sentence] = re.findall(r"```text\n(hakobi: .*)\n```", PAGE)
    assert again.returncode == 1, again.stderr
    assert again.stderr.splitlines().count(sentence) == 1
    for words in ("Traceback", "terminate called", "ERROR STOP"):
        assert words not in again.stderr

    long, resumed = (line.replace("400", "3") for line in found if "--steps 400" in line)
    shell.succeed(long)
    assert "--oversubscribe -n 3" in resumed
    assert shell.succeed(resumed.replace("--steps 3", "--steps 4")).startswith("4 steps")
    explained = shell.run(taken(found, "HAKOBI_EXPLAIN"))
    lines = [line for line in explained.stderr.splitlines() if line.startswith("hakobi: ")]
    assert sum(-(-len(line) // 80) for line in lines) <= 24, explained.stderr
    assert "the run waited" in lines[-1]
    assert "heat" in shell.succeed("hakobi ls plate")
