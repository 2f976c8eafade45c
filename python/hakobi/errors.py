"""The exceptions of Hakobi's Python side, by what the caller can do about them:

    HakobiError
    ├── InputError      an invalid value: change the call or the command line
    ├── StorageError    the storage failed: no space, no permission, an I/O error
    │   └── ExistsError something must not be overwritten: earlier steps, a file in the way
    ├── FormatError     a file is truncated, corrupt or of another kind
    └── RunError        a program failed, was killed, or took too long

`str(error)` is one line that a user can act on. `code` is the library's code (docs/errors.md) if there is one; `rank`
is the rank that had the error, or -1. The command prints the line and exits with status 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HakobiError(Exception):
    """The root: catch this to catch all of them."""

    def __init__(self, text: str, *, code: str = "", rank: int = -1) -> None:
        super().__init__(text)
        self.code = code
        self.rank = rank


class InputError(HakobiError):
    """An invalid value in a call or on the command line."""


class StorageError(HakobiError):
    """The storage failed."""


class ExistsError(StorageError):
    """Something must not be overwritten: earlier steps, another run's files, a foreign file."""


class FormatError(HakobiError):
    """A file is truncated, corrupt or of another kind."""


class RunError(HakobiError):
    """A program that Hakobi started failed."""


class TimeLimitError(RunError):
    """It took longer than it may, and was ended."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is none of `known`: it names the nearest, and all of them.

    >>> str(unknown_name("method", "pipelind", ["root", "pipelined"]))
    "unknown method 'pipelind': did you mean 'pipelined'? (known: root, pipelined)"
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f": did you mean '{near[0]}'?" if near else ""
    return InputError(f"unknown {kind} '{name}'{hint} (known: {', '.join(names)})", code="invalid_argument")


def storage_error(action: str, error: OSError) -> StorageError:
    """An OSError as one line: what was attempted, on which file, and the system's reason."""
    where = f" {error.filename}" if error.filename else ""
    return StorageError(f"cannot {action}{where}: {error.strerror or error}")
