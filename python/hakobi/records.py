"""Result records: JSON lines, one object a line, appended so that a killed program never leaves half of one.

1. A line is written by one `write` to a file opened for appending, under an advisory lock where there are any.
2. A last line without its newline is what a kill or a full disk left. `read` passes over it when it does not parse;
   the next `append` removes it, and completes it by its newline when it does parse.
3. Any other line that is not an object is an error that names the file and the line: nothing is skipped silently.
4. What `read` returns can be computed with, printed and written again: every number is finite, every text is Unicode
   (no lone surrogates), nothing is nested so deep that it could not be walked. `parse` is the one place that says so.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hakobi.errors import FormatError, StorageError
from hakobi.file_lock import lock

Record = dict[str, Any]


def to_line(record: Mapping[str, Any]) -> str:
    """One line with its newline. Raises ValueError for a value that JSON has no word for (NaN, infinity, an object)."""
    return json.dumps(dict(record), ensure_ascii=False, allow_nan=False, separators=(", ", ": ")) + "\n"


def append(path: Path | str, record: Mapping[str, Any]) -> None:
    """Adds one record to the file, making file and folder when they are missing.

    Raises StorageError when the storage refuses (then nothing of the record is left), FormatError when the file's end
    is not a record's: it is somebody else's file.
    """
    path = Path(path)
    line = to_line(record).encode(errors="replace")  # a path's bytes need not be Unicode
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
    try:
        lock(fd)
        _mend_end(fd, path)
        end = os.fstat(fd).st_size
        try:
            written = os.write(fd, line)
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror}") from error
        if written != len(line):
            os.ftruncate(fd, end)
            raise StorageError(f"cannot write {path}: only {written} of {len(line)} bytes fitted")
    finally:
        os.close(fd)


def _mend_end(fd: int, path: Path) -> None:
    """Completes or removes a last line that has no newline (rule 2)."""
    size = os.fstat(fd).st_size
    if size == 0 or os.pread(fd, 1, size - 1) == b"\n":
        return
    tail = b""
    start = size
    while start > 0 and b"\n" not in tail:
        start = max(0, start - 65536)
        tail = os.pread(fd, size - start, start)
    tail = tail[tail.rfind(b"\n") + 1 :]
    if _is_object(tail):
        os.write(fd, b"\n")
    elif tail.lstrip().startswith(b"{"):
        os.ftruncate(fd, size - len(tail))
    else:
        raise FormatError(f"{path} is not a file of JSON lines: its last line is no record")


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(parse(text), dict)
    except ValueError:
        return False


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value


#: A larger file is something else: a device, an endless pipe.
MOST_LINE_BYTES, MOST_FILE_BYTES = 64 << 20, 1 << 30

#: Levels of lists and objects in a line; a record has four.
MOST_LEVELS = 50


def _check_levels(value: Any, levels: int = MOST_LEVELS) -> None:
    if not isinstance(value, list | dict):
        return
    if levels == 0:
        raise ValueError(f"nested deeper than {MOST_LEVELS} levels")
    for inner in value.values() if isinstance(value, dict) else value:
        _check_levels(inner, levels - 1)


def parse(line: bytes | str) -> Any:
    """One JSON value, of rule 4. Raises ValueError that says what is wrong with it."""
    text = line.decode() if isinstance(line, bytes) else line
    try:
        value = json.loads(text, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError(f"nested deeper than {MOST_LEVELS} levels") from None
    if text.count("[") + text.count("{") > MOST_LEVELS:
        _check_levels(value)
    if "\\u" in text:  # only an escape can make half a character of UTF-8 text
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"half a surrogate pair (\\u{ord(error.object[error.start]):04x})") from error
    return value


def read(path: Path | str) -> list[Record]:
    """All records of a file, in order. Raises StorageError (missing, unreadable), FormatError (file and line)."""
    path = Path(path)
    result: list[Record] = []
    try:
        with path.open("rb") as file:
            num_bytes = 0
            for number, line in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES + 1), b""), start=1):
                num_bytes += len(line)
                if len(line) > MOST_LINE_BYTES:
                    raise FormatError(f"{path}:{number}: no record: a line of more than {MOST_LINE_BYTES >> 20} MiB")
                if num_bytes > MOST_FILE_BYTES:
                    raise FormatError(f"{path}: no file of records: more than {MOST_FILE_BYTES >> 30} GiB")
                record = _read_line(line, f"{path}:{number}")
                if record is not None:
                    result.append(record)
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    return result


def _read_line(line: bytes, where: str) -> Record | None:
    """A line's record; None for an empty line and for what a kill left (rule 2)."""
    if not line.strip():
        return None
    try:
        record = parse(line)
    except ValueError as error:
        if not line.endswith(b"\n") and line.lstrip().startswith(b"{"):
            return None
        raise FormatError(f"{where}: not JSON: {error}") from error
    if not isinstance(record, dict):
        raise FormatError(f"{where}: a record is an object, not {type(record).__name__}")
    return record


def number(record: Mapping[str, Any], key: str, where: str) -> float:
    """A finite number of a record. Raises FormatError that names `where` and the key."""
    value = record.get(key)
    # A comparison, as math.isfinite raises for an integer that no float holds.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise FormatError(f"{where}: '{key}' is {value!r}, not a number")
    return float(value)
