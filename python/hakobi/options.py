"""Types of command-line options that click has not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
#: A decorator that adds an option to a command or its function.
Option = Callable[[Any], Any]


class Number(click.FloatRange):
    """A finite number in a range: what click takes for one may be NaN, which no range refuses, or infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class WholeNumbers(click.ParamType):  # type: ignore[type-arg]  # click before 8.4 takes no argument
    """ "1,2,4" -> (1, 2, 4): whole numbers from 1, each once, in the order given."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        for word in words:
            if not word.isdecimal() or int(word) < 1:
                self.fail(f"'{word}' is no whole number from 1; several are separated by commas.", param, ctx)
        return tuple(dict.fromkeys(map(int, words)))


WHOLE_NUMBERS = WholeNumbers()
#: A time limit.
SECONDS = Number(min=0, min_open=True)


# Options of several commands.
#: As `json_file`.
RECORDS: Option = click.option(
    "--json", "json_file", type=click.Path(path_type=Path), help="Records (JSON lines); resumes from them."
)
REPORT: Option = click.option(
    "--report", type=click.Path(path_type=Path), help="Write an HTML report: one file, no network needed."
)
FIGURES: Option = click.option(
    "--figures", type=click.Path(path_type=Path), help="Write each figure as SVG and PDF with its data as CSV."
)
#: As `model_text`.
STORAGE_MODEL: Option = click.option(
    "--storage-model", "model_text", default="", metavar="MODEL", help="Storage model, as in `hakobi bench collective`."
)


def run_timeout(default_s: float) -> Option:
    """`--timeout` as `timeout_s`."""
    return click.option(
        "--timeout",
        "timeout_s",
        type=SECONDS,
        default=default_s,
        show_default=True,
        help="Time limit per run in seconds.",
    )


def json_option(text: str) -> Callable[[_Command], _Command]:
    """`--json [FILE]` as `json_file`, for what `write_json` takes: "-" is the standard output, None not asked for."""
    return click.option("--json", "json_file", is_flag=False, flag_value="-", metavar="[FILE]", help=text)


def say_written(**files: Path | None) -> None:
    """A line for each file or folder that there is: "report: r.html"."""
    for what, path in files.items():
        if path:
            click.echo(f"{what}: {path}")


def write_json(file: str, records: Iterable[dict[str, Any]]) -> None:
    """Prints records as JSON lines, or appends them to a file. Raises StorageError, FormatError."""
    from hakobi import records as files

    for record in records:
        if file == "-":
            click.echo(files.to_line(record), nl=False)
        else:
            files.append(file, record)
