"""Reports errors that nobody catches: hakobi.report_errors."""

from __future__ import annotations

import sys
from traceback import format_exception_only
from types import TracebackType

from hakobi import _library, _mpi
from hakobi.errors import HakobiError


def report_errors() -> None:
    """From now on an exception that nobody catches ends all ranks with exit status 1: call it at a program's top. A
    HakobiError is one line on stderr, instead of a traceback of each rank. Another exception has its traceback as
    before, and where there are other ranks, which would wait for this one, a line and their end. Local.
    """
    before = sys.excepthook
    if getattr(before, "is_hakobis", False):
        return

    def end(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        told, rank = str(error), -1
        if isinstance(error, HakobiError):
            rank = error.rank
        else:
            before(kind, error, traceback)
            if not _has_other_ranks():
                return
            told = "".join(format_exception_only(kind, error)).strip().rpartition("\n")[2]
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            library = _library.load()
        except HakobiError:  # which may be what is reported: there is no MPI to end
            sys.stderr.write(f"hakobi: {told}\n")
            return
        library.hakobi_end_with_error(told.encode(errors="backslashreplace"), rank)

    end.is_hakobis = True  # type: ignore[attr-defined]
    sys.excepthook = end


def _has_other_ranks() -> bool:
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None:
        return (_mpi.num_ranks() or 1) > 1
    return bool(mpi.Is_initialized() and not mpi.Is_finalized() and mpi.COMM_WORLD.size > 1)
