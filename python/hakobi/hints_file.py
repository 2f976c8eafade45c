"""Hints files, which HAKOBI_HINTS_FILE names: "name=value" a line, # comments. src/io/hints_file.cpp reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hakobi.errors import InputError, StorageError

VARIABLE = "HAKOBI_HINTS_FILE"


def parse(text: str, path: Path | str) -> dict[str, str]:
    """The hints of a text; a later line overrides. Values are the engine's to judge. Raises InputError with `path` and
    the line's number.

    >>> parse("# of 2026\\ncb_buffer_size = 8M  # bytes", "tuned")
    {'cb_buffer_size': '8M'}
    """
    hints = {}
    for number, line in enumerate(text.split("\n"), start=1):
        item = line.partition("#")[0].strip()
        name, equals, value = (part.strip() for part in item.partition("="))
        if item and not (name and equals):
            raise InputError(f"{path}, line {number}: '{item}' is not name=value")
        if item:
            hints[name] = value
    return hints


def read(path: Path) -> dict[str, str]:
    """Raises StorageError, InputError."""
    try:
        return parse(path.read_text(errors="replace"), path)
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error


def write(path: Path, hints: Mapping[str, str], comments: Sequence[str]) -> None:
    """Raises StorageError."""
    lines = [f"# {' '.join(comment.split())}" for comment in comments]
    lines += [f"{name}={value}" for name, value in hints.items()]
    try:
        path.write_text("\n".join(lines) + "\n")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
