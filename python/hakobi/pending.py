"""Files whose last bytes a program under the drop-in has not stored, or has never stored (docs/hidden.md).

Each has a file NAME.hakobi-pending beside it, or NAME.hakobi-pending-RANK, while that is so.
"""

from __future__ import annotations

import re
from pathlib import Path

_NAME = re.compile(r"(.+)\.hakobi-pending(-\d+)?")


def names(folder: Path) -> set[str]:
    """The names of such files of a folder; none where it cannot be looked into.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.nc", "a.nc.hakobi-pending", "b.nc.hakobi-pending-4"):
    ...         (Path(folder) / name).touch()
    ...     sorted(names(Path(folder)))
    ['a.nc', 'b.nc']
    """
    try:
        return {found[1] for path in folder.iterdir() if (found := _NAME.fullmatch(path.name))}
    except OSError:
        return set()


def sentence(name: str) -> str:
    return (
        f"{name} is not whole: {name}.hakobi-pending… says so; the program that writes it has not stored it yet, or "
        "was ended before it had"
    )
