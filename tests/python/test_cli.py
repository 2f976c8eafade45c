from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import click
import pytest

from hakobi import cli
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
    ("error", "text"),
    [
        (HakobiError("two\n  lines"), "two lines"),
        (FileNotFoundError(2, "No such file or directory", "a.nc"), "a.nc: No such file or directory"),
        (KeyboardInterrupt(), "interrupted"),
        (click.Abort(), "interrupted"),
        (SystemExit("no good"), "no good"),
    ],
)
def test_what_a_command_raises_is_one_line(
    hakobi: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, text: str
) -> None:
    from hakobi.commands import gather

    def fail(_name: str) -> None:
        raise error

    monkeypatch.setattr(gather.programs, "find", fail)
    result = hakobi("gather", "x")
    assert result.status == 2
    assert result.line() == f"hakobi gather: {text}"


def test_a_bug_keeps_its_traceback(hakobi: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from hakobi.commands import gather

    monkeypatch.setattr(gather.programs, "find", lambda _name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        hakobi("gather", "x")


def test_version_is_the_builds() -> None:
    done = subprocess.run([sys.executable, "-m", "hakobi", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hakobi 0.")


def test_importing_commands_imports_nothing_heavy() -> None:
    modules = sorted({module.partition(":")[0] for module in cli.COMMANDS.values()})
    code = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'h5py', 'xarray', 'rich', 'psutil'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
