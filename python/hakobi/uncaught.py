"""Reports errors that nobody catches: hakobi.report_errors."""

from __future__ import annotations

import sys
from types import TracebackType

from hakobi import _library
from hakobi.errors import HakobiError


def report_errors() -> None:
    """From now on a HakobiError that nobody catches ends all ranks with one line on stderr and exit status 1, instead
    of a traceback of each: call it at a program's top. Other exceptions are treated as before the call. Local.
    """
    before = sys.excepthook
    if getattr(before, "is_hakobis", False):
        return

    def end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if not isinstance(error, HakobiError):
            before(kind, error, traceback)
            return
        sys.stdout.flush()
        try:
            library = _library.load()
        except HakobiError:  # which may be what is reported: there is no MPI to end
            sys.stderr.write(f"hakobi: {error}\n")
            return
        library.hakobi_end_with_error(str(error).encode(errors="backslashreplace"), error.rank)

    end.is_hakobis = True  # type: ignore[attr-defined]
    sys.excepthook = end
