"""What Hakobi's Python side raises, by what the caller can do about it:

    HakobiError
    ├── InputError      something that was asked for is wrong: change the call or the command line
    ├── StorageError    the storage refused: space, permission, an I/O error
    │   └── ExistsError something is there that must not be overwritten: earlier steps, a file in the way
    ├── FormatError     a file is not what it should be: truncated, corrupt, of another kind
    └── RunError        a program that was started failed, was killed, or took too long

`str(error)` is one line that a user can act on. `code` is the library's code of docs/errors.md where one applies;
`rank` the rank that had it, -1 when it is no rank's. The command prints the line and exits with status 2.
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
    """A value that the call or the command line does not take."""


class StorageError(HakobiError):
    """The storage refused or failed."""


class ExistsError(StorageError):
    """Something that must not be overwritten is in the way: earlier steps, another run's lock, a file."""


class FormatError(HakobiError):
    """A file is not what it should be."""


class RunError(HakobiError):
    """A program that Hakobi started did not end well."""


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
