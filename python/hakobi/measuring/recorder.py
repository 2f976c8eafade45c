"""The environment that makes a program record its communication: for `hakobi run --record FILE`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from hakobi import programs
from hakobi.errors import FormatError, InputError, StorageError

LIBRARY = "libhakobi_record.so"


def library(flavour: str | None = None) -> Path:
    """The recorder for an MPI library (the user's by default), beside the programs. Raises InputError when missing."""
    flavour = flavour or programs.flavour()
    if prefix := programs.prefix():
        roots = [prefix]
    else:
        tree = programs.source_tree()
        roots = [tree / "build" / flavour] if tree else []
        roots += [folder.parent for folder in programs.folders()]
    for root in roots:
        for path in [root / "lib" / LIBRARY, *sorted(root.glob(f"lib*/**/{LIBRARY}"))]:
            if path.is_file():
                return path
    if programs.is_wheel():
        raise InputError(f"{LIBRARY} is {programs.NOT_IN_WHEEL}")
    raise InputError(f"no {LIBRARY} for {flavour}: build it with 'make', or set HAKOBI_PREFIX")


def record_environment(
    file: Path | str, flavour: str | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables with which an MPI program writes its trace to `file` at MPI_Finalize; an LD_PRELOAD that
    `environment` (this process's by default) has already stays, after the recorder.

    Raises StorageError when `file`'s folder is missing or not writable, InputError when the recorder is not built.
    """
    file = Path(file).absolute()
    if not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
        raise StorageError(f"cannot write {file}: no such folder, or not writable")
    if file.is_dir():
        raise StorageError(f"cannot write {file}: it is a folder")
    before = (os.environ if environment is None else environment).get("LD_PRELOAD", "")
    return {
        "HAKOBI_RECORD": str(file),
        "LD_PRELOAD": ":".join(filter(None, [str(library(flavour)), before])),
    }


def remove_old_trace(file: Path) -> None:
    """Removes the trace of an earlier run, so that one that leaves none is not taken for that one. Raises FormatError
    for a file that is no trace."""
    if not file.is_file():
        return
    try:
        with file.open("rb") as stream:
            first = stream.readline(4096)
    except FileNotFoundError:  # each rank may have been started by a command of its own
        return
    if first and b'"kind":"trace"' not in first.replace(b" ", b""):
        raise FormatError(f"{file} is no trace: it is not overwritten")
    file.unlink(missing_ok=True)
