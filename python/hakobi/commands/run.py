"""`hakobi run`: starts an unmodified program under the drop-in, or says how a job script does."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hakobi.drop_in import Target


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--hint", "hints", multiple=True, metavar="NAME=VALUE", help="A hint of docs/hints.md; repeatable.")
@click.option(
    "--hints",
    "file",
    type=click.Path(path_type=Path),
    help="A hints file, as `hakobi tune` writes; --hint overrides it.",
)
@click.option(
    "--hidden",
    type=click.Choice(["write", "close", "auto"]),
    is_flag=False,
    flag_value="write",
    help="Collective writes return before storage has their bytes; with =close, closing a file does, too; =auto is "
    "=write while storage takes more than a hundredth of the run (docs/hidden.md).",
)
@click.option("--profile", is_flag=True, help="Print a table for each file on stderr when it is closed.")
@click.option(
    "--explain",
    is_flag=True,
    help="Print on stderr what the engine does with each file, and which calls go to the MPI library.",
)
@click.option("--record", type=click.Path(path_type=Path), help="Record the program's communication for bench replay.")
@click.option("--off", is_flag=True, help="Run without the drop-in, for comparison; --record still works.")
@click.option("--print", "is_printed", is_flag=True, help="Print the lines for a job script and run nothing.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[--] PROGRAM [ARGUMENT]...")
def command(
    hints: tuple[str, ...],
    file: Path | None,
    hidden: str | None,
    profile: bool,
    explain: bool,
    record: Path | None,
    off: bool,
    is_printed: bool,
    program: tuple[str, ...],
) -> int:
    """Run an unmodified program with its collective MPI-IO through Hakobi's engine.

    \b
    hakobi run -- mpirun -n 8 ./solver input.nml
    hakobi run --profile --hint cb_buffer_size=8M -- srun ./solver
    hakobi run --hidden=close -- mpirun -n 8 ./solver input.nml
    hakobi run --hints tuned.hints -- mpirun -n 8 ./solver input.nml
    hakobi run --print -- mpirun ./solver

    PROGRAM is the usual command, with its launcher. It replaces this process: output, exit status and signals are the
    program's.
    """
    from hakobi import drop_in, hints_file, launch
    from hakobi.errors import InputError
    from hakobi.measuring import recorder

    words = program[1:] if program[:1] == ("--",) else program
    if not words and not is_printed:
        raise InputError("name the program to run, as in: hakobi run -- mpirun -n 8 ./solver")
    if words and not words[0]:
        raise InputError("the program's name is empty: a variable that is not set?")
    target = drop_in.look_at(words) if words else drop_in.Target((), None, None, None, (), False)
    if hidden:
        hints = (f"hakobi_hidden={hidden}", *hints)
    if file:
        hints_file.read(file)  # or every rank would say what is wrong
    variables = _variables(target, hints, file, profile, explain, record, off, is_printed)
    if is_printed:
        _print(target, variables)
        return 0
    if record and "HAKOBI_RECORD" in variables:
        recorder.remove_old_trace(Path(variables["HAKOBI_RECORD"]))
    # A container's only user is often root, who is not the machine's there.
    if os.geteuid() == 0 and target.launcher_flavour == "openmpi" and launch.is_in_container():
        variables |= launch.AS_ROOT
    drop_in.check_root(target, os.geteuid(), os.environ | variables)
    _start(drop_in.forwarded(target, variables), variables)
    return 0


def _variables(
    target: Target,
    hints: tuple[str, ...],
    file: Path | None,
    profile: bool,
    explain: bool,
    record: Path | None,
    off: bool,
    is_printed: bool,
) -> dict[str, str]:
    """The variables to set: none of the drop-in's where it cannot be used, which a line says, or an error where the
    settings are all that was asked for."""
    from hakobi import drop_in, hints_file
    from hakobi.errors import InputError
    from hakobi.measuring import recorder

    variables: dict[str, str] = {}
    preloaded: list[Path] = []
    if target.is_static:
        drop_in.warn(f"{target.name} is linked statically, nothing can be preloaded: it runs without the drop-in")
        return {}
    if target.soname and target.launcher_flavour and target.launcher_flavour != target.flavour:
        launcher = target.command[target.launcher_at or 0]
        drop_in.warn(f"{launcher} is the launcher of {target.launcher_flavour}, {target.name} uses {target.soname}")
    if record:
        recording = recorder.record_environment(record, target.flavour, {})
        preloaded.append(Path(recording["LD_PRELOAD"]))
        variables["HAKOBI_RECORD"] = recording["HAKOBI_RECORD"]
    before = os.environ.get("LD_PRELOAD", "")
    if off and drop_in.LIBRARY in before:
        variables["HAKOBI_MPIIO"] = "off"
    library, why_not = (None, "") if off else _library(target)
    if why_not and is_printed:
        raise InputError(why_not)
    if why_not:
        drop_in.warn(f"{why_not}; the program runs without it")
    if library:
        drop_in.check_one_installation(library, before)
        preloaded.append(library)
        text = drop_in.hints_text(hints, os.environ.get("HAKOBI_HINTS", ""))
        named = str(file.absolute()) if file else ""
        settings = {
            "HAKOBI_HINTS": text,
            hints_file.VARIABLE: named,
            "HAKOBI_PROFILE": "1" * profile,
            "HAKOBI_EXPLAIN": "1" * explain,
        }
        settings["HAKOBI_HIDDEN_ERRORS"] = os.environ.get("HAKOBI_HIDDEN_ERRORS", "")
        settings["HAKOBI_WATCH"] = os.environ.get("HAKOBI_WATCH", "")
        settings["HAKOBI_MPIIO"] = os.environ.get("HAKOBI_MPIIO", "")
        own_hints = os.environ.get("PNETCDF_HINTS", "")
        is_off = settings["HAKOBI_MPIIO"] == "off"
        settings["PNETCDF_HINTS"] = own_hints if is_off else drop_in.pnetcdf_hints_text(own_hints)
        variables |= {name: value for name, value in settings.items() if value}
        if (profile or explain) and (bypass := drop_in.pnetcdf_bypass(settings["PNETCDF_HINTS"])):
            drop_in.warn(bypass)
    if preloaded:
        variables["LD_PRELOAD"] = drop_in.preload_text(preloaded, before)
    return variables


def _library(target: Target) -> tuple[Path | None, str]:
    """The drop-in for the program, or why it runs without one."""
    from hakobi import drop_in

    try:
        return drop_in.find_library(target)
    except drop_in.NoDropInError as error:
        return None, str(error)


def _print(target: Target, variables: dict[str, str]) -> None:
    import shlex

    names = sorted(variables, key=lambda name: name != "LD_PRELOAD")
    for name in names:
        click.echo(f"export {name}={shlex.quote(variables[name])}")
    if names and target.flavour == "openmpi":
        passed = " ".join("-x " + name for name in names)
        click.echo(f"# to ranks on other nodes: mpirun {passed} …   (srun needs nothing)")


def _start(words: list[str], variables: dict[str, str]) -> None:
    """Becomes the program. Does not return."""
    from hakobi.errors import InputError

    # Python ignores these, and the program would inherit that.
    ignored = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGPIPE, signal.SIGXFSZ)}
    try:
        os.execvpe(words[0], words, os.environ | variables)
    except OSError as error:
        raise InputError(f"cannot start {words[0]}: {error.strerror}{_how_to_get(words[0], error)}") from error
    finally:
        for number, handler in ignored.items():
            signal.signal(number, handler)


def _how_to_get(word: str, error: OSError) -> str:
    """Where a launcher that is missing comes from."""
    from hakobi import drop_in, launchers

    if not isinstance(error, FileNotFoundError) or not launchers.is_launcher(word):
        return ""
    if kind := launchers.of_batch_system(word):
        return f": {kind.title} is not on this machine; load its module, run where it is, or start with mpirun"
    return f": {drop_in.NO_LAUNCHER}"
