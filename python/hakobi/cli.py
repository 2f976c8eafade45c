"""The command `hakobi`.

A subcommand is one module and one line. The module (in hakobi/commands/ as a rule) defines `command`, made with
`@click.command()`; the line goes into COMMANDS below: the words that the user types -> the module. Groups (`store`)
come into being by the first word; a new one gets its help text in GROUPS. Other distributions add lines of their own
(hakobi/plugins.py), as the workbench does for `bench`, `study`, `report`, `compare` and `demo` (lab/README.md).

Rules for a subcommand's module:
 1. Importing it is cheap: click and the standard library at the top; numpy, matplotlib, h5py and the like inside the
    functions that use them. `hakobi --help` imports every module, and a demo starts computing at once. What is not
    installed ends in one line that names the extra (hakobi/extras.py).
 2. The first line of `command`'s docstring is its line in `hakobi --help`.
 3. Wrong input, a failed program, a full disk: raise one of hakobi.errors, with one line that the user can act on.
    `main` prints it to stderr as `hakobi <words>: <line>` and exits with status 2, without a traceback. OSError gets
    the same treatment, so that a plain `open` needs no wrapping.
 4. Exit status 1 is for "it ran, and what it found is bad" (results differ, a check failed): `raise SystemExit(1)`
    after saying so. Ctrl-C, and SIGTERM, reach the module as KeyboardInterrupt; one that is let through ends with
    status 130, as a module returns that has caught it.
 5. Results go to stdout through hakobi.table; progress and warnings go to stderr.

Services for it: programs (find built executables), launch (mpiexec), records (JSON lines), conditions (what was this
measured on), statistics (medians, intervals, comparisons), table (terminal), files (checks of folders, page cache,
checksums).
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from hakobi import extras, plugins
from hakobi.errors import HakobiError, InputError, unknown_name

#: Words of the subcommand -> module that defines `command`, or module:name. Plugged-in ones stand before
#: Hakobi's own, which win.
COMMANDS: dict[str, str] = plugins.commands() | {
    "assess": "hakobi.commands.assess",
    "completion": "hakobi.commands.completion",
    "demo": "hakobi.commands.demo",
    "doctor": "hakobi.commands.doctor",
    "gather": "hakobi.commands.gather",
    "index": "hakobi.commands.index",
    "ls": "hakobi.commands.ls",
    "post": "hakobi.commands.post",
    "run": "hakobi.commands.run",
    "store archive": "hakobi.commands.store:archive",
    "store check": "hakobi.commands.store:check",
    "store consolidate": "hakobi.commands.store:consolidate",
    "store create": "hakobi.commands.store:create",
    "store export": "hakobi.commands.store_fdb:export",
    "store follow": "hakobi.commands.store:follow",
    "store get": "hakobi.commands.store:get",
    "store import": "hakobi.commands.store_fdb:import_",
    "store list": "hakobi.commands.store:list_",
    "store move": "hakobi.commands.store:move",
    "store put": "hakobi.commands.store:put",
    "store recover": "hakobi.commands.store:recover",
    "store schema": "hakobi.commands.store:schema",
    "store stats": "hakobi.commands.store:stats",
    "store where": "hakobi.commands.store:where",
    "store wipe": "hakobi.commands.store:wipe",
    "tune": "hakobi.commands.tune",
}

#: Commands that run under the oldest Python that a machine may have (pyproject.toml); the others need NEWER.
FOR_ALL_PYTHONS = ("run",)
NEWER = (3, 11)

#: First word of two-word commands -> help text.
GROUPS: dict[str, str] = {
    "bench": "Measure one thing: MPI messages, halos, devices, collective I/O, a replayed program.",
    "report": "Measure what a published report measured, on one page beside it.",
    "store": "Find fields by meaning, and keep the store that holds them.",
    "study": "Run an experiment with repetitions and write its table and report.",
}


def is_too_old(words: str) -> bool:
    """Whether this Python cannot run the command with these words."""
    return sys.version_info < NEWER and words not in FOR_ALL_PYTHONS


def check_python(words: str) -> None:
    """Raises InputError for a command that this Python cannot run."""
    if is_too_old(words):
        newer, own = (".".join(map(str, version)) for version in (NEWER, sys.version_info[:3]))
        raise InputError(f"needs Python {newer} or newer, this is {own}; hakobi run needs no newer one")


class _Group(click.Group):
    """A group that imports a subcommand's module when it is asked for, and suggests the nearest name."""

    def __init__(self, prefix: str = "", **attrs: object) -> None:
        super().__init__(**attrs)  # type: ignore[arg-type]
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        rest = [words[len(self._prefix) :] for words in COMMANDS if words.startswith(self._prefix)]
        return sorted({words.split()[0] for words in rest})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        words = self._prefix + cmd_name
        if words in COMMANDS:
            check_python(words)
            module, _, name = COMMANDS[words].partition(":")
            command = getattr(importlib.import_module(module), name or "command")
            assert isinstance(command, click.Command), f"{COMMANDS[words]}.command is no click command"
            return command
        if cmd_name in self.list_commands(ctx):
            return _Group(prefix=words + " ", name=cmd_name, help=GROUPS.get(cmd_name))
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, with whole sentences: a line that is too long goes on in the next."""
        rows = []
        for name in self.list_commands(ctx):
            if is_too_old(self._prefix + name):
                rows.append((name, f"needs Python {'.'.join(map(str, NEWER))}"))
                continue
            command = self.get_command(ctx, name)
            assert command is not None
            rows.append((name, command.get_short_help_str(limit=1000)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if ctx.resilient_parsing:  # a shell completes what is typed so far
            return super().resolve_command(ctx, args)
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            if not self._prefix and args[0] in plugins.WORKBENCH:
                raise InputError(f"'{args[0]}' is in hakobi-lab, which is not installed: {plugins.HOW_TO_GET_IT}")
            raise unknown_name("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from hakobi import __version__

        click.echo(f"hakobi {__version__}")
        ctx.exit()


def make_root() -> click.Group:
    """The root command with every subcommand of COMMANDS behind it."""
    root = _Group(
        name="hakobi",
        help="Hakobi carries a parallel simulation's data, and proves what each carrying costs.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    root.params.append(
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_print_version,
            help="Print the version and exit.",
        )
    )
    return root


def _words_of(arguments: list[str]) -> str:
    """The subcommand's words at the head of the arguments, for messages."""
    words: list[str] = []
    for argument in arguments[:2]:
        candidate = " ".join([*words, argument])
        if not any(known == candidate or known.startswith(candidate + " ") for known in COMMANDS):
            break
        words.append(argument)
    return " ".join(["hakobi", *words])


