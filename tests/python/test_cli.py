from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from hakobi import cli, plugins, programs, progress
from hakobi.errors import HakobiError
from running import Result

Command = Callable[..., Result]


def test_help_names_every_command(hakobi: Command) -> None:
    result = hakobi("--help")
    assert result.status == 0
    for words in cli.COMMANDS:
        assert words.split()[0] in result.stdout


@pytest.mark.parametrize("words", cli.COMMANDS)
def test_every_command_has_help_and_an_example_of_its_use(hakobi: Command, words: str) -> None:
    result = hakobi(*words.split(), "--help")
    assert result.status == 0
    assert result.stdout.startswith(f"Usage: hakobi {words}")


def test_no_command_prints_help_and_fails(hakobi: Command) -> None:
    result = hakobi()
    assert result.status == 2
    assert "Usage:" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["gater"], "hakobi: unknown command 'gater': did you mean 'gather'?"),
        (["study", "output-method"], "hakobi study: unknown command 'output-method': did you mean 'output-methods'?"),
        (["gather"], "hakobi gather: Missing argument 'PATH'."),
        (["--versoin"], "hakobi: No such option"),
        (["study", "output-methods", "--repetitions", "x"], "hakobi study output-methods: Invalid value for"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(hakobi: Command, arguments: list[str], line: str) -> None:
    result = hakobi(*arguments)
    assert result.status == 2
    assert result.stdout == ""
    assert result.line().startswith(line)


@pytest.mark.parametrize(
    ("error", "text", "status"),
    [
        (HakobiError("two\n  lines"), "two lines", 2),
        (HakobiError("nothing is done", code="interrupted"), "nothing is done", 130),
        (FileNotFoundError(2, "No such file or directory", "a.nc"), "a.nc: No such file or directory", 2),
        (KeyboardInterrupt(), "interrupted", 130),
        (click.Abort(), "interrupted", 130),
        (SystemExit("no good"), "no good", 2),
    ],
)
def test_what_a_command_raises_is_one_line(
    hakobi: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, text: str, status: int
) -> None:
    from hakobi.commands import gather

    def fail(_name: str) -> None:
        raise error

    monkeypatch.setattr(gather.programs, "find", fail)
    result = hakobi("gather", "x")
    assert result.status == status
    assert result.line() == f"hakobi gather: {text}"


def test_a_program_that_a_signal_ended_has_the_shells_status(hakobi: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from hakobi.commands import gather

    ended = subprocess.CompletedProcess([], -signal.SIGINT)
    monkeypatch.setattr(gather.programs, "find", lambda name: programs.Program(Path(name), "openmpi"))
    monkeypatch.setattr(progress.subprocess, "run", lambda *_, **__: ended)
    assert hakobi("gather", "x").status == 130


@pytest.mark.parametrize("words", ["", *cli.GROUPS])
def test_a_groups_help_cuts_no_sentence(hakobi: Command, words: str) -> None:
    result = hakobi(*words.split(), "--help")
    assert "..." not in result.stdout.replace("[ARGS]...", "")
    assert max(map(len, result.stdout.splitlines())) <= 110


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_what_the_shell_evaluates(hakobi: Command, shell: str) -> None:
    result = hakobi("completion", shell)
    assert result.status == 0
    assert f"_HAKOBI_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.parametrize(
    ("typed", "found"),
    [("hakobi stu", "study"), ("hakobi study outp", "output-methods"), ("hakobi ls --va", "--values")],
)
def test_words_are_completed(typed: str, found: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_HAKOBI_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "hakobi"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **words})
    assert done.stdout.splitlines() == [f"plain,{found}"], done.stderr


def test_what_is_no_command_is_completed_by_nothing() -> None:
    words = {"COMP_WORDS": "hakobi nothing x", "COMP_CWORD": "2", "_HAKOBI_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "hakobi"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **words})
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_a_bug_keeps_its_traceback(hakobi: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from hakobi.commands import gather

    monkeypatch.setattr(gather.programs, "find", lambda _name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        hakobi("gather", "x")


def test_version_is_the_builds() -> None:
    done = subprocess.run([sys.executable, "-m", "hakobi", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hakobi 0.")


def test_another_distribution_adds_its_commands(tmp_path: Path) -> None:
    metadata = tmp_path / "more-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: more\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[hakobi.commands]\nbench more = more:it\nls = more:it\n")
    (tmp_path / "more.py").write_text("import click\n\n\n@click.command()\ndef it() -> None:\n    print('more')\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    for words, text in ((("bench", "more"), "more\n"), (("ls", "--help"), "Usage: hakobi ls ")):
        done = subprocess.run(
            [sys.executable, "-m", "hakobi", *words],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(text)


def test_the_workbench_plugs_in_all_its_commands() -> None:
    lab = Path(__file__).resolve().parents[2] / "lab"
    points = tomllib.loads((lab / "pyproject.toml").read_text())["project"]["entry-points"]["hakobi.commands"]
    modules = {f"hakobi_lab.commands.{path.stem}" for path in (lab / "hakobi_lab" / "commands").glob("[a-z]*.py")}
    assert {place.partition(":")[0] for place in points.values()} == modules
    assert {words.partition(" ")[0] for words in points} == set(plugins.WORKBENCH)
    # Hakobi's own `demo` has --quick, and calls the workbench's without it.
    assert points.pop("demo") == plugins.commands()["demo"]
    assert points.items() <= cli.COMMANDS.items()


def test_importing_commands_imports_nothing_heavy() -> None:
    modules = sorted({module.partition(":")[0] for module in cli.COMMANDS.values()})
    code = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'h5py', 'xarray', 'rich', 'psutil'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