#: A group without a subcommand; click before 8.2, the last for Python 3.9, prints its help and exits.
_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())

#: A shell's status for a command that Ctrl-C has ended.
INTERRUPTED = 130


def _fail(arguments: list[str], text: str, status: int = 2) -> int:
    sys.stderr.write(f"{_words_of(arguments)}: {' '.join(text.split())}\n")
    return status


def run(arguments: list[str]) -> int:
    """Runs the command with `arguments` and returns its exit status. What a user can cause ends in one line."""
    status = _run(arguments)
    return status if status >= 0 else 128 - status  # a program that a signal has ended


def _run(arguments: list[str]) -> int:
    root = make_root()
    if "_HAKOBI_COMPLETE" in os.environ:  # a shell asks for completions
        root.main(prog_name="hakobi")
    try:
        with root.make_context("hakobi", list(arguments)) as context:
            result = root.invoke(context)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except _NO_ARGUMENTS as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.exceptions.Abort:
        return _fail(arguments, "interrupted", INTERRUPTED)
    except click.ClickException as error:
        return _fail(arguments, error.format_message())
    except HakobiError as error:
        return _fail(arguments, str(error), INTERRUPTED if error.code == "interrupted" else 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except ModuleNotFoundError as error:
        command = _words_of(arguments).partition(" ")[2]
        if not (how := extras.advice(error.name or "", command)):
            raise
        return _fail(arguments, f"needs the Python module {error.name}: {how}")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(arguments, f"{where}{error.strerror or error}")
    except KeyboardInterrupt:
        return _fail(arguments, "interrupted", INTERRUPTED)
    except SystemExit as stop:
        if isinstance(stop.code, str):
            return _fail(arguments, stop.code)
        return stop.code or 0


def main() -> NoReturn:
    """The console script."""
    # A study that is told to end (a batch system's SIGTERM) keeps and reports its finished runs as after
    # Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115, for good
        getattr(sys, name).reconfigure(errors="replace")  # a terminal without ± still gets the figures
    sys.exit(run(sys.argv[1:]))


__all__ = ["COMMANDS", "GROUPS", "InputError", "main", "make_root", "run"]
